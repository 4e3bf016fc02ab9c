"""The feature set by trade date: each day a pure function of its own bars, its look-back and the bar after it."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.features.selection import FeatureSettings, select_features
from pipelines.parts import Part
from pipelines.steps.feature_set import (
    FeatureSet,
    clamped_returns,
    feature_matrix,
    feature_set,
    gate_feature_set,
)
from validation.findings import joined_findings
from validation.gate import gate_features


@dataclass(frozen=True)
class DayArrays:
    """Columns of one trade date: features [rows, F] float32, targets [rows, 6] float64, and bool [rows] each: rows masked
    by layer 2, rows a model may see, rows with measured order flow. `names` are those of the features.
    """

    features: NDArray[np.float32]
    targets: NDArray[np.float64]
    masked: NDArray[np.bool_]
    valid: NDArray[np.bool_]
    has_flow: NDArray[np.bool_]
    names: list[str]


@dataclass(frozen=True)
class DayFeatures:
    """The feature set of one trade date: arrays, the bars with the mask of layer 2, findings of layers 2 and 3, bounds."""

    arrays: DayArrays
    bars: pd.DataFrame
    findings: pd.DataFrame
    limit: float
    return_limit: float


def split_days(
    bars: pd.DataFrame, exogenous: pd.DataFrame, features: FeatureSettings, limit: float, return_limit: float
) -> list[Part]:
    """Cut the bars into trade dates, each with what its features and targets read: the look-back and the next bar.

    In front lies one bar more than the look-back, so that the return into its first bar exists.
    """
    before = select_features(features).look_back
    session = bars["session"].to_numpy()
    times = _nanoseconds(bars)
    edges = [0, *(np.flatnonzero(np.diff(session)) + 1).tolist(), len(bars)]
    parts = []
    for start, stop in pairwise(edges if len(bars) else [0]):
        first, last = max(0, start - before), min(len(bars), stop + 1)
        arguments = {
            "bars": bars.iloc[first:last].reset_index(drop=True),
            "exogenous": exogenous.iloc[first:last].reset_index(drop=True),
            "lead": start - first,
            "tail": last - stop,
        }
        about = {
            "session": int(session[start]),
            "rows": stop - start,
            "first_ts": int(times[start]),
            "last_ts": int(times[stop - 1]),
        }
        parts.append(Part(str(session[start]), arguments, about))
    return parts


def day_features(
    bars: pd.DataFrame,
    exogenous: pd.DataFrame,
    features: FeatureSettings,
    limit: float,
    return_limit: float,
    lead: int = 0,
    tail: int = 0,
) -> DayFeatures:
    """Compute layers 2 and 3, features and targets of bars and keep all rows but the first `lead` and the last `tail`.

    With the lead of `split_days` the rows are those of the whole series on bits. Where the user's features could read
    exogenous columns, rows whose look-back has no exogenous value yet are not valid.
    """
    table = with_exogenous(bars, exogenous)
    clamped = clamped_returns(table, return_limit)
    columns = feature_matrix(table, clamped.returns, features)
    whole = feature_set(table, clamped, columns, limit, return_limit)
    valid = np.asarray(whole.valid)
    if features.modules and len(exogenous.columns):
        missing = np.flatnonzero(exogenous.isna().any(axis=1).to_numpy())  # rows before a first value
        valid = valid & (np.arange(len(valid)) >= (missing[-1] + columns.look_back if len(missing) else 0))
    kept = slice(lead, len(bars) - tail)
    times = _nanoseconds(bars)[kept]
    found = _nanoseconds(whole.findings)
    mine = (found >= times[0]) & (found <= times[-1]) if len(times) else np.zeros(len(found), bool)
    arrays = DayArrays(
        features=whole.features[kept],
        targets=whole.targets[kept],
        masked=whole.bars["masked"].to_numpy()[kept],
        valid=valid[kept],
        has_flow=whole.has_flow[kept],
        names=whole.names,
    )
    return DayFeatures(
        arrays,
        whole.bars.iloc[kept].reset_index(drop=True),
        whole.findings[mine].reset_index(drop=True),
        limit,
        return_limit,
    )


def gate_day(value: DayFeatures, where: str) -> None:
    """Layer 5 on a trade date; its targets are checked with the bars around it, when computed and in the whole set."""
    arrays = value.arrays
    gate_features(np.asarray(arrays.features), np.asarray(arrays.valid), value.limit, where, arrays.names)


def joined_days(
    days: list[DayArrays],
    findings: list[pd.DataFrame],
    bars: pd.DataFrame,
    exogenous: pd.DataFrame,
    limit: float,
    return_limit: float,
) -> FeatureSet:
    """Put the trade dates together as one feature set whose matrix lies in one piece, to be memory-mapped by training."""
    value = FeatureSet(
        features=np.concatenate([day.features for day in days]),
        targets=np.concatenate([day.targets for day in days]),
        bars=with_exogenous(bars, exogenous).assign(masked=np.concatenate([day.masked for day in days])),
        names=days[0].names,
        findings=joined_findings(findings).sort_values("layer", kind="stable", ignore_index=True),
        valid=np.concatenate([day.valid for day in days]),
        has_flow=np.concatenate([day.has_flow for day in days]),
        limit=limit,
        return_limit=return_limit,
    )
    gate_feature_set(value, "fresh computation")
    return value


def with_exogenous(bars: pd.DataFrame, exogenous: pd.DataFrame) -> pd.DataFrame:
    """Return the bars with the exogenous columns, row by row, behind their own."""
    return pd.concat([bars, exogenous], axis=1) if len(exogenous.columns) else bars


def _nanoseconds(table: pd.DataFrame) -> NDArray[np.int64]:
    times: NDArray[np.int64] = pd.DatetimeIndex(table["ts_event"]).as_unit("ns").asi8
    return times
