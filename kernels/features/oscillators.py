"""Features 13-18 and 20: where the close stands against its own recent levels."""

import numpy as np

from kernels.compiled import compiled
from kernels.features.elementwise import balance, larger, share, standing, within
from kernels.features.inputs import FLAT, FLOOR, FeatureInputs
from kernels.features.windows import (
    Floats,
    decay_weight,
    mean_and_spread,
    window_extremes,
    window_sum,
)

TIE = 1e-9  # of the price: two moves closer than that are equal; a tick is far larger, rounding far smaller
EMA_TAPS = {12: 60, 26: 130, 9: 45}  # rows after which an ema's weights are cut off, by span


def oscillators(inputs: FeatureInputs) -> dict[str, Floats]:
    """Features z_*, rsi_14, macd_hist, stoch_14, donch_60, di_diff_14, each [rows]."""
    features, path = {}, inputs.path
    for size in (20, 240):
        mean, spread = mean_and_spread(inputs.here, (size,), path)[size]
        features[f"z_{size}"] = standing(inputs.here, mean, spread, size, FLAT)
    gains, losses = _moves(path.ratios[0])
    features["rsi_14"] = balance(window_sum(gains, 14, path), window_sum(losses, 14, path))
    features["macd_hist"] = _macd_histogram(inputs)
    tops = window_extremes(inputs.high, (14, 60), path, larger=True)
    bottoms = window_extremes(inputs.low, (14, 60), path, larger=False)
    for name, size in (("stoch_14", 14), ("donch_60", 60)):
        features[name] = _place(inputs.here, bottoms[size], tops[size])
    plus, minus = _directions(inputs.high, inputs.low, path.ratios[0])
    features["di_diff_14"] = balance(window_sum(plus, 14, path), window_sum(minus, 14, path))
    return features


def _macd_histogram(inputs: FeatureInputs) -> Floats:
    fast, slow = (window_sum(inputs.here, EMA_TAPS[span], inputs.path, decay=_decay(span)) for span in (12, 26))
    macd = _difference(fast, _weight(12), slow, _weight(26))
    signal = window_sum(macd, EMA_TAPS[9], inputs.path, decay=_decay(9))
    return np.asarray(_histogram(_difference(macd, 1.0, signal, _weight(9)), inputs.true_range))


def _decay(span: int) -> float:
    return 1.0 - 2.0 / (span + 1)


def _weight(span: int) -> float:
    return decay_weight(EMA_TAPS[span], _decay(span))


@compiled
def _moves(before: Floats) -> tuple[Floats, Floats]:
    """How far the close rose and how far it fell, in units of itself."""
    gains, losses = np.empty(len(before)), np.empty(len(before))
    for i in range(len(before)):
        move = 1.0 - before[i]
        gains[i], losses[i] = larger(move, 0.0), larger(-move, 0.0)
    return gains, losses


@compiled
def _difference(left: Floats, left_weight: float, right: Floats, right_weight: float) -> Floats:
    out = np.empty(len(left))
    for i in range(len(left)):
        out[i] = left[i] / left_weight - right[i] / right_weight
    return out


@compiled
def _histogram(difference: Floats, true_range: Floats) -> Floats:
    out = np.empty(len(difference))
    for i in range(len(difference)):
        out[i] = within(difference[i] / larger(true_range[i], FLOOR), -5.0, 5.0)
    return out


@compiled
def _place(here: Floats, bottom: Floats, top: Floats) -> Floats:
    """Where the close stands in its channel, from -1 at the bottom to 1 at the top; 0 in one without height."""
    out = np.empty(len(here))
    for i in range(len(here)):
        out[i] = within(share(2.0 * here[i] - top[i] - bottom[i], top[i] - bottom[i], 0.0, 0.0), -1.0, 1.0)
    return out


@compiled
def _directions(high: Floats, low: Floats, before: Floats) -> tuple[Floats, Floats]:
    """+DM and -DM in units of the close; NaN on the first row and where a price is missing."""
    plus, minus = np.empty(len(high)), np.empty(len(high))
    plus[0] = minus[0] = np.nan
    rise, fall, highs, lows, ratios = plus[1:], minus[1:], high[1:], low[1:], before[1:]
    for i in range(len(high) - 1):
        up, down = highs[i] - high[i] * ratios[i], low[i] * ratios[i] - lows[i]
        nothing = 0.0 if up + down == up + down else np.nan
        rise[i] = up if (up > TIE) & (up - down > TIE) else nothing
        fall[i] = down if (down > TIE) & (down - up > TIE) else nothing
    return plus, minus
