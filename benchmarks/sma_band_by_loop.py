"""The reference strategy as parallel numba loops written by hand: what an hour with numba gives, for comparison.

One combination at a time over precomputed averages, branches where they help, four metrics; once as it is, once with a
stop and a target. The second follows ``kernels.stops`` event by event, so that both give the same numbers.
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


@numba.njit(error_model="numpy", inline="always")
def _exit(side: float, opened: float, high: float, low: float, stop: float, goal: float) -> float:
    """Price at which a bar ends the position, the stop first; NaN where it does not."""
    if side > 0.0:
        return min(opened, stop) if low <= stop else goal if high >= goal else np.nan
    return max(opened, stop) if high >= stop else goal if low <= goal else np.nan


@numba.njit(error_model="numpy", inline="always")
def _at_tick(price: float, side: float, tick: float) -> float:
    """The worse tick for a position of that side; what is whole but for rounding is whole."""
    ticks = side * price / tick
    return side * np.floor(ticks + abs(ticks) * 1e-12) * tick


@numba.njit(parallel=True, error_model="numpy", cache=False)
def _lanes_with_stops(
    bars: Any, fast: Any, slow: Any, bands: Any, stops: Any, start: int, capital: float, multiplier: float, fee: float,
    tick: float
) -> Any:  # fmt: skip
    opened, high, low, close = bars
    count = len(fast) * len(bands) * len(slow) * len(stops)
    result = np.empty((5, count))
    for lane in numba.prange(count):
        away, rest = stops[lane % len(stops)], lane // len(stops)
        s, rest = slow[rest % len(slow)], rest // len(slow)
        band, f = bands[rest % len(bands)], fast[rest // len(bands)]
        target = 1.0 if f[start] > s[start] + band else -1.0 if f[start] < s[start] - band else 0.0
        given, held, blocked, stop, goal = True, False, np.nan, 0.0, 0.0
        position, profit, costs, mark = 0.0, 0.0, 0.0, 0.0
        peak, before, drawdown, total, squares, trades = capital, capital, 0.0, 0.0, 0.0, 0.0
        for t in range(start + 1, len(close)):
            if target != blocked or (given and held):
                blocked, held = np.nan, not given
            elif not given:
                held = True
            wanted = target if blocked != blocked else 0.0
            left = close[t]
            if wanted != 0.0:
                if position * wanted <= 0.0:
                    stop = _at_tick(opened[t] - wanted * abs(opened[t]) * away, wanted, tick)
                    goal = _at_tick(opened[t] + wanted * abs(opened[t]) * away * 2.0, wanted, tick)
                price = _exit(wanted, opened[t], high[t], low[t], stop, goal)
                if price == price:
                    left = price
            profit += (position * (opened[t] - mark) + wanted * (left - opened[t])) * multiplier
            if wanted != position:
                costs += abs(wanted - position) * fee
                if position != 0.0:
                    trades += 1.0
                position = wanted
            if wanted != 0.0 and price == price:
                costs += abs(position) * fee
                trades += 1.0
                position, blocked = 0.0, target
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
            given = True
            if f[t] > s[t] + band:
                target = 1.0
            elif f[t] < s[t] - band:
                target = -1.0
            else:
                given = False
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
    tick: float,
    periods_per_year: float,
) -> dict[str, np.ndarray]:
    """The four metrics of every combination, in the order fast, band, slow and, with stops, stop, the last one fastest.

    ``grid["stop"]``, where present, is the distance of the stop, half of the target's.
    """
    opened, high, low, close = (bars[name].to_numpy() for name in ("open", "high", "low", "close"))
    fast, slow = (np.stack([_average(close, int(n)) for n in grid[name]]) for name in ("fast", "slow"))
    bands = np.array(grid["band"])
    if "stop" in grid:
        prices, stops = (opened, high, low, close), np.array(grid["stop"])
        found = _lanes_with_stops(prices, fast, slow, bands, stops, start, capital, multiplier, fee, tick)
    else:
        found = _lanes(opened, close, fast, slow, bands, start, capital, multiplier, fee)
    profit, total, squares, drawdown, trades = found
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
