"""The simulation of one bar: strategy, account and tallies as one step, traced to graphs.

Bars before a scored window run the strategy alone, up to and including the window's first bar: the target decided at
that bar's close is the first that can fill, so nothing before the window counts, while a target held from earlier is
known. With fills at the very close of the decision the account's first bar is the window's first, else its second.
"""

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from kernels import account, stops, tallies
from kernels.account import Account, Bar, Rules
from kernels.execution import Execution
from kernels.expressions import TARGET
from kernels.portfolio import BarInputs, PortfolioState, Terms, whole_contracts
from kernels.program_inputs import Input, read
from kernels.sizing import units
from kernels.strategy import Strategy
from kernels.trace import Graph, trace
from kernels.values import Number, Truth, Value, isnan, logical_not, maximum, minimum, where

RECORDED = ("target", "position", "equity", "profit", "costs", "fills", "contracts", "notional")
"""What a trace records at every bar, in this order."""


@dataclass(frozen=True)
class Conditions:
    """What the program is specialised on: features of the data or settings that are absent leave no trace in it."""

    terms: Terms
    capital: float
    """In money; it and the terms reach the program as inputs that do not vary: other amounts compile nothing."""
    rolls: bool
    masks: bool
    every_bar: bool
    """Whether every bar ends a return period."""
    execution: Execution = field(default_factory=Execution)
    sizing: str = "contracts"
    whole: bool = True
    """Whether sizes are whole contracts: those of an instrument."""

    @property
    def at_close(self) -> bool:
        """Whether fills are at a close."""
        return self.execution.fill != "next_open"

    @property
    def decides_and_fills(self) -> bool:
        """Whether a bar's decision fills at its own close, so that the window's first bar can trade."""
        return self.execution.fill == "close"


def target_graph(strategy: Strategy) -> Graph:
    """The strategy alone: one state, the target."""
    return trace(lambda states: ({TARGET: next_target(strategy, states[TARGET])}, {}), {TARGET: 0.0})


def account_graph(strategy: Strategy, conditions: Conditions, wanted: Container[str] = ()) -> Graph:
    """Strategy, portfolio and all tallies; the recorded values are its outputs. ``wanted``: the tallies that will be read,
    where that is known: the graph computes all of them, those in the way that suits.
    """
    falls = conditions.every_bar and "fall_squares" in wanted
    delays = range(1, conditions.execution.signal_delay + 1)
    initial = {
        TARGET: 0.0,
        **{f"{name} {bars}": start for bars in delays for name, start in (("delayed", 0.0), ("given", 1.0))},
        **_CARRIED,
        "solvent": 1.0,
        **tallies.start(conditions.capital),
        **({"equity_sum": 0.0} if conditions.decides_and_fills else {}),
    }
    return trace(lambda states: _account_step(strategy, conditions, states, falls=falls), initial)


_CARRIED = {
    "given": 1.0, "sized": 0.0, "stop": math.nan, "goal": math.nan, "stopped": math.nan, "held since": 0.0,
    "position": 0.0, "profit": 0.0, "costs": 0.0,
}  # fmt: skip
"""A flat account, free to enter; what its settings do not need stays as it is and so is no state of the program."""


def next_target(strategy: Strategy, current: Number) -> Number:
    """The target decided at this bar's close: the strategy's, within [-1, 1]; the current one where that is NaN."""
    known = constants(strategy.target)
    if known is not None and all(abs(value) <= 1.0 for value in known):
        return strategy.target
    clipped = minimum(maximum(strategy.target, -1.0), 1.0)
    return where(isnan(strategy.target), current, clipped)


def constants(target: Value) -> frozenset[float] | None:
    """The finite set of numbers that a target chooses from (0, the start, included), or None where it is computed."""
    found = {0.0}
    stack, seen = [target], set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if node.op == "select":
            stack.extend(node.operands[1:])
        elif node.op == "constant":
            found.add(node.detail)
        elif node.op != "state":
            return None
    return frozenset(found)


