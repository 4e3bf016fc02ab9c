"""Features 35-38: the shape and the memory of returns."""

import numpy as np

from kernels.compiled import compiled
from kernels.features.elementwise import share, within
from kernels.features.inputs import FLAT, FeatureInputs
from kernels.features.liquidity import correlation
from kernels.features.windows import Floats, at_end, central_moments, mean_and_spread

LN_10 = float(np.log(10.0))


def shape(inputs: FeatureInputs) -> dict[str, Floats]:
    """Features skew_60, exkurt_60, acf1_60, hurst_vr_240, each [rows]."""
    second, third, fourth = central_moments(inputs.steps, 60)
    sd = np.sqrt(second / 60)
    skew, excess = _skew_and_excess(third, fourth, sd, sd**3, sd**4)
    ten = mean_and_spread(at_end(inputs.path.total(10), len(sd)), (240,))[240][1]
    ratio = _variance_ratio(ten, inputs.spread[240])
    return {
        "skew_60": skew,
        "exkurt_60": excess,
        "acf1_60": correlation(*inputs.lagged),
        "hurst_vr_240": _exponent(np.log(ratio, out=ratio)),
    }


@compiled
def _skew_and_excess(
    third: Floats, fourth: Floats, sd: Floats, cubed: Floats, to_fourth: Floats
) -> tuple[Floats, Floats]:
    """Skew and a fifth of the excess kurtosis from sums over 60 rows; 0 where nothing moved."""
    skew, excess = np.empty(len(sd)), np.empty(len(sd))
    for i in range(len(sd)):
        moved = not sd[i] <= FLAT
        skew[i] = within(share(third[i] / 60, cubed[i] if moved else 0.0, 0.0, 0.0), -5.0, 5.0)
        kurtosis = share(fourth[i] / 60, to_fourth[i] if moved else 0.0, 3.0, 0.0)
        excess[i] = within(kurtosis - 3.0, -2.0, 10.0) / 5.0
    return skew, excess


@compiled
def _variance_ratio(ten: Floats, one: Floats) -> Floats:
    """Variance of ten-bar returns against ten times that of one bar, cut to [0.1, 10]; 1 where nothing moved."""
    out = np.empty(len(ten))
    for i in range(len(ten)):
        usual = 0.0 if np.sqrt(one[i] / 240) <= FLAT else 10.0 * one[i]
        out[i] = within(share(ten[i], usual, 1.0, 0.0), 0.1, 10.0)
    return out


@compiled
def _exponent(log_ratio: Floats) -> Floats:
    out = np.empty(len(log_ratio))
    for i in range(len(log_ratio)):
        out[i] = within(0.5 + 0.5 * log_ratio[i] / LN_10, 0.0, 1.0)
    return out
