"""One bar of an account: from the decision that arrives to the position, through stops, sizes and fills.

Plain functions over floats, arrays and traced values. What a setting does not ask for is not built, so that it leaves
no trace in a program.
"""

from collections.abc import Callable
from typing import NamedTuple

from kernels import sizing, stops
from kernels.fills import Fill, moment, settled
from kernels.portfolio import BarInputs, PortfolioState, Terms, exit_price, money, portfolio_step, while_solvent
from kernels.values import Number, Truth, known, logical_and, where


class Rules(NamedTuple):
    """What an account does: when it fills, how it sizes, and the distances of its stops (None: it has none).

    ``size``: target, position, equity and price at the fill, target the position was sized for → contracts.
    ``remembers``: whether the target that the position was sized for is needed. ``rounds``: whether a size may be rounded
    to no contract.
    """

    at_close: bool
    size: Callable[[Number, Number, Number, Number, Number], Number]
    remembers: bool
    rounds: bool
    distances: stops.Distances | None


class Account(NamedTuple):
    """What is carried from bar to bar; ``levels`` and ``block`` matter with stops, ``sized`` where it is remembered."""

    portfolio: PortfolioState
    sized: Number
    levels: stops.Levels
    block: stops.Block
    solvent: Number


class Bar(NamedTuple):
    """Prices of a bar, the capital, and the decision that arrives in it: its target, and whether it was given."""

    inputs: BarInputs
    high: Number
    low: Number
    capital: Number
    target: Number
    given: Truth


class Done(NamedTuple):
    """The account after a bar (whether it is solvent apart), the bar's fills in order, and whether its target asked for a
    position that was rounded to no contract.
    """

    account: Account
    fills: tuple[Fill, ...]
    rounded: Truth


def account_bar(account: Account, bar: Bar, rules: Rules, terms: Terms) -> Done:
    """What a bar does to the account."""
    step = _closing_bar if rules.at_close else _opening_bar
    return step(account, bar, rules, terms)


def _opening_bar(account: Account, bar: Bar, rules: Rules, terms: Terms) -> Done:
    """Fills at the open, then the stop."""
    before, inputs = account.portfolio, bar.inputs
    target, block = _wanted(account, bar, rules)
    overnight = money(before.position * (exit_price(inputs) - before.mark), terms)
    equity = bar.capital + (before.profit + overnight - before.costs)
    size = rules.size(target, before.position, equity, inputs.open, account.sized)
    desired = while_solvent(size, account.solvent)
    fill, rounded = Fill(before, desired, inputs), _rounded(account, target, size, inputs.executable, rules)
    sized = where(inputs.executable, target, account.sized) if rules.remembers else account.sized
    if rules.distances is None:
        after = portfolio_step(before, inputs, desired, terms)
        return Done(account._replace(portfolio=after, sized=sized), (fill,), rounded)
    levels = stops.levels_after(account.levels, fill, rules.distances, terms)
    position = where(inputs.executable, desired, before.position)
    hit, price = stops.touched(position, levels, inputs.open, bar.high, bar.low, inputs.executable)
    left = where(hit, price, inputs.close)
    held = portfolio_step(before, inputs._replace(close=left), desired, terms)._replace(mark=left)
    stop = Fill(held, 0.0, moment(left, hit))
    after = settled(stop, terms)
    block = stops.after_stop(block, hit, target)
    sized = where(hit, 0.0, sized) if rules.remembers else sized
    return Done(Account(after, sized, levels, block, account.solvent), (fill, stop), rounded)


def _closing_bar(account: Account, bar: Bar, rules: Rules, terms: Terms) -> Done:
    """The roll and the stop of what is held, then fills at the close."""
    inputs, levels, block, sized = bar.inputs, account.levels, account.block, account.sized
    roll = Fill(account.portfolio, account.portfolio.position, inputs)
    fills: list[Fill] = [] if known(inputs.rolled, 0.0) else [roll]
    left: Number = inputs.close
    hit: Truth = False
    if rules.distances is not None:
        if fills:
            levels = stops.levels_after(levels, roll, rules.distances, terms)
        hit, price = stops.touched(roll.desired, levels, inputs.open, bar.high, bar.low, inputs.executable)
        left = where(hit, price, inputs.close)
    held = _held(account.portfolio, inputs, left, terms)
    if rules.distances is not None:
        stop = Fill(held, 0.0, moment(left, hit))
        fills.append(stop)
        held = settled(stop, terms)._replace(mark=inputs.close)
        block = stops.after_stop(block, hit, sized)
        sized = where(hit, 0.0, sized)
    target, block = _wanted(account._replace(block=block), bar, rules)
    equity = bar.capital + (held.profit - held.costs)
    size = rules.size(target, held.position, equity, inputs.close, sized)
    last = Fill(held, while_solvent(size, account.solvent), moment(inputs.close, inputs.executable))
    if rules.distances is not None:
        levels = stops.levels_after(levels, last, rules.distances, terms)
    rounded = _rounded(account, target, size, inputs.executable, rules)
    if rules.remembers:
        sized = where(inputs.executable, target, sized)
    return Done(Account(settled(last, terms), sized, levels, block, account.solvent), (*fills, last), rounded)


def _held(state: PortfolioState, bar: BarInputs, left: Number, terms: Terms) -> PortfolioState:
    """The position as it was, rolled where the bar rolls, marked to ``left``."""
    if known(bar.rolled, 0.0):
        profit = state.profit + money(state.position * (left - state.mark), terms)
        return state._replace(profit=where(bar.executable, profit, state.profit), mark=left)
    points = state.position * (exit_price(bar) - state.mark) + state.position * (left - bar.open)
    plain = state.position * (left - state.mark)
    profit = state.profit + money(where(bar.rolled, points, plain), terms)
    rolled = settled(Fill(state, state.position, bar), terms)
    return rolled._replace(profit=where(bar.executable, profit, state.profit), mark=left)


def _wanted(account: Account, bar: Bar, rules: Rules) -> tuple[Number, stops.Block]:
    """The target that arrives, flat while a stop blocks it; and the block after it."""
    if rules.distances is None:
        return bar.target, account.block
    block = stops.after_decision(account.block, bar.target, bar.given)
    return stops.allowed(block, bar.target), block


def _rounded(account: Account, target: Number, size: Number, executable: Truth, rules: Rules) -> Truth:
    if not rules.rounds:
        return False
    return logical_and(executable, (target != 0.0) & (size == 0.0) & (account.solvent > 0.0))


def fixed(size: Callable[[Number, Terms], Number], terms: Terms) -> Callable[..., Number]:
    """The size of a target alone, whatever the account is worth."""
    return lambda target, position, equity, price, sized: size(target, terms)


def of_equity(terms: Terms, *, whole: bool, always: bool) -> Callable[..., Number]:
    """A fraction of the equity, computed when the target changes or, if ``always``, at every bar."""

    def size(target: Number, position: Number, equity: Number, price: Number, sized: Number) -> Number:
        wanted = sizing.of_equity(target, equity, price, terms, whole=whole)
        if not always:
            return sizing.resized(target, sized, wanted, position)
        return wanted if whole else sizing.rebalanced(wanted, position)

    return size
