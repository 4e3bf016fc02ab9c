"""Node: the gaps of the followed series, explained, and how much of each session's open time has bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.gaps import MISSING, NO_TRADE, REASONS, Gaps, covered_minutes, find_gaps, gap_table
from loaders.gaps_evidence import MINUTE
from loaders.layouts import BAR_SECONDS
from loaders.roll import FOLLOWED, RolledBars
from loaders.sessions import SessionRule, trade_dates
from loaders.sessions_calendar import TradingCalendar, trading_calendar
from loaders.types import nanoseconds


@dataclass(frozen=True)
class GapReport:
    """``gaps``: loaders.gaps.GAP_COLUMNS; ``coverage``: a row a session (see gap_report); ``report``: minutes by reason."""

    gaps: pd.DataFrame
    coverage: pd.DataFrame
    report: dict[str, Any]


def gap_report(reports: Sequence[dict[str, Any]], rolled: RolledBars, session: SessionRule) -> GapReport:
    """Gaps of the followed series, from its first bar to its last.

    Bars that layer 1 rejects count as there: they are in the data. ``coverage`` has session, contract ('' in a session
    without a bar) and in minutes: ``open`` (by the calendar, between the first and the last bar), ``bars`` (with a
    bar), ``no_trade``, ``missing``, ``outside`` (with a bar though the calendar is closed), where
    ``open == bars − outside + no_trade + missing``. ``reports`` are those of the files.
    """
    minutes = max(-(-BAR_SECONDS[report["schema"]] // 60) for report in reports)
    bars = rolled.bars[(rolled.bars["role"] == FOLLOWED).to_numpy()]
    ts = nanoseconds(bars["ts_event"])
    calendar = trading_calendar(session, int(ts.min()), int(ts.max()) + minutes * MINUTE)
    present = covered_minutes(bars, minutes)
    gaps = find_gaps(present, calendar, minutes)
    coverage = _coverage(present, gaps, calendar, session, bars)
    before = np.searchsorted(ts, gaps.start * MINUTE) - 1
    report = {
        "minutes": {reason: int(gaps.minutes[gaps.reason == at].sum()) for at, reason in enumerate(REASONS)},
        "bars": len(present), "outside": int(coverage["outside"].sum()), "sessions": len(coverage),
    }
    return GapReport(gap_table(gaps, bars["contract"].to_numpy()[before]), coverage, report)


def _coverage(
    present: NDArray[np.int64], gaps: Gaps, calendar: TradingCalendar, session: SessionRule, bars: pd.DataFrame
) -> pd.DataFrame:
    inside = calendar.is_open(present * MINUTE)
    counted = {"bars": present, "outside": present[~inside]}
    for reason in (NO_TRADE, MISSING):
        chosen = gaps.reason == REASONS.index(reason)
        counted[reason] = _each_minute(gaps.start[chosen], gaps.minutes[chosen])
    dates = {name: trade_dates(minutes * MINUTE, session) for name, minutes in counted.items()}
    sessions = np.unique(np.concatenate(list(dates.values())))
    table = {
        name: np.bincount(np.searchsorted(sessions, found), minlength=len(sessions)) for name, found in dates.items()
    }
    opened = table["bars"] - table["outside"] + table[NO_TRADE] + table[MISSING]
    firsts = bars.drop_duplicates("session").set_index("session")["contract"].reindex(sessions).fillna("")
    return pd.DataFrame({
        "session": sessions, "contract": pd.Series(firsts.to_numpy(), dtype="str"), "open": opened,
        **{name: table[name] for name in ("bars", NO_TRADE, MISSING, "outside")},
    })


def _each_minute(start: NDArray[np.int64], minutes: NDArray[np.int64]) -> NDArray[np.int64]:
    within = np.arange(int(minutes.sum())) - np.repeat(np.cumsum(minutes) - minutes, minutes)
    return np.repeat(start, minutes) + within
