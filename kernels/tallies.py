"""Tallies: the sums and extremes that a sweep keeps for its metrics, one step a bar.

Plain functions over floats, arrays and traced values. Every tally that no requested metric reads is left out of the
program (``kernels.trace.pruned``), so adding one here costs nothing where it is not used.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kernels.portfolio import (
    BarInputs,
    PortfolioState,
    Terms,
    exit_price,
    money,
    traded_contracts,
    traded_notional,
    trades,
    trading_costs,
)
from kernels.values import Number, Truth, absolute, logical_and, where

Tallies = Mapping[str, Number]


class Moment(NamedTuple):
    """One bar as the tallies see it: the portfolio before and after, what was desired, the equity at the close in
    money.

    ``period_end``: whether a return period (a session, or every bar) ends with this bar.
    """

    before: PortfolioState
    after: PortfolioState
    desired: Number
    equity: Number
    bar: BarInputs
    period_end: Truth


def start(capital: float) -> dict[str, float]:
    """All tallies after the first scored bar, at whose close the account is flat and its equity the capital."""
    zeros = (
        "drawdown", "return_sum", "return_squares", "downside_squares", "exposed_bars", "contracts_traded",
        "notional_traded", "trades", "wins", "won", "lost", "worth",
    )  # fmt: skip
    return {"peak": capital, "period_equity": capital, "equity_sum": capital, **dict.fromkeys(zeros, 0.0)}


def step(tallies: Tallies, moment: Moment, terms: Terms) -> dict[str, Number]:
    """All tallies after the bar."""
    return {
        **_drawdown(tallies, moment),
        **_returns(tallies, moment),
        **_activity(tallies, moment, terms),
        **_trades(tallies, moment, terms),
    }


def _drawdown(tallies: Tallies, moment: Moment) -> dict[str, Number]:
    """Highest equity so far, the capital included, and the worst equity / peak - 1, at every bar's close."""
    peak, worst = where(moment.equity > tallies["peak"], moment.equity, tallies["peak"]), tallies["drawdown"]
    # a fall that is not within a millionth of the worst one needs no division, the dearest operation of a bar
    near = moment.equity < (worst + 1.000001) * peak
    fall = moment.equity / peak - 1.0
    return {"peak": peak, "drawdown": where(near & (fall < worst), fall, worst)}


def _returns(tallies: Tallies, moment: Moment) -> dict[str, Number]:
    """Simple returns of whole periods: profit over the equity at the period's start, the first one over the capital."""
    opening, ends = tallies["period_equity"], moment.period_end
    change = moment.equity - opening
    moved = logical_and(ends, change != 0.0)  # a flat account adds nothing, and division by a GPU is slow for 0
    gain = change / opening
    square = gain * gain
    lost = logical_and(moved, gain < 0.0)
    return {
        "period_equity": where(ends, moment.equity, opening),
        "return_sum": where(moved, tallies["return_sum"] + gain, tallies["return_sum"]),
        "return_squares": where(moved, tallies["return_squares"] + square, tallies["return_squares"]),
        "downside_squares": where(lost, tallies["downside_squares"] + square, tallies["downside_squares"]),
    }


def _activity(tallies: Tallies, moment: Moment, terms: Terms) -> dict[str, Number]:
    """Bars with a position at the close, contracts and notional traded, and equity summed for its mean."""
    before, bar = moment.before, moment.bar
    contracts = traded_contracts(before.position, moment.desired, bar.rolled)
    notional = traded_notional(before.position, moment.desired, bar, terms)
    traded, exposed = trades(before.position, moment.desired, bar), moment.after.position != 0.0
    return {
        "exposed_bars": where(exposed, tallies["exposed_bars"] + 1.0, tallies["exposed_bars"]),
        "contracts_traded": where(traded, tallies["contracts_traded"] + contracts, tallies["contracts_traded"]),
        "notional_traded": where(traded, tallies["notional_traded"] + notional, tallies["notional_traded"]),
        "equity_sum": tallies["equity_sum"] + moment.equity,
    }


def _trades(tallies: Tallies, moment: Moment, terms: Terms) -> dict[str, Number]:
    """Closed round trips, net of all their costs.

    A round trip runs from flat or from a change of side to flat or a change of side; adding, reducing and rolling
    stay inside it. ``worth`` is profit - costs at the last closing fill, that fill's cost included: the round trip
    gained the difference. In a reversal the closing leg pays for the old round trip, the opening leg for the new one.
    """
    before, bar = moment.before, moment.bar
    carried = before.position * (exit_price(bar) - before.mark)
    held = absolute(before.position)
    closing_costs = trading_costs(held, money(held * absolute(exit_price(bar)), terms), terms)
    worth = before.profit + money(carried, terms) - before.costs - closing_costs
    gain = worth - tallies["worth"]
    left = (before.position != 0.0) & (before.position * moment.desired <= 0.0)
    closed = logical_and(trades(before.position, moment.desired, bar), left)
    won, lost = logical_and(closed, gain > 0.0), logical_and(closed, gain < 0.0)
    return {
        "trades": where(closed, tallies["trades"] + 1.0, tallies["trades"]),
        "wins": where(won, tallies["wins"] + 1.0, tallies["wins"]),
        "won": where(won, tallies["won"] + gain, tallies["won"]),
        "lost": where(lost, tallies["lost"] + gain, tallies["lost"]),
        "worth": where(closed, worth, tallies["worth"]),
    }
