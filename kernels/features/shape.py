"""Features 35-38: the shape and the memory of returns."""

import numpy as np

from kernels.features.elementwise import cut
from kernels.features.inputs import FLAT, FeatureInputs, bounded, quotient
from kernels.features.liquidity import correlation
from kernels.features.windows import Floats, at_end, central_moments, mean_and_spread


def shape(inputs: FeatureInputs) -> dict[str, Floats]:
    """Features skew_60, exkurt_60, acf1_60, hurst_vr_240, each [rows]."""
    second, third, fourth = central_moments(inputs.steps, 60)
    sd = np.sqrt(second / 60)
    excess = quotient(fourth / 60, np.where(sd <= FLAT, 0.0, sd**4), 3.0) - 3.0
    return {
        "skew_60": bounded(quotient(third / 60, np.where(sd <= FLAT, 0.0, sd**3), 0.0), 5.0),
        "exkurt_60": cut(excess, -2.0, 10.0) / 5.0,
        "acf1_60": correlation(*inputs.lagged),
        "hurst_vr_240": _variance_ratio(inputs),
    }


def _variance_ratio(inputs: FeatureInputs) -> Floats:
    ten = mean_and_spread(at_end(inputs.path.total(10), len(inputs.steps)), (240,))[240][1]
    one = inputs.spread[240]
    still = np.sqrt(one / 240) <= FLAT
    ratio = cut(quotient(ten, np.where(still, 0.0, 10.0 * one), 1.0), 0.1, 10.0)
    exponent: Floats = cut(0.5 + 0.5 * np.log(ratio) / np.log(10.0), 0.0, 1.0)
    return exponent
