"""Order statistics of the returns of periods: exact, from the returns themselves, so only where they are asked for.

A sweep keeps the equity of a piece of its lanes at a time (``EQUITY_BYTES``), never of all of them.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

EQUITY_BYTES = 2**27
"""Limit for the equities of one piece of lanes, all its bars recorded."""

NAMES = ("percentile_5", "percentile_95", "worst_mean")


def period_returns(equity: Array, ends: NDArray[np.bool_], capital: float, rounding: float = 0.0) -> Array:
    """Simple returns [periods, lanes] from equities at bars [bars, lanes]: the first one over the capital, 0 where the
    equity moved by at most ``rounding``.
    """
    closes = np.concatenate([np.full((1, equity.shape[1]), capital), equity[ends]])
    with np.errstate(all="ignore"):
        returns: Array = closes[1:] / closes[:-1] - 1.0
    returns[np.abs(np.diff(closes, axis=0)) <= rounding] = 0.0
    return returns


def order_statistics(returns: Array) -> dict[str, Array]:
    """Of returns [periods, lanes], each [lanes]: 5th and 95th percentile (linear between neighbours) and the mean of the
    lowest floor(0.05 (n - 1)) + 1. NaN without periods or where a return is NaN.
    """
    n, lanes = returns.shape
    if n == 0:
        return {name: np.full(lanes, np.nan) for name in NAMES}
    ordered = np.sort(returns, axis=0)
    count = (n - 1) // 20 + 1
    worst = np.add.accumulate(ordered[:count], axis=0)[-1] / count  # in order: the sum of a lane is one and the same
    found = {"percentile_5": _percentile(ordered, 1), "percentile_95": _percentile(ordered, 19), "worst_mean": worst}
    missing = np.isnan(ordered[-1])  # NaN sorts last
    return {name: np.where(missing, np.nan, found[name]) for name in NAMES}


def _percentile(ordered: Array, twentieths: int) -> Array:
    place, part = divmod(twentieths * (len(ordered) - 1), 20)
    low, high = ordered[place], ordered[min(place + 1, len(ordered) - 1)]
    value: Array = low + (high - low) * (part / 20.0)
    return value


def in_pieces(record: Callable[[int, int], Array], count: int, bars: int) -> dict[str, Array]:
    """Order statistics of ``count`` lanes; ``record`` gives the returns [periods, lanes] of lanes [low, high)."""
    size = max(EQUITY_BYTES // (8 * max(bars, 1)), 1)
    parts = [order_statistics(record(low, min(low + size, count))) for low in range(0, count, size)]
    return {name: np.concatenate([part[name] for part in parts]) for name in NAMES}
