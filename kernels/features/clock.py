"""Features 39-42: time of day and day of the week."""

import numpy as np
from numpy.typing import NDArray

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
    minutes = inputs.bars.ts // NS_PER_MINUTE
    weekday = (minutes // MINUTES_PER_DAY + THURSDAY) % 7
    return {
        "tod_sin": _wave(np.sin, minutes % MINUTES_PER_DAY, MINUTES_PER_DAY),
        "tod_cos": _wave(np.cos, minutes % MINUTES_PER_DAY, MINUTES_PER_DAY),
        "dow_sin": _wave(np.sin, weekday, 7),
        "dow_cos": _wave(np.cos, weekday, 7),
    }


def _wave(function: np.ufunc, step: NDArray[np.int64], steps: int) -> Floats:
    turn: Floats = function(2.0 * np.pi * np.arange(steps) / steps)
    values: Floats = turn[step]
    return values
