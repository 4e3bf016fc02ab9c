"""A feature of the user's own: one decorated function in a module of theirs, named in the configuration."""

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.features.errors import FeatureError, LookAheadError

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
        """The column, float64 [bars]; raises FeatureError for a result of another shape or kind."""
        shown = clamped_returns.view()
        shown.flags.writeable = False
        result = np.asarray(self.function(bars.copy(deep=False), shown))
        if result.shape != (len(bars),) or result.dtype.kind not in "fiub":
            raise FeatureError(
                f"feature {self.name} returned {result.dtype} of shape {result.shape} for {len(bars)} bars; "
                "return one number a bar"
            )
        return result.astype(np.float64)


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

    The feature is computed again on the bars before each cut; bits that differ prove that it read later bars.

    Raises:
        LookAheadError: names the feature, the first bar that differs and the cut.
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
                f"bars before {_minute(bars, cut)} alone: it reads later bars; use row t and rows before it only"
            )
    return column


def _minute(bars: pd.DataFrame, row: int) -> str:
    return str(pd.Timestamp(bars["ts_event"].iloc[row]).strftime("%Y-%m-%dT%H:%M:%SZ"))
