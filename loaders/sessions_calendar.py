"""When an exchange group trades: open stretches and, between them, why it is closed, to the minute.

Holidays and half days come from pandas_market_calendars. Its hours are corrected here by what the exchange announced
and real minutes show: until 2015-09-18 the day ended at 16:15 Chicago (a break of 45 minutes; 60 since), equity
indices closed at 12:15, not 12:00, on days before or after a holiday, and they traded on a Good Friday only when the jobs
report fell on it. Hours before 2012-11-19 are not known to the tables. A calendar explains gaps; no trade is
ever dropped for being outside of it.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.sessions import (
    ALWAYS_OPEN,
    CLOSED_ALL_DAY,
    SessionRule,
    clock_minutes,
    day_numbers,
    session_starts,
    wall_clock,
)
from loaders.types import NS_PER_DAY

OPEN, CLOSED, HOLIDAY, HALF_DAY, MAINTENANCE = "open", "closed", "holiday", "half_day", "maintenance"
STATES = (OPEN, CLOSED, HOLIDAY, HALF_DAY, MAINTENANCE)
_MARGIN_DAYS = 7  # past both ends, so that every moment asked for lies between two known edges
_NO_TIME = -1
_FRIDAY = 4
_CHICAGO = ("America/Chicago", "US/Central")  # the clock that the hours of all groups are written on
_BUSINESS_DAYS = "CME_TradeDate"  # of all groups below: the library's calendar of the days that expiries are counted in


@dataclass(frozen=True)
class Hours:
    """Regular hours from trade date ``since`` (yyyymmdd) on: the close and the halt within the day, HH:MM or ''."""

    since: int
    closes: str
    halt_from: str = ""
    halt_until: str = ""


@dataclass(frozen=True)
class Group:
    """An exchange group: its calendar in the library, its hours over time, and corrections of the library's closes.

    ``beside_holidays``: close on the days before and after a holiday, '' to believe the library. ``good_friday``: the
    library's close on a Good Friday that is right only in years in which it is the first Friday of its month.
    """

    exchange: str
    hours: tuple[Hours, ...]
    beside_holidays: str = ""
    good_friday: str = ""


GROUPS = {
    "cme_equity": Group("CME_Equity", (
        Hours(0, "16:15", "15:15", "15:30"), Hours(20150921, "16:00", "15:15", "15:30"), Hours(20210628, "16:00"),
    ), beside_holidays="12:15", good_friday="08:15"),
    "cme_rates": Group("CME_Bond", (Hours(0, "16:00"),)),
    "nymex_energy": Group("CMEGlobex_EnergyAndMetals", (Hours(0, "16:15"), Hours(20150921, "16:00"))),
    "comex_metals": Group("CMEGlobex_EnergyAndMetals", (Hours(0, "16:15"), Hours(20150921, "16:00"))),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class TradingCalendar:
    """Time cut into stretches: number i begins at ``starts[i]`` (int64 ns UTC) and is ``states[i]`` (place in STATES).

    ``timezone``: where the exchange's clock hangs.
    """

    starts: NDArray[np.int64]
    states: NDArray[np.int64]
    timezone: str

    def at(self, ts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number of the stretch (int64 [n]) that each of ``ts`` (int64 ns UTC) lies in."""
        return np.searchsorted(self.starts, ts, side="right") - 1

    def is_open(self, ts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the exchange trades at each of ``ts``, bool [n]."""
        return np.asarray(self.states[self.at(ts)] == STATES.index(OPEN))


def trading_calendar(rule: SessionRule, first: int, last: int) -> TradingCalendar:
    """Calendar of ``rule`` that covers ``first`` to ``last`` (ns UTC, both included).

    Raises ValueError as ``require_own_clock``.
    """
    require_own_clock(rule)
    if rule.calendar == ALWAYS_OPEN:
        return TradingCalendar(np.array([np.iinfo(np.int64).min]), np.array([STATES.index(OPEN)]), rule.timezone)
    days = np.arange(first // NS_PER_DAY - _MARGIN_DAYS, last // NS_PER_DAY + _MARGIN_DAYS + 1)
    days = days[(days + 3) % 7 <= _FRIDAY]
    closes, halts = _regular_hours(days, GROUPS[rule.calendar])
    early = _early_closes(days, rule)
    edges = [
        (session_starts(days, rule), np.where(early == 0, STATES.index(HOLIDAY), STATES.index(OPEN))),
        (wall_clock(days, closes, rule.timezone),
         np.where((days + 3) % 7 == _FRIDAY, STATES.index(CLOSED), STATES.index(MAINTENANCE))),
    ]
    half = (early > 0) & (early < closes)
    edges.append((wall_clock(days[half], early[half], rule.timezone), np.full(int(half.sum()), STATES.index(HALF_DAY))))
    halted = (halts[:, 0] != _NO_TIME) & ((early == _NO_TIME) | (early >= halts[:, 1]))
    for column, state in ((0, MAINTENANCE), (1, OPEN)):
        moments = wall_clock(days[halted], halts[halted, column], rule.timezone)
        edges.append((moments, np.full(len(moments), STATES.index(state))))
    starts = np.concatenate([moments for moments, _ in edges])
    order = np.argsort(starts, kind="stable")
    return TradingCalendar(starts[order], np.concatenate([states for _, states in edges])[order], rule.timezone)


def require_own_clock(rule: SessionRule) -> None:
    """Raise ValueError where the hours of ``rule``'s calendar would be read off another city's clock."""
    if rule.calendar != ALWAYS_OPEN and rule.timezone not in _CHICAGO:
        raise ValueError(f"session.timezone is {rule.timezone}, but the hours of session.calendar {rule.calendar} are "
                         "Chicago's; use America/Chicago, or calendar always")


def holidays(rule: SessionRule) -> NDArray[np.datetime64]:
    """Days, datetime64[D] and sorted, on which contracts of the exchange of ``rule`` neither expire nor are delivered.

    That is more than the days without trading: on Thanksgiving Globex is open until noon, and it is no business day. An
    exception of ``rule`` adds a day that is 'closed'; 'always' has no other holidays.
    """
    import pandas_market_calendars as calendars  # 0.2 s

    closed = [np.datetime64(date, "D") for date, close in rule.exceptions.items() if close == CLOSED_ALL_DAY]
    known = [] if rule.calendar == ALWAYS_OPEN else calendars.get_calendar(_BUSINESS_DAYS).holidays().holidays
    return np.unique(np.array([*known, *closed], dtype="datetime64[D]"))


def _regular_hours(days: NDArray[np.int64], group: Group) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Minute of the regular close, int64 [n], and of the halt's start and end, int64 [n, 2] (_NO_TIME without one)."""
    since = day_numbers(np.array([max(hours.since, 19700101) for hours in group.hours], dtype=np.int32))
    row = np.searchsorted(since, days, side="right") - 1
    closes = np.array([clock_minutes(hours.closes) for hours in group.hours])
    halts = np.array([
        [clock_minutes(edge) if edge else _NO_TIME for edge in (hours.halt_from, hours.halt_until)]
        for hours in group.hours
    ])
    return closes[row], halts[row]


def _early_closes(days: NDArray[np.int64], rule: SessionRule) -> NDArray[np.int64]:
    """Minute at which each trade date closes early, int64 [n]: 0 for a holiday, _NO_TIME for a regular day."""
    import pandas_market_calendars as calendars  # 0.2 s

    group = GROUPS[rule.calendar]
    calendar = calendars.get_calendar(group.exchange)
    first, last = (pd.Timestamp(int(day), unit="D") for day in (days[0], days[-1]))
    schedule = calendar.schedule(first, last)
    early = np.where(np.isin(days, _days(schedule.index)), _NO_TIME, 0)
    special = calendar.early_closes(schedule)
    local = special["market_close"].dt.tz_convert(rule.timezone)
    minutes = (local.dt.hour * 60 + local.dt.minute).to_numpy(np.int64)
    at = np.searchsorted(days, _days(special.index))
    early[at] = _corrected(days[at], minutes, group)
    for date, close in rule.exceptions.items():
        day = int(np.datetime64(date, "D").astype(np.int64))
        early[days == day] = 0 if close == CLOSED_ALL_DAY else clock_minutes(close)
    return early


def _days(index: pd.DatetimeIndex) -> NDArray[np.int64]:
    days: NDArray[np.int64] = index.as_unit("ns").asi8 // NS_PER_DAY
    return days


def _corrected(days: NDArray[np.int64], minutes: NDArray[np.int64], group: Group) -> NDArray[np.int64]:
    """The library's early closes with those of the group's own where it is known to be wrong."""
    dates = days.astype("datetime64[D]")
    month = dates.astype("datetime64[M]").astype(np.int64) % 12 + 1
    day = (dates - dates.astype("datetime64[M]")).astype(np.int64) + 1
    friday = (days + 3) % 7 == _FRIDAY
    fixed = minutes.copy()
    if group.beside_holidays:
        # On a Friday, July 3 is itself the holiday, observed for a Saturday.
        beside = (month == 11) & friday | (month == 12) & (day == 24) | (month == 7) & (day == 3) & ~friday
        fixed[beside] = clock_minutes(group.beside_holidays)
    if group.good_friday:
        good_friday = friday & (minutes == clock_minutes(group.good_friday))
        fixed[good_friday & (day > 7)] = 0
    return fixed
