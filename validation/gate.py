"""Layer 5: the last look before values reach a model or the store; it alters nothing, it refuses."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from validation.errors import GateError, TargetGateError
from validation.findings import minute_text, number_text
from validation.passes import all_within

PLACES = ("fresh computation", "before cache write", "after cache read")
TARGETS = (
    "log return into this close", "log return to the next close", "close", "next close", "next open", "next mid open",
)  # fmt: skip
RETURN_LIMIT = 0.1
TOLERANCE = 1e-12  # of a log return: two roundings of a price and of a logarithm


def gate_features(
    z: NDArray[np.floating],
    valid_rows: NDArray[np.bool_],
    limit: float = 20.0,
    where: str = PLACES[0],
    names: Sequence[str] | None = None,
) -> None:
    """Pass only a matrix whose every valid row is finite and within [-limit, limit].

    Written so that NaN fails: a value passes if |value| <= limit, and NaN is not. Compared in the matrix's own dtype:
    float32(0.1) is above 0.1, and a clamped float32 must pass.

    Args:
        z: normalised (or bounded, with its own limit) features [bars, F].
        valid_rows: bool [bars]; rows a model may see. Others (warm-up, masked look-back) may hold NaN.
        limit: bound of |value|.
        where: at which of PLACES the gate stands; part of the message.
        names: F names for the message.

    Raises:
        GateError: names the first value that does not pass, its limit and how many there are.
    """
    if z.ndim != 2 or valid_rows.shape != (len(z),) or valid_rows.dtype != np.bool_:
        raise GateError(
            f"gate, {where}: features of shape {z.shape} with valid rows {valid_rows.dtype}{valid_rows.shape}; "
            "give [bars, F] and bool [bars]"
        )
    if all_within(np.asarray(z), np.asarray(valid_rows), z.dtype.type(limit)):
        return
    refused = ~(np.abs(z) <= z.dtype.type(limit)) & valid_rows[:, None]
    row, column = np.unravel_index(int(refused.argmax()), refused.shape)
    name = names[int(column)] if names is not None else f"feature {column}"
    raise GateError(
        f"gate, {where}: row {row}, {name} = {z[row, column]!s} is not within ±{limit:g} "
        f"({int(refused.sum())} such values in {int(refused.any(axis=1).sum())} rows) (layer 5); "
        "rebuild the feature set: the layer before must bound it, or the row must not be valid"
    )


def gate_targets(
    targets: NDArray[np.float64], bars: pd.DataFrame, where: str = PLACES[0], return_limit: float = RETURN_LIMIT
) -> None:
    """Pass only targets that agree with the bars and with each other.

    Columns 0 and 1 are log returns, within ±return_limit; columns 2 to 5 are prices of the bars. Column 1 is
    ln(column 3 / column 2) unless the next bar is masked (its return was clamped), and column 0 of the next bar.
    NaN is legal only where there is no value: across contracts, at the end, on masked bars without a return, and for
    returns next to a price at or below zero.

    Args:
        targets: float64 [bars, 6] of kernels.features.targets.
        bars: the bars they were made from (`ts_event contract expiry open close masked`).
        where: at which of PLACES the gate stands; part of the message.
        return_limit: layer 2's bound of |log return|.

    Raises:
        TargetGateError: names the first bar and the rule it breaks.
    """
    if targets.shape != (len(bars), len(TARGETS)):
        raise TargetGateError(
            f"gate, {where}: targets have shape {targets.shape}, the bars need ({len(bars)}, {len(TARGETS)}); "
            "compute them from these bars"
        )
    if not len(bars):
        return
    try:
        _check_prices(targets, bars)
        _check_returns(targets, bars, return_limit)
    except TargetGateError as error:
        raise TargetGateError(f"gate, {where}: {error}") from None


def _check_prices(targets: NDArray[np.float64], bars: pd.DataFrame) -> None:
    inside, close, opened = _same_contract(bars), bars["close"].to_numpy(), bars["open"].to_numpy()
    _require(bars, targets, 2, targets[:, 2] == close, "is not the close of the bar")
    for column, price in ((3, close), (4, opened)):
        following = np.where(inside, np.append(price[1:], np.nan), np.nan)
        equal = _equal(targets[:, column], following)
        _require(bars, targets, column, equal, "is not the price of the next bar of the contract")
    _require(bars, targets, 5, np.isfinite(targets[:, 5]) == inside, "is missing, or reaches into another contract")


def _check_returns(targets: NDArray[np.float64], bars: pd.DataFrame, return_limit: float) -> None:
    for column in (0, 1):
        legal = np.isnan(targets[:, column]) | (np.abs(targets[:, column]) <= return_limit)
        _require(bars, targets, column, legal, f"is beyond ±{return_limit:g}: a price in a return column?")
    priced, masked = bars["close"].to_numpy() > 0, bars["masked"].to_numpy()
    inside = _same_contract(bars)
    exists = inside & priced & np.append(priced[1:], False)
    next_masked = np.append(masked[1:], False)
    present = np.isfinite(targets[:, 1])
    _require(bars, targets, 1, ~present | exists, "is a return across contracts, or beside a price at or below zero")
    _require(bars, targets, 1, present | ~exists | next_masked, "is missing inside a contract")
    checked = exists & ~next_masked
    ratio = np.divide(targets[:, 3], targets[:, 2], out=np.ones(len(bars)), where=checked)
    agrees = np.abs(targets[:, 1] - np.log(ratio)) <= TOLERANCE
    _require(bars, targets, 1, agrees | ~checked, "is not ln(next close / close)")
    before = np.append(np.nan, np.where(inside, targets[:, 1], np.nan)[:-1])
    _require(bars, targets, 0, _equal(targets[:, 0], before), "is not the return to the next close of the bar before")


def _same_contract(bars: pd.DataFrame) -> NDArray[np.bool_]:
    expiry = bars["expiry"].to_numpy()
    return np.append(expiry[1:] == expiry[:-1], False)


def _equal(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.bool_]:
    equal: NDArray[np.bool_] = (left == right) | (np.isnan(left) & np.isnan(right))
    return equal


def _require(
    bars: pd.DataFrame,
    targets: NDArray[np.float64],
    column: int,
    passes: NDArray[np.bool_],
    reason: str,
) -> None:
    refused = np.flatnonzero(~passes)
    if not len(refused):
        return
    row = int(refused[0])
    bar = bars.iloc[row]
    raise TargetGateError(
        f"bar {minute_text(bar['ts_event'])} {bar['contract']}: target {column} ({TARGETS[column]}) "
        f"{number_text(float(targets[row, column]))} {reason} ({len(refused)} such bars); "
        "recompute the targets from these bars"
    )
