"""The best combinations of a grid of any size: enumerated block by block, of which only the best are kept.

Host memory holds one block and the best so far, never the grid. With one window the result is what the first rows of the
whole grid's ranking would be, to the bit: ties go to the earlier combination, NaN is never among the best. With several,
a combination is kept that is among the best of at least one of them, and stands in the table for each.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kernels import preparation
from kernels.grid import BLOCK, blocks, lanes
from kernels.metrics import MetricError, ranking, undefined
from kernels.mixed import agreement
from kernels.preparation import SweepError
from kernels.program_result import ProgramResult
from kernels.rows import Array, warm_up
from kernels.scoring import Scorer, Settings, scorer
from kernels.strategy import Strategy

PLACE = "combination"
"""Column of a combination's place in the order of the grid."""

Scored = list[pd.DataFrame]
"""Of each window a table: the combination's place, its parameters, its metrics."""


def best_combinations(
    strategy: Strategy,
    bars: pd.DataFrame,
    settings: Settings,
    grid: Mapping[str, Sequence[Any]] | pd.DataFrame | None,
    start: int | None,
    precision: str,
    rank_by: str,
    top: int,
    confirm: int,
) -> ProgramResult:
    """The ``top`` best combinations of each window by ``rank_by``; the column ``combination`` numbers them in the grid.

    Best first where there is one window, else in the order of the grid. Fewer rows where fewer have a value.
    ``precision`` "mixed" scans in fp32, keeps the best max(``top``, ``confirm``), and ranks them by their values in
    fp64, which alone are returned; what fp32 ranks lower than that is lost. Raises ``SweepError`` for a ``rank_by``
    that is not among the metrics; ``MetricError`` where no combination has a value.
    """
    _check(settings, rank_by)
    count, longest = 0, 0
    for block in blocks(grid, strategy, BLOCK):
        count, longest = count + len(block), max(longest, warm_up(strategy.target, lanes(block)))
    first, mixed = preparation.first_target(longest, start), precision == "mixed"
    scan = scorer(strategy, bars, settings, count, first, "fp32" if mixed else precision)
    kept = _scan(scan, blocks(grid, strategy, BLOCK), rank_by, max(top, confirm) if mixed else top)
    if not len(kept[0]):
        why = undefined(rank_by)
        raise MetricError(f"none of {count:,} combinations has a {rank_by} ({why}): score more bars or rank by another metric")
    names = [name for name in kept[0].columns if name in strategy.parameters]
    if not mixed:
        return scan.result(_joined(kept, names), kept[0][names])
    exact = scorer(strategy, bars, settings, len(kept[0]), first, "fp64")
    found = _scored(exact, kept[0][names], kept[0][PLACE].to_numpy())
    compared = agreement(_values(kept, rank_by), _values(found, rank_by))
    best = _best(found, rank_by, top)
    result = exact.result(_joined(best, names), best[0][names])
    result.profile.update(
        {
            **scan.profile(),
            "precision": "mixed",
            "rank_agreement": {"metric": rank_by, "confirmed": len(kept[0]), **compared},
            "confirmation": exact.profile(),
        }
    )
    return result


def _scan(scoring: Scorer, tables: Iterator[pd.DataFrame], rank_by: str, top: int) -> Scored:
    kept: Scored | None = None
    seen = 0
    for table in tables:
        found = _scored(scoring, table, np.arange(seen, seen + len(table)))
        seen += len(table)
        if kept is not None:
            found = [pd.concat([a, b], ignore_index=True) for a, b in zip(kept, found, strict=True)]
        kept = _best(found, rank_by, top)
    assert kept is not None  # a grid has a combination
    return kept


def _scored(scoring: Scorer, table: pd.DataFrame, places: Any) -> Scored:
    scores, _ = scoring.score(table)
    count = len(table)
    parts = [scores.iloc[low : low + count].reset_index(drop=True) for low in range(0, len(scores), count)]
    for part in parts:
        part.insert(0, PLACE, places)
    return parts


def _best(scored: Scored, rank_by: str, top: int) -> Scored:
    """Of each window the rows of the combinations that are among the ``top`` best of one of them."""
    # sorted by place first: what was kept before comes best first, and ties go to the earlier combination
    order = np.argsort(scored[0][PLACE].to_numpy(), kind="stable")
    scored = [part.iloc[order].reset_index(drop=True) for part in scored]
    best = [ranking(rank_by, part[rank_by].to_numpy(dtype=np.float64))[:top] for part in scored]
    rows = best[0] if len(scored) == 1 else np.unique(np.concatenate(best))
    return [part.iloc[rows].reset_index(drop=True) for part in scored]


def _joined(scored: Scored, parameters: list[str]) -> pd.DataFrame:
    """One table, windows one after another, the window's column first as in other sweeps."""
    table = pd.concat(scored, ignore_index=True)
    label = [name for name in ("scored_window", "window") if name in table.columns and name not in parameters][:1]
    return table[[*label, PLACE, *(name for name in table.columns if name not in (*label, PLACE))]]


def _values(scored: Scored, rank_by: str) -> Array:
    return np.concatenate([part[rank_by].to_numpy(dtype=np.float64) for part in scored])


def _check(settings: Settings, rank_by: str) -> None:
    if rank_by not in settings.metrics:
        raise SweepError(f"rank_by={rank_by!r} is not among the metrics {', '.join(settings.metrics)}; add it")
