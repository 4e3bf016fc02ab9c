"""Confidence intervals from blocks of consecutive values.

numpy and the standard library only: the report step imports it and must start fast.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.statistics import finite_vector

FloatVector = NDArray[np.float64]


VALUES_AT_ONCE = 2**24
"""Values of resamples held in memory at once: more are drawn in parts."""


@dataclass(frozen=True)
class Interval:
    """An estimate with its two-sided confidence interval and the name of the method that made it.

    `low` and `high` are NaN where the data are too few for an interval.
    """

    estimate: float
    low: float
    high: float
    confidence: float
    observations: int
    method: str


def block_length(observations: int) -> int:
    """Mean block length for session values: the cube root of their number, rounded up (Künsch's rate)."""
    length = 1
    while length**3 < observations:
        length += 1
    return length


def mean_interval(
    values: FloatVector, confidence: float = 0.95, seed: int = 0, resamples: int = 4999, block: int | None = None
) -> Interval:
    """Interval for the mean of session profits or returns [n]: stationary-bootstrap-t.

    Blocks of geometric length (mean `block`, by default `block_length(n)`) are drawn around a circle; each resample is
    studentised by its own standard error, which keeps the coverage for few sessions and skewed profits, where
    percentile intervals are too narrow. Unit as the values. NaN bounds for fewer than five values; a constant series
    gives an interval of width zero. Source: Politis and Romano (1994); Efron's bootstrap-t.
    """
    data = finite_vector(values, "values")
    length = block_length(len(data)) if block is None else block
    method = (
        f"stationary bootstrap-t, {confidence:.1%} two-sided, mean block {length}, {resamples} resamples, seed {seed}"
    )
    if len(data) < 5:
        mean = float(data.mean()) if len(data) else math.nan
        return Interval(mean, math.nan, math.nan, confidence, len(data), method + "; fewer than 5 values")
    mean = float(data.mean())
    error = standard_error(data)
    if error == 0.0:
        return Interval(mean, mean, mean, confidence, len(data), method)
    statistics = studentised_resamples(data, length, resamples, seed)
    tail = (1.0 - confidence) / 2.0
    # Order statistics instead of interpolation: infinite statistics (resamples without spread) stay usable.
    low, high = np.quantile(statistics, [tail, 1.0 - tail], method="inverted_cdf")
    return Interval(mean, mean - float(high) * error, mean - float(low) * error, confidence, len(data), method)


def studentised_resamples(data: FloatVector, block: int, resamples: int, seed: int) -> FloatVector:
    """Sorted (mean* - mean) / standard error* of `resamples` stationary-bootstrap resamples of `data` [n].

    A resample without spread gives plus or minus infinity by the sign of its mean's distance (0 where there is none).
    """
    generator = np.random.default_rng(seed)
    at_once = max(VALUES_AT_ONCE // len(data), 1)
    counts = [min(at_once, resamples - low) for low in range(0, resamples, at_once)]
    result = np.concatenate([_studentised(data, stationary_rows(len(data), block, count, generator)) for count in counts])
    result.sort()
    return result


def _studentised(data: FloatVector, rows: NDArray[np.int64]) -> FloatVector:
    n, drawn = len(data), data[rows]
    distance = drawn.mean(axis=1) - data.mean()
    error = drawn.std(axis=1, ddof=1) / math.sqrt(n)
    flat = error <= 1e-12 * float(np.abs(data).max())
    result: FloatVector = np.zeros(len(rows))
    result[flat & (distance > 0.0)] = np.inf
    result[flat & (distance < 0.0)] = -np.inf
    np.divide(distance, error, out=result, where=~flat)
    return result


def stationary_rows(n: int, block: int, resamples: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Row numbers [resamples, n] of stationary-bootstrap resamples: a new block starts with probability 1/block."""
    starts = generator.integers(0, n, size=(resamples, n))
    fresh = generator.random(size=(resamples, n)) < 1.0 / block
    fresh[:, 0] = True
    column = np.arange(n)
    begun = np.maximum.accumulate(np.where(fresh, column, 0), axis=1)
    rows: NDArray[np.int64] = (np.take_along_axis(starts, begun, axis=1) + column - begun) % n
    return rows


def standard_error(data: FloatVector) -> float:
    """Standard error of the mean of `data` [n >= 2]: the larger of the independent one and the lag-one corrected one.

    The correction (Bartlett weight 1/2 on the first autocovariance) can only widen it. Exactly 0.0 for a constant
    series.
    """
    n = len(data)
    centred = data - data.mean()
    variance = float(centred @ centred) / (n - 1)
    if math.sqrt(variance) <= 1e-12 * float(np.abs(data).max()):
        return 0.0
    covariance = float(centred[1:] @ centred[:-1]) / (n - 1)
    return math.sqrt(max(variance, variance + covariance) / n)