def _account_step(
    strategy: Strategy, conditions: Conditions, states: Mapping[str, Value], *, falls: bool
) -> tuple[dict[str, Value], dict[str, Value]]:
    terms, rules = traced_terms(conditions.terms), _rules(strategy, conditions)
    target = next_target(strategy, states[TARGET])
    given = True if rules.distances is None else stops.given(strategy.target, TARGET)
    arriving, following = _arriving(conditions, states, target, given)
    bar = Bar(_bar(conditions), read(Input.HIGH), read(Input.LOW), read(Input.CAPITAL), *arriving)
    # every account is marked at the last close that could execute: an input, not a state of each lane
    before = _account(states)
    after, fills, rounded = account.account_bar(before, bar, rules, terms)
    portfolio = after.portfolio
    equity = read(Input.CAPITAL) + (portfolio.profit - portfolio.costs)
    ends = True if conditions.every_bar else read(Input.PERIOD_END)
    moment = tallies.Moment(
        fills, portfolio.position, equity, read(Input.CAPITAL), ends, read(Input.BUY_AND_HOLD), rounded
    )
    following |= {
        "sized": after.sized,
        "stop": after.levels.stop,
        "goal": after.levels.goal,
        "stopped": after.block.target,
        "held since": after.block.held,
        "position": portfolio.position,
        "profit": portfolio.profit,
        "costs": portfolio.costs,
        "solvent": where(equity <= 0.0, 0.0, states["solvent"]),
        **tallies.step({name: states[name] for name in tallies.start(1.0)}, moment, terms, falls=falls),
    }
    values = (target, portfolio.position, equity, portfolio.profit, portfolio.costs, *tallies.traded(fills, terms))
    return following, dict(zip(RECORDED, values, strict=True))


def _account(states: Mapping[str, Value]) -> Account:
    return Account(
        PortfolioState(states["position"], read(Input.MARK), states["profit"], states["costs"]),
        states["sized"],
        stops.Levels(states["stop"], states["goal"]),
        stops.Block(states["stopped"], states["held since"]),
        states["solvent"],
    )


def _rules(strategy: Strategy, conditions: Conditions) -> Rules:
    distances = None
    if strategy.stop_loss is not None or strategy.take_profit is not None:
        distances = stops.Distances(stops.distance(strategy.stop_loss), stops.distance(strategy.take_profit))
    terms, execution = traced_terms(conditions.terms), conditions.execution
    if conditions.sizing == "equity":
        size = account.of_equity(terms, whole=conditions.whole, always=execution.rebalance)
    elif conditions.sizing == "units":
        size = account.fixed(units, terms)
    else:
        size = account.fixed(lambda target, _: _desired(strategy, target, conditions.terms), terms)
    remembers = conditions.sizing == "equity" or (conditions.at_close and distances is not None)
    rounds = conditions.whole and conditions.sizing != "units" and _may_vanish(strategy, conditions)
    return Rules(conditions.at_close, size, remembers, rounds, distances)


def _may_vanish(strategy: Strategy, conditions: Conditions) -> bool:
    """Whether some target may be less than a contract: known of fixed sizes of targets that are chosen from numbers."""
    known = constants(strategy.target)
    if conditions.sizing == "equity" or known is None:
        return True
    return any(value != 0.0 and whole_contracts(value, conditions.terms.contracts) == 0.0 for value in known)


def _arriving(
    conditions: Conditions, states: Mapping[str, Value], target: Number, given: Truth
) -> tuple[tuple[Number, Truth], dict[str, Number]]:
    """((target, whether given) that arrives in the bar, what the bar passes on): decisions wait in a line of states."""
    flag = 1.0 if isinstance(given, bool) else where(given, 1.0, 0.0)
    passed: dict[str, Number] = {TARGET: target, "given": flag}
    line = (target, flag) if conditions.decides_and_fills else (states[TARGET], states["given"])
    for bars in range(1, conditions.execution.signal_delay + 1):
        passed |= {f"delayed {bars}": line[0], f"given {bars}": line[1]}
        line = (states[f"delayed {bars}"], states[f"given {bars}"])
    return (line[0], given if isinstance(given, bool) else line[1] > 0.0), passed


def traced_terms(terms: Terms) -> Terms:
    """The terms as inputs, but for those that leave no trace: costs of 0, a multiplier or contracts of 1."""
    without = Terms(1, 1.0, 0.0, 0.0, 0.0, 0.0)
    pairs = zip(terms, without, Terms._fields, strict=True)
    return Terms(*(value if value == absent else read(Input.of_term(name)) for value, absent, name in pairs))


def settings_of(conditions: Conditions) -> dict[Input, float]:
    """What each setting holds at every bar."""
    terms = {Input.of_term(name): float(value) for name, value in conditions.terms._asdict().items()}
    return {Input.CAPITAL: conditions.capital, **terms}


def _bar(conditions: Conditions) -> BarInputs:
    rolled = read(Input.ROLLED) if conditions.rolls else False
    executable = logical_not(read(Input.MASKED)) if conditions.masks else True
    return BarInputs(read(Input.OPEN), read(Input.CLOSE), read(Input.OLD_PRICE), rolled, executable)


def _desired(strategy: Strategy, target: Number, terms: Terms) -> Number:
    known = constants(strategy.target)
    contracts = traced_terms(terms).contracts
    if known is None or not all((value * terms.contracts).is_integer() for value in known):
        return whole_contracts(target, contracts)
    return target if terms.contracts == 1 else target * contracts
