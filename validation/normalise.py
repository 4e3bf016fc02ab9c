"""Layer 4: z-scores with location and scale of the train rows, clamped."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from validation.clamp import BLOCK, Clamped, clamp_findings, clamp_rows
from validation.findings import Times, nanoseconds
from validation.passes import moments, zscores

SMALLEST_SPREAD = 1e-12  # below that share of its mean a feature's spread is rounding noise


@dataclass(frozen=True)
class Normaliser:
    """Location and scale of each feature on the rows it was fitted on; part of a fold.

    mean, scale: float64 [F]; scale is 1 where a feature did not move.
    rows: how many finite rows each feature had, int64 [F].
    start, stop: the half-open row range it was fitted on.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    rows: NDArray[np.int64]
    start: int
    stop: int


def fit_normaliser(
    features: NDArray[np.floating], rows: tuple[int, int], valid: NDArray[np.bool_] | None = None
) -> Normaliser:
    """Fit on the rows start to stop (half open) and on no other; NaN is skipped.

    Args:
        features: [bars, F], bounded by layer 3.
        rows: the train rows of a fold.
        valid: bool [bars], rows a model may see; the others are skipped. All, where not given.

    Raises:
        ValueError: the range lies outside the table, or a feature has no finite value in it.
    """
    start, stop = rows
    if not 0 <= start < stop <= len(features):
        raise ValueError(f"train rows {start} to {stop} do not lie in the {len(features)} rows; cut other folds")
    seen = np.ones(stop - start, bool) if valid is None else np.ascontiguousarray(valid[start:stop])
    counts, mean, apart = moments(np.ascontiguousarray(features[start:stop], np.float64), seen)
    missing = np.flatnonzero(counts == 0)
    if len(missing):
        raise ValueError(
            f"feature {missing[0]} has no finite value in train rows {start} to {stop}; "
            "start the fold after the warm-up, or drop the feature"
        )
    spread = np.sqrt(apart / counts)
    moved = spread > SMALLEST_SPREAD * np.maximum(1.0, np.abs(mean))
    scale = np.where(moved, spread, 1.0)
    return Normaliser(mean, scale, counts, start, stop)


def normalise(
    features: NDArray[np.floating],
    normaliser: Normaliser,
    limit: float = 20.0,
    names: Sequence[str] | None = None,
    ts: Times | None = None,
    valid: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.float32], pd.DataFrame]:
    """z = (feature - mean) / scale, clamped to [-limit, limit] in float64, then stored as float32.

    NaN stays NaN; an infinity becomes NaN with a finding. The gate compares in float32, so that rounding the bound
    itself to float32 never breaks it.

    Args:
        features: [bars, F].
        normaliser: fitted on the fold's train rows.
        limit: bound of |z|.
        names: F names for the findings; `feature 0` and so on without them.
        ts: [bars] timestamps or int64 nanoseconds UTC for the findings; without it the row number stands there.
        valid: bool [bars], rows a model may see; the others become NaN without a finding. All, where not given.

    Returns:
        z float32 [bars, F], findings (`zscore_clamp` altered, `non_finite` masked).
    """
    columns = names if names is not None else [f"feature {index}" for index in range(features.shape[1])]
    times = nanoseconds(ts) if ts is not None else np.arange(len(features))
    if len(normaliser.mean) != features.shape[1]:
        raise ValueError(
            f"normaliser of {len(normaliser.mean)} features for {features.shape[1]}; fit it on this feature set"
        )
    mean, scale = np.array(normaliser.mean), np.array(normaliser.scale)
    seen = np.ones(len(features), bool) if valid is None else np.ascontiguousarray(valid)
    z = np.empty(features.shape, np.float32)
    found: list[Clamped] = []
    for start in range(0, len(features), BLOCK):
        rows = slice(start, start + BLOCK)
        block = np.ascontiguousarray(features[rows], np.float64)
        touched = np.flatnonzero(zscores(block, mean, scale, seen[rows], limit, z[rows]))
        if len(touched):
            wide = (block[touched] - mean) / scale
            hit, column, raw = clamp_rows(wide, np.arange(len(touched)), limit)
            found.append((start + touched[hit], column, raw))
            z[start + touched] = wide
    return z, clamp_findings(found, columns, times, limit, layer=4, rule="zscore_clamp")
