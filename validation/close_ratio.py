"""Layer 1, bar after bar: a close is judged by the last accepted close of its contract, never by a later one."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation.bar_rules import BarRules


class Verdict(IntEnum):
    """What becomes of a close."""

    ACCEPTED = 0
    REJECTED = 1
    NEW_LEVEL = 2


class CloseCarry(NamedTuple):
    """What the rule remembers between two bars of a contract.

    reference: the last accepted close, NaN before the first.
    low, high, rejects: range and number of the rejected closes since then that agree with each other.
    """

    reference: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    rejects: int = 0


def judge_closes(
    closes: NDArray[np.float64], rules: BarRules, carry: CloseCarry
) -> tuple[NDArray[np.int8], NDArray[np.float64], CloseCarry]:
    """Judge the closes of one contract in time order.

    Where either close is at or below zero a ratio says nothing, and the bar is accepted: only instruments that allow
    such prices get here with them. With a `ratio_floor` closes below it are judged as if they stood on it (crude oil from
    1 to 0.3 to -2 is then no move at all, from 60 to -2 still one).

    Returns:
        verdict int8 [n] (see Verdict); limit float64 [n], the bound a rejected close breaks, the left reference of a
        new level, else NaN; the carry after the last close.
    """
    rows = len(closes)
    if rules.ratio_floor:
        closes = np.maximum(closes, rules.ratio_floor)
    verdict, limit = np.zeros(rows, np.int8), np.full(rows, np.nan)
    suspects = _suspects(closes, rules)
    at, state = 0, carry
    while at < rows:
        if not state.rejects and at:
            # Everything up to the next suspect follows an accepted neighbour and is accepted too.
            ahead = int(np.searchsorted(suspects, at))
            at = int(suspects[ahead]) if ahead < len(suspects) else rows
            state = CloseCarry(float(closes[at - 1]))
            if at == rows:
                break
        verdict[at], limit[at], state = _next(float(closes[at]), rules, state)
        at += 1
    return verdict, limit, state


def _next(close: float, rules: BarRules, state: CloseCarry) -> tuple[Verdict, float, CloseCarry]:
    bound = _broken_bound(close, state.reference, rules)
    if bound is None:
        return Verdict.ACCEPTED, float("nan"), CloseCarry(close)
    agrees = state.rejects > 0 and all(_broken_bound(close, end, rules) is None for end in (state.low, state.high))
    if not agrees:
        return Verdict.REJECTED, bound, CloseCarry(state.reference, close, close, 1)
    if state.rejects >= rules.accept_after:
        return Verdict.NEW_LEVEL, state.reference, CloseCarry(close)
    pending = CloseCarry(state.reference, min(state.low, close), max(state.high, close), state.rejects + 1)
    return Verdict.REJECTED, bound, pending


def _broken_bound(close: float, reference: float, rules: BarRules) -> float | None:
    if close <= 0 or not reference > 0:
        return None
    if close < reference * rules.min_ratio:
        return reference * rules.min_ratio
    return reference * rules.max_ratio if close > reference * rules.max_ratio else None


def _suspects(closes: NDArray[np.float64], rules: BarRules) -> NDArray[np.int64]:
    """Positions whose close breaks a bound around its direct predecessor."""
    before, after = closes[:-1], closes[1:]
    broken = (after < before * rules.min_ratio) | (after > before * rules.max_ratio)
    return np.flatnonzero(broken & (before > 0) & (after > 0)) + 1
