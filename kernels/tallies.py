"""Tallies: the sums and extremes that a sweep keeps for its metrics, one step a bar.

Plain functions over floats, arrays and traced values. Every tally that no requested metric reads is left out of the
program (``kernels.trace.pruned``), so adding one here costs nothing where it is not used.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

from kernels.fills import Fill
from kernels.portfolio import Terms, exit_price, money, trading_costs
from kernels.values import Number, Truth, absolute, known, logical_and, logical_not, where

Tallies = Mapping[str, Number]

_FROM_ZERO = (
    "drawdown", "since_peak", "longest_drawdown", "fall_squares",
    "block_sum", "block_squares",
    "return_sum", "return_squares", "return_cubes", "return_fourths", "gain_sum", "loss_sum", "downside_squares",
    "gains", "best_return", "worst_return", "benchmark_sum", "benchmark_squares", "benchmark_product",
    "age", "held_bars", "contracts_traded", "notional_traded", "fills", "rounded",
    "trades", "wins", "losses", "won", "lost", "trade_squares", "trade_returns", "worth",
)  # fmt: skip


class Moment(NamedTuple):
    """One bar as the tallies see it: its fills in order, then position and equity (money) at the close.

    ``period_end``: whether a return period (a session, or every bar) ends with this bar. ``benchmark``: the return of buy
    and hold over the period that ends. ``rounded``: whether the bar's target was rounded to no contract.
    """

    fills: tuple[Fill, ...]
    position: Number
    equity: Number
    capital: Number
    period_end: Truth
    benchmark: Number
    rounded: Truth = False


def start(capital: float) -> dict[str, float]:
    """All tallies after the first scored bar, at whose close the account is flat and its equity the capital."""
    money_like = dict.fromkeys(("peak", "period_peak", "period_equity", "equity_sum"), capital)
    # no period is over yet: the first replaces the extremes
    return {
        **money_like,
        **dict.fromkeys(_FROM_ZERO, 0.0),
        "best_return": -math.inf,
        "worst_return": math.inf,
    }


def step(tallies: Tallies, moment: Moment, terms: Terms, *, falls: bool = False) -> dict[str, Number]:
    """All tallies after the bar. ``falls``: whether the fall of every bar is computed anyway; no value depends on it."""
    running = dict(tallies)
    for fill in moment.fills:
        running |= _traded(running, fill, terms)
        running |= _round_trip(running, fill, moment.capital, terms)
    return {
        **running,
        **_drawdown(tallies, moment, terms, falls=falls),
        **_falls(tallies, moment),
        **_returns(tallies, moment, terms),
        **_shape(tallies, moment, terms),
        **_benchmark(tallies, moment, terms),
        **_exposure(running, moment),
    }


def _drawdown(tallies: Tallies, moment: Moment, terms: Terms, *, falls: bool) -> dict[str, Number]:
    """Highest equity so far, the capital included, the worst equity / peak - 1, and the longest time between touches of
    the peak, in bars, at every bar's close; a fall that lasts to the end is ``since_peak`` alone. What is rounding of the
    worst fall the metrics take off (``kernels.statistics.drawdown``).
    """
    peak, worst = where(moment.equity > tallies["peak"], moment.equity, tallies["peak"]), tallies["drawdown"]
    # a fall that is not within a millionth of the worst one needs no division, the dearest operation of a bar
    near = True if falls else moment.equity < (worst + 1.000001) * peak
    fall = moment.equity / peak - 1.0
    since, longest = tallies["since_peak"], tallies["longest_drawdown"]
    below = moment.equity < (peak if known(terms.rounding, 0.0) else peak - terms.rounding)
    lasted = since + 1.0
    recovered = logical_not(below) & ((since > 0.0) & (lasted > longest))
    return {
        "peak": peak,
        "drawdown": where(logical_and(near, fall < worst), fall, worst),
        "since_peak": where(below, lasted, 0.0),
        "longest_drawdown": where(recovered, lasted, longest),
    }


def _falls(tallies: Tallies, moment: Moment) -> dict[str, Number]:
    """Squares of equity / peak - 1 at the ends of periods, the peak being that of the ends and the capital: where every
    bar ends one, the peak of all bars.
    """
    every_bar = moment.period_end is True
    ends, equity, peak = moment.period_end, moment.equity, tallies["peak" if every_bar else "period_peak"]
    raised = where(equity > peak, equity, peak)
    fall = equity / raised - 1.0
    squares = tallies["fall_squares"]
    if every_bar:  # nearly every bar is below the peak; at it the fall is 0
        return {"period_peak": tallies["period_peak"], "fall_squares": squares + fall * fall}
    fallen = logical_and(ends, equity < raised)
    return {
        "period_peak": where(ends, raised, peak),
        "fall_squares": where(fallen, squares + fall * fall, squares),
    }


def _gain(tallies: Tallies, moment: Moment, terms: Terms) -> tuple[Number, Truth]:
    """(simple return of the period that ends, whether one ends and the equity moved by more than rounding): a flat
    account adds nothing, and division by a GPU is slow for 0.
    """
    change = moment.equity - tallies["period_equity"]
    return change / tallies["period_equity"], logical_and(moment.period_end, absolute(change) > terms.rounding)


def _returns(tallies: Tallies, moment: Moment, terms: Terms) -> dict[str, Number]:
    """Simple returns of whole periods: profit over the equity at the period's start, the first one over the capital.

    The ``block`` tallies are set to 0 from outside between blocks of periods (``kernels.block_sums``).
    """
    gain, moved = _gain(tallies, moment, terms)
    square = gain * gain
    lost = logical_and(moved, gain < 0.0)
    return {
        "period_equity": where(moment.period_end, moment.equity, tallies["period_equity"]),
        "return_sum": where(moved, tallies["return_sum"] + gain, tallies["return_sum"]),
        "return_squares": where(moved, tallies["return_squares"] + square, tallies["return_squares"]),
        "block_sum": where(moved, tallies["block_sum"] + gain, tallies["block_sum"]),
        "block_squares": where(moved, tallies["block_squares"] + square, tallies["block_squares"]),
        "downside_squares": where(lost, tallies["downside_squares"] + square, tallies["downside_squares"]),
    }


def _shape(tallies: Tallies, moment: Moment, terms: Terms) -> dict[str, Number]:
    """Third and fourth powers, sums of gains and of losses, best and worst of the returns; ``gains`` counts those
    above 0.
    """
    gain, moved = _gain(tallies, moment, terms)
    square = gain * gain
    won, lost = logical_and(moved, gain > 0.0), logical_and(moved, gain < 0.0)
    flat = where(moved, gain, 0.0)
    best, worst = tallies["best_return"], tallies["worst_return"]
    better = logical_and(moment.period_end, flat > best)
    worse = logical_and(moment.period_end, flat < worst)
    return {
        "return_cubes": where(moved, tallies["return_cubes"] + square * gain, tallies["return_cubes"]),
        "return_fourths": where(moved, tallies["return_fourths"] + square * square, tallies["return_fourths"]),
        "gain_sum": where(won, tallies["gain_sum"] + gain, tallies["gain_sum"]),
        "loss_sum": where(lost, tallies["loss_sum"] + gain, tallies["loss_sum"]),
        "gains": where(won, tallies["gains"] + 1.0, tallies["gains"]),
        "best_return": where(better, flat, best),
        "worst_return": where(worse, flat, worst),
    }


def _benchmark(tallies: Tallies, moment: Moment, terms: Terms) -> dict[str, Number]:
    """Returns of buy and hold over the same periods, their squares, and their products with the account's."""
    benchmark, ends = moment.benchmark, moment.period_end
    gain, moved = _gain(tallies, moment, terms)
    return {
        "benchmark_sum": where(ends, tallies["benchmark_sum"] + benchmark, tallies["benchmark_sum"]),
        "benchmark_squares": where(
            ends, tallies["benchmark_squares"] + benchmark * benchmark, tallies["benchmark_squares"]
        ),
        "benchmark_product": where(
            moved, tallies["benchmark_product"] + gain * benchmark, tallies["benchmark_product"]
        ),
    }


