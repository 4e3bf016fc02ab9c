"""From accepted bars to the feature set: returns, layer 2, features, layer 3, targets and their gates."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.features.order_flow import BarFlow
from kernels.features.returns import log_returns
from kernels.features.selection import FeatureColumns, FeatureSettings, feature_columns
from kernels.features.targets import targets
from kernels.features.validity import valid_rows
from validation.features import bound_features
from validation.findings import joined_findings
from validation.gate import gate_features, gate_targets
from validation.returns import clamp_returns


@dataclass(frozen=True)
class ClampedReturns:
    """Log returns [bars] float64 after layer 2, the bars it masks [bars] bool, and its findings."""

    returns: NDArray[np.float64]
    masked: NDArray[np.bool_]
    findings: pd.DataFrame


@dataclass(frozen=True)
class FeatureSet:
    """What models see: features [bars, F] float32 (NaN before a feature's warm-up), targets [bars, 6] float64, the bars.

    `bars` carries the mask of layer 2; `findings` those of layers 2 and 3. `valid` [bars] marks the rows a model may see:
    not the warm-up, nor rows whose look-back holds a price at or below zero. `has_flow` [bars] marks the rows whose
    order-flow columns were measured; on others they are 0. `root` names the instrument; a single day's does not.
    """

    features: NDArray[np.float32]
    targets: NDArray[np.float64]
    bars: pd.DataFrame
    names: list[str]
    findings: pd.DataFrame
    valid: NDArray[np.bool_]
    has_flow: NDArray[np.bool_]
    limit: float
    return_limit: float
    root: str = ""


def clamped_returns(bars: pd.DataFrame, limit: float) -> ClampedReturns:
    """Compute log returns inside each contract and clamp them (layer 2)."""
    returns, findings, masked = clamp_returns(bars, log_returns(bars), limit)
    return ClampedReturns(returns, masked, findings)


def feature_matrix(
    bars: pd.DataFrame,
    returns: NDArray[np.float64],
    features: FeatureSettings,
    timezone: str,
    flow: BarFlow | None = None,
) -> FeatureColumns:
    """Compute the configured features from bars, clamped returns and the bars' order flow, if there is any; the time of day
    is that of the zone in which the exchange's clock hangs.

    Raises FeatureError for a user's feature that looks ahead.
    """
    return feature_columns(bars, np.asarray(returns), features, timezone, flow)


def feature_set(
    bars: pd.DataFrame,
    clamped: ClampedReturns,
    columns: FeatureColumns,
    limit: float,
    return_limit: float,
    known: NDArray[np.bool_] | None = None,
) -> FeatureSet:
    """Bound the features to ±limit (layer 3) and add the targets; raises TargetGateError when these are inconsistent.

    Layer 3 compares in float64; what leaves it is rounded to float32 once, which keeps the order of numbers, so that a value
    within the bound is within the float32 of the bound, and that is what the gate compares with. `known` [bars] marks the rows
    at which everything else that features read exists; others are not valid.
    """
    times = bars["ts_event"].to_numpy(dtype="datetime64[ns]").astype(np.int64)
    bounded, findings = bound_features(np.asarray(columns.values), columns.names, times, limit)
    masked_bars = bars.assign(masked=bars["masked"].to_numpy() | np.asarray(clamped.masked))
    valid = valid_rows(bars, np.asarray(clamped.returns), columns.look_back)
    value = FeatureSet(
        features=bounded.astype(np.float32),
        targets=targets(masked_bars, np.asarray(clamped.returns)),
        bars=masked_bars,
        names=columns.names,
        findings=joined_findings([clamped.findings, findings]),
        valid=valid if known is None else valid & known,
        has_flow=np.asarray(columns.has_flow),
        limit=limit,
        return_limit=return_limit,
    )
    gate_feature_set(value, "fresh computation")
    return value


def gate_feature_set(value: FeatureSet, where: str) -> None:
    """Check the targets against the bars; run on fresh values, before the store is written and after it is read.

    Features are held to the same: every valid row is finite and bounded.
    """
    gate_targets(np.asarray(value.targets), value.bars, where, return_limit=value.return_limit)
    gate_features(np.asarray(value.features), np.asarray(value.valid), value.limit, where, value.names)
