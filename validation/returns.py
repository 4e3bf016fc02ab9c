"""Layer 2: log returns clamped to what one bar can really do; a bar whose return was touched is masked."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from validation.findings import findings_table, joined_findings, no_findings


def clamp_returns(
    bars: pd.DataFrame, returns: NDArray[np.floating], limit: float = 0.1
) -> tuple[NDArray[np.float64], pd.DataFrame, NDArray[np.bool_]]:
    """Clamp log returns to [-limit, limit] and say which bars were touched.

    NaN stays NaN. It is legal where no return exists: on the first bar, on the first bar of another contract, and where
    this or the last close is at or below zero. Anywhere else NaN, and an infinity everywhere, is a finding
    `non_finite`: the value becomes NaN, never a bound.

    Args:
        bars: bars table, n rows sorted by time; `ts_event`, `contract`, `expiry`, `close` are read.
        returns: log return into each close, [n].
        limit: largest legal |log return| of one bar.

    Returns:
        clamped float64 [n]; findings (`return_clamp` altered, `non_finite` masked); masked bool [n], True where a bar
        has a finding: its price must fill nothing and book no profit.

    Raises:
        ValueError: lengths differ or the limit is not positive.
    """
    if len(returns) != len(bars):
        raise ValueError(f"{len(returns)} returns for {len(bars)} bars; compute both from the same table")
    if not limit > 0:
        raise ValueError(f"limit {limit} <= 0; give the largest legal |log return|, e.g. 0.1")
    raw = np.asarray(returns, np.float64)
    broken = np.isinf(raw) | (np.isnan(raw) & _return_exists(bars))
    over = np.isfinite(raw) & ~(np.abs(raw) <= limit)
    clamped = np.clip(np.where(broken, np.nan, raw), -limit, limit)
    findings = joined_findings([
        _found(bars, raw, over, "return_clamp", np.copysign(limit, raw[over]), "altered"),
        _found(bars, raw, broken, "non_finite", np.full(int(broken.sum()), np.nan), "masked"),
    ])
    if len(findings):
        findings = findings.sort_values("ts_event", kind="stable", ignore_index=True)
    return clamped, findings, over | broken


def _return_exists(bars: pd.DataFrame) -> NDArray[np.bool_]:
    expiry, close = bars["expiry"].to_numpy(), bars["close"].to_numpy()
    exists = np.zeros(len(bars), bool)
    exists[1:] = (expiry[1:] == expiry[:-1]) & ~(close[1:] <= 0) & ~(close[:-1] <= 0)
    return exists


def _found(
    bars: pd.DataFrame,
    returns: NDArray[np.float64],
    mask: NDArray[np.bool_],
    rule: str,
    limit: NDArray[np.float64],
    action: str,
) -> pd.DataFrame:
    if not mask.any():
        return no_findings()
    rows = bars[mask]
    return findings_table(
        ts_event=rows["ts_event"],
        contract=rows["contract"],
        layer=2,
        rule=rule,
        column="log return",
        value=returns[mask],
        limit=limit,
        action=action,
    )
