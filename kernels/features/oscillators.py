"""Features 13-18 and 20: where the close stands against its own recent levels."""

import numpy as np

from kernels.features.inputs import FLAT, FLOOR, FeatureInputs, bounded, quotient
from kernels.features.windows import (
    Floats,
    LevelPath,
    decay_weight,
    mean_and_spread,
    window_extremes,
    window_sum,
)

TIE = 1e-9  # of the price: two moves closer than that are equal; a tick is far larger, rounding far smaller
EMA_TAPS = {12: 60, 26: 130, 9: 45}  # rows after which an ema's weights are cut off, by span


def oscillators(inputs: FeatureInputs) -> dict[str, Floats]:
    """Features z_*, rsi_14, macd_hist, stoch_14, donch_60, di_diff_14, each [rows]."""
    features = {}
    for size in (20, 240):
        mean, spread = mean_and_spread(inputs.here, (size,), inputs.path)[size]
        features[f"z_{size}"] = bounded(quotient(inputs.here - mean, np.sqrt(spread / (size - 1)), 0.0, FLAT), 5.0)
    features["rsi_14"] = _rsi(inputs)
    features["macd_hist"] = _macd_histogram(inputs)
    features["stoch_14"], features["donch_60"] = _places_in_channels(inputs, (14, 60))
    features["di_diff_14"] = _direction(inputs)
    return features


def average_true_range(inputs: FeatureInputs) -> Floats:
    """Mean true range of 14 bars in units of the last close (ATR14 / C), [rows]."""
    before = inputs.path.ratios[0]
    true_range = np.maximum(inputs.high, before) - np.minimum(inputs.low, before)
    return window_sum(true_range, 14, inputs.path) / 14


def _rsi(inputs: FeatureInputs) -> Floats:
    move = 1.0 - inputs.path.ratios[0]
    gain = window_sum(np.maximum(move, 0.0), 14, inputs.path)
    loss = window_sum(np.maximum(-move, 0.0), 14, inputs.path)
    return bounded(quotient(gain - loss, gain + loss, 0.0), 1.0)


def _macd_histogram(inputs: FeatureInputs) -> Floats:
    macd = _ema(inputs.here, 12, inputs.path) - _ema(inputs.here, 26, inputs.path)
    histogram = macd - _ema(macd, 9, inputs.path)
    return bounded(histogram / np.maximum(average_true_range(inputs), FLOOR), 5.0)


def _ema(values: Floats, span: int, path: LevelPath) -> Floats:
    decay, taps = 1.0 - 2.0 / (span + 1), EMA_TAPS[span]
    return window_sum(values, taps, path, decay=decay) / decay_weight(taps, decay)


def _places_in_channels(inputs: FeatureInputs, sizes: tuple[int, ...]) -> list[Floats]:
    tops = window_extremes(inputs.high, sizes, inputs.path, larger=True)
    bottoms = window_extremes(inputs.low, sizes, inputs.path, larger=False)
    return [
        bounded(quotient(2.0 * inputs.here - tops[size] - bottoms[size], tops[size] - bottoms[size], 0.0), 1.0)
        for size in sizes
    ]


def _direction(inputs: FeatureInputs) -> Floats:
    before = inputs.path.ratios[0]
    nothing = np.full(1, np.nan)
    up = inputs.high - np.append(nothing, inputs.high[:-1]) * before
    down = np.append(nothing, inputs.low[:-1]) * before - inputs.low
    unknown = np.isnan(up + down)
    plus = np.where(unknown, np.nan, np.where((up > TIE) & (up - down > TIE), up, 0.0))
    minus = np.where(unknown, np.nan, np.where((down > TIE) & (down - up > TIE), down, 0.0))
    rise, fall = window_sum(plus, 14, inputs.path), window_sum(minus, 14, inputs.path)
    return bounded(quotient(rise - fall, rise + fall, 0.0), 1.0)
