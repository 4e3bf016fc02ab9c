"""Trade date and minute within the session, by the exchange's own clock, daylight saving included."""

import re
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.instruments import yyyymmdd
from loaders.types import NS_PER_DAY

ALWAYS_OPEN = "always"
CLOSED_ALL_DAY = "closed"
CALENDARS = ("cme_equity", "cme_rates", "nymex_energy", "comex_metals", ALWAYS_OPEN)
FILLS = ("none", "forward")
_NS_PER_MINUTE = 60_000_000_000
_MINUTES_PER_DAY = 1440
_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class SessionRule:
    """A trade date begins at ``turns_at`` (HH:MM in ``timezone``) of the day before; at 00:00 of the day itself.

    ``calendar`` says when the exchange trades (loaders.sessions_calendar; 'always': round the clock, weekends too).
    ``exceptions`` corrects it: a trade date YYYY-MM-DD → the time HH:MM it closes at, or 'closed'. ``fill`` is what the
    continuous series does with open minutes without a bar: 'none', or 'forward' (the close, marked, volume 0).
    """

    timezone: str = "America/Chicago"
    turns_at: str = "17:00"
    calendar: str = "cme_equity"
    exceptions: Mapping[str, str] = field(default_factory=dict)
    fill: str = "none"

    def __post_init__(self) -> None:
        try:
            zoneinfo.ZoneInfo(self.timezone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError(
                f"session.timezone {self.timezone!r} is not known; use a name like America/Chicago"
            ) from error
        if not _CLOCK.fullmatch(self.turns_at):
            raise ValueError(
                f"session.turns_at {self.turns_at!r} is not a time from 00:00 to 23:59; use one like 17:00"
            )
        if self.calendar not in CALENDARS:
            raise ValueError(f"session.calendar {self.calendar!r} is not known; known are {', '.join(CALENDARS)}")
        if self.fill not in FILLS:
            raise ValueError(f"session.fill {self.fill!r} is not known; known are {', '.join(FILLS)}")
        for date, close in self.exceptions.items():
            if not _DATE.fullmatch(date) or not (close == CLOSED_ALL_DAY or _CLOCK.fullmatch(close)):
                raise ValueError(f"session.exceptions {date!r}: {close!r} is not a trade date with its close; "
                                 "write \"2024-11-29\": \"12:15\" or \"2025-01-09\": \"closed\"")


def trade_dates(ts: NDArray[np.int64], rule: SessionRule) -> NDArray[np.int32]:
    """Trade date yyyymmdd (int32 [n]) of UTC nanoseconds ``ts`` (int64 [n]): the date the session ends on.

    Saturday and Sunday are no trade dates: what happens on them belongs to Monday, unless the market is always open.
    """
    days = _session_clock(ts, rule) // NS_PER_DAY
    if rule.calendar != ALWAYS_OPEN:
        weekday = (days + 3) % 7  # 1970-01-01 was a Thursday
        days = days + np.where(weekday >= 5, 7 - weekday, 0)
    return yyyymmdd(days)


def session_minutes(ts: NDArray[np.int64], rule: SessionRule) -> NDArray[np.int32]:
    """Whole minutes (int32 [n], 0..1439) on the session's wall clock since it began, of UTC nanoseconds ``ts``."""
    return (_session_clock(ts, rule) % NS_PER_DAY // _NS_PER_MINUTE).astype(np.int32)


def session_starts(days: NDArray[np.int64], rule: SessionRule) -> NDArray[np.int64]:
    """UTC nanoseconds (int64 [n]) at which the sessions of ``days`` (trade dates, days since 1970) begin."""
    return wall_clock(days, -minutes_before_midnight(rule), rule.timezone)


def wall_clock(days: NDArray[np.int64], minute: int | NDArray[np.int64], timezone: str) -> NDArray[np.int64]:
    """UTC nanoseconds of ``minute`` past local midnight of ``days`` (since 1970); a time that the clocks skip is moved on,
    one that they repeat is the first.
    """
    local = pd.DatetimeIndex((days * NS_PER_DAY + minute * _NS_PER_MINUTE).view("datetime64[ns]"))
    first = np.ones(len(local), dtype=np.bool_)
    zoned = local.tz_localize(timezone, ambiguous=first, nonexistent="shift_forward")
    moments: NDArray[np.int64] = zoned.as_unit("ns").asi8
    return moments


def wall_minutes(ts: NDArray[np.int64], timezone: str) -> NDArray[np.int64]:
    """Minutes since 1970-01-01 00:00 on the wall clock of ``timezone`` (int64 [n]) at UTC nanoseconds ``ts``."""
    return _wall_clock_at(ts, timezone) // _NS_PER_MINUTE


def clock_minutes(clock: str) -> int:
    """Minutes past midnight of an HH:MM."""
    hours, minutes = (int(part) for part in clock.split(":"))
    return hours * 60 + minutes


def minutes_before_midnight(rule: SessionRule) -> int:
    """Minutes from the turn of the session to the midnight with which its trade date begins."""
    return -clock_minutes(rule.turns_at) % _MINUTES_PER_DAY


def day_numbers(dates: NDArray[np.int32]) -> NDArray[np.int64]:
    """Days since 1970 (int64 [n]) of dates yyyymmdd."""
    year, month, day = dates // 10_000, dates // 100 % 100, dates % 100
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    return months.astype("datetime64[D]").astype(np.int64) + day - 1


def _session_clock(ts: NDArray[np.int64], rule: SessionRule) -> NDArray[np.int64]:
    """Local wall clock in ns, shifted so that each trade date runs from midnight to midnight."""
    return _wall_clock_at(ts, rule.timezone) + minutes_before_midnight(rule) * _NS_PER_MINUTE


def _wall_clock_at(ts: NDArray[np.int64], timezone: str) -> NDArray[np.int64]:
    """Local wall clock in ns since 1970-01-01 00:00 of UTC nanoseconds ``ts``."""
    local = pd.DatetimeIndex(ts.view("datetime64[ns]")).tz_localize("UTC").tz_convert(timezone).tz_localize(None)
    clock: NDArray[np.int64] = local.as_unit("ns").asi8
    return clock
