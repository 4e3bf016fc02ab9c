"""Indicators over any expression that reads data and parameters; windows in bars, fixed or swept.

An indicator's series is computed once for each distinct assignment of its parameters and shared by the combinations
(``kernels.rows``). Two kinds exist: windowed ones are array functions (``kernels.windows``), recursive ones are step
functions over values that are traced to a program of their own, run by the same executor as the sweep.

``warm_up`` bars pass before a value exists; before the longest warm-up of a sweep targets are flat and bars unscored.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kernels import windows
from kernels.expressions import nodes
from kernels.opcodes import F64, OPCODES
from kernels.values import ExpressionError, Number, Value, constant, isnan, where
from kernels.windows import Array

Rows = Callable[[Array, Sequence[int]], list[Array]]


@dataclass(frozen=True)
class Windowed:
    """An indicator whose value depends on the last ``window`` bars alone."""

    rows: Rows
    least: int


@dataclass(frozen=True)
class Recursive:
    """An indicator with one state: ``step(state, x, weight)`` is its next value; the state starts as NaN."""

    step: Callable[[Number, Number, Number], Number]
    weight: Callable[[Number], Number]
    least: int


def ema(x: Value, span: Value | float) -> Value:
    """Exponential average: e += (x - e) * 2 / (span + 1), seeded with the first x that is not NaN.

    Warm-up span - 1 bars. NaN rule: a NaN bar leaves the average as it is and takes no weight (pandas'
    ``ignore_na=True``, ``adjust=False``).
    """
    return _indicator("ema", x, span)


def sma(x: Value, window: Value | float) -> Value:
    """Mean of the last ``window`` bars. Warm-up window - 1 bars. NaN rule: NaN while the window holds a NaN."""
    return _indicator("sma", x, window)


def rolling_std(x: Value, window: Value | float) -> Value:
    """Sample standard deviation (ddof = 1) of the last ``window`` >= 2 bars.

    Warm-up window - 1 bars. NaN rule: NaN while the window holds a NaN.
    """
    return _indicator("rolling_std", x, window)


def zscore(x: Value, window: Value | float) -> Value:
    """(x - mean) / sample standard deviation over the last ``window`` >= 2 bars, the current one included.

    Warm-up window - 1 bars. NaN rule: NaN while the window holds a NaN, and where all its values are equal (0 / 0),
    so that a constant window fulfils no comparison.
    """
    return _indicator("zscore", x, window)


def rolling_max(x: Value, window: Value | float) -> Value:
    """Largest of the last ``window`` bars (``prev`` of it is the Donchian channel's upper line).

    Warm-up window - 1 bars. NaN rule: NaN while the window holds a NaN.
    """
    return _indicator("rolling_max", x, window)


def rolling_min(x: Value, window: Value | float) -> Value:
    """Smallest of the last ``window`` bars. Warm-up window - 1 bars. NaN rule: NaN while the window holds a NaN."""
    return _indicator("rolling_min", x, window)


def ema_step(average: Number, x: Number, weight: Number) -> Number:
    """The next exponential average; a NaN average is seeded with x, a NaN x changes nothing."""
    return where(isnan(x), average, where(isnan(average), x, average + weight * (x - average)))


def ema_weight(span: Number) -> Number:
    """Weight of the newest bar for a span in bars."""
    return 2.0 / (span + 1.0)


def _sma_rows(x: Array, spans: Sequence[int]) -> list[Array]:
    return [total / window for total, window in zip(windows.sums(x, spans), spans, strict=True)]


def _std_rows(x: Array, spans: Sequence[int]) -> list[Array]:
    return [deviation for _, deviation in windows.deviations(x, spans)]


def _zscore_rows(x: Array, spans: Sequence[int]) -> list[Array]:
    rows = []
    for distance, deviation in windows.deviations(x, spans):
        rows.append(distance / np.where(deviation > 0.0, deviation, np.nan))
    return rows


INDICATORS: dict[str, Windowed | Recursive] = {
    "ema": Recursive(ema_step, ema_weight, least=1),
    "sma": Windowed(_sma_rows, least=1),
    "rolling_std": Windowed(_std_rows, least=2),
    "zscore": Windowed(_zscore_rows, least=2),
    "rolling_max": Windowed(windows.maxima, least=1),
    "rolling_min": Windowed(windows.minima, least=1),
}


def _indicator(name: str, x: Value, window: Value | float) -> Value:
    source, size = constant(x), constant(window)
    for operand, role in ((source, "source"), (size, "window")):
        if operand.type != F64:
            raise ExpressionError(f"{name}: its {role} {operand!r} is a bool; write where(condition, 1.0, 0.0)")
    for node in nodes(source):
        if node.op == "state":
            raise ExpressionError(f"{name}: its source {source!r} reads hold(); indicators read data and parameters")
    for node in nodes(size):
        if node.op not in OPCODES and node.op not in ("constant", "param"):
            raise ExpressionError(f"{name}: its window {size!r} reads {node!r}; windows read parameters and numbers")
    return Value(name, (source, size), F64)
