"""The simulation of one bar: strategy, portfolio and tallies as one step, traced to graphs.

Bars before a scored window run the strategy alone, up to and including the window's first bar: the target decided at
that bar's close is the first that can fill, so nothing before the window counts, while a target held from earlier is
known.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kernels import tallies
from kernels.expressions import TARGET, col
from kernels.opcodes import BOOL
from kernels.portfolio import START, BarInputs, PortfolioState, Terms, portfolio_step, solvent, whole_contracts
from kernels.strategy import Strategy
from kernels.trace import Graph, trace
from kernels.values import Number, Value, isnan, logical_not, maximum, minimum, where

CAPITAL = "capital"
OPEN, CLOSE, OLD_PRICE, MARK = "bar open", "bar close", "bar old price", "bar mark"
ROLLED, MASKED, PERIOD_END = "bar rolled", "bar masked", "period end"
EVENTS = frozenset({ROLLED, MASKED, PERIOD_END})
"""Boolean columns that are rarely true."""

RECORDED = ("target", "position", "equity", "profit", "costs")
"""What a trace records at every bar, in this order."""


@dataclass(frozen=True)
class Conditions:
    """What the program is specialised on: features of the data or settings that are absent leave no trace in it."""

    terms: Terms
    capital: float
    """In money; it and the terms reach the program as columns that do not vary: other amounts compile nothing."""
    rolls: bool
    masks: bool
    every_bar: bool
    """Whether every bar ends a return period."""


def target_graph(strategy: Strategy) -> Graph:
    """The strategy alone: one state, the target."""
    return trace(lambda states: ({TARGET: next_target(strategy, states[TARGET])}, {}), {TARGET: 0.0})


def account_graph(strategy: Strategy, conditions: Conditions) -> Graph:
    """Strategy, portfolio and all tallies; the recorded values are its outputs."""
    initial = {
        TARGET: 0.0,
        "lowest": conditions.capital,
        **{name: float(value) for name, value in START._asdict().items() if name != "mark"},
        **tallies.start(conditions.capital),
    }
    return trace(lambda states: _account_step(strategy, conditions, states), initial)


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
    strategy: Strategy, conditions: Conditions, states: Mapping[str, Value]
) -> tuple[dict[str, Value], dict[str, Value]]:
    # every account is marked at the last close that could execute: a column, not a state of each lane
    before = PortfolioState(states["position"], col(MARK), states["profit"], states["costs"])
    bar, terms = _bar(conditions), traced_terms(conditions.terms)
    desired = solvent(_desired(strategy, states[TARGET], conditions.terms), states["lowest"])
    after = portfolio_step(before, bar, desired, terms)
    equity = col(CAPITAL) + (after.profit - after.costs)
    ends = True if conditions.every_bar else Value("col", (), BOOL, PERIOD_END)
    moment = tallies.Moment(before, after, desired, equity, bar, ends)
    target = next_target(strategy, states[TARGET])
    following = {
        TARGET: target,
        "lowest": where(equity < states["lowest"], equity, states["lowest"]),
        **{name: value for name, value in after._asdict().items() if name != "mark"},
        **tallies.step({name: states[name] for name in tallies.start(1.0)}, moment, terms),
    }
    values = (target, after.position, equity, after.profit, after.costs)
    return following, dict(zip(RECORDED, values, strict=True))


def traced_terms(terms: Terms) -> Terms:
    """The terms as columns, but for those that leave no trace: costs of 0, a multiplier or contracts of 1."""
    without = Terms(1, 1.0, 0.0, 0.0, 0.0, 0.0)
    pairs = zip(terms, without, Terms._fields, strict=True)
    return Terms(*(value if value == absent else col(f"terms {name}") for value, absent, name in pairs))


def settings_columns(conditions: Conditions) -> dict[str, float]:
    """What each settings column holds at every bar."""
    return {CAPITAL: conditions.capital, **{f"terms {k}": float(v) for k, v in conditions.terms._asdict().items()}}


def is_setting(column: str) -> bool:
    """Whether a column is one of ``settings_columns``."""
    return column == CAPITAL or column.startswith("terms ")


def _bar(conditions: Conditions) -> BarInputs:
    rolled = Value("col", (), BOOL, ROLLED) if conditions.rolls else False
    executable = logical_not(Value("col", (), BOOL, MASKED)) if conditions.masks else True
    return BarInputs(col(OPEN), col(CLOSE), col(OLD_PRICE), rolled, executable)


def _desired(strategy: Strategy, target: Number, terms: Terms) -> Number:
    known = constants(strategy.target)
    contracts = traced_terms(terms).contracts
    if known is None or not all((value * terms.contracts).is_integer() for value in known):
        return whole_contracts(target, contracts)
    return target if terms.contracts == 1 else target * contracts
