"""Why minutes have no bar: the market was closed, nobody traded, or data is missing.

A minute without a trade has no record, so gaps are normal, and only what else is known can tell a quiet minute from a
lost one: how steadily the contract trades on both sides of the gap, and whether contracts that trade less did trade in it.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.sessions_calendar import OPEN, STATES, TradingCalendar
from loaders.types import TIMESTAMP, nanoseconds, utc

MINUTE = 60_000_000_000
NO_TRADE, MISSING = "no_trade", "missing"
REASONS = (*STATES[1:], NO_TRADE, MISSING)
GAP_COLUMNS = {"start": TIMESTAMP, "end": TIMESTAMP, "minutes": "int64", "reason": "str", "contract": "str"}
_OPEN = STATES.index(OPEN)


@dataclass(frozen=True)
class Evidence:
    """A contract with bars in ``share`` of the ``neighbours`` open minutes on either side is not silent for ``silent``;
    nor, where it heeds witnesses, while a contract that trades less trades.
    """

    neighbours: int
    share: float
    silent: int
    heeds_witnesses: bool


STEADY = Evidence(neighbours=30, share=0.9, silent=3, heeds_witnesses=False)
ACTIVE = Evidence(neighbours=300, share=0.5, silent=60, heeds_witnesses=True)


@dataclass(frozen=True, eq=False)
class Gaps:
    """Gaps [G] in time order: first minute and the minute after the last (since 1970), and the place in REASONS."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    reason: NDArray[np.int64]

    @property
    def minutes(self) -> NDArray[np.int64]:
        """Length of each gap, int64 [G]."""
        return self.end - self.start


def explain_gaps(
    bars: pd.DataFrame, calendar: TradingCalendar, others: pd.DataFrame | None = None, bar_minutes: int = 1
) -> pd.DataFrame:
    """Every minute between the first and the last bar of each contract of ``bars`` in which it has no bar.

    A row a gap (GAP_COLUMNS; ``end`` exclusive), sorted by contract and start. Each minute has exactly one reason: what the
    calendar says where it is closed (closed, holiday, half_day, maintenance); else 'missing' where the data itself shows a
    loss, or 'no_trade'. What lies between two bars is judged whole, by how the contract trades on both sides of it.
    Missing are 3 open minutes or more where it has bars in 90 % of the 30 open minutes before and after (STEADY); and where
    it has bars in half of the 300 before and after, 60 minutes or more, or any gap in which a contract of ``others``
    (default: ``bars``) with less volume has a bar (ACTIVE). Nearer than 30 open minutes to an end of the data nothing is
    called missing.

    Args:
        bars: ts_event, contract, volume, and expiry where symbols may repeat; in any order; seconds count as their minute.
        calendar: covers all of them (loaders.sessions_calendar.trading_calendar).
        others: the same columns of all contracts of the root.
        bar_minutes: minutes that a bar covers, 60 for ohlcv-1h.
    """
    rest = bars if others is None else others
    key = "expiry" if "expiry" in bars.columns else "contract"  # a one-digit year comes again after a decade
    volumes = rest.groupby(key)["volume"].sum()
    volume_of_row = rest[key].map(volumes).to_numpy()
    pieces = [gap_table(Gaps(*np.empty((3, 0), dtype=np.int64)), np.empty(0, dtype="U1"))]
    for contract, rows in bars.groupby(key, sort=True):
        quieter = rest[volume_of_row < volumes.get(contract, 0)]
        gaps = find_gaps(covered_minutes(rows, bar_minutes), covered_minutes(quieter, bar_minutes), calendar)
        pieces.append(gap_table(gaps, np.full(len(gaps.start), rows["contract"].iloc[0])))
    return pd.concat(pieces, ignore_index=True)


