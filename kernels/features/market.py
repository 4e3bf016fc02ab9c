"""The market feature matrix of a table of bars, computed in blocks."""

from collections.abc import Callable
from dataclasses import fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.features.clock import clock
from kernels.features.inputs import BarBlock, FeatureInputs, feature_inputs
from kernels.features.liquidity import liquidity
from kernels.features.oscillators import oscillators
from kernels.features.returns import path_steps
from kernels.features.shape import shape
from kernels.features.table import FEATURES, WARM_UP, feature_names
from kernels.features.trend import trend
from kernels.features.volatility import volatility
from kernels.features.windows import Floats

FAMILIES: dict[str, Callable[[FeatureInputs], dict[str, Floats]]] = {
    "trend": trend,
    "oscillators": oscillators,
    "volatility": volatility,
    "liquidity": liquidity,
    "shape": shape,
    "clock": clock,
}
BLOCK = 8192  # bars computed together: their arrays stay in the processor's cache
NUMBERS = ("open", "high", "low", "close", "volume")


def market_features(bars: pd.DataFrame, clamped_returns: NDArray[np.float64]) -> NDArray[np.float64]:
    """The features of kernels.features.table.FEATURES, float64 [bars, 42].

    Row t depends on rows t - WARM_UP + 1 to t alone, bit for bit: neither later bars nor the start of the series nor
    the cut into blocks changes it. NaN before a feature's warm-up, and while its window holds a return that is NaN or,
    for features of levels, a price at or below zero; nowhere else.

    Levels are rebuilt from the clamped returns: L_t = L_{t-1} exp(r_t) with r = 0 on the first bar of another contract,
    and open, high and low stand to L_t as they stand to the close in the raw bar.

    Args:
        bars: bars table sorted by time: `ts_event expiry open high low close volume`.
        clamped_returns: float64 [bars] of layer 2, NaN on the first bar and at rolls.

    Raises:
        ValueError: lengths differ.
    """
    rows = len(bars)
    if len(clamped_returns) != rows:
        raise ValueError(f"{len(clamped_returns)} returns for {rows} bars; compute both from the same table")
    columns = _with_lead(bars, clamped_returns)
    matrix = np.empty((rows, len(FEATURES)))
    for start in range(0, rows, BLOCK):
        stop = min(start + BLOCK, rows)
        inputs = feature_inputs(_part(columns, start, stop + WARM_UP))
        features: dict[str, Floats] = {}
        for family in FAMILIES.values():
            features |= family(inputs)
        for index, name in enumerate(feature_names()):
            matrix[start:stop, index] = features[name][WARM_UP:]
    return matrix


def _with_lead(bars: pd.DataFrame, clamped_returns: NDArray[np.float64]) -> BarBlock:
    """All bars with WARM_UP unknown ones in front, so that every block has its look-back."""
    unknown = np.full(WARM_UP, np.nan)
    return BarBlock(
        ts=np.append(np.zeros(WARM_UP, np.int64), pd.DatetimeIndex(bars["ts_event"]).as_unit("ns").asi8),
        steps=np.append(unknown, path_steps(bars, clamped_returns)),
        **{name: np.append(unknown, bars[name].to_numpy(np.float64)) for name in NUMBERS},
    )


def _part(bars: BarBlock, start: int, stop: int) -> BarBlock:
    return BarBlock(**{field.name: getattr(bars, field.name)[start:stop] for field in fields(BarBlock)})
