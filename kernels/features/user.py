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
from kernels.features.errors import FeatureError

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


def _told(error: Exception, module: str) -> str:
    """Kind and message of an error, and the last line of the user's module on the way to it, else the line that raised it."""
    own = getattr(sys.modules.get(module), "__file__", None)
    frames = [one for one in traceback.extract_tb(error.__traceback__) if Path(one.filename).is_file()]
    frames = [one for one in frames if one.filename == own] or frames
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"
