"""The feature set by trade date: each day a pure function of its own bars, its look-back and the bar after it."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.features.order_flow import BarFlow
from kernels.features.selection import FeatureSettings, select_features
from pipelines.graphs.parts import Part
from pipelines.steps.feature_set import FeatureSet, clamped_returns, feature_matrix, feature_set
from pipelines.steps.order_flow import NO_FLOW, flow_rows
from validation.findings import COLUMNS, findings_table, no_findings
from validation.gate import gate_features
from validation.levels import carry_levels

MASKED, VALID, HAS_FLOW = range(3)  # columns of DayRows.flags


@dataclass(frozen=True)
class DayRows:
    """What is joined of one trade date: features [rows, F] float32 and their names, targets [rows, 6] float64, bool flags
    [rows, 3] (masked by layer 2, may be seen by a model, has measured order flow), findings of layers 2 and 3 by column,
    the bound of the features.
    """

    features: NDArray[np.float32]
    targets: NDArray[np.float64]
    flags: NDArray[np.bool_]
    names: list[str]
    findings: dict[str, list[Any]]
    limit: float


@dataclass(frozen=True)
class DayFeatures:
    """The feature set of one trade date: its rows, and its bars with the mask of layer 2."""

    rows: DayRows
    bars: pd.DataFrame


def split_days(
    bars: pd.DataFrame,
    exogenous: pd.DataFrame,
    features: FeatureSettings,
    timezone: str,
    limit: float,
    return_limit: float,
    flow: BarFlow = NO_FLOW,
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
            "flow": flow_rows(flow, slice(first, last)),
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
    timezone: str,
    limit: float,
    return_limit: float,
    flow: BarFlow = NO_FLOW,
    lead: int = 0,
    tail: int = 0,
) -> DayFeatures:
    """Compute layers 2 and 3, features and targets of bars and keep all rows but the first `lead` and the last `tail`.

    With the lead of `split_days` the rows are those of the whole series on bits. Where the user's features could read
    exogenous columns, rows whose look-back has no exogenous value yet are not valid.
    """
    table = with_exogenous(bars, exogenous)
    clamped = clamped_returns(table, return_limit)
    columns = feature_matrix(table, clamped.returns, features, timezone, flow if len(flow.has_book) else None)
    read = features.modules and len(exogenous.columns)
    known = _known_throughout(exogenous, columns.look_back) if read else None
    whole = feature_set(table, clamped, columns, limit, return_limit, known)
    kept = slice(lead, len(bars) - tail)
    own = whole.bars.iloc[kept].reset_index(drop=True)
    rows = DayRows(
        features=whole.features[kept],
        targets=whole.targets[kept],
        flags=np.column_stack([whole.bars["masked"].to_numpy(), whole.valid, whole.has_flow])[kept],
        names=whole.names,
        findings=_findings_between(whole.findings, _nanoseconds(own)),
        limit=limit,
    )
    return DayFeatures(rows, own)


def gate_rows(rows: DayRows, where: str) -> None:
    """Layer 5 on a trade date: every valid row is finite and within the limit; raises GateError otherwise."""
    gate_features(np.asarray(rows.features), np.asarray(rows.flags)[:, VALID], rows.limit, where, rows.names)


def joined_days(
    days: list[DayRows], bars: pd.DataFrame, exogenous: pd.DataFrame, limit: float, return_limit: float, root: str = ""
) -> FeatureSet:
    """Put the trade dates of the instrument `root` together as one feature set whose matrix lies in one piece, to be mapped.

    The adjusted levels of masked bars are carried, so that no strategy's indicator sees a poisoned price.
    """
    flags = np.concatenate([day.flags for day in days])
    return FeatureSet(
        features=np.concatenate([day.features for day in days]),
        targets=np.concatenate([day.targets for day in days]),
        bars=carry_levels(with_exogenous(bars, exogenous).assign(masked=flags[:, MASKED])),
        names=days[0].names,
        findings=_joined_findings([day.findings for day in days]),
        valid=flags[:, VALID],
        has_flow=flags[:, HAS_FLOW],
        limit=limit,
        return_limit=return_limit,
        root=root,
    )


def _known_throughout(exogenous: pd.DataFrame, look_back: int) -> NDArray[np.bool_]:
    """Rows in whose look-back every exogenous column has a value: once known, a column stays known."""
    missing = np.flatnonzero(exogenous.isna().any(axis=1).to_numpy())
    first = missing[-1] + look_back if len(missing) else 0
    known: NDArray[np.bool_] = np.arange(len(exogenous)) >= first
    return known


def _findings_between(findings: pd.DataFrame, times: NDArray[np.int64]) -> dict[str, list[Any]]:
    """Findings of the bars with these times as JSON values by column: mostly none, and a Parquet file costs as much as all
    else of a day.
    """
    if not len(findings):
        return {}
    at = _nanoseconds(findings)
    mine = findings.assign(ts_event=at)[np.isin(at, times)]
    return {str(name): mine[name].tolist() for name in mine.columns} if len(mine) else {}


def _joined_findings(days: list[dict[str, list[Any]]]) -> pd.DataFrame:
    """The findings of all days, layer 2 before layer 3, each in the order of time."""
    filled = [day for day in days if day]
    if not filled:
        return no_findings()
    columns = {name: np.concatenate([np.asarray(day[name]) for day in filled]) for name in COLUMNS}
    table = findings_table(
        columns["ts_event"].astype(np.int64), columns["contract"], 2, columns["rule"], columns["column"],
        columns["value"], columns["limit"], columns["action"], columns["source_row"],
    )  # fmt: skip
    return table.assign(layer=columns["layer"].astype(np.int8)).sort_values("layer", kind="stable", ignore_index=True)


def with_exogenous(bars: pd.DataFrame, exogenous: pd.DataFrame) -> pd.DataFrame:
    """Return the bars with the exogenous columns, row by row, behind their own."""
    return pd.concat([bars, exogenous], axis=1) if len(exogenous.columns) else bars


def _nanoseconds(table: pd.DataFrame) -> NDArray[np.int64]:
    times: NDArray[np.int64] = pd.DatetimeIndex(table["ts_event"]).as_unit("ns").asi8
    return times
