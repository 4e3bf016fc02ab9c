"""Windowed indicators: a table of row functions over the last bars, and the node that stands for one of them.

A node's operands are its sources, then its window: a whole number of bars, or for the names in ``TIMED`` a number of
seconds, with the bars' times as the last source. Windows are numbers or expressions over parameters.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kernels import window_extremes, window_moments, window_order, window_times, windows
from kernels.opcodes import F64, OPCODES
from kernels.program_inputs import Input, read
from kernels.values import ExpressionError, Value, constant
from kernels.walks import nodes, open_leaves
from kernels.windows import Array


@dataclass(frozen=True)
class Windowed:
    """``rows(*sources, windows)`` gives an array [bars] for each window; the warm-up is ``window + offset`` bars.

    ``on_host``: the function takes numpy's arrays alone; all others run on a device's arrays too. ``write(*sources,
    windows, found)``: the same rows of numpy's arrays as columns of ``found``, for functions that save memory so.
    """

    rows: Callable[..., list[Any]]
    least: int = 1
    offset: int = -1
    on_host: bool = False
    write: Callable[..., None] | None = None


@dataclass(frozen=True)
class Duration:
    """A window in time: ``seconds``, a number or an expression over parameters."""

    seconds: Any


def seconds(count: Any) -> Duration:
    """A window of so many seconds, which may be swept: ``sma(x, seconds(param("wait")))``; ``"30s"`` is a fixed one."""
    return Duration(count)


def windowed(name: str, sources: tuple[Any, ...], window: Any) -> Value:
    """The node of a windowed indicator; raises ``ExpressionError`` for a source or a window that cannot be one."""
    if isinstance(window, str | Duration):
        return _timed(name, sources, window)
    return _node(name, name, sources, window)


def is_indicator(node: Value) -> bool:
    """Whether the node is computed as a row or a family: a scan or a windowed indicator."""
    return node.op == "scan" or node.op in WINDOWED


def check_source(name: str, node: Value) -> None:
    """Raises ``ExpressionError`` for a source that is a condition or reads a state."""
    if node.type != F64:
        raise ExpressionError(f"{name}: its source {node!r} is a bool; write where(condition, 1.0, 0.0)")
    for leaf in open_leaves(node):
        if leaf.op == "state":
            raise ExpressionError(f"{name}: its source {node!r} reads hold(); indicators read data and parameters")
        raise ExpressionError(f"{name}: its source reads a scan's state; windows read data: carry what you need as states")


def check_window(name: str, node: Value) -> None:
    """Raises ``ExpressionError`` for a window that is not known before the first bar."""
    if node.type != F64:
        raise ExpressionError(f"{name}: its window {node!r} is a bool; write where(condition, 1.0, 0.0)")
    for leaf in nodes(node):
        if leaf.op not in OPCODES and leaf.op not in ("choice", "constant", "param"):
            raise ExpressionError(f"{name}: its window {node!r} reads {leaf!r}; windows read parameters and numbers")


def _node(op: str, name: str, sources: tuple[Any, ...], window: Any) -> Value:
    operands, size = tuple(map(constant, sources)), constant(window)
    for source in operands:
        check_source(name, source)
    check_window(name, size)
    return Value(op, (*operands, size), F64)


def _timed(name: str, sources: tuple[Any, ...], window: str | Duration) -> Value:
    op = f"{name} in time"
    if op not in TIMED:
        known = ", ".join(sorted(timed.removesuffix(" in time") for timed in TIMED))
        raise ExpressionError(f"{name} takes windows in bars, not {window!r}; windows in time: {known}")
    if isinstance(window, str):
        return _timed(name, sources, Duration(_seconds(name, window)))
    return _node(op, name, (*sources, read(Input.TIME)), window.seconds)


def _seconds(name: str, window: str) -> float:
    try:
        length = float(pd.Timedelta(window).total_seconds())
    except ValueError as error:
        raise ExpressionError(f"{name}: window {window!r} is no duration: write '30s', '5min', '1h'") from error
    if window.strip().isdecimal():  # pandas reads nanoseconds
        raise ExpressionError(f"{name}: window {window!r} has no unit: write '{window}s', or {window} for bars")
    return length


def _means(x: Array, spans: Sequence[int]) -> list[Array]:
    return [total / window for total, window in zip(windows.sums(x, spans), spans, strict=True)]


def _spreads(x: Array, spans: Sequence[int]) -> list[Array]:
    return [deviation for _, deviation in windows.deviations(x, spans)]


def _zscores(x: Array, spans: Sequence[int]) -> list[Array]:
    rows = []
    for distance, deviation in windows.deviations(x, spans):
        rows.append(distance / np.where(deviation > 0.0, deviation, np.nan))
    return rows


_IN_BARS = {
    "sma": Windowed(_means),
    "rolling_sum": Windowed(windows.sums),
    "rolling_std": Windowed(_spreads, least=2),
    "rolling_squares": Windowed(window_moments.squares),
    "zscore": Windowed(_zscores, least=2),
    "rolling_max": Windowed(window_extremes.maxima, write=window_extremes.write_maxima),
    "rolling_min": Windowed(window_extremes.minima, write=window_extremes.write_minima),
    "rolling_rank": Windowed(window_order.ranks),
    "rolling_median": Windowed(window_order.medians, on_host=True),
    "mean_deviation": Windowed(window_order.mean_deviations),
    "wma": Windowed(window_moments.weighted_means),
    "rolling_cov": Windowed(window_moments.covariances, least=2),
    "rolling_corr": Windowed(window_moments.correlations, least=2),
    "rolling_beta": Windowed(window_moments.slopes, least=2),
    "linreg_slope": Windowed(window_moments.trends, least=2),
    "lagged": Windowed(windows.lags, least=0, offset=0),
}
_IN_TIME = {
    "sma in time": Windowed(window_times.means, on_host=True),
    "rolling_sum in time": Windowed(window_times.sums, on_host=True),
    "rolling_std in time": Windowed(window_times.spreads, on_host=True),
    "rolling_max in time": Windowed(window_times.maxima, on_host=True),
    "rolling_min in time": Windowed(window_times.minima, on_host=True),
}
TIMED = frozenset(_IN_TIME)
WINDOWED: dict[str, Windowed] = {**_IN_BARS, **_IN_TIME}
