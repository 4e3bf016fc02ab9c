"""Features 28-34: volume, and what volume does to the price."""

import numpy as np

from kernels.compiled import compiled
from kernels.features.elementwise import cut_scaled, cut_share, divided, larger, share, standing, within
from kernels.features.inputs import FLAT, FeatureInputs, bounded_log, log_ratio
from kernels.features.windows import Floats, mean_and_spread, products, window_sum, window_sums


def liquidity(inputs: FeatureInputs) -> dict[str, Floats]:
    """Features vol_z_60, relvol_5_240, vwap_dev_60, signed_vol_20, amihud_60, kyle_corr_60, roll_60, each [rows]."""
    volume, steps, path = inputs.bars.volume, inputs.steps, inputs.path
    logs = np.log1p(volume)
    volumes = window_sums(volume, (5, 20)) | window_sums(volume, (60, 240))
    signed, impact, pressure, turnover = _terms(steps, volume, inputs.high, inputs.low, inputs.here)
    impacts = window_sums(impact, (60, 240), path, power=-1.0)
    pressed = mean_and_spread(pressure, (60,), path, 0.5)[60][1]
    usual_impact = divided(impacts[60] / 60, impacts[240] / 240, 1.0, 0.0)
    price = divided(window_sum(turnover, 60, path), volumes[60], 1.0, 0.0)
    return {
        "vol_z_60": standing(logs, *mean_and_spread(logs, (60,))[60], 60, FLAT),
        "relvol_5_240": log_ratio(1.0 + volumes[5] / 5, 1.0 + volumes[240] / 240, 3.0),
        "vwap_dev_60": cut_scaled(-np.log(price), inputs.sd[60], float(np.sqrt(60.0)), 5.0),
        "signed_vol_20": cut_share(window_sum(signed, 20), 1.0 + volumes[20], 0.0, 0.0, -1.0, 1.0),
        "amihud_60": bounded_log(usual_impact, 3.0),
        "kyle_corr_60": correlation(inputs.spread[60], pressed, products(steps, pressure, 60, path, 0.5), low=0.0),
        "roll_60": _bounce(inputs.lagged[2], inputs.sd[60]),
    }


def correlation(left: Floats, right: Floats, product: Floats, low: float = -1.0) -> Floats:
    """Pearson's correlation from sums over 60 rows, in [low, 1]; 0 where one side did not move."""
    return np.asarray(_correlation(left, right, product, low))


@compiled
def _correlation(left: Floats, right: Floats, product: Floats, low: float) -> Floats:
    out = np.empty(len(left))
    for i in range(len(left)):
        left_sd, right_sd = np.sqrt(left[i] / 60), np.sqrt(right[i] / 60)
        both = 0.0 if (left_sd <= FLAT) | (right_sd <= FLAT) else left_sd * right_sd
        out[i] = within(share(product[i] / 60, both, 0.0, 0.0), low, 1.0)
    return out


@compiled
def _terms(
    steps: Floats, volume: Floats, high: Floats, low: Floats, here: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Volume by the return's sign, impact in 1 / level, pressure in sqrt(level), turnover at the typical price."""
    rows = len(steps)
    signed, impact, pressure, turnover = np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows)
    for i in range(rows):
        sign = 1.0 if steps[i] > 0 else (-1.0 if steps[i] < 0 else abs(steps[i]))  # 0 stays 0, NaN stays NaN
        signed[i] = sign * volume[i]
        impact[i] = abs(steps[i]) / (volume[i] + 1.0)
        pressure[i] = sign * np.sqrt(volume[i])
        turnover[i] = (high[i] + low[i] + here[i]) / 3 * volume[i]
    return signed, impact, pressure, turnover


@compiled
def _bounce(lagged: Floats, sd: Floats) -> Floats:
    """Roll's spread from the sum of products with the return before, in units of the volatility of one bar."""
    out = np.empty(len(lagged))
    for i in range(len(lagged)):
        out[i] = within(2.0 * np.sqrt(larger(0.0 - lagged[i] / 59, 0.0)) / sd[i], 0.0, 2.0)
    return out
