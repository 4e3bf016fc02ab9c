"""The portfolio step: what one bar does to a position, its profit and its costs.

Written once over floats, float64 arrays and traced values; the sweep traces it, environments call it on arrays.

Order of events in a bar: (1) on a roll the whole old position is closed at ``old_price``, the last price of the
contract left; (2) the desired position is opened, or on other bars the difference traded, at the open; (3) the
position is marked to the close. Each contract traded pays its fee and slippage; on a roll both legs do, an unchanged
position included. A bar that cannot execute does none of these: position, mark, profit and costs stay, and the
desired position waits.
"""

from fractions import Fraction
from typing import NamedTuple

from kernels.execution import Costs, Execution, Instrument
from kernels.values import ROUNDING, Number, Truth, absolute, known, logical_and, logical_or, trunc, where


class PortfolioState(NamedTuple):
    """What is carried from bar to bar.

    ``position`` in signed whole contracts, ``mark`` the price it was last valued at, ``profit`` the gross profit and
    ``costs`` the fees and slippage paid since the start, both in money. Equity = capital + profit - costs.
    """

    position: Number
    mark: Number
    profit: Number
    costs: Number


class BarInputs(NamedTuple):
    """What the step reads of a bar; ``kernels.bars.bar_inputs`` makes the columns of a table into these.

    ``rolled``: the first executable bar of a new contract; ``old_price``: the price of the contract left (NaN
    elsewhere). ``rolled=False`` and ``executable=True`` as plain bools leave no trace of rolls and masks in a
    program.
    """

    open: Number
    close: Number
    old_price: Number
    rolled: Truth
    executable: Truth


class Terms(NamedTuple):
    """Costs and sizes as the step uses them: money a contract and side, rates as fractions of the traded notional.

    A plain 0 (of ``multiplier`` a plain 1) leaves no trace in a program.
    """

    contracts: Number
    multiplier: Number
    fee_per_contract: Number
    slippage_per_contract: Number
    fee_rate: Number
    slippage_rate: Number
    investable: Number = 1.0
    """The part of the equity that is sized by, the rest being the cash reserve."""
    tick: Number = 0.0
    """A tick is ``tick`` / ``tick_parts`` points; prices of levels are not rounded where it is 0."""
    tick_parts: Number = 1.0
    rounding: Number = 0.0
    """Money up to which a profit is the rounding of its own sums, and so is zero."""


START = PortfolioState(position=0.0, mark=0.0, profit=0.0, costs=0.0)
"""A flat account. ``mark`` is a plain 0: a flat position multiplies it by 0, where NaN would spread."""


def terms(costs: Costs, instrument: Instrument | None, execution: Execution) -> Terms:
    """The settings in the step's units (money a contract, fractions of notional).

    Without an instrument a point of a unit is 1 money, and slippage in ticks raises ``ValueError``.
    """
    if instrument is None and costs.slippage_ticks:
        raise ValueError(
            f"Costs.slippage_ticks={costs.slippage_ticks!r} needs an instrument's tick size: use slippage_bps, or give one"
        )
    unit = instrument or Instrument("", 1.0, 1.0)
    return Terms(
        contracts=execution.contracts,
        multiplier=unit.multiplier,
        fee_per_contract=unit.fee_per_contract + costs.fee_per_contract,
        slippage_per_contract=costs.slippage_ticks * unit.tick_size * unit.multiplier,
        fee_rate=costs.fee_bps / 10_000.0,
        slippage_rate=costs.slippage_bps / 10_000.0,
        investable=1.0 - execution.cash_reserve,
        **({} if instrument is None else _tick(instrument.tick_size)),
    )


def _tick(size: float) -> dict[str, float]:
    """A tick as ``tick`` / ``tick_parts``, of which any multiple is the float64 nearest to the decimal price: 0.25 as it
    is, for its multiples are exact; 0.1 as 1 / 10.
    """
    exact = Fraction(size).limit_denominator(10**9)
    if exact.denominator & (exact.denominator - 1) == 0 or float(exact) != size:
        return {"tick": size}
    return {"tick": float(exact.numerator), "tick_parts": float(exact.denominator)}


