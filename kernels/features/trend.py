"""Features 1-12 and 19: scaled returns, the shape of the bar, the efficiency of the move."""

import numpy as np

from kernels.compiled import compiled
from kernels.features.elementwise import cut_scaled, cut_share, larger, share, within
from kernels.features.inputs import EPSILON, FeatureInputs
from kernels.features.windows import Floats, at_end, window_sum

HORIZONS = (1, 2, 5, 10, 20, 60, 120, 240)


def trend(inputs: FeatureInputs) -> dict[str, Floats]:
    """Features ret_*, gap, body, upper_wick, clv, eff_ratio_20, each [rows]."""
    bars, s60 = inputs.bars, inputs.sd[60]
    features = {f"ret_{k}": cut_scaled(inputs.path.total(k), s60, float(np.sqrt(k)), 5.0) for k in HORIZONS}
    features["gap"] = cut_scaled(inputs.logs[0] + inputs.steps, s60, 1.0, 5.0)
    shape = _shape(bars.open, bars.high, bars.low, bars.close)
    features["body"], features["upper_wick"], features["clv"] = shape
    way = window_sum(np.abs(inputs.steps), 20)
    features["eff_ratio_20"] = cut_share(at_end(inputs.path.total(20), len(way)), way, 0.0, 0.0, -1.0, 1.0)
    return features


@compiled
def _shape(opened: Floats, high: Floats, low: Floats, close: Floats) -> tuple[Floats, Floats, Floats]:
    """Body, upper wick and place of the close, in units of the bar's reach."""
    rows = len(close)
    body, wick, place = np.empty(rows), np.empty(rows), np.empty(rows)
    for i in range(rows):
        reach = high[i] - low[i] + EPSILON * abs(close[i])
        body[i] = within(share(close[i] - opened[i], reach, 0.0, 0.0), -1.0, 1.0)
        wick[i] = within(share(high[i] - larger(opened[i], close[i]), reach, 0.0, 0.0), 0.0, 1.0)
        place[i] = within(share(2.0 * close[i] - high[i] - low[i], reach, 0.0, 0.0), -1.0, 1.0)
    return body, wick, place
