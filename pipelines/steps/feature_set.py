"""From accepted bars to the feature set: returns, layer 2, features, layer 3, targets and their gates."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.features.market import market_features
from kernels.features.returns import log_returns
from kernels.features.table import feature_names
from kernels.features.targets import targets
from validation.features import bound_features
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
    """What models see: features [bars, F] float64 (NaN before a feature's warm-up), targets [bars, 6] float64, the bars.

    `bars` carries the mask of layer 2; `findings` those of layers 2 and 3; `first_valid` is the first row at which every
    feature exists.
    """

    features: NDArray[np.float64]
    targets: NDArray[np.float64]
    bars: pd.DataFrame
    names: list[str]
    findings: pd.DataFrame
    first_valid: int
    limit: float
    return_limit: float


def clamped_returns(bars: pd.DataFrame, limit: float) -> ClampedReturns:
    """Compute log returns inside each contract and clamp them (layer 2)."""
    returns, findings, masked = clamp_returns(bars, log_returns(bars), limit)
    return ClampedReturns(returns, masked, findings)


def feature_matrix(bars: pd.DataFrame, returns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the market features [bars, 42] from bars and clamped returns."""
    return market_features(bars, np.asarray(returns))


def feature_set(
    bars: pd.DataFrame, clamped: ClampedReturns, matrix: NDArray[np.float64], limit: float, return_limit: float
) -> FeatureSet:
    """Bound the features to ±limit (layer 3) and add the targets; raises TargetGateError when these are inconsistent."""
    names = list(feature_names())
    times = bars["ts_event"].to_numpy(dtype="datetime64[ns]").astype(np.int64)
    bounded, findings = bound_features(np.asarray(matrix), names, times, limit)
    masked_bars = bars.assign(masked=bars["masked"].to_numpy() | np.asarray(clamped.masked))
    complete = np.isfinite(bounded).all(axis=1)
    value = FeatureSet(
        features=bounded,
        targets=targets(masked_bars, np.asarray(clamped.returns)),
        bars=masked_bars,
        names=names,
        findings=pd.concat([clamped.findings, findings], ignore_index=True),
        first_valid=int(np.argmax(complete)) if complete.any() else len(bars),
        limit=limit,
        return_limit=return_limit,
    )
    gate_feature_set(value, "fresh computation")
    return value


def gate_feature_set(value: FeatureSet, where: str) -> None:
    """Check the targets against the bars; run on fresh values, before the store is written and after it is read.

    Features are held to the same: every row from the first complete one on is finite and bounded.
    """
    gate_targets(np.asarray(value.targets), value.bars, where, return_limit=value.return_limit)
    gate_features(
        np.asarray(value.features), np.arange(len(value.bars)) >= value.first_valid, value.limit, where, value.names
    )
