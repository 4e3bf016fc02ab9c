"""Which rows a model may see: those whose whole look-back exists."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.features.returns import path_steps


def valid_rows(bars: pd.DataFrame, clamped_returns: NDArray[np.float64], look_back: int) -> NDArray[np.bool_]:
    """Rows at which every feature must exist, bool [bars].

    Said from the causes, not from the features themselves, so that a feature that is missing for any other reason is
    refused by the gate. A row is not valid in the warm-up, and while its look-back holds a price at or below zero (real
    for some roots, but without a logarithm) or a return that layer 2 had to drop.

    Args:
        bars: bars table sorted by time; `expiry`, `low` and `close` are read.
        clamped_returns: float64 [bars] of layer 2.
        look_back: bars the longest feature reads, its own included (its warm-up).

    Raises:
        ValueError: lengths differ, or look_back is not positive.
    """
    rows = len(bars)
    if len(clamped_returns) != rows:
        raise ValueError(f"{len(clamped_returns)} returns for {rows} bars; compute both from the same table")
    if look_back < 1:
        raise ValueError(f"look_back {look_back} < 1; give the longest warm-up of the features")
    priced = bars["low"].to_numpy(np.float64) > 0
    # The step into the first bar of the look-back is not read: levels are known up to a constant.
    stepped = np.isfinite(path_steps(bars, clamped_returns))
    valid = ~_happened(~priced, look_back) & ~_happened(~stepped, look_back - 1)
    valid[: look_back - 1] = False
    return valid


def _happened(event: NDArray[np.bool_], rows: int) -> NDArray[np.bool_]:
    """Whether the event happened on one of the last `rows` rows."""
    counts = np.cumsum(event, dtype=np.int64)
    before = np.zeros_like(counts)
    before[rows:] = counts[: max(0, len(counts) - rows)]
    happened: NDArray[np.bool_] = counts > before
    return happened
