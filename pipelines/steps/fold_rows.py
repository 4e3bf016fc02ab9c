"""From a feature set to the rows of a fold and the normalised features a model may see on it."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.types import BAR_COLUMNS
from pipelines.steps.feature_set import FeatureSet
from training.errors import FoldError
from training.folds import Fold, FoldSettings, fold_report, select_fold, walk_forward
from validation.errors import GateError
from validation.gate import gate_features
from validation.normalise import Normaliser, fit_normaliser, normalise


@dataclass(frozen=True)
class FoldTable:
    """All folds of a feature set and their description for the report.

    `opened`: the first price of each trade date (yyyymmdd), by which the ledger of looks knows the same rows again.
    """

    folds: tuple[Fold, ...]
    reports: list[dict[str, object]]
    opened: dict[str, float]


@dataclass(frozen=True)
class NormalisedFeatures:
    """Features [bars, F] float32 on the scale of one fold's train rows, NaN on every row that is not `valid` [bars].

    `valid` is that of the feature set; those rows have passed the gate (layer 5).
    """

    z: NDArray[np.float32]
    normaliser: Normaliser
    findings: pd.DataFrame
    valid: NDArray[np.bool_]
    limit: float


def fold_table(feature_set: FeatureSet, settings: FoldSettings) -> FoldTable:
    """Cut the walk-forward folds from the first valid row on; raises FoldError for too few bars.

    A later row that is not valid stays in its fold, where it is held through: models decide on valid rows only.
    """
    valid = np.asarray(feature_set.valid)
    if not valid.any():
        raise FoldError(_why_none_is_valid(feature_set))
    first = int(np.argmax(valid))
    times = feature_set.bars["ts_event"]
    cut = walk_forward(times.iloc[first:], settings)
    folds = tuple(
        replace(
            fold,
            train=_moved(fold.train, first),
            validation=_moved(fold.validation, first),
            test=_moved(fold.test, first),
        )
        for fold in cut
    )
    return FoldTable(folds, [fold_report(fold, times, settings) for fold in folds], _opened(feature_set.bars))


def _opened(bars: pd.DataFrame) -> dict[str, float]:
    """The open of the first bar with trades of each trade date: the same for bars of any length."""
    first = bars[~bars["filled"].to_numpy()].drop_duplicates("session")
    return {str(session): float(price) for session, price in zip(first["session"], first["open"], strict=True)}


def _why_none_is_valid(feature_set: FeatureSet) -> str:
    bars = feature_set.bars
    empty = [str(name) for name in bars.columns if name not in BAR_COLUMNS and bars[name].isna().all()]
    reason = (
        f"exogenous column {', '.join(empty)} has no value that was known by the end of the bars"
        if empty
        else "the bars are fewer than the longest look-back, or each look-back holds a missing value"
    )
    return f"none of the {len(bars)} rows of the feature set may be seen by a model: {reason}; load more or other data"


def fold_rows(table: FoldTable, index: int) -> Fold:
    """Return one fold; raises FoldError naming how many there are."""
    return select_fold(list(table.folds), index)


def normalised_features(feature_set: FeatureSet, fold: Fold, limit: float) -> NormalisedFeatures:
    """Fit the normaliser on the fold's valid train rows only, apply it to valid rows and clamp (layer 4); gate it (layer 5)."""
    valid = np.asarray(feature_set.valid)
    normaliser = fit_normaliser(np.asarray(feature_set.features), fold.train, valid)
    times = feature_set.bars["ts_event"].to_numpy(dtype="datetime64[ns]").astype(np.int64)
    z, findings = normalise(np.asarray(feature_set.features), normaliser, limit, feature_set.names, times, valid)
    value = NormalisedFeatures(z, normaliser, findings, valid, limit)
    gate_normalised(value, "fresh computation")
    return value


def gate_normalised(value: NormalisedFeatures, where: str) -> None:
    """Layer 5: every valid row is finite and within the limit; raises GateError otherwise."""
    gate_features(np.asarray(value.z), np.asarray(value.valid), value.limit, where)
    gate_normaliser(value.normaliser, where)
    gate_limit(value.limit, where)


def gate_normaliser(normaliser: Normaliser, where: str) -> None:
    """Require a finite mean and a finite scale above 0 of every feature; raises GateError naming the first without."""
    mean, scale = np.asarray(normaliser.mean), np.asarray(normaliser.scale)
    refused = np.flatnonzero(~(np.isfinite(mean) & np.isfinite(scale) & (scale > 0)))
    if len(refused):
        first = int(refused[0])
        raise GateError(
            f"gate, {where}: feature {first} has mean {mean[first]:g} and scale {scale[first]:g}, which no value can be "
            f"normalised with ({len(refused)} such features); run the fold again"
        )


def gate_limit(limit: float, where: str) -> None:
    """Require a bound above 0 (infinity switches the layer off); raises GateError."""
    if not limit > 0:
        raise GateError(f"gate, {where}: the limit of layer 4 is {limit:g}, must be above 0; run the fold again")


def _moved(rows: tuple[int, int], by: int) -> tuple[int, int]:
    return rows[0] + by, rows[1] + by
