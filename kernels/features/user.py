"""A feature of the user's own: one decorated function in a module of theirs, named in the configuration."""

import importlib
import math
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.canonical_nan import canonical
from kernels.features.errors import FeatureError, LookAheadError

LOOSE = 1e-3
"""Share of a feature's range by which values may differ that running sums from another start explain."""
Function = Callable[[pd.DataFrame, NDArray[np.float64]], Any]


@dataclass(frozen=True)
class UserFeature:
    """A feature made by the decorator `feature`; called like the function it decorates.

    name: its column. low, high: the range it promises. warm_up: bars it reads, its own included; rows before are missing.
    formula: its definition in words. function: (bars, clamped returns) to an array [bars].
    """

    name: str
    low: float
    high: float
    warm_up: int
    formula: str
    function: Function

    def __post_init__(self) -> None:
        """Refuse a description that says nothing."""
        if not self.name.isidentifier():
            raise FeatureError(f"feature {self.name!r}: the name is no identifier; use letters, digits and _")
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise FeatureError(f"feature {self.name}: range {self.low} to {self.high} is none; give low < high")
        if self.warm_up < 1:
            raise FeatureError(f"feature {self.name}: warm_up {self.warm_up} < 1; give the bars it reads, at least 1")

    def __call__(self, bars: pd.DataFrame, clamped_returns: NDArray[np.float64]) -> NDArray[np.float64]:
        """The column, float64 [bars], every NaN numpy's own; raises FeatureError where the function does, and for a result
        of another shape, order or kind.
        """
        shown = clamped_returns.view()
        shown.flags.writeable = False
        try:
            made = self.function(bars.copy(deep=False), shown)
        except Exception as error:
            module = self.function.__module__
            raise FeatureError(f"feature {self.name} of {module} raised {_told(error, module)}") from error
        if isinstance(made, pd.Series) and len(made) == len(bars) and not made.index.equals(bars.index):
            raise FeatureError(
                f"feature {self.name} returned a Series in another order than the bars (index {made.index[0]}, …); keep the "
                "bars' index, as by .reindex(bars.index)"
            )
        result = np.asarray(made)
        if result.shape != (len(bars),) or result.dtype.kind not in "fiub":
            raise FeatureError(
                f"feature {self.name} returned {result.dtype} of shape {result.shape} for {len(bars)} bars; "
                "return one number a bar"
            )
        return canonical(result.astype(np.float64))


def feature(name: str, low: float, high: float, warm_up: int, formula: str) -> Callable[[Function], UserFeature]:
    """Make a function of (bars, clamped returns) a feature.

    The function gets the bars table (`ts_event session contract expiry open high low close volume old_price adj_*`) and
    the clamped log returns, float64 [bars], NaN on the first bar and at rolls; it returns one number a bar. It may read
    its own bar and earlier ones only. From its warm-up on every value must be finite, except while the look-back holds
    a missing return or a price at or below zero.

    Args:
        name: column name, an identifier.
        low, high: range of the values.
        warm_up: bars it reads, its own included.
        formula: its definition, for people.

    Raises:
        FeatureError: the description is inconsistent.
    """

    def decorate(function: Function) -> UserFeature:
        return UserFeature(name, low, high, warm_up, formula, function)

    return decorate


def load_features(modules: Sequence[str]) -> tuple[UserFeature, ...]:
    """Import the modules and return the features defined in them, in the order of modules and definitions.

    Raises:
        FeatureError: a module cannot be imported or defines no feature.
    """
    found: list[UserFeature] = []
    for name in modules:
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            raise FeatureError(
                f"features.modules: {name} cannot be imported ({error}); run from the folder that holds it, or install it"
            ) from None
        except Exception as error:
            raise FeatureError(
                f"features.modules: importing {name} raises {_told(error, name)}; correct the module"
            ) from error
        own = [
            value
            for value in vars(module).values()
            if isinstance(value, UserFeature) and value.function.__module__ == name
        ]
        if not own:
            raise FeatureError(f"features.modules: {name} defines no feature; decorate a function with @feature(...)")
        found += own
    return tuple(found)


def checked_column(made: UserFeature, bars: pd.DataFrame, clamped_returns: NDArray[np.float64]) -> NDArray[np.float64]:
    """The column of a feature that keeps the past on a sample of cuts: a third, two thirds, and one bar short of the end.

    The feature is computed again on the bars before each cut; bits that differ prove that it read later bars. It is computed
    once more without the first bars: what then differs by more than LOOSE of its range read more bars than its warm-up says,
    and would depend on where a trade date's look-back begins.

    Raises:
        LookAheadError: names the feature, the first bar that differs and the cut.
        FeatureError: the feature raises, gives no number a bar, or reads more than its warm-up.
    """
    column = made(bars, clamped_returns)
    rows = len(bars)
    for cut in sorted({rows // 3, 2 * rows // 3, rows - 1} - {-1, 0}):
        again = made(bars.iloc[:cut].reset_index(drop=True), clamped_returns[:cut])
        same = (again == column[:cut]) | (np.isnan(again) & np.isnan(column[:cut]))
        if not same.all():
            row = int(np.flatnonzero(~same)[0])
            raise LookAheadError(
                f"feature {made.name}: bar {_minute(bars, row)} is {column[row]} with all bars, but {again[row]} with the "
                f"bars before {_minute(bars, cut)} alone: it reads later bars, or gives another value on every call; use "
                "row t and rows before it only, and nothing that changes"
            )
    _check_warm_up(made, bars, clamped_returns, column)
    return column


def _check_warm_up(
    made: UserFeature, bars: pd.DataFrame, clamped_returns: NDArray[np.float64], column: NDArray[np.float64]
) -> None:
    start = (len(bars) - made.warm_up) // 2
    if start < 1:
        return
    later = made(bars.iloc[start:].reset_index(drop=True), clamped_returns[start:])
    whole, again = column[start + made.warm_up - 1 :], later[made.warm_up - 1 :]
    wrong = np.abs(whole - again) > LOOSE * (made.high - made.low)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise FeatureError(
            f"feature {made.name}: bar {_minute(bars, start + made.warm_up - 1 + at)} is {whole[at]} with all bars before it, "
            f"but {again[at]} with its warm-up of {made.warm_up + at} bars alone: it reads more bars than warm_up says; raise "
            "warm_up (an exponential mean reads about ten spans), or read fewer"
        )


def _told(error: Exception, module: str) -> str:
    """Kind and message of an error, and the last line of the user's module on the way to it, else the line that raised it."""
    own = getattr(sys.modules.get(module), "__file__", None)
    frames = [one for one in traceback.extract_tb(error.__traceback__) if Path(one.filename).is_file()]
    frames = [one for one in frames if one.filename == own] or frames
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"


def _minute(bars: pd.DataFrame, row: int) -> str:
    return str(pd.Timestamp(bars["ts_event"].iloc[row]).strftime("%Y-%m-%dT%H:%M:%SZ"))
