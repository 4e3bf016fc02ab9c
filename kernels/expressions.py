"""The language strategies are written in: columns, parameters, conditions, the current target, the bar before.

``a & b``, ``a | b``, ``~a`` are and, or, not; comparisons and arithmetic are the usual signs; ``where(condition, x,
y)`` chooses. Nothing can read a later bar. A comparison with NaN is false; NaN as a target holds the current target.
"""

from kernels.choice_nodes import choice
from kernels.elementary import clip, exp, log, sign
from kernels.lags import lagged
from kernels.opcodes import F64
from kernels.scans import scan
from kernels.values import (
    ExpressionError,
    Value,
    absolute,
    constant,
    floor,
    isnan,
    maximum,
    minimum,
    sqrt,
    trunc,
    where,
)
from kernels.walks import nodes, parameters
from kernels.windowed import windowed

__all__ = [
    "abs",
    "absolute",
    "choice",
    "clip",
    "col",
    "exp",
    "floor",
    "hold",
    "isnan",
    "lag",
    "log",
    "max",
    "maximum",
    "min",
    "minimum",
    "nodes",
    "param",
    "parameters",
    "prev",
    "scan",
    "sign",
    "sqrt",
    "trunc",
    "where",
]

abs, min, max = absolute, minimum, maximum
"""The names of the language; Python's own ``min`` and ``max`` need truth values and refuse an expression."""

TARGET = "target"
"""Name of the state that ``hold()`` reads."""


def col(name: str) -> Value:
    """A column of the bars, as float64; NaN in it is data."""
    return Value("col", (), F64, _name(name, "col"))


def param(name: str) -> Value:
    """A swept parameter: one number a combination."""
    return Value("param", (), F64, _name(name, "param"))


def hold() -> Value:
    """The target decided at the bar before: ``where(enter, 1.0, hold())``.

    It is 0 at the sweep's ``start``; a window that begins later goes on with what was decided before it.
    """
    return Value("state", (), F64, TARGET)


def prev(value: Value, bars: int = 1) -> Value:
    """The expression's value ``bars`` >= 1 bars before; so many bars more of warm-up. ``lag`` takes swept numbers too."""
    if isinstance(bars, bool) or not isinstance(bars, int) or bars < 1:
        raise ExpressionError(_no_lag("prev", bars, 1))
    return lagged(constant(value), bars)


def lag(value: Value, bars: Value | int) -> Value:
    """The expression's value ``bars`` >= 0 bars before, a whole number or an expression over parameters.

    So many bars more of warm-up; before it the value does not exist, after it NaN is data.
    """
    if isinstance(bars, Value):
        return windowed("lagged", (constant(value),), bars)
    if isinstance(bars, bool) or not isinstance(bars, int) or bars < 0:
        raise ExpressionError(_no_lag("lag", bars, 0))
    return prev(value, bars) if bars else constant(value)


def _no_lag(function: str, bars: object, least: int) -> str:
    if isinstance(bars, int) and bars < 0:
        return (
            f"{function}(x, {bars!r}): a lead would read bars of the future, which no expression can: a strategy is scored "
            f"on what follows by the sweep itself; the number of bars must be a whole number >= {least}"
        )
    return f"{function}(x, {bars!r}): the number of bars must be a whole number >= {least}"


def _name(name: str, function: str) -> str:
    if not isinstance(name, str) or not name:
        raise ExpressionError(f"{function}({name!r}): a name is a string that is not empty")
    return name