def covered_minutes(bars: pd.DataFrame, bar_minutes: int) -> NDArray[np.int64]:
    """The minutes (since 1970, int64, rising) that ``bars`` of ``bar_minutes`` each cover."""
    first = np.unique(nanoseconds(bars["ts_event"]) // MINUTE)
    return np.unique(first[:, None] + np.arange(bar_minutes)) if bar_minutes > 1 else first


def find_gaps(present: NDArray[np.int64], witnesses: NDArray[np.int64], calendar: TradingCalendar) -> Gaps:
    """Gaps between the minutes ``present``, rising; ``witnesses``: minutes in which a contract that trades less did."""
    before = np.flatnonzero(np.diff(present) > 1)
    first, after = present[before] + 1, present[before + 1]
    number, start, end = _split(first, after, calendar)
    state = calendar.states[calendar.at(start * MINUTE)]
    witnessed = np.searchsorted(witnesses, after) > np.searchsorted(witnesses, first)
    lost = _lost(present, first, after, witnessed, calendar)[number]
    in_hours = np.where(lost, REASONS.index(MISSING), REASONS.index(NO_TRADE))
    return Gaps(start, end, np.where(state == _OPEN, in_hours, state - 1))  # REASONS begins with the closed states


def gap_table(gaps: Gaps, contracts: NDArray[np.str_]) -> pd.DataFrame:
    """GAP_COLUMNS of ``gaps``, each of the contract at its place."""
    return pd.DataFrame({
        "start": utc(gaps.start * MINUTE), "end": utc(gaps.end * MINUTE), "minutes": gaps.minutes,
        "reason": pd.Series(pd.array(REASONS, dtype="str").take(gaps.reason)),
        "contract": pd.Series(contracts, dtype="str"),
    })  # fmt: skip


def _split(
    first: NDArray[np.int64], after: NDArray[np.int64], calendar: TradingCalendar
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Cut stretches of minutes at the calendar's edges: the stretch, the start and the end of each piece."""
    edges = calendar.starts // MINUTE
    begin, finish = np.searchsorted(edges, first, side="right"), np.searchsorted(edges, after, side="left")
    pieces = finish - begin + 1
    number = np.repeat(np.arange(len(first)), pieces)
    within = np.arange(len(number)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    cut = begin[number] + within
    start = np.where(within == 0, first[number], edges[np.minimum(cut - 1, len(edges) - 1)])
    end = np.where(within == pieces[number] - 1, after[number], edges[np.minimum(cut, len(edges) - 1)])
    return number, start, end


def _lost(
    present: NDArray[np.int64], first: NDArray[np.int64], after: NDArray[np.int64], witnessed: NDArray[np.bool_],
    calendar: TradingCalendar,
) -> NDArray[np.bool_]:  # fmt: skip
    """Whether data is missing from each gap, bool [G]: by how the contract trades on both sides of it, and witnesses."""
    if not len(first):
        return np.zeros(0, dtype=np.bool_)
    clock = _OpenClock(calendar, int(present[0]), int(present[-1]) + 1)
    bars = np.unique(clock.minutes(present[calendar.is_open(present * MINUTE)]))
    low, high, last = clock.minutes(first), clock.minutes(after), clock.minutes(present[-1:] + 1)
    lost = np.zeros(len(first), dtype=np.bool_)
    for rule in (STEADY, ACTIVE):
        before, beyond = np.maximum(low - rule.neighbours, 0), np.minimum(high + rule.neighbours, last)
        bars_before = np.searchsorted(bars, low) - np.searchsorted(bars, before)
        bars_after = np.searchsorted(bars, beyond) - np.searchsorted(bars, high)
        known = np.minimum(low - before, beyond - high) >= STEADY.neighbours
        trades = (bars_before >= rule.share * (low - before)) & (bars_after >= rule.share * (beyond - high))
        lost |= known & trades & ((high - low >= rule.silent) | (witnessed if rule.heeds_witnesses else False))
    return lost


class _OpenClock:
    """Counts open minutes only, from the first minute of the data on."""

    def __init__(self, calendar: TradingCalendar, first: int, end: int) -> None:
        self._edges = np.clip(calendar.starts // MINUTE, first, end)
        self._open = calendar.states == _OPEN
        lengths = np.where(self._open, np.diff(self._edges, append=end), 0)
        self._before = np.cumsum(lengths) - lengths

    def minutes(self, moment: NDArray[np.int64]) -> NDArray[np.int64]:
        """Open minutes before each of ``moment`` (minutes since 1970)."""
        at = np.searchsorted(self._edges, moment, side="right") - 1
        return np.asarray(self._before[at] + np.where(self._open[at], moment - self._edges[at], 0))
