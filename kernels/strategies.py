"""The strategies that ship: each a few lines over forward-adjusted prices, whose past a roll never rewrites."""

import importlib
from collections.abc import Callable

from kernels.expressions import col, hold, param, prev, where
from kernels.indicators import ema, rolling_max, rolling_min, zscore
from kernels.strategy import Strategy


def ema_cross() -> Strategy:
    """Long while the fast average of closes is above the slow one, else short; fast < slow are spans in bars."""
    fast, slow = ema(col("adj_close"), param("fast")), ema(col("adj_close"), param("slow"))
    return Strategy("ema_cross", where(fast > slow, 1.0, -1.0), constraint=param("fast") < param("slow"))


def zscore_reversion() -> Strategy:
    """Short above +entry and long below -entry standard deviations from the mean, until z is back past exit on that
    side.

    Parameters: window (bars), exit < entry (in standard deviations; a negative exit waits for the other side of the
    mean).
    """
    z, current = zscore(col("adj_close"), param("window")), hold()
    enter, leave = param("entry"), param("exit")
    back = ((current < 0.0) & (z < leave)) | ((current > 0.0) & (z > -leave))
    target = where(z > enter, -1.0, where(z < -enter, 1.0, where(back, 0.0, current)))
    return Strategy("zscore_reversion", target, constraint=leave < enter)


def donchian_breakout() -> Strategy:
    """Long on a close above the highest high of the ``window`` bars before, short below the lowest low, else held."""
    close, window = col("adj_close"), param("window")
    upper = prev(rolling_max(col("adj_high"), window))
    lower = prev(rolling_min(col("adj_low"), window))
    return Strategy("donchian_breakout", where(close > upper, 1.0, where(close < lower, -1.0, hold())))


def positions() -> Strategy:
    """The column ``target`` as it is: scores any model's positions by the same program as a swept strategy."""
    return Strategy("positions", col("target"))


STRATEGIES: dict[str, Callable[[], Strategy]] = {
    strategy.__name__: strategy for strategy in (ema_cross, zscore_reversion, donchian_breakout)
}


def named_strategy(name: str) -> Strategy:
    """Make the shipped strategy of that name, or that of the user's `package.module:name`: a function, or a Strategy.

    Raises KeyError, ImportError or AttributeError for one that does not exist.
    """
    module, colon, function = name.partition(":")
    if not colon:
        return STRATEGIES[name]()
    found: Strategy | Callable[[], Strategy] = getattr(importlib.import_module(module), function)
    return found if isinstance(found, Strategy) else found()
