"""Walk-forward folds as row ranges of the bars table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.errors import FoldError

Rows = tuple[int, int]
"""A half-open range (start, stop) of rows."""

MODES = ("rolling", "anchored")


@dataclass(frozen=True)
class FoldSettings:
    """Sizes of the blocks of a fold; every size is a number of bars, never a duration.

    A block of `train_bars`, one of `validation_bars` and one of `test_bars` follow each other; the next fold starts
    `step_bars` later. `purge_bars` + `embargo_bars` rows are removed from the end of the train and validation blocks:
    purge at least label horizon + n-step (a decision there is scored on bars of the next block), embargo at least the
    longest look-back of a feature (254 bars).
    """

    train_bars: int = 90_000
    validation_bars: int = 25_000
    test_bars: int = 25_000
    step_bars: int = 25_000
    purge_bars: int = 64
    embargo_bars: int = 256
    mode: str = "rolling"

    def __post_init__(self) -> None:
        """Refuse sizes that cut no fold."""
        for name in ("train_bars", "validation_bars", "test_bars", "step_bars"):
            if getattr(self, name) < 1:
                raise ValueError(f"folds.{name} = {getattr(self, name)}: must be at least 1 bar")
        for name in ("purge_bars", "embargo_bars"):
            if getattr(self, name) < 0:
                raise ValueError(f"folds.{name} = {getattr(self, name)}: must be at least 0 bars")
        gap = self.purge_bars + self.embargo_bars
        for name in ("train_bars", "validation_bars"):
            if getattr(self, name) <= gap:
                raise ValueError(
                    f"folds.{name} = {getattr(self, name)}: purge_bars + embargo_bars = {gap} rows are removed from "
                    f"its end and would leave none; raise {name} or lower the gap"
                )
        if self.mode not in MODES:
            raise ValueError(f"folds.mode = {self.mode!r}: unknown; choose one of {', '.join(MODES)}")


@dataclass(frozen=True)
class Fold:
    """One walk-forward step: half-open row ranges, in time order and disjoint."""

    index: int
    train: Rows
    validation: Rows
    test: Rows


def walk_forward(timestamps: Any, settings: FoldSettings | None = None) -> list[Fold]:
    """Cut the folds of a bars table.

    `timestamps`: the `ts_event` column [bars] (a pandas Series or a datetime64/int64 array), strictly increasing. Only
    their number and order matter: sizes are in bars. `rolling` moves the start of the train block with the fold,
    `anchored` keeps it at row 0. Blocks that do not fit whole at the end make no fold.

    Raises FoldError when the timestamps do not increase strictly or are too few for one fold.
    """
    settings = FoldSettings() if settings is None else settings
    times = np.asarray(timestamps, dtype="datetime64[ns]").astype(np.int64)
    _check_order(times)
    need = settings.train_bars + settings.validation_bars + settings.test_bars
    if len(times) < need:
        raise FoldError(
            f"{len(times)} bars: one fold needs {need} (train {settings.train_bars} + validation "
            f"{settings.validation_bars} + test {settings.test_bars}); load more data or set smaller folds.*_bars"
        )
    gap = settings.purge_bars + settings.embargo_bars
    folds = []
    for index in range((len(times) - need) // settings.step_bars + 1):
        start = index * settings.step_bars
        validation = start + settings.train_bars
        test = validation + settings.validation_bars
        folds.append(
            Fold(
                index=index,
                train=(0 if settings.mode == "anchored" else start, validation - gap),
                validation=(validation, test - gap),
                test=(test, test + settings.test_bars),
            )
        )
    return folds


def select_fold(folds: list[Fold], index: int) -> Fold:
    """The fold with this number; raises FoldError naming how many there are."""
    if not 0 <= index < len(folds):
        raise FoldError(f"fold={index}: there are {len(folds)} folds; choose 0 to {len(folds) - 1}")
    return folds[index]


def fold_report(fold: Fold, timestamps: Any, settings: FoldSettings) -> dict[str, Any]:
    """JSON description of a fold for the report: rows, first and last bar of each range, and the gap with its unit."""
    times = np.asarray(timestamps, dtype="datetime64[ns]")
    report: dict[str, Any] = {"index": fold.index, "mode": settings.mode}
    for name in ("train", "validation", "test"):
        start, stop = getattr(fold, name)
        report[name] = {
            "start_row": start,
            "stop_row": stop,
            "bars": stop - start,
            "first": f"{times[start].astype('datetime64[s]')}Z",
            "last": f"{times[stop - 1].astype('datetime64[s]')}Z",
        }
    report["purge_bars"] = settings.purge_bars
    report["embargo_bars"] = settings.embargo_bars
    return report


def _check_order(times: NDArray[np.int64]) -> None:
    wrong = np.flatnonzero(np.diff(times) <= 0)
    if wrong.size:
        row = int(wrong[0]) + 1
        raise FoldError(
            f"bar {np.datetime64(int(times[row]), 'ns')}Z (row {row}): not after the bar before it, "
            f"{np.datetime64(int(times[row - 1]), 'ns')}Z; folds need strictly increasing ts_event"
        )
