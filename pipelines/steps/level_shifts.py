"""Moves that layer 2 clamped and that did not come back: profit across them rests on prices the sanitation did not trust."""

import numpy as np
import pandas as pd

from validation.findings import minute_text


def level_shifts(bars: pd.DataFrame, rows: tuple[int, int], limit: float) -> list[str]:
    """Name every masked stretch in the rows after which the close differs from the close before by more than the limit.

    A spike that comes back is not one; a true limit move and a poisoned level look alike here, so a person has to judge.
    `limit` is that of layer 2, a log return. Stretches across a roll or beside a price at or below zero are left out.
    """
    close, expiry = bars["close"].to_numpy(), bars["expiry"].to_numpy()
    masked = bars["masked"].to_numpy() & ~bars["filled"].to_numpy()
    found = []
    for first, last in _stretches(masked, rows):
        before, after = first - 1, last + 1
        if before < 0 or after >= len(bars) or expiry[before] != expiry[after] or min(close[before], close[after]) <= 0:
            continue
        move = float(np.log(close[after] / close[before]))
        if abs(move) > limit:
            found.append(
                f"bar {minute_text(bars['ts_event'].iloc[first])} {bars['contract'].iloc[first]}: close {close[before]:g} to "
                f"{close[after]:g} did not come back; profit across it is a limit move or a poisoned level, check the source"
            )
    return found


def _stretches(masked: "np.ndarray[tuple[int], np.dtype[np.bool_]]", rows: tuple[int, int]) -> list[tuple[int, int]]:
    """First and last row of each masked stretch that touches the rows."""
    edges = np.diff(np.concatenate([[False], masked, [False]]).astype(np.int8))
    firsts, lasts = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    return [(int(a), int(b)) for a, b in zip(firsts, lasts, strict=True) if a < rows[1] and b >= rows[0]]
