"""Stop loss and take profit in percent of the entry, and when a strategy may enter again after one.

The order of events is the honest one: the open comes first, so a gap through the stop fills at the open; where one bar
touches both levels the stop is taken first, for the order inside a bar is unknowable; a target is a resting order and
fills at its level, never better. A position opened at an open can be stopped in that bar, one opened at a close cannot.
Levels of an instrument are prices that it trades at: the worse tick for the trader.
"""

from typing import NamedTuple

from kernels.fills import Fill
from kernels.portfolio import Terms
from kernels.values import (
    ROUNDING,
    Number,
    Truth,
    Value,
    absolute,
    floor,
    isnan,
    known,
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


def levels_after(levels: Levels, fill: Fill, distances: Distances, terms: Terms) -> Levels:
    """The levels after a fill: new where a round trip begins, measured from the fill's price; moved with a roll by
    the difference between the contracts; otherwise as they were.
    """
    return Levels(
        stop=_level(levels.stop, fill, distances.stop, -1.0, terms),
        goal=_level(levels.goal, fill, distances.goal, 1.0, terms),
    )


def _level(level: Number, fill: Fill, fraction: Number, side: float, terms: Terms) -> Number:
    if isinstance(fraction, float) and fraction != fraction:
        return level
    price, rolled, long = fill.bar.open, logical_and(fill.bar.executable, fill.bar.rolled), fill.desired > 0.0
    moved = level + (price - fill.bar.old_price)
    if known(terms.tick, 0.0):
        away = absolute(price) * fraction * side
        return where(fill.opens, where(long, price + away, price - away), where(rolled, moved, level))
    ticks = price * (terms.tick_parts / terms.tick)
    opened = _worse_tick(ticks, absolute(ticks) * (fraction * side), long, terms)
    carried = _worse_tick(moved * (terms.tick_parts / terms.tick), 0.0, long, terms)
    return where(fill.opens, opened, where(rolled, carried, level))


def _worse_tick(ticks: Number, away: Number, long: Truth, terms: Terms) -> Number:
    """The price so many ticks ``away`` from ``ticks``, in favour of the position where above 0, at a whole tick: below it
    for a long, which sells there, above it for a short; what is whole but for rounding is whole.
    """
    slack = absolute(ticks) * ROUNDING
    counted = floor(where(long, ticks + slack, slack - ticks) + away)
    price = where(long, counted, -counted) * terms.tick
    return price if known(terms.tick_parts, 1.0) else price / terms.tick_parts


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
    """After a stop: ``target`` is the one in force then (NaN: free to enter).

    ``held``: 1 where the newest decision to arrive was a hold, or while blocked any since the one at the stop, that one
    included.
    """

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
    held = where(given, where(free, 0.0, block.held), 1.0)
    return Block(where(free, NAN, block.target), held)


def after_stop(block: Block, hit: Truth, target: Number) -> Block:
    """The block after a bar in which the position may have been stopped under that target."""
    return block._replace(target=where(hit, target, block.target))


def allowed(block: Block, target: Number) -> Number:
    """The target while free, flat while blocked."""
    return where(isnan(block.target), target, 0.0)


def given(target: Value, held: str) -> Truth:
    """Whether the target is given at a bar: neither NaN nor, by its choices, the state ``held`` handed on.

    A plain True for a target that can do neither.
    """
    return _given(target, held, {})


def _given(target: Value, held: str, found: dict[int, Truth]) -> Truth:
    """``given``, of a part that stands in several choices only once: such parts may be shared without end."""
    if id(target) not in found:
        found[id(target)] = _given_by(target, held, found)
    return found[id(target)]


def _given_by(target: Value, held: str, found: dict[int, Truth]) -> Truth:
    if target.op == "select":
        condition, chosen, otherwise = target.operands
        a, b = _given(chosen, held, found), _given(otherwise, held, found)
        if isinstance(a, bool) and a is b:
            return a
        return logical_or(logical_and(condition, a), logical_and(logical_not(condition), b))
    if target.op == "state" and target.detail == held:
        return False
    if target.op == "constant":
        return bool(target.detail == target.detail)
    return logical_not(isnan(target))
