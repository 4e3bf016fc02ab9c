"""The reference strategy as a parallel numba loop written by hand: what an hour with numba gives, for comparison.

One combination at a time over precomputed averages, branches where they help, four metrics.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numba
import numpy as np
import pandas as pd


@numba.njit(parallel=True, error_model="numpy", cache=False)
def _lanes(
    opened: Any, close: Any, fast: Any, slow: Any, bands: Any, start: int, capital: float, multiplier: float, fee: float
) -> Any:
    slows, count = len(slow), len(fast) * len(slow) * len(bands)
    result = np.empty((5, count))
    for lane in numba.prange(count):
        f = fast[lane // (slows * len(bands))]
        band = bands[lane // slows % len(bands)]
        s = slow[lane % slows]
        target = 1.0 if f[start] > s[start] + band else -1.0 if f[start] < s[start] - band else 0.0
        position, profit, costs, mark = 0.0, 0.0, 0.0, 0.0
        peak, before, drawdown, total, squares, trades = capital, capital, 0.0, 0.0, 0.0, 0.0
        for t in range(start + 1, len(close)):
            profit += (position * (opened[t] - mark) + target * (close[t] - opened[t])) * multiplier
            if target != position:
                costs += abs(target - position) * fee
                if position != 0.0:
                    trades += 1.0
                position = target
            mark = close[t]
            equity = capital + profit - costs
            if equity > peak:
                peak = equity
            fall = equity / peak - 1.0
            if fall < drawdown:
                drawdown = fall
            gain = equity / before - 1.0
            total += gain
            squares += gain * gain
            before = equity
            if f[t] > s[t] + band:
                target = 1.0
            elif f[t] < s[t] - band:
                target = -1.0
        result[0, lane], result[1, lane], result[2, lane] = profit - costs, total, squares
        result[3, lane], result[4, lane] = drawdown, trades
    return result


def by_loop(
    bars: pd.DataFrame,
    grid: Mapping[str, Sequence[float]],
    start: int,
    capital: float,
    multiplier: float,
    fee: float,
    periods_per_year: float,
) -> dict[str, np.ndarray]:
    """The four metrics of every combination, in the order fast, band, slow, the last one fastest."""
    opened, close = bars["open"].to_numpy(), bars["close"].to_numpy()
    fast, slow = (np.stack([_average(close, int(n)) for n in grid[name]]) for name in ("fast", "slow"))
    profit, total, squares, drawdown, trades = _lanes(
        opened, close, fast, slow, np.array(grid["band"]), start, capital, multiplier, fee
    )
    count = len(close) - start  # the window's first bar is a period without a return
    spread = np.sqrt((squares - total * total / count) / (count - 1))
    sharpe = total / count / spread * np.sqrt(periods_per_year)
    return {"total_return": profit / capital, "sharpe": sharpe, "max_drawdown": drawdown, "trades": trades}


def _average(close: np.ndarray, window: int) -> np.ndarray:
    sums = np.cumsum(close)
    sums[window:] = sums[window:] - sums[:-window]
    averages = sums / window
    averages[: window - 1] = np.nan
    return averages
