"""The market feature matrix of a table of bars, computed in blocks."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.features.assembly import lay_columns
from kernels.features.clock import clock, minutes_of_the_day, weekdays
from kernels.features.inputs import BarBlock, FeatureInputs, feature_inputs
from kernels.features.liquidity import liquidity
from kernels.features.oscillators import oscillators
from kernels.features.returns import path_steps
from kernels.features.shape import shape
from kernels.features.table import WARM_UP, feature_names
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
PAD = 8  # values of a cache line: columns a whole number of pages apart would compete for the same lines
OVERLAP = WARM_UP - 1  # bars before a chunk that its features read
CLOCK = ("minute", "weekday")
NUMBERS = ("open", "high", "low", "close", "volume")


def market_features(
    bars: pd.DataFrame, clamped_returns: NDArray[np.float64], timezone: str, overlap: int = 0
) -> NDArray[np.float64]:
    """The features of kernels.features.table.FEATURES, float64 [bars - overlap, 42].

    Row t depends on rows t - WARM_UP + 1 to t alone, bit for bit: neither later bars nor the start of the series nor
    the cut into blocks changes it. NaN before a feature's warm-up, and while its window holds a return that is NaN or,
    for features of levels, a price at or below zero; nowhere else.

    Levels are rebuilt from the clamped returns: L_t = L_{t-1} exp(r_t) with r = 0 on the first bar of another contract,
    and open, high and low stand to L_t as they stand to the close in the raw bar.

    Args:
        bars: bars table sorted by time: `ts_event session expiry open high low close volume`.
        clamped_returns: float64 [bars] of layer 2, NaN on the first bar and at rolls.
        timezone: where the exchange's clock hangs (`session.timezone`), by which the time of day is told.
        overlap: the first bars are the look-back of a chunk and get no row. With OVERLAP of them, or all there are, the
            rows are those of the whole series; the return into the first of them is not read.

    Raises:
        ValueError: lengths differ, or there are fewer bars than overlap.
    """
    total = len(bars)
    if len(clamped_returns) != total:
        raise ValueError(f"{len(clamped_returns)} returns for {total} bars; compute both from the same table")
    if not 0 <= overlap <= total:
        raise ValueError(f"overlap {overlap} of {total} bars; give the number of look-back bars in front")
    series = _series(bars, clamped_returns, timezone)
    rows, names = total - overlap, feature_names()
    matrix, columns = np.empty((rows, len(names))), np.empty((len(names), min(rows, BLOCK) + PAD))
    for start in range(0, rows, BLOCK):
        stop = min(start + BLOCK, rows)
        inputs = feature_inputs(_block(series, start + overlap - WARM_UP, stop + overlap))
        features: dict[str, Floats] = {}
        for family in FAMILIES.values():
            features |= family(inputs)
        for index, name in enumerate(names):
            columns[index, : stop - start] = features[name][WARM_UP:]
        lay_columns(columns, matrix[start:stop])
    return matrix


def market_features_in_chunks(
    bars: pd.DataFrame, clamped_returns: NDArray[np.float64], timezone: str, cuts: Sequence[int]
) -> Iterator[NDArray[np.float64]]:
    """The features chunk by chunk, each from its own bars and the OVERLAP before it, equal to the whole on bits.

    Args:
        bars, clamped_returns, timezone: as for `market_features`.
        cuts: rows at which a new chunk starts, rising, between 0 and the number of bars.

    Yields:
        float64 [rows of the chunk, 42] for each chunk; together the rows of the whole series.

    Raises:
        ValueError: cuts fall, or lie outside the table.
    """
    edges = [0, *cuts, len(bars)]
    for start, stop in pairwise(edges):
        if not start <= stop:
            raise ValueError(f"cuts {list(cuts)} of {len(bars)} bars do not rise from 0 to the end; sort them")
        first = max(0, start - OVERLAP)
        part = bars.iloc[first:stop].reset_index(drop=True)
        yield market_features(part, clamped_returns[first:stop], timezone, start - first)


def _series(bars: pd.DataFrame, clamped_returns: NDArray[np.float64], timezone: str) -> dict[str, NDArray[Any]]:
    """The columns of BarBlock for all bars, prices and volumes as they are stored."""
    return {
        "minute": minutes_of_the_day(bars["ts_event"], timezone),
        "weekday": weekdays(bars["session"]),
        "steps": path_steps(bars, clamped_returns),
        **{name: bars[name].to_numpy() for name in NUMBERS},
    }


def _block(series: dict[str, NDArray[Any]], start: int, stop: int) -> BarBlock:
    """Copies of the rows start to stop, in numbers of 64 bits; unknown ones stand before row 0."""
    return BarBlock(**{name: _rows(values, start, stop, name not in CLOCK) for name, values in series.items()})


def _rows(values: NDArray[Any], start: int, stop: int, real: bool) -> NDArray[Any]:
    part = np.empty(stop - start, np.float64 if real else np.int64)
    lead = max(0, -start)
    part[:lead] = np.nan if real else 0
    part[lead:] = values[start + lead : stop]
    return part
