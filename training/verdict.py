"""Whether a model may be called better than flat, at a stated error rate.

numpy and the standard library at module level only: the report step imports it and must start fast.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.bootstrap import (
    block_length,
    independent_error,
    standard_error,
    studentised_resamples,
    tail_probability,
)
from training.statistics import finite_vector

BEATS = "beats flat (one-sided error rate {rate} %)"
LOSES = "does not beat flat after costs"
UNCLEAR = "not distinguishable from flat on this much data"

MINIMUM_SESSIONS = 10
"""Below this no test of a mean is worth its name, so no model is called better than flat."""

RESAMPLES = 19_999
"""Enough that their share resolves 2.5 % shared among 50 models; beyond that the fitted tail does (`tail_probability`)."""


@dataclass(frozen=True)
class Verdict:
    """The words of the report about one model, and the numbers behind them.

    `p_value` is one-sided for "mean session profit > 0", before sharing the error rate among `trials` models;
    `threshold` is what it had to stay below. `distinguishable`: the sign of the mean is settled at that rate, either
    way.
    """

    words: str
    beats_flat: bool
    distinguishable: bool
    mean: float
    standard_error: float
    p_value: float
    threshold: float
    sessions: int
    trials: int
    method: str


def verdict(session_profit: NDArray[np.float64], trials: int, confidence: float = 0.975, seed: int = 0) -> Verdict:
    """Judge the net profits [n] of a model's test sessions, in money, after all costs, flat sessions included.

    `confidence` 0.975 states a one-sided error rate of 2.5 % that *any* of `trials` models without an edge is called
    better than flat (Bonferroni). The p-value is the larger of two: Student's t corrected for losses that are rarer and
    larger than gains (`corrected_t`), with a standard error that dependence between sessions can only widen, and the
    stationary bootstrap-t, whose fitted tail follows the threshold however many trials share the rate
    (`tail_probability`). What the rate is in simulation, and for which profits it is exceeded, stands in
    docs/acceptance.md. A positive mean that does not pass is called not distinguishable from flat; a mean that is zero
    or less does not beat flat. Raises ValueError for values that are not finite and trials < 1.
    """
    data = finite_vector(session_profit, "session_profit")
    if trials < 1:
        raise ValueError(f"trials = {trials}: must be at least 1; count every model judged on these test rows")
    if not 0.5 < confidence < 1.0:
        raise ValueError(f"confidence = {confidence}: must lie between 0.5 and 1 (0.975 means an error rate of 2.5 %)")
    threshold = (1.0 - confidence) / trials
    mean = float(data.mean()) if len(data) else 0.0
    error = standard_error(data) if len(data) > 1 else 0.0
    above = below = 1.0
    if len(data) >= MINIMUM_SESSIONS and error > 0.0:
        above, below = _p_values(data, error, seed)
    beats = mean > 0.0 and above <= threshold
    return Verdict(
        words=BEATS.format(rate=f"{100.0 * (1.0 - confidence):.3g}") if beats else UNCLEAR if mean > 0.0 else LOSES,
        beats_flat=beats,
        distinguishable=beats or (mean < 0.0 and below <= threshold),
        mean=mean,
        standard_error=error,
        p_value=above,
        threshold=threshold,
        sessions=len(data),
        trials=trials,
        method=_method(len(data), trials, seed),
    )


def _method(sessions: int, trials: int, seed: int) -> str:
    return (
        f"larger p-value of the skewness-corrected t and the stationary bootstrap-t (mean block "
        f"{block_length(sessions)} sessions, {RESAMPLES} resamples, seed {seed}), error rate shared among {trials} "
        f"models (Bonferroni)"
    )


def corrected_t(data: NDArray[np.float64], error: float) -> float:
    """t of a positive mean of `data` [n], lowered for negative skewness (Johnson's correction), never raised.

    t' = sqrt(n) (z + g/(6n) + g z^2/3), z = mean/sd, with g = 1.5 times the sample skewness where that is negative:
    a small sample mostly misses its rare losses and shows too little skewness; 1.5 brings the false-positive rate of
    exponential losses at 18 sessions from 7.0 % to 2.1 %, of normal ones from 2.1 % to 1.7 %. Beyond z = -1.5/g this
    parabola falls, and would call the surest profits the least sure: from there on t' grows as Hall's cubic does,
    z + g z^2/3 + g^2 z^3/27, which never falls (exponential losses at 18 sessions: still below 2.5 %). `error` is the
    standard error to divide by. Sources: Johnson (1978), "Modified t tests and confidence intervals for asymmetrical
    populations"; Hall (1992), "On the removal of skewness by transformation".
    """
    n = len(data)
    centred = data - data.mean()
    deviation = math.sqrt(float(centred @ centred) / (n - 1))
    skewness = min(1.5 * float(np.mean(centred**3)) / deviation**3, 0.0)
    ratio = float(data.mean()) / deviation
    joint = min(ratio, -1.5 / skewness) if skewness < 0.0 else ratio
    beyond = _hall(ratio, skewness) - _hall(joint, skewness)
    return (joint + skewness / (6 * n) + skewness * joint * joint / 3.0 + beyond) * deviation / error


def _hall(ratio: float, skewness: float) -> float:
    """Hall's cubic, of slope (1 + g z/3)^2, without its constant term."""
    return ratio + skewness * ratio**2 / 3.0 + skewness**2 * ratio**3 / 27.0


def _p_values(data: NDArray[np.float64], error: float, seed: int) -> tuple[float, float]:
    """One-sided p-values of "mean > 0" and of "mean < 0"."""
    # scipy here and not above: it takes longer to import than the rest of this module takes to run.
    from scipy.special import stdtr

    statistics = studentised_resamples(data, block_length(len(data)), RESAMPLES, seed)
    freedom, t_value = len(data) - 1, float(data.mean()) / independent_error(data)
    sides = []
    for sign, ordered in ((1.0, statistics), (-1.0, -statistics[::-1])):
        corrected = float(stdtr(freedom, -corrected_t(sign * data, error)))
        sides.append(max(corrected, tail_probability(ordered, sign * t_value)))
    return sides[0], sides[1]
