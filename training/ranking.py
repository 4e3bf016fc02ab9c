"""Information coefficients: rank correlations of forecasts with what happened.

numpy and the standard library only: the report step imports it and must start fast.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from training.bootstrap import Interval

FloatVector = NDArray[np.float64]

ROUNDING = 1e-12
"""Correlations nearer than this to 1 or -1 are perfect but for the rounding of their sums."""


def information_coefficient(
    forecast: FloatVector,
    outcome: FloatVector,
    horizon: int,
    confidence: float = 0.95,
    seed: int = 0,
    resamples: int = 1999,
) -> Interval:
    """Spearman correlation of `forecast` [n] with the `horizon`-bar `outcome` [n], with a block-bootstrap interval.

    Consecutive outcomes share horizon - 1 bars, so blocks must be much longer than the horizon: the larger of five
    horizons and the square root of n. Circular blocks; on Fisher's scale (artanh) the interval is Student's t, one degree
    of freedom less than there are blocks, times the resamples' standard deviation: percentiles of ten blocks hold zero in
    88 of 100 draws, this in 95. Where a resample's correlation is 1 or -1, which has no place on that scale, the interval is
    made on the correlation's own. Rows where either is not finite are left out; ties get their mean rank. NaN bounds for
    fewer than four blocks, a NaN estimate for fewer than three rows or when either side is constant.
    """
    from scipy.special import stdtrit  # not at module level: importing it takes longer than the report needs to start

    first, second = _rank_pair(forecast, outcome)
    n = len(first)
    block = max(5 * horizon, math.isqrt(max(n - 1, 0)) + 1)
    method = (
        f"Spearman, Student's t on circular block bootstrap, {confidence:.1%} two-sided, block {block} bars, "
        f"{resamples} resamples, seed {seed}"
    )
    if n < 3:
        return Interval(math.nan, math.nan, math.nan, confidence, n, method + "; fewer than 3 rows")
    products = _products(first, second)
    estimate = float(_correlation(products.sum(axis=0), n))
    if n < 4 * block or math.isnan(estimate):
        return Interval(estimate, math.nan, math.nan, confidence, n, method + "; fewer than 4 blocks or no spread")
    # Sums over a block come from running sums, so a resample costs its number of blocks, not of rows.
    sums = _circular_block_sums(products, block)
    blocks = math.ceil(n / block)
    starts = np.random.default_rng(seed).integers(0, n, size=(resamples, blocks))
    drawn = _correlation(sums[starts].sum(axis=1), blocks * block)
    perfect = bool((np.abs(drawn) > 1.0 - ROUNDING).any())
    held = n / block
    error = float(np.nanstd(drawn if perfect else np.arctanh(drawn), ddof=1)) * math.sqrt(held / (held - 1.0))
    reach = float(stdtrit(held - 1.0, (1.0 + confidence) / 2.0)) * error
    if perfect:
        return Interval(estimate, max(estimate - reach, -1.0), min(estimate + reach, 1.0), confidence, n, method)
    centre = math.atanh(estimate)
    return Interval(estimate, math.tanh(centre - reach), math.tanh(centre + reach), confidence, n, method)


def _rank_pair(forecast: FloatVector, outcome: FloatVector) -> tuple[FloatVector, FloatVector]:
    """Centred mean ranks of both vectors over the rows where both are finite, scaled into [-1/2, 1/2]."""
    if forecast.shape != outcome.shape or forecast.ndim != 1:
        raise ValueError(f"forecast {forecast.shape} and outcome {outcome.shape}: two vectors of one length are needed")
    both = np.isfinite(forecast) & np.isfinite(outcome)
    return _centred_ranks(forecast[both]), _centred_ranks(outcome[both])


def _centred_ranks(values: FloatVector) -> FloatVector:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    ranks: FloatVector = (last - (count - 1) / 2.0)[place]
    return (ranks - (len(values) + 1) / 2.0) / max(len(values), 1)


def _circular_block_sums(columns: FloatVector, block: int) -> FloatVector:
    """Sum of `columns` [n, k] over the `block` rows that start at each row, around the circle."""
    wrapped = np.concatenate([columns, columns[:block]])
    running = np.concatenate([np.zeros((1, columns.shape[1])), np.cumsum(wrapped, axis=0)])
    sums: FloatVector = running[block : block + len(columns)] - running[: len(columns)]
    return sums


def _products(x: FloatVector, y: FloatVector) -> FloatVector:
    """The columns [n, 5] whose sums make a correlation: x, y, x^2, y^2, x y."""
    return np.stack([x, y, x * x, y * y, x * y], axis=1)


def _correlation(sums: FloatVector, n: int) -> FloatVector:
    """Pearson correlation from sums [..., 5] of `_products` over n rows; NaN where either side has no spread."""
    x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    spread = np.asarray((xx - x * x / n) * (yy - y * y / n))
    covariance = np.asarray(xy - x * y / n)
    result: FloatVector = np.full(spread.shape, np.nan)
    np.divide(covariance, np.sqrt(np.maximum(spread, 0.0)), out=result, where=spread > 1e-18)
    return result
