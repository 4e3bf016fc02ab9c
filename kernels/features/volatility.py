"""Features 21-27: volatility of returns and ranges against each other."""

import numpy as np

from kernels.features.elementwise import cut
from kernels.features.inputs import FLAT, FLOOR, FeatureInputs, bounded_log, quotient
from kernels.features.oscillators import average_true_range
from kernels.features.windows import Floats, mean_and_spread, window_sum

YANG_ZHANG_WEIGHT = 0.34 / (1.34 + 21 / 19)  # Yang, Zhang 2000, for 20 bars


def volatility(inputs: FeatureInputs) -> dict[str, Floats]:
    """Features vol_*, natr_rel, parkinson_20, garman_klass_20, yang_zhang_20, absret_cv_60, each [rows]."""
    sd = inputs.sd
    features = {
        "vol_10_60": bounded_log(sd[10] / sd[60], 3.0),
        "vol_60_240": bounded_log(sd[60] / sd[240], 3.0),
    }
    true_range = average_true_range(inputs)
    usual = window_sum(true_range, 240) / 240
    features["natr_rel"] = bounded_log(np.maximum(true_range, FLOOR) / np.maximum(usual, FLOOR), 3.0)
    features |= _range_estimators(inputs)
    mean, spread = mean_and_spread(np.abs(inputs.steps), (60,))[60]
    features["absret_cv_60"] = cut(quotient(np.sqrt(spread / 59), mean, 0.0, FLAT), 0.0, 5.0)
    return features


def _range_estimators(inputs: FeatureInputs) -> dict[str, Floats]:
    opened, high, low = np.log(inputs.open), np.log(inputs.high), np.log(inputs.low)  # all against the close
    reach = (high - low) ** 2
    parkinson = window_sum(reach, 20) / 20 / (4 * np.log(2.0))
    garman_klass = window_sum(0.5 * reach - (2 * np.log(2.0) - 1) * opened**2, 20) / 20
    rogers_satchell = window_sum(high * (high - opened) + low * (low - opened), 20) / 20
    overnight = mean_and_spread(opened + inputs.steps, (20,))[20][1] / 19
    session = mean_and_spread(opened, (20,))[20][1] / 19
    k = YANG_ZHANG_WEIGHT
    variances = {
        "parkinson_20": parkinson,
        "garman_klass_20": garman_klass,
        "yang_zhang_20": overnight + k * session + (1 - k) * rogers_satchell,
    }
    return {
        name: bounded_log(np.maximum(np.sqrt(np.maximum(variance, 0.0)), FLOOR) / inputs.sd[60], 3.0)
        for name, variance in variances.items()
    }
