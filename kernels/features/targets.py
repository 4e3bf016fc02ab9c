"""Targets of each bar: what happened into its close and what the next bar brings."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

INTO_CLOSE, TO_NEXT_CLOSE, CLOSE, NEXT_CLOSE, NEXT_OPEN, NEXT_MID_OPEN = range(6)


def targets(bars: pd.DataFrame, clamped_returns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Targets, float64 [bars, 6].

    Columns: 0 log return into this close, 1 log return to the next close, 2 close, 3 next close, 4 next open, 5 next
    mid open (the next open, as bars have no book). Returns are the clamped ones, prices are not. "Next" is the next bar
    of the same contract: on the last bar of a contract, and so at the end, columns 1 and 3 to 5 are NaN. A missing
    label is NaN and never a class.

    Args:
        bars: bars table sorted by time; `expiry`, `open` and `close` are read.
        clamped_returns: float64 [bars], layer 2's.

    Raises:
        ValueError: lengths differ.
    """
    rows = len(bars)
    if len(clamped_returns) != rows:
        raise ValueError(f"{len(clamped_returns)} returns for {rows} bars; compute both from the same table")
    columns = np.full((rows, 6), np.nan)
    columns[:, INTO_CLOSE] = clamped_returns
    columns[:, CLOSE] = bars["close"].to_numpy(np.float64)
    expiry = bars["expiry"].to_numpy()
    stays = np.flatnonzero(expiry[1:] == expiry[:-1])
    columns[stays, TO_NEXT_CLOSE] = np.asarray(clamped_returns, np.float64)[stays + 1]
    columns[stays, NEXT_CLOSE] = columns[stays + 1, CLOSE]
    columns[stays, NEXT_OPEN] = bars["open"].to_numpy(np.float64)[stays + 1]
    columns[stays, NEXT_MID_OPEN] = columns[stays, NEXT_OPEN]
    return columns
