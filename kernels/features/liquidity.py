"""Features 28-34: volume, and what volume does to the price."""

import numpy as np

from kernels.features.elementwise import cut
from kernels.features.inputs import FLAT, FeatureInputs, bounded, bounded_log, quotient
from kernels.features.windows import Floats, comoments, mean_and_spread, window_sum, window_sums


def liquidity(inputs: FeatureInputs) -> dict[str, Floats]:
    """Features vol_z_60, relvol_5_240, vwap_dev_60, signed_vol_20, amihud_60, kyle_corr_60, roll_60, each [rows]."""
    volume, steps = inputs.bars.volume, inputs.steps
    logs = np.log1p(volume)
    mean, spread = mean_and_spread(logs, (60,))[60]
    volumes = window_sums(volume, (5, 20)) | window_sums(volume, (60, 240))
    relative = (1.0 + volumes[5] / 5) / (1.0 + volumes[240] / 240)
    signed = window_sum(np.sign(steps) * volume, 20) / (1.0 + volumes[20])
    impact = np.abs(steps) / (volume + 1.0)  # in units of 1 / level
    impacts = window_sums(impact, (60, 240), inputs.path, power=-1.0)
    pressure = np.sign(steps) * np.sqrt(volume)  # in units of sqrt(level)
    moved, pressed, together = comoments(steps, pressure, 60, inputs.path, 0.5)
    return {
        "vol_z_60": bounded(quotient(logs - mean, np.sqrt(spread / 59), 0.0, FLAT), 5.0),
        "relvol_5_240": bounded_log(relative, 3.0),
        "vwap_dev_60": _vwap_deviation(inputs, volumes[60]),
        "signed_vol_20": bounded(signed, 1.0),
        "amihud_60": bounded_log(quotient(impacts[60] / 60, impacts[240] / 240, 1.0), 3.0),
        "kyle_corr_60": cut(correlation(moved, pressed, together), 0.0, 1.0),
        "roll_60": cut(2.0 * np.sqrt(np.maximum(-inputs.lagged[2] / 59, 0.0)) / inputs.sd[60], 0.0, 2.0),
    }


def correlation(left: Floats, right: Floats, product: Floats) -> Floats:
    """Pearson's correlation from sums over 60 rows, in [-1, 1]; 0 where one side did not move."""
    left_sd, right_sd = np.sqrt(left / 60), np.sqrt(right / 60)
    still = (left_sd <= FLAT) | (right_sd <= FLAT)
    return bounded(quotient(product / 60, np.where(still, 0.0, left_sd * right_sd), 0.0), 1.0)


def _vwap_deviation(inputs: FeatureInputs, volume: Floats) -> Floats:
    typical = (inputs.high + inputs.low + inputs.here) / 3
    average = quotient(window_sum(typical * inputs.bars.volume, 60, inputs.path), volume, 1.0)
    return bounded(-np.log(average) / (inputs.sd[60] * np.sqrt(60.0)), 5.0)
