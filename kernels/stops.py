"""Stop loss and take profit in percent of the entry, and when a strategy may enter again after one.

The order of events is the honest one: the open comes first, so a gap through the stop fills at the open; where one bar
touches both levels the stop is taken first, for the order inside a bar is unknowable; a target is a resting order and
fills at its level, never better. A position opened at an open can be stopped in that bar, one opened at a close cannot.
"""

from typing import NamedTuple

from kernels.fills import Fill
from kernels.values import (
    Number,
    Truth,
    Value,
    absolute,
    isnan,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    where,
)

NAN = float("nan")


class Distances(NamedTuple):
    """Fractions of the entry price; a plain NaN is a stop or a target that the strategy does not have."""

    stop: Number
    goal: Number


class Levels(NamedTuple):
    """Prices of stop and target of the open position; NaN arms nothing."""

    stop: Number
    goal: Number


def distance(fraction: Number | None) -> Number:
    """The fraction where it is above 0, else NaN: a distance of zero, below, or NaN arms nothing."""
    return NAN if fraction is None else where(fraction > 0.0, fraction, NAN)


def levels_after(levels: Levels, fill: Fill, distances: Distances) -> Levels:
    """The levels after a fill: new where a round trip begins, measured from the fill's price; moved with a roll by
    the difference between the contracts; otherwise as they were.
    """
    return Levels(
        stop=_level(levels.stop, fill, distances.stop, -1.0),
        goal=_level(levels.goal, fill, distances.goal, 1.0),
    )


def _level(level: Number, fill: Fill, fraction: Number, side: float) -> Number:
    if isinstance(fraction, float) and fraction != fraction:
        return level
    price, rolled = fill.bar.open, logical_and(fill.bar.executable, fill.bar.rolled)
    away = absolute(price) * fraction * side
    kept = where(rolled, level + (price - fill.bar.old_price), level)
    return where(fill.opens, where(fill.desired > 0.0, price + away, price - away), kept)


def touched(
    position: Number, levels: Levels, opened: Number, high: Number, low: Number, executable: Truth
) -> tuple[Truth, Number]:
    """(whether the bar ends the position, the price at which) for a position held from the bar's open on.

    NaN rule: a NaN level, high or low touches nothing.
    """
    long, short = position > 0.0, position < 0.0
    hits: Truth = False
    price: Number = opened
    if not _absent(levels.goal):
        hits, price = (long & (high >= levels.goal)) | (short & (low <= levels.goal)), levels.goal
    if not _absent(levels.stop):
        stopped = (long & (low <= levels.stop)) | (short & (high >= levels.stop))
        worse = where(long, minimum(opened, levels.stop), maximum(opened, levels.stop))
        hits, price = logical_or(stopped, hits), where(stopped, worse, price)
    return logical_and(executable, hits), price


def _absent(level: Number) -> bool:
    """Whether the level is a plain number or a constant NaN: no lane arms it."""
    if isinstance(level, Value):
        return level.op == "constant"
    return isinstance(level, float) and level != level


class Block(NamedTuple):
    """After a stop: ``target`` is the one in force then (NaN: free to enter), ``held`` 1 once a hold was seen since."""

    target: Number
    held: Number


def after_decision(block: Block, target: Number, given: Truth) -> Block:
    """The block after a decision: free where the target differs from the stop's, or is given after a hold.

    ``given``: whether the strategy gave the target at this bar rather than held the one before.
    """
    free = target != block.target  # true of NaN
    if isinstance(given, bool):
        return Block(where(free, NAN, block.target), block.held)
    free = free | (given & (block.held > 0.0))
    held = where(free, 0.0, where(given, block.held, 1.0))
    return Block(where(free, NAN, block.target), held)


def after_stop(block: Block, hit: Truth, target: Number, given: Truth) -> Block:
    """The block after a bar in which the position may have been stopped under that target."""
    held = block.held if isinstance(given, bool) else where(hit, 0.0, block.held)
    return Block(where(hit, target, block.target), held)


def allowed(block: Block, target: Number) -> Number:
    """The target while free, flat while blocked."""
    return where(isnan(block.target), target, 0.0)


def given(target: Value, held: str) -> Truth:
    """Whether the target is given at a bar: neither NaN nor, by its choices, the state ``held`` handed on.

    A plain True for a target that can do neither.
    """
    if target.op == "select":
        condition, chosen, otherwise = target.operands
        a, b = given(chosen, held), given(otherwise, held)
        if isinstance(a, bool) and a is b:
            return a
        return logical_or(logical_and(condition, a), logical_and(logical_not(condition), b))
    if target.op == "state" and target.detail == held:
        return False
    if target.op == "constant":
        return bool(target.detail == target.detail)
    return logical_not(isnan(target))


