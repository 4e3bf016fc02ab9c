"""Features 21-27: volatility of returns and ranges against each other."""

import numpy as np

from kernels.compiled import compiled
from kernels.features.elementwise import cut_share, deviation, larger
from kernels.features.inputs import FLAT, FLOOR, FeatureInputs, log_ratio
from kernels.features.windows import Floats, mean_and_spread, window_sum

YANG_ZHANG_WEIGHT = 0.34 / (1.34 + 21 / 19)  # Yang, Zhang 2000, for 20 bars
LN_2 = float(np.log(2.0))


def volatility(inputs: FeatureInputs) -> dict[str, Floats]:
    """Features vol_*, natr_rel, parkinson_20, garman_klass_20, yang_zhang_20, absret_cv_60, each [rows]."""
    sd = inputs.sd
    features = {"vol_10_60": log_ratio(sd[10], sd[60], 3.0), "vol_60_240": log_ratio(sd[60], sd[240], 3.0)}
    features["natr_rel"] = log_ratio(inputs.true_range, window_sum(inputs.true_range, 240) / 240, 3.0, FLOOR)
    names = ("parkinson_20", "garman_klass_20", "yang_zhang_20")
    features |= {
        name: log_ratio(estimate, sd[60], 3.0) for name, estimate in zip(names, _range_estimates(inputs), strict=True)
    }
    mean, spread = mean_and_spread(np.abs(inputs.steps), (60,))[60]
    features["absret_cv_60"] = cut_share(deviation(spread, 60, 0.0), mean, 0.0, FLAT, 0.0, 5.0)
    return features


def _range_estimates(inputs: FeatureInputs) -> tuple[Floats, Floats, Floats]:
    opened = inputs.logs[0]
    *terms, overnight = _range_terms(*inputs.logs, inputs.steps)
    sums = [window_sum(term, 20) for term in terms]
    spreads = [mean_and_spread(term, (20,))[20][1] for term in (overnight, opened)]
    parkinson, garman_klass, yang_zhang = _estimates(*sums, *spreads)
    return parkinson, garman_klass, yang_zhang


@compiled
def _range_terms(opened: Floats, high: Floats, low: Floats, steps: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """A bar's terms of Parkinson, Garman-Klass and Rogers-Satchell, and its open against the close before."""
    rows = len(opened)
    reach, garman_klass, rogers_satchell, overnight = np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows)
    for i in range(rows):
        wide = high[i] - low[i]
        reach[i] = wide * wide
        garman_klass[i] = 0.5 * reach[i] - (2 * LN_2 - 1) * (opened[i] * opened[i])
        rogers_satchell[i] = high[i] * (high[i] - opened[i]) + low[i] * (low[i] - opened[i])
        overnight[i] = opened[i] + steps[i]
    return reach, garman_klass, rogers_satchell, overnight


@compiled
def _estimates(
    reach: Floats, garman_klass: Floats, rogers_satchell: Floats, overnight: Floats, session: Floats
) -> tuple[Floats, Floats, Floats]:
    """Volatility of one bar from sums and spreads over 20, at least FLOOR."""
    rows, k = len(reach), YANG_ZHANG_WEIGHT
    parkinson, garman, yang = np.empty(rows), np.empty(rows), np.empty(rows)
    for i in range(rows):
        parkinson[i] = _floored_root(reach[i] / 20 / (4 * LN_2))
        garman[i] = _floored_root(garman_klass[i] / 20)
        yang[i] = _floored_root(overnight[i] / 19 + k * (session[i] / 19) + (1 - k) * (rogers_satchell[i] / 20))
    return parkinson, garman, yang


@compiled
def _floored_root(variance: float) -> float:
    root: float = larger(np.sqrt(larger(variance, 0.0)), FLOOR)
    return root
