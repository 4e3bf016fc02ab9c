"""Whether a user's feature keeps to its look-back: computed again without later bars, and with other bars in their place.

The rows that are looked at are drawn at random from the feature's name and the bars, so that they are others on every
trade date and the same in every run. It is a sample, not a proof: docs/tutorial-feature.md says what it finds.
"""

import zlib

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.features.errors import FeatureError, LookAheadError
from kernels.features.user import UserFeature

LOOSE = 1e-3
"""Share of a feature's range by which values may differ that running sums from another start explain."""
CUTS = 2
"""Cuts at any bar, and as many beside borders of sessions and contracts; one more leaves out the last bar."""
RUNS = ((1, 6), (8, 2), (64, 1))
"""Bars replaced in a row after each row that is looked at, and how many tables are made so."""
SUSPECTS = 2
"""Rows of a table so made, those that differ most, behind which the bars are cut."""
KEPT = frozenset({"ts_event", "session", "contract", "expiry", "masked", "filled"})
"""Columns that say which bar it is; all others of a replaced bar are those of another."""

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


def checked_column(made: UserFeature, bars: pd.DataFrame, clamped_returns: Floats) -> Floats:
    """The column of a feature, float64 [bars], that keeps the past and its warm-up wherever it was looked at.

    It is computed again on the bars before each of some cuts, where bits that differ prove that it read later bars; once
    without the first bars; and on tables in which bars are replaced by others, so far apart that the look-back of the row
    before each replaced run holds none: where that row differs by more than LOOSE of the range, the bars are cut behind it.
    So a feature that reads the next bar is found wherever it does if its warm-up is at most 5 bars, else in about 5 of
    (warm_up + 1) bars of each table; docs/tutorial-feature.md says what it costs.

    Args:
        made: the feature.
        bars: bars table sorted by time.
        clamped_returns: float64 [bars] of layer 2.

    Raises:
        LookAheadError: names the feature, the first bar that differs and the cut.
        FeatureError: the feature raises, gives no number a bar, or reads more than its warm-up.
    """
    column = made(bars, clamped_returns)
    if len(bars) < 2:
        return column
    first = int(bars["ts_event"].iloc[0].value)
    draw = np.random.default_rng([zlib.crc32(made.name.encode()), first, len(bars)])
    for cut in _cuts(bars, draw):
        _check_before(made, bars, clamped_returns, column, cut)
    _check_warm_up(made, bars, clamped_returns, column, draw)
    for run, tables in RUNS:
        spacing = made.warm_up + run
        slack = 0 if spacing <= tables else spacing // 4  # every offset is tried, or else no stride
        for offset in draw.permutation(spacing)[:tables]:
            gaps = spacing + draw.integers(0, slack + 1, len(bars) // spacing)
            starts = made.warm_up + int(offset) + np.append(0, np.cumsum(gaps))
            _check_replaced(made, bars, clamped_returns, column, _runs(starts, run, len(bars)), draw)
    return column


def _cuts(bars: pd.DataFrame, draw: np.random.Generator) -> list[int]:
    """Rows to cut before: the last, some anywhere, and some beside the first bars of sessions and contracts."""
    rows = len(bars)
    session, contract = bars["session"].to_numpy(), bars["contract"].to_numpy()
    borders = np.flatnonzero((session[1:] != session[:-1]) | (contract[1:] != contract[:-1])) + 1
    beside = np.unique(borders[:, np.newaxis] + np.array([-1, 0, 1]))
    beside = beside[(beside > 0) & (beside < rows)]
    chosen = draw.choice(beside, min(CUTS, len(beside)), replace=False).tolist() if len(beside) else []
    return sorted({rows - 1, *chosen, *draw.integers(1, rows, CUTS).tolist()})


def _runs(starts: Rows, run: int, rows: int) -> Rows:
    """The rows of runs of `run` bars that begin at `starts`, as far as there are `rows`."""
    replaced = (starts[:, np.newaxis] + np.arange(run)).ravel()
    return replaced[replaced < rows].astype(np.int64)


def _check_before(made: UserFeature, bars: pd.DataFrame, clamped_returns: Floats, column: Floats, cut: int) -> None:
    again = made(bars.iloc[:cut].reset_index(drop=True), clamped_returns[:cut])
    same = (again == column[:cut]) | (np.isnan(again) & np.isnan(column[:cut]))
    if not same.all():
        row = int(np.flatnonzero(~same)[0])
        raise LookAheadError(
            f"feature {made.name}: bar {_minute(bars, row)} is {column[row]} with all bars, but {again[row]} with the "
            f"bars before {_minute(bars, cut)} alone: it reads later bars, or gives another value on every call; use "
            "row t and rows before it only, and nothing that changes"
        )


def _check_warm_up(
    made: UserFeature, bars: pd.DataFrame, clamped_returns: Floats, column: Floats, draw: np.random.Generator
) -> None:
    if len(bars) - made.warm_up < 1:
        return
    start = int(draw.integers(1, len(bars) - made.warm_up + 1))
    later = made(bars.iloc[start:].reset_index(drop=True), clamped_returns[start:])
    whole, again = column[start + made.warm_up - 1 :], later[made.warm_up - 1 :]
    wrong = np.abs(whole - again) > LOOSE * (made.high - made.low)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise FeatureError(
            f"feature {made.name}: bar {_minute(bars, start + made.warm_up - 1 + at)} is {whole[at]} with all bars before it, "
            f"but {again[at]} with its warm-up of {made.warm_up + at} bars alone: it reads more bars than warm_up says; raise "
            "warm_up (an exponential mean reads about ten spans), or read fewer"
        )


def _check_replaced(
    made: UserFeature, bars: pd.DataFrame, clamped_returns: Floats, column: Floats, replaced: Rows, draw: np.random.Generator
) -> None:
    """Cut behind the rows before replaced runs that differ most: their look-back holds no replaced bar.

    Without a difference there, what differs is the fading rest of older bars, which `_check_warm_up` judges.
    """
    if not len(replaced):
        return
    source = np.arange(len(bars))
    source[replaced] = draw.integers(1, len(bars), len(replaced))  # the first bar has no return
    others = {str(name): bars[name].to_numpy()[source] for name in bars.columns if name not in KEPT}
    again = made(bars.assign(**others), clamped_returns[source])
    seen = replaced[np.append(True, np.diff(replaced) > 1)] - 1
    apart = np.abs(again[seen] - column[seen])
    apart[np.isnan(again[seen]) != np.isnan(column[seen])] = np.inf
    apart = np.nan_to_num(apart, posinf=np.inf)
    largest = np.argsort(-apart, kind="stable")[:SUSPECTS]
    for row in seen[largest[apart[largest] > LOOSE * (made.high - made.low)]]:
        _check_before(made, bars, clamped_returns, column, int(row) + 1)


def _minute(bars: pd.DataFrame, row: int) -> str:
    return str(pd.Timestamp(bars["ts_event"].iloc[row]).strftime("%Y-%m-%dT%H:%M:%SZ"))
