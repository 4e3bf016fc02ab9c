"""Features 1-12 and 19: scaled returns, the shape of the bar, the efficiency of the move."""

import numpy as np

from kernels.features.elementwise import cut
from kernels.features.inputs import EPSILON, FeatureInputs, bounded, quotient
from kernels.features.windows import Floats, at_end, window_sum

HORIZONS = (1, 2, 5, 10, 20, 60, 120, 240)


def trend(inputs: FeatureInputs) -> dict[str, Floats]:
    """Features ret_*, gap, body, upper_wick, clv, eff_ratio_20, each [rows]."""
    rows, bars = len(inputs.steps), inputs.bars
    features = {
        f"ret_{k}": bounded(at_end(inputs.path.total(k), rows) / (inputs.sd[60] * np.sqrt(k)), 5.0) for k in HORIZONS
    }
    features["gap"] = bounded((np.log(inputs.open) + inputs.steps) / inputs.sd[60], 5.0)
    reach = bars.high - bars.low + EPSILON * np.abs(bars.close)
    features["body"] = bounded(quotient(bars.close - bars.open, reach, 0.0), 1.0)
    features["upper_wick"] = cut(quotient(bars.high - np.maximum(bars.open, bars.close), reach, 0.0), 0.0, 1.0)
    features["clv"] = bounded(quotient(2.0 * bars.close - bars.high - bars.low, reach, 0.0), 1.0)
    way = window_sum(np.abs(inputs.steps), 20)
    features["eff_ratio_20"] = bounded(quotient(at_end(inputs.path.total(20), rows), way, 0.0), 1.0)
    return features
