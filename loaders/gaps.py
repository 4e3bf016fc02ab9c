"""Why minutes have no bar: the market was closed, nobody traded, or data is missing.

A minute without a trade has no record, so gaps are normal. What tells a quiet stretch from a lost one is how rarely the
contract has no bar at such times: loaders.gaps_evidence.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.gaps_evidence import MINUTE, Stretches, lost_stretches
from loaders.sessions_calendar import OPEN, STATES, TradingCalendar
from loaders.types import TIMESTAMP, nanoseconds, utc

NO_TRADE, MISSING = "no_trade", "missing"
REASONS = (*STATES[1:], NO_TRADE, MISSING)
GAP_COLUMNS = {"start": TIMESTAMP, "end": TIMESTAMP, "minutes": "int64", "reason": "str", "contract": "str"}
_OPEN = STATES.index(OPEN)


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


def explain_gaps(bars: pd.DataFrame, calendar: TradingCalendar, bar_minutes: int = 1) -> pd.DataFrame:
    """Every minute between the first and the last bar of each contract of ``bars`` in which it has no bar.

    A row a gap (GAP_COLUMNS; ``end`` exclusive), sorted by contract and start. Each minute has exactly one reason: what the
    calendar says where it is closed (closed, holiday, half_day, maintenance); else 'missing' where the data itself shows a
    loss (loaders.gaps_evidence.lost_stretches), or 'no_trade'. What lies between two bars is judged whole.

    Args:
        bars: ts_event, contract, and expiry where symbols may repeat; in any order; seconds count as their minute.
        calendar: covers all of them (loaders.sessions_calendar.trading_calendar).
        bar_minutes: minutes that a bar covers, 60 for ohlcv-1h.
    """
    key = "expiry" if "expiry" in bars.columns else "contract"  # a one-digit year comes again after a decade
    pieces = [gap_table(Gaps(*np.empty((3, 0), dtype=np.int64)), np.empty(0, dtype="U1"))]
    for _, rows in bars.groupby(key, sort=True):
        gaps = find_gaps(covered_minutes(rows, bar_minutes), calendar, bar_minutes)
        pieces.append(gap_table(gaps, np.full(len(gaps.start), rows["contract"].iloc[0])))
    return pd.concat(pieces, ignore_index=True)


def covered_minutes(bars: pd.DataFrame, bar_minutes: int) -> NDArray[np.int64]:
    """The minutes (since 1970, int64, rising) that ``bars`` of ``bar_minutes`` each cover."""
    first = np.unique(nanoseconds(bars["ts_event"]) // MINUTE)
    return np.unique(first[:, None] + np.arange(bar_minutes)) if bar_minutes > 1 else first


def find_gaps(present: NDArray[np.int64], calendar: TradingCalendar, bar_minutes: int = 1) -> Gaps:
    """Gaps between the minutes ``present``, rising, that bars of ``bar_minutes`` cover."""
    _require_covered(present, calendar)
    before = np.flatnonzero(np.diff(present) > 1)
    between = Stretches(present[before] + 1, present[before + 1])
    number, start, end = _split(between.first, between.after, calendar)
    state = calendar.states[calendar.at(start * MINUTE)]
    lost = lost_stretches(present, between, calendar, bar_minutes)[number]
    in_hours = np.where(lost, REASONS.index(MISSING), REASONS.index(NO_TRADE))
    return Gaps(start, end, np.where(state == _OPEN, in_hours, state - 1))  # REASONS begins with the closed states


def gap_table(gaps: Gaps, contracts: NDArray[np.str_]) -> pd.DataFrame:
    """GAP_COLUMNS of ``gaps``, each of the contract at its place."""
    return pd.DataFrame({
        "start": utc(gaps.start * MINUTE), "end": utc(gaps.end * MINUTE), "minutes": gaps.minutes,
        "reason": pd.Series(pd.array(REASONS, dtype="str").take(gaps.reason)),
        "contract": pd.Series(contracts, dtype="str"),
    })  # fmt: skip


def _require_covered(present: NDArray[np.int64], calendar: TradingCalendar) -> None:
    if not len(present) or len(calendar.starts) == 1:  # always open
        return
    first, last = int(calendar.starts[0]), int(calendar.starts[-1])
    if present[0] * MINUTE < first or present[-1] * MINUTE > last:
        ends = [pd.Timestamp(moment, tz="UTC").isoformat() for moment in (first, last, *(present[[0, -1]] * MINUTE).tolist())]
        raise ValueError(f"the calendar covers {ends[0]} to {ends[1]}, the bars {ends[2]} to {ends[3]}: make it by "
                         "trading_calendar(rule, first, last) of the bars' first and last time")


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
