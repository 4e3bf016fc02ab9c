"""Trade date and minute within the session, by the exchange's own clock, daylight saving included."""

import re
import zoneinfo
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.instruments import yyyymmdd
from loaders.types import NS_PER_DAY

_NS_PER_MINUTE = 60_000_000_000
_MINUTES_PER_DAY = 1440


@dataclass(frozen=True)
class SessionRule:
    """A trade date begins at ``turns_at`` (HH:MM in ``timezone``) of the day before; at 00:00 of the day itself."""

    timezone: str = "America/Chicago"
    turns_at: str = "17:00"

    def __post_init__(self) -> None:
        try:
            zoneinfo.ZoneInfo(self.timezone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
            raise ValueError(
                f"session.timezone {self.timezone!r} is not known; use a name like America/Chicago"
            ) from error
        if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", self.turns_at):
            raise ValueError(
                f"session.turns_at {self.turns_at!r} is not a time from 00:00 to 23:59; use one like 17:00"
            )


def trade_dates(ts: NDArray[np.int64], rule: SessionRule) -> NDArray[np.int32]:
    """Trade date yyyymmdd (int32 [n]) of UTC nanoseconds ``ts`` (int64 [n]): the date the session ends on."""
    return yyyymmdd(_session_clock(ts, rule) // NS_PER_DAY)


def session_minutes(ts: NDArray[np.int64], rule: SessionRule) -> NDArray[np.int32]:
    """Whole minutes (int32 [n], 0..1439) on the session's wall clock since it began, of UTC nanoseconds ``ts``."""
    return (_session_clock(ts, rule) % NS_PER_DAY // _NS_PER_MINUTE).astype(np.int32)


def _session_clock(ts: NDArray[np.int64], rule: SessionRule) -> NDArray[np.int64]:
    """Local wall clock in ns, shifted so that each trade date runs from midnight to midnight."""
    local = pd.DatetimeIndex(ts.view("datetime64[ns]")).tz_localize("UTC").tz_convert(rule.timezone).tz_localize(None)
    hours, minutes = (int(part) for part in rule.turns_at.split(":"))
    until_midnight = -(hours * 60 + minutes) % _MINUTES_PER_DAY
    clock: NDArray[np.int64] = local.as_unit("ns").asi8 + until_midnight * _NS_PER_MINUTE
    return clock