def rounding_of(terms: Terms, sizing: str, capital: float, price: float, part: float = ROUNDING) -> float:
    """Money up to which a profit is the rounding of its own sums: a ``part`` of the capital and of what a position may be
    worth: sized by ``equity`` as much as the capital, else ``contracts`` at ``price``.
    """
    worth = capital if sizing == "equity" else abs(price) * float(terms.contracts) * float(terms.multiplier)
    return part * (capital + worth)


def whole_contracts(target: Number, contracts: Number) -> Number:
    """Target in [-1, 1] × contracts in whole contracts, toward zero (never -0): what is whole but for rounding is whole,
    so 0.29 × 100 is 29.
    """
    return trunc(target * (contracts * (1.0 + ROUNDING))) + 0.0


def trades(position: Number, desired: Number, bar: BarInputs) -> Truth:
    """Whether anything changes hands in the bar: rarely, so what depends on it is kept under this one condition."""
    return logical_and(bar.executable, logical_or(bar.rolled, desired != position))


def traded_contracts(position: Number, desired: Number, rolled: Truth) -> Number:
    """Contracts that change hands from ``position`` to ``desired``: the difference, on a roll both legs in full."""
    return where(rolled, absolute(position) + absolute(desired), absolute(desired - position))


def traded_notional(position: Number, desired: Number, bar: BarInputs, terms: Terms) -> Number:
    """Money value of what changes hands: each leg at its own price, as an absolute amount (prices may be negative)."""
    opened = absolute(bar.open)
    plain = absolute(desired - position) * opened
    both = where(bar.rolled, absolute(position) * absolute(bar.old_price) + absolute(desired) * opened, plain)
    return money(both, terms)


def money(points: Number, terms: Terms) -> Number:
    """Points × contracts as money."""
    return points if known(terms.multiplier, 1.0) else points * terms.multiplier


def trading_costs(contracts: Number, notional: Number, terms: Terms) -> Number:
    """Fees and slippage for trading that many contracts of that notional, in money; 0.0 where trading is free."""
    per_contract = _sum(terms.fee_per_contract, terms.slippage_per_contract)
    rate = _sum(terms.fee_rate, terms.slippage_rate)
    by_contract = 0.0 if known(per_contract, 0.0) else contracts * per_contract
    return by_contract if known(rate, 0.0) else _sum(by_contract, notional * rate)


def _sum(a: Number, b: Number) -> Number:
    if known(a, 0.0):
        return b
    return a if known(b, 0.0) else a + b


def exit_price(bar: BarInputs) -> Number:
    """The price at which a position carried into the bar ends its overnight part: the open, on a roll the old
    contract's.
    """
    return where(bar.rolled, bar.old_price, bar.open)


def while_solvent(desired_contracts: Number, solvent: Number) -> Number:
    """What is desired while ``solvent`` is 1; an account whose equity reached 0 is closed and stays flat."""
    return where(solvent > 0.0, desired_contracts, 0.0)


def portfolio_step(state: PortfolioState, bar: BarInputs, desired_contracts: Number, terms: Terms) -> PortfolioState:
    """The state after the bar; ``desired_contracts`` was decided at the close of the bar before.

    Shapes: all operands broadcast. NaN rule: prices of a bar that cannot execute are ignored, elsewhere they must be
    finite.
    """
    carried = state.position * (exit_price(bar) - state.mark)
    held = desired_contracts * (bar.close - bar.open)
    profit = state.profit + money(carried + held, terms)
    contracts = traded_contracts(state.position, desired_contracts, bar.rolled)
    notional = traded_notional(state.position, desired_contracts, bar, terms)
    paid = trading_costs(contracts, notional, terms)
    traded = trades(state.position, desired_contracts, bar)
    return PortfolioState(
        position=where(bar.executable, desired_contracts, state.position),
        mark=where(bar.executable, bar.close, state.mark),
        profit=where(bar.executable, profit, state.profit),
        costs=state.costs if known(paid, 0.0) else where(traded, state.costs + paid, state.costs),
    )
