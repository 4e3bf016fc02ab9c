"""Features 39-42: time of day and day of the week."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kernels.compiled import compiled
from kernels.features.inputs import FeatureInputs
from kernels.features.windows import Floats

NS_PER_MINUTE = 60_000_000_000
MINUTES_PER_DAY = 1440
THURSDAY = 3  # the weekday of 1970-01-01, Monday is 0


def clock(inputs: FeatureInputs) -> dict[str, Floats]:
    """Features tod_sin, tod_cos, dow_sin, dow_cos of the bar's start in UTC, each [rows].

    UTC needs no calendar and never jumps; the exchange's clock, one hour off for half the year, is the same information
    together with the season.
    """
    waves = _turned(inputs.bars.ts, _turn(MINUTES_PER_DAY), _turn(7))
    return dict(zip(("tod_sin", "tod_cos", "dow_sin", "dow_cos"), waves, strict=True))


@lru_cache(maxsize=2)
def _turn(steps: int) -> Floats:
    """Sine and cosine of each step of a full turn, [2, steps]."""
    angle = 2.0 * np.pi * np.arange(steps) / steps
    return np.stack([np.sin(angle), np.cos(angle)])


@compiled
def _turned(ts: NDArray[np.int64], day: Floats, week: Floats) -> Floats:
    """Sine and cosine of the minute of the day and of the weekday of each timestamp, [4, rows]."""
    out = np.empty((4, len(ts)))
    for i in range(len(ts)):
        minute = ts[i] // NS_PER_MINUTE
        weekday = (minute // MINUTES_PER_DAY + THURSDAY) % 7
        minute %= MINUTES_PER_DAY
        out[0, i], out[1, i] = day[0, minute], day[1, minute]
        out[2, i], out[3, i] = week[0, weekday], week[1, weekday]
    return out
