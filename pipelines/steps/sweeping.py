"""A strategy's sweep on validation rows, in chunks, and the ranking of all of its combinations."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from kernels.dispatch import FallbackWarning
from kernels.execution import Costs, Execution, Instrument
from kernels.strategies import named_strategy
from kernels.sweep import combinations, sweep, warm_up
from pipelines.machine import Machine
from pipelines.pieces import Pieces
from training.folds import Fold

METRICS = (
    "net_profit",
    "gross_profit",
    "fees",
    "slippage",
    "total_return",
    "cagr",
    "volatility",
    "sharpe",
    "sortino",
    "calmar",
    "max_drawdown",
    "trades",
    "win_rate",
    "profit_factor",
    "expectancy",
    "exposure",
    "turnover",
    "final_equity",
)


NOTED = ("executor", "why", "fallback_reason", "combinations", "bar_steps", "bar_steps_per_second")
"""Of a sweep's profile, what the record of a run keeps."""


@dataclass(frozen=True)
class SweepChunk:
    """Some combinations of a strategy: a row each with parameters, then metrics; `start` is the warm-up of the whole grid.

    `sessions_per_year` is the number that annualised the metrics.
    """

    table: pd.DataFrame
    start: int
    sessions_per_year: float


@dataclass(frozen=True)
class StrategyRanking:
    """All combinations of a strategy on validation rows.

    `best` holds the parameters of the best by `metric` (empty where no combination has a defined value); `trials` is what
    the ledger counts; `sessions_per_year` is the number that annualised the metrics.
    """

    table: pd.DataFrame
    parameters: tuple[str, ...]
    metric: str
    best: dict[str, float]
    start: int
    trials: int
    sessions_per_year: float


def own_grid(grid: Mapping[str, tuple[float, ...]], place: Mapping[str, int | str]) -> dict[str, tuple[float, ...]]:
    """Return the axes that the strategy at this place declares: the values of others do not touch its sweep."""
    declared = named_strategy(str(place["strategy"])).parameters
    return {name: tuple(grid[name]) for name in declared}


def sweep_chunk(
    bars: pd.DataFrame,
    fold: Fold,
    strategy: str,
    chunk: int,
    grid: Mapping[str, tuple[float, ...]],
    chunk_combinations: int,
    contract: Instrument,
    costs: Costs,
    execution: Execution,
    capital: float,
    executor: str,
    allow_fallback: bool,
    machine: Machine | None = None,
) -> SweepChunk:
    """Score one chunk of a strategy's combinations on the fold's validation rows; indicators run from the first bar.

    Bars after the validation rows are cut off before the sweep sees them. Which executor ran, and why, is noted with
    `machine`, whose calibration "auto" decides by; the result is the same whichever it was.
    """
    here = machine or Machine()
    made = named_strategy(strategy)
    table = combinations(grid, made)
    start = warm_up(made, table)
    rows = table.iloc[chunk * chunk_combinations : (chunk + 1) * chunk_combinations].reset_index(drop=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)  # noted below; the command says it once for all chunks
        result = sweep(
            made,
            bars.iloc[: fold.validation[1]],
            grid=rows,
            costs=costs,
            instrument=contract,
            capital=capital,
            execution=execution,
            metrics=list(METRICS),
            windows=[fold.validation],
            returns="session",
            executor=executor,
            allow_fallback=allow_fallback,
            calibration=here.calibration(1) if executor == "auto" else None,
            start=start,
            threads=1,
        )
    here.note(**{name: result.profile[name] for name in NOTED})
    return SweepChunk(result.table, start, float(result.profile["periods_per_year"]))


def chunk_pieces(arguments: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """Cut a chunk of a sweep into `count` or more chunks of fewer combinations, in the order of the grid.

    Chunks begin at multiples of their size, so the size of a piece divides the chunk's.
    """
    size, chunk = int(arguments["chunk_combinations"]), int(arguments["chunk"])
    total = len(combinations(arguments["grid"], named_strategy(arguments["strategy"])))
    stop = min((chunk + 1) * size, total)
    most = max(1, (stop - chunk * size) // count)
    piece = next(one for one in range(most, 0, -1) if size % one == 0)
    return [
        {**arguments, "chunk": start // piece, "chunk_combinations": piece} for start in range(chunk * size, stop, piece)
    ]


def joined_pieces(pieces: Sequence[SweepChunk]) -> SweepChunk:
    """Make the pieces of a chunk, in order, the chunk."""
    table = pd.concat([piece.table for piece in pieces], ignore_index=True)
    return replace(pieces[0], table=table)


IN_PIECES = Pieces(chunk_pieces, joined_pieces, ("combinations", "bar_steps"))


def strategy_ranking(chunks: list[SweepChunk], strategy: str, rank_by: str) -> StrategyRanking:
    """Join the chunks in the order of the grid and name the best combination; ties go to the earlier one, NaN never wins."""
    table = pd.concat([chunk.table for chunk in chunks], ignore_index=True)
    parameters = tuple(named_strategy(strategy).parameters)
    if rank_by not in table.columns:
        raise ValueError(f"sweep.rank_by={rank_by} is not a metric of the sweep; choose one of {', '.join(METRICS)}")
    scores = table[rank_by].to_numpy(dtype=np.float64)
    best: dict[str, float] = {}
    if np.isfinite(scores).any():
        row = table.iloc[int(np.nanargmax(np.where(np.isinf(scores), np.nan, scores)))]
        best = {name: float(row[name]) for name in parameters}
    return StrategyRanking(
        table, parameters, rank_by, best, chunks[0].start, len(table), chunks[0].sessions_per_year
    )
