"""The best combinations of a grid of any size: enumerated block by block, of which only the best are kept.

Host memory holds one block and the best so far, never the grid. The result is what the first rows of the whole grid's
ranking would be, to the bit: ties go to the earlier combination, NaN is never among the best.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kernels import preparation
from kernels.grid import blocks, lanes
from kernels.metrics import MetricError, ranking
from kernels.preparation import SweepError
from kernels.result import SweepResult
from kernels.rows import warm_up
from kernels.scoring import Settings, scorer
from kernels.strategy import Strategy

BLOCK = 2**17
"""Combinations that are enumerated and scored at once."""

PLACE = "combination"
"""Column of a combination's place in the order of the grid."""


def best_combinations(
    strategy: Strategy,
    bars: pd.DataFrame,
    settings: Settings,
    grid: Mapping[str, Sequence[Any]] | pd.DataFrame | None,
    start: int | None,
    precision: str,
    rank_by: str,
    top: int,
) -> SweepResult:
    """The ``top`` best combinations by ``rank_by``, best first; the column ``combination`` numbers them in the grid.

    Fewer rows where fewer have a value. Raises ``SweepError`` for more than one window, a ``rank_by`` that is not among
    the metrics, or precision "mixed"; ``MetricError`` where no combination has a value.
    """
    _check(settings, precision, rank_by, top)
    count, longest = 0, 0
    for block in blocks(grid, strategy, BLOCK):
        count, longest = count + len(block), max(longest, warm_up(strategy.target, lanes(block)))
    scoring = scorer(strategy, bars, settings, count, preparation.first_target(longest, start), precision)
    kept, seen = None, 0
    for block in blocks(grid, strategy, BLOCK):
        scored = scoring.score(block)
        scored.insert(0, PLACE, np.arange(seen, seen + len(block)))
        seen += len(block)
        both = scored if kept is None else pd.concat([kept, scored], ignore_index=True)
        order = ranking(rank_by, both[rank_by].to_numpy(dtype=np.float64))[:top]
        kept = both.iloc[order].reset_index(drop=True)
    if kept is None or kept.empty:
        raise MetricError(f"none of {count:,} combinations has a {rank_by}: score more bars or rank by another metric")
    return scoring.result(kept, kept[list(strategy.parameters)])


def _check(settings: Settings, precision: str, rank_by: str, top: int) -> None:
    if top < 1:
        raise SweepError(f"top={top}: keep at least one combination")
    if settings.windows is not None and len(settings.windows) != 1:
        raise SweepError(f"top={top} ranks one window, given {len(settings.windows)}: sweep them one by one")
    if rank_by not in settings.metrics:
        raise SweepError(f"rank_by={rank_by!r} is not among the metrics {', '.join(settings.metrics)}; add it")
    if precision == "mixed":
        raise SweepError(f"top={top} keeps one precision: use 'fp64', or 'mixed' without top")