def _exposure(tallies: Tallies, moment: Moment) -> dict[str, Number]:
    """Bars of the open round trip with a position at the close, equity summed for its mean, and the bars whose target was
    rounded to no contract.
    """
    return {
        "rounded": where(moment.rounded, tallies["rounded"] + 1.0, tallies["rounded"]),
        "age": where(moment.position != 0.0, tallies["age"] + 1.0, 0.0),
        "equity_sum": tallies["equity_sum"] + moment.equity,
    }


def traded(fills: tuple[Fill, ...], terms: Terms) -> tuple[Number, Number, Number]:
    """(fills, contracts, notional in money) of one bar."""
    running: dict[str, Number] = dict.fromkeys(("fills", "contracts_traded", "notional_traded"), 0.0)
    for fill in fills:
        running |= _traded(running, fill, terms)
    return running["fills"], running["contracts_traded"], running["notional_traded"]


def _traded(tallies: Tallies, fill: Fill, terms: Terms) -> dict[str, Number]:
    """Contracts and notional traded, and fills: one, on a roll one for each leg."""
    traded = fill.happens
    legs = where(
        fill.bar.rolled, where(fill.before.position != 0.0, 1.0, 0.0) + where(fill.desired != 0.0, 1.0, 0.0), 1.0
    )
    contracts, notional = tallies["contracts_traded"], tallies["notional_traded"]
    return {
        "contracts_traded": where(traded, contracts + fill.contracts, contracts),
        "notional_traded": where(traded, notional + fill.notional(terms), notional),
        "fills": where(traded, tallies["fills"] + legs, tallies["fills"]),
    }


