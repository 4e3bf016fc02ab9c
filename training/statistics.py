"""Sharpe ratios and what is left of them after counting how many were tried.

numpy and the standard library only: the report step imports it and must start fast.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

NORMAL = NormalDist()
EULER_GAMMA = 0.5772156649015329


def sharpe_ratio(returns: NDArray[np.float64]) -> float:
    """Mean over sample standard deviation (ddof=1) of `returns` [n], per period, not annualised.

    0.0 for a constant series (a model that never trades), NaN for fewer than two values.
    """
    values = finite_vector(returns, "returns")
    if len(values) < 2:
        return math.nan
    deviation = float(values.std(ddof=1))
    # A constant series leaves rounding of the mean in the deviation, not zero.
    if deviation <= 1e-12 * float(np.abs(values).max(initial=0.0)):
        return 0.0
    return float(values.mean()) / deviation


def probabilistic_sharpe(returns: NDArray[np.float64], benchmark: float = 0.0) -> float:
    """Probability that the true Sharpe ratio (per period) exceeds `benchmark`.

    PSR = Phi((SR - SR*) sqrt(n-1) / sqrt(1 - g3 SR + (g4-1)/4 SR^2)) with skewness g3 and raw kurtosis g4 (population
    moments). NaN for fewer than three values or when the moments make the variance of SR negative.
    Source: Bailey and Lopez de Prado, "The Sharpe ratio efficient frontier" (2012).
    """
    values = finite_vector(returns, "returns")
    if len(values) < 3:
        return math.nan
    ratio = sharpe_ratio(values)
    skew, kurtosis = moments(values)
    variance = 1.0 - skew * ratio + (kurtosis - 1.0) / 4.0 * ratio * ratio
    if not variance > 0.0:
        return math.nan
    return NORMAL.cdf((ratio - benchmark) * math.sqrt((len(values) - 1) / variance))


def expected_maximum_sharpe(trials: int, sharpe_deviation: float) -> float:
    """Expected largest Sharpe ratio among `trials` independent ones without skill.

    `sharpe_deviation`: standard deviation of the trials' Sharpe ratios (per period). 0.0 for one trial.
    Source: Bailey and Lopez de Prado, "The deflated Sharpe ratio" (2014), equation 1.
    """
    if trials < 1:
        raise ValueError(f"trials = {trials}: must be at least 1; every evaluated combination, seed and look counts")
    if trials == 1:
        return 0.0
    first = NORMAL.inv_cdf(1.0 - 1.0 / trials)
    second = NORMAL.inv_cdf(1.0 - 1.0 / (trials * math.e))
    return sharpe_deviation * ((1.0 - EULER_GAMMA) * first + EULER_GAMMA * second)


def deflated_sharpe(returns: NDArray[np.float64], trials: int, sharpe_deviation: float | None = None) -> float:
    """Probability that the true Sharpe ratio exceeds what the best of `trials` ones without skill would show.

    `sharpe_deviation` is the standard deviation of the trials' Sharpe ratios; where it was not recorded, None takes
    its value without skill, 1/sqrt(n-1). NaN as in `probabilistic_sharpe`.
    """
    values = finite_vector(returns, "returns")
    if len(values) < 3:
        return math.nan
    deviation = 1.0 / math.sqrt(len(values) - 1) if sharpe_deviation is None else sharpe_deviation
    return probabilistic_sharpe(values, expected_maximum_sharpe(trials, deviation))


def finite_vector(values: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """`values` as a float64 vector; raises ValueError naming the first value that is not finite."""
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1:
        raise ValueError(f"{name} has {vector.ndim} dimensions: one value a period is needed")
    bad = np.flatnonzero(~np.isfinite(vector))
    if bad.size:
        raise ValueError(f"{name}[{bad[0]}] = {vector[bad[0]]}: statistics need finite values; drop or explain the row")
    return vector


def moments(values: NDArray[np.float64]) -> tuple[float, float]:
    """Population skewness and raw kurtosis; those of a normal for a constant series."""
    centred = values - values.mean()
    variance = float(np.mean(centred**2))
    if math.sqrt(variance) <= 1e-12 * float(np.abs(values).max(initial=0.0)):
        return 0.0, 3.0
    return float(np.mean(centred**3)) / variance**1.5, float(np.mean(centred**4)) / variance**2
