"""Mixed precision: a scan of all combinations in fp32, whose best are computed again in fp64."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from kernels.metrics import MetricError
from kernels.program_result import ProgramResult

Run = Callable[[pd.DataFrame, int | None, str], ProgramResult]
"""(combinations, start, precision) → result."""


def confirmed(run: Run, table: pd.DataFrame, start: int | None, rank_by: str, confirm: int) -> ProgramResult:
    """The scan's table with the rows of the best ``confirm`` combinations replaced by their fp64 values.

    The table gains a column ``precision``; rows in "fp32" are approximate. The profile gains ``rank_agreement``: over
    the confirmed rows, Spearman's correlation of both rankings, the largest difference of the metric, and whether the
    scan's best is the best. Traces run in fp64. Raises ``MetricError`` where ``rank_by`` is no column of the table.
    """
    scan = run(table, start, "fp32")
    best = scan.ranking(rank_by)[:confirm]
    if len(best) == 0:
        raise MetricError(f"no combination has a {rank_by} in the fp32 scan: nothing to confirm; score more bars")
    chosen = np.unique(best % len(table))
    exact = run(table.iloc[chosen].reset_index(drop=True), scan.start, "fp64")
    windows = np.arange(len(scan.windows))[:, np.newaxis]
    rows = (windows * len(table) + chosen).reshape(-1)  # the windows stand one after another in the table
    merged = scan.table.copy()
    merged.insert(len(table.columns) + (len(scan.windows) > 1), "precision", "fp32")
    for name in exact.table.columns.difference(table.columns):
        merged.loc[rows, name] = exact.table[name].to_numpy()
    merged.loc[rows, "precision"] = "fp64"
    found = agreement(scan.table[rank_by].to_numpy()[rows], exact.table[rank_by].to_numpy())
    profile = {
        **scan.profile,
        "precision": "mixed",
        "rank_agreement": {"metric": rank_by, "confirmed": len(chosen), **found},
        "confirmation": exact.profile,
    }
    return replace(exact, table=merged, profile=profile, _lanes=scan._lanes)


def agreement(approximate: Any, exact: Any) -> dict[str, float | bool]:
    """Of the values that both have: rank correlation (1 for fewer than two), largest difference (0 of two alike, infinite
    ones too), same best.
    """
    both = ~(np.isnan(approximate) | np.isnan(exact))
    a, b = pd.Series(approximate[both]), pd.Series(exact[both])
    if len(a) == 0:
        return {"spearman": float("nan"), "largest_difference": float("nan"), "same_best": False}
    varied = a.nunique() > 1 and b.nunique() > 1
    return {
        "spearman": float(a.rank().corr(b.rank())) if varied else 1.0,
        "largest_difference": float((a - b).abs().where(a != b, 0.0).max()),
        "same_best": bool(a.idxmax() == b.idxmax()),
    }