def _round_trip(tallies: Tallies, fill: Fill, capital: Number, terms: Terms) -> dict[str, Number]:
    """Closed round trips, net of all their costs.

    A round trip runs from flat or from a change of side to flat or a change of side; adding, reducing and rolling
    stay inside it. ``worth`` is profit - costs at the last closing fill, that fill's cost included: the round trip
    gained the difference, or nothing where that is rounding. In a reversal the closing leg pays for the old round trip,
    the opening leg for the new one. ``trade_returns`` sums gains over the equity at the closing fill before, the last time
    the account was flat.
    """
    held = absolute(fill.before.position)
    closing_costs = trading_costs(held, money(held * absolute(exit_price(fill.bar)), terms), terms)
    worth = fill.profit(terms) - fill.before.costs - closing_costs
    difference, closed = worth - tallies["worth"], fill.closes
    gain = where(absolute(difference) > terms.rounding, difference, 0.0)
    won, lost = logical_and(closed, gain > 0.0), logical_and(closed, gain < 0.0)
    share = gain / (capital + tallies["worth"])
    return {
        "trades": where(closed, tallies["trades"] + 1.0, tallies["trades"]),
        "wins": where(won, tallies["wins"] + 1.0, tallies["wins"]),
        "losses": where(lost, tallies["losses"] + 1.0, tallies["losses"]),
        "won": where(won, tallies["won"] + gain, tallies["won"]),
        "lost": where(lost, tallies["lost"] + gain, tallies["lost"]),
        "trade_squares": where(closed, tallies["trade_squares"] + gain * gain, tallies["trade_squares"]),
        "trade_returns": where(closed, tallies["trade_returns"] + share, tallies["trade_returns"]),
        "held_bars": where(closed, tallies["held_bars"] + tallies["age"], tallies["held_bars"]),
        "age": where(closed, 0.0, tallies["age"]),
        "worth": where(closed, worth, tallies["worth"]),
    }
