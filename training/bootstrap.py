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
    """Interval for the mean of session profits or returns [n]: the wider end of Student's t and a bootstrap-t.

    Student's t takes the standard error that dependence between sessions widens (`standard_error`); the stationary
    bootstrap-t draws blocks of geometric length (mean `block`, by default `block_length(n)`) around a circle and follows
    the skewness of the profits. Each covers where the other does not: mostly flat sessions leave the bootstrap nothing to
    draw, rare large losses mislead the t. What the 95 % interval covers in simulation stands in docs/acceptance.md.
    Where a bootstrap end is infinite (many resamples without spread) the t decides. Unit as the values. NaN bounds for
    fewer than five values; a constant series gives an interval of width zero. Raises ValueError for values that are not
    finite and a confidence outside [0.5, 1). Source: Politis and Romano (1994);
    Efron's bootstrap-t.
    """
    from scipy.special import stdtrit  # here and not above: importing it takes longer than the report needs to start

    data = finite_vector(values, "values")
    if not 0.5 <= confidence < 1.0:
        raise ValueError(f"confidence = {confidence}: must be at least 0.5 and below 1 (0.95 means 95 %)")
    length = block_length(len(data)) if block is None else block
    method = (
        f"wider end of Student's t and stationary bootstrap-t, {confidence:.1%} two-sided, mean block {length}, "
        f"{resamples} resamples, seed {seed}"
    )
    if len(data) < 5:
        mean = float(data.mean()) if len(data) else math.nan
        return Interval(mean, math.nan, math.nan, confidence, len(data), method + "; fewer than 5 values")
    mean, own, error = float(data.mean()), independent_error(data), standard_error(data)
    if error == 0.0:
        return Interval(mean, mean, mean, confidence, len(data), method)
    tail = (1.0 - confidence) / 2.0
    reach = float(stdtrit(len(data) - 1, 1.0 - tail)) * error
    # Order statistics instead of interpolation: a resample without spread is infinite and may lie beside a finite one.
    statistics = studentised_resamples(data, length, resamples, seed)
    low, high = np.quantile(statistics, [tail, 1.0 - tail], method="inverted_cdf")
    below = max(reach, float(high) * own) if math.isfinite(high) else reach
    above = max(reach, -float(low) * own) if math.isfinite(low) else reach
    return Interval(mean, mean - below, mean + above, confidence, len(data), method)


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


def independent_error(data: FloatVector) -> float:
    """Standard error of the mean of `data` [n >= 2] as if its values were independent; exactly 0.0 for a constant series."""
    error = float(data.std(ddof=1)) / math.sqrt(len(data))
    return 0.0 if error * math.sqrt(len(data)) <= 1e-12 * float(np.abs(data).max()) else error


def standard_error(data: FloatVector) -> float:
    """Standard error of the mean of `data` [n >= 2] that dependence between neighbours can only widen.

    The independent one times sqrt((1 + r) / (1 - r)), the factor of a first-order autoregression, where its
    autocorrelation r is positive. The sample's own is too small by about (1 + 3 r) / n, so r = (n r1 + 1) / (n - 3),
    at most 0.95 (five values or more). Exactly 0.0 for a constant series. Source: Marriott and Pope (1954), "Bias in the
    estimation of autocorrelations".
    """
    n, own = len(data), independent_error(data)
    if own == 0.0:
        return 0.0
    centred = data - data.mean()
    sample = float(centred[1:] @ centred[:-1]) / float(centred @ centred)
    correlation = (n * sample + 1.0) / (n - 3) if n > 4 else sample
    correlation = min(max(correlation, 0.0), 0.95)
    return own * math.sqrt((1.0 + correlation) / (1.0 - correlation))


TAIL = 250
"""Largest statistics that the tail beyond all but a few resamples is fitted to."""

FEW = 10
"""With so many resamples at or above a value, their share is its probability; with fewer, the fitted tail says it."""


def tail_probability(ordered: FloatVector, value: float) -> float:
    """Probability that a resampled statistic is at least `value`; `ordered` [m] are m sorted statistics, m > 250.

    The share of statistics at or above it, the data's own counted as one of them, where ten or more are; beyond that a
    generalised Pareto tail fitted to the largest 250 by probability-weighted moments, never lighter than exponential,
    which resolves any threshold that trials can ask for. It never rises with `value` and never passes the share.
    Sources: Knijnenburg et al. (2009), "Fewer permutations, more accurate P-values"; Hosking and Wallis (1987).
    """
    count = len(ordered) - int(np.searchsorted(ordered, value, side="left"))
    share = (1 + count) / (len(ordered) + 1)
    if count >= FEW or len(ordered) <= TAIL:
        return share
    infinite = int(np.count_nonzero(np.isposinf(ordered[-FEW:])))
    finite = ordered[: len(ordered) - infinite]
    beyond = finite[-TAIL:] - finite[-TAIL - 1]
    first = float(beyond.mean())
    if not (math.isfinite(first) and first > 0.0):
        return share
    second = float(np.mean(beyond * np.arange(TAIL - 1, -1, -1) / (TAIL - 1)))
    shape = min(max(2.0 - first / (first - 2.0 * second), 0.0), 0.9)  # from 1 on there would be no mean to fit
    distance = (value - float(finite[-TAIL - 1])) / first
    # With shape = 0 the moments leave the exponential of that mean; else the scale is first * (1 - shape).
    decay = math.exp(-distance) if shape == 0.0 else (1.0 + shape * distance / (1.0 - shape)) ** (-1.0 / shape)
    return min(share, (infinite + TAIL * decay) / (len(ordered) + 1))
