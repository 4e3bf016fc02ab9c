"""Features 39-42: time of day and day of the week, by the exchange's clock and its trade dates."""

from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.compiled import compiled
from kernels.features.inputs import FeatureInputs
from kernels.features.windows import Floats

NS_PER_MINUTE = 60_000_000_000
MINUTES_PER_DAY = 1440
DAYS_PER_WEEK = 7
THURSDAY = 3  # the weekday of 1970-01-01, Monday is 0


def clock(inputs: FeatureInputs) -> dict[str, Floats]:
    """Features tod_sin, tod_cos of the minute of the day, dow_sin, dow_cos of the trade date's weekday, each [rows]."""
    waves = _turned(inputs.bars.minute, inputs.bars.weekday, _turn(MINUTES_PER_DAY), _turn(DAYS_PER_WEEK))
    return dict(zip(("tod_sin", "tod_cos", "dow_sin", "dow_cos"), waves, strict=True))


def minutes_of_the_day(ts_event: pd.Series, timezone: str) -> NDArray[np.int64]:
    """Minute of the day (int64 [rows], 0..1439) at which each bar starts on the wall clock of a time zone.

    The market opens at the same minute in summer and in winter; by UTC it would stand at two.
    """
    local = pd.DatetimeIndex(ts_event).tz_convert(timezone).tz_localize(None)
    minutes: NDArray[np.int64] = local.as_unit("ns").asi8 // NS_PER_MINUTE % MINUTES_PER_DAY
    return minutes


def weekdays(session: pd.Series) -> NDArray[np.int64]:
    """Weekday (int64 [rows], Monday is 0) of trade dates yyyymmdd: a Sunday evening's is the Monday that it belongs to."""
    dates = session.to_numpy(np.int64)
    months = ((dates // 10_000 - 1970) * 12 + dates // 100 % 100 - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]").astype(np.int64) + dates % 100 - 1
    return np.asarray((days + THURSDAY) % DAYS_PER_WEEK)


@lru_cache(maxsize=2)
def _turn(steps: int) -> Floats:
    """Sine and cosine of each step of a full turn, [2, steps]."""
    angle = 2.0 * np.pi * np.arange(steps) / steps
    return np.stack([np.sin(angle), np.cos(angle)])


@compiled
def _turned(minute: NDArray[np.int64], weekday: NDArray[np.int64], day: Floats, week: Floats) -> Floats:
    """Sine and cosine of each row's minute and weekday, [4, rows]."""
    out = np.empty((4, len(minute)))
    for i in range(len(minute)):
        out[0, i], out[1, i] = day[0, minute[i]], day[1, minute[i]]
        out[2, i], out[3, i] = week[0, weekday[i]], week[1, weekday[i]]
    return out
