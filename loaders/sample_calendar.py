"""Sessions and minutes of the sample data set: the E-mini S&P 500 hours of 2024, in UTC nanoseconds.

Nearly nine months that hold both changes of the clocks in Chicago (2024-03-10 and 2024-11-03), a holiday and five
half days.
"""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

MINUTE_NS = 60_000_000_000
EXCHANGE_ZONE = ZoneInfo("America/Chicago")
UTC = ZoneInfo("UTC")
FIRST_TRADE_DATE = date(2024, 2, 26)
LAST_TRADE_DATE = date(2024, 11, 15)
OPENS_AT = time(17, 0)
CLOSES_AT = time(16, 0)
HOLIDAYS = frozenset({date(2024, 3, 29)})
EARLY_CLOSES = {
    date(2024, 5, 27): time(12, 0),
    date(2024, 6, 19): time(12, 0),
    date(2024, 7, 3): time(12, 15),
    date(2024, 7, 4): time(12, 0),
    date(2024, 9, 2): time(12, 0),
}


@dataclass(frozen=True)
class Session:
    """One trade date: bars start at `opens` (inclusive) and end before `closes`, UTC nanoseconds."""

    trade_date: date
    opens: int
    closes: int
    half_day: bool


@dataclass(frozen=True)
class MinuteGrid:
    """Every minute the market is open, in time order; arrays of one length.

    `ts` is the start of the minute (UTC ns), `session` the index of its session, `since_open` minutes since its open.
    """

    sessions: tuple[Session, ...]
    ts: NDArray[np.int64]
    session: NDArray[np.int64]
    since_open: NDArray[np.int64]


def exchange_ns(day: date, clock: time) -> int:
    """UTC nanoseconds of a wall-clock time in Chicago."""
    moment = datetime.combine(day, clock, EXCHANGE_ZONE).astimezone(UTC)
    return int(moment.timestamp()) * 1_000_000_000


def utc_midnight_ns(day: date) -> int:
    """UTC nanoseconds of the start of a UTC date."""
    return (day - date(1970, 1, 1)).days * 86_400_000_000_000


def trade_dates() -> list[date]:
    """All trade dates of the full data set, in order: weekdays that are no holiday."""
    days = (LAST_TRADE_DATE - FIRST_TRADE_DATE).days + 1
    every = (FIRST_TRADE_DATE + timedelta(days=offset) for offset in range(days))
    return [day for day in every if day.weekday() < 5 and day not in HOLIDAYS]


def trade_date_number(day: date) -> int:
    """A trade date as yyyymmdd."""
    return day.year * 10_000 + day.month * 100 + day.day


def first_sessions(count: int) -> tuple[Session, ...]:
    """The first `count` sessions; each opens at 17:00 Chicago of the calendar day before its trade date."""
    return tuple(
        Session(
            trade_date=day,
            opens=exchange_ns(day - timedelta(days=1), OPENS_AT),
            closes=exchange_ns(day, EARLY_CLOSES.get(day, CLOSES_AT)),
            half_day=day in EARLY_CLOSES,
        )
        for day in trade_dates()[:count]
    )


def minute_grid(sessions: tuple[Session, ...]) -> MinuteGrid:
    """All open minutes of the sessions."""
    lengths = np.array([(one.closes - one.opens) // MINUTE_NS for one in sessions], dtype=np.int64)
    session = np.repeat(np.arange(len(sessions), dtype=np.int64), lengths)
    starts = np.cumsum(lengths) - lengths
    since_open = np.arange(int(lengths.sum()), dtype=np.int64) - starts[session]
    opens = np.array([one.opens for one in sessions], dtype=np.int64)
    return MinuteGrid(sessions, opens[session] + since_open * MINUTE_NS, session, since_open)
