"""Quotients with a value for 0 / 0, cuts and extremes: of one value, to be compiled into a formula, and of arrays."""

import numpy as np
from numpy.typing import NDArray

from kernels.compiled import compiled

Floats = NDArray[np.float64]


@compiled
def share(top: float, bottom: float, empty: float, least: float) -> float:
    """top / bottom, and `empty` where bottom <= least; NaN in either stays NaN."""
    value = top / bottom
    other = empty if top == top else top
    return other if bottom <= least else value


@compiled
def within(value: float, low: float, high: float) -> float:
    """Cut to [low, high]; NaN stays NaN."""
    value = low if value < low else value
    return high if value > high else value


@compiled
def larger(value: float, other: float) -> float:
    """The larger of the two; NaN where either is."""
    return value if value > other or value != value else other


@compiled
def smaller(value: float, other: float) -> float:
    """The smaller of the two; NaN where either is."""
    return value if value < other or value != value else other


@compiled
def divided(top: Floats, bottom: Floats, empty: float, least: float) -> Floats:
    """`share` of each pair."""
    out = np.empty(len(top))
    for i in range(len(top)):
        out[i] = share(top[i], bottom[i], empty, least)
    return out


@compiled
def cut(values: Floats, low: float, high: float) -> Floats:
    """Each value `within` [low, high]."""
    out = np.empty(len(values))
    for i in range(len(values)):
        out[i] = within(values[i], low, high)
    return out


@compiled
def cut_share(top: Floats, bottom: Floats, empty: float, least: float, low: float, high: float) -> Floats:
    """`share` of each pair, cut to [low, high]."""
    out = np.empty(len(top))
    for i in range(len(top)):
        out[i] = within(share(top[i], bottom[i], empty, least), low, high)
    return out


@compiled
def cut_ratio(top: Floats, bottom: Floats, floor: float, low: float, high: float) -> Floats:
    """max(top, floor) / max(bottom, floor) of each pair, cut to [low, high]; NaN in either stays NaN."""
    out = np.empty(len(top))
    for i in range(len(top)):
        out[i] = within(larger(top[i], floor) / larger(bottom[i], floor), low, high)
    return out


@compiled
def cut_scaled(values: Floats, scale: Floats, factor: float, limit: float) -> Floats:
    """values / (scale * factor) cut to [-limit, limit], at the end of [len(scale)]; NaN in front of them."""
    out = np.empty(len(scale))
    lead = len(scale) - len(values)
    out[:lead] = np.nan
    placed, scales = out[lead:], scale[lead:]
    for i in range(len(values)):
        placed[i] = within(values[i] / (scales[i] * factor), -limit, limit)
    return out


@compiled
def deviation(spread: Floats, size: int, floor: float) -> Floats:
    """Sample standard deviation from a sum of squared deviations over `size` rows, at least `floor`."""
    out = np.empty(len(spread))
    for i in range(len(spread)):
        out[i] = larger(np.sqrt(spread[i] / (size - 1)), floor)
    return out


@compiled
def standing(values: Floats, mean: Floats, spread: Floats, size: int, flat: float) -> Floats:
    """(value - mean) / sample standard deviation over `size` rows, cut to [-5, 5]; 0 where that is <= flat."""
    out = np.empty(len(values))
    for i in range(len(values)):
        out[i] = within(share(values[i] - mean[i], np.sqrt(spread[i] / (size - 1)), 0.0, flat), -5.0, 5.0)
    return out


@compiled
def balance(plus: Floats, minus: Floats) -> Floats:
    """(plus - minus) / (plus + minus), 0 where both are 0."""
    out = np.empty(len(plus))
    for i in range(len(plus)):
        out[i] = within(share(plus[i] - minus[i], plus[i] + minus[i], 0.0, 0.0), -1.0, 1.0)
    return out
