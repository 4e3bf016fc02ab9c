"""Equity curves for the report: profit and drawdown in money, thinned without losing a peak or a trough."""

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

MAX_POINTS = 600


def keep_extremes(values: NDArray[np.float64], limit: int) -> NDArray[np.int64]:
    """Sorted row numbers, at most `limit` (>= 4), holding the first, the last and every bucket's minimum and maximum.

    Rows are cut into (limit - 2) // 2 buckets of equal length; all rows are kept when there are no more than `limit`.
    """
    if limit < 4:
        raise ValueError(f"limit = {limit}: a curve needs at least 4 points (both ends, a peak and a trough)")
    rows = len(values)
    if rows <= limit:
        return np.arange(rows, dtype=np.int64)
    edges = np.linspace(0, rows, (limit - 2) // 2 + 1).astype(np.int64)
    kept = {0, rows - 1}
    for start, stop in pairwise(edges):
        piece = values[start:stop]
        kept.update((int(start + piece.argmin()), int(start + piece.argmax())))
    return np.array(sorted(kept), dtype=np.int64)


def drawdown(profit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Profit below its highest value so far (<= 0, money); the start, profit 0, is the first peak."""
    return profit - np.maximum(np.maximum.accumulate(profit), 0.0)


def nanoseconds(times: pd.Series) -> NDArray[np.int64]:
    """A column datetime64[ns, UTC] as int64 nanoseconds since 1970."""
    instants: NDArray[np.int64] = times.to_numpy(dtype="datetime64[ns]").astype(np.int64)
    return instants


def profit_curve(curve: pd.DataFrame, capital: float, limit: int = MAX_POINTS) -> dict[str, Any]:
    """ts_event (int64 ns), profit and drawdown (money) of a model as lists of at most 1.5 times `limit` points.

    Both series keep their own extremes: the rows kept are those either of them needs.
    """
    profit = curve["equity"].to_numpy(dtype=np.float64) - capital
    down = drawdown(profit)
    rows = np.union1d(keep_extremes(profit, limit), keep_extremes(down, limit // 2))
    times = nanoseconds(curve["ts_event"])
    return {"ts_event": times[rows].tolist(), "profit": profit[rows].tolist(), "drawdown": down[rows].tolist()}


def time_in_position(curve: pd.DataFrame) -> dict[str, float]:
    """Share of the bars spent long, flat and short (they sum to 1; all 0 without bars)."""
    position = curve["position"].to_numpy(dtype=np.float64)
    bars = max(len(position), 1)
    return {
        "long": float(np.count_nonzero(position > 0)) / bars,
        "flat": float(np.count_nonzero(position == 0)) / bars,
        "short": float(np.count_nonzero(position < 0)) / bars,
    }
