"""A strategy's sweep on validation rows, in chunks that keep what is needed, and the ranking of all its combinations."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.dispatch import FallbackWarning
from kernels.execution import Costs, Execution, Instrument
from kernels.strategies import named_strategy
from kernels.sweep import sweep
from pipelines.execution.machine import Machine
from pipelines.steps.searching import Grid, SweepSearch, numbered
from pipelines.steps.sweep_summary import NUMBER, SweepSummary, better, joined, median, summary
from training.folds import Fold
from training.overfitting import BLOCKS

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


NOTED = (
    "executor", "why", "fallback_reason", "combinations", "bar_steps", "bar_steps_per_second", "break_even_combinations",
)  # fmt: skip
"""Of a sweep's profile, what the record of a run keeps."""
NO_GPU_WORKER = "no_gpu_worker"
"""Why a chunk that asked for the GPU ran on the CPU: the cluster has no worker that holds one."""


FEWEST_BLOCKS = 6
"""Blocks of sessions below which the probability of overfitting is not computed: their halves are too few."""


@dataclass(frozen=True)
class SweepChunk:
    """What is kept of some combinations of a strategy: `summary` of all of them, and of those judged for overfitting sums
    and squares [combinations, blocks] of session returns; `counts` [blocks] are the sessions of each block.

    `sessions_per_year` is the number that annualised the metrics.
    """

    summary: SweepSummary
    sums: NDArray[np.float64]
    squares: NDArray[np.float64]
    counts: NDArray[np.int64]
    sessions_per_year: float


@dataclass(frozen=True)
class StrategyRanking:
    """All combinations of a strategy on validation rows.

    `table` holds the best by `metric`, best first (`more_is_better`): NUMBER, parameters, metrics; `best` the parameters
    of the first (empty where no combination has a defined value). `trials` counts the combinations that were tried, which
    is what the ledger counts; the metric is undefined for `undefined` of them and above 0 for `positive`. `median`,
    `sharpes` and `cells`: see `SweepSummary`. `sums`, `squares`, `counts`: see `SweepChunk`. `search` says what was tried.
    """

    table: pd.DataFrame
    parameters: tuple[str, ...]
    metric: str
    more_is_better: bool
    best: dict[str, float]
    start: int
    trials: int
    undefined: int
    positive: int
    median: float
    sharpes: pd.DataFrame
    cells: pd.DataFrame
    sums: NDArray[np.float64]
    squares: NDArray[np.float64]
    counts: NDArray[np.int64]
    sessions_per_year: float
    search: str


def blocks_of(sessions: int) -> int:
    """Return how many blocks so many sessions are cut into: at most 16, even, two sessions each; 0 for too few."""
    blocks = min(BLOCKS, sessions // 4 * 2)
    return blocks if blocks >= FEWEST_BLOCKS else 0


def sweep_chunk(
    bars: pd.DataFrame,
    fold: Fold,
    searched: SweepSearch,
    strategy: str,
    chunk: int,
    grid: Grid,
    rank_by: str,
    keep: int,
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

    Bars after the validation rows are cut off before the sweep sees them. The `keep` best are kept. Which executor ran,
    and why, is noted with `machine`: where its worker does not decide for "auto", its calibration does.
    """
    here, made = machine or Machine(), named_strategy(strategy)
    runs, low = _executor(executor, allow_fallback, here), chunk * chunk_combinations
    numbers, rows = numbered(strategy, grid, searched.table, low, min(low + chunk_combinations, searched.size))
    names, blocks = tuple(dict.fromkeys((*METRICS, rank_by))), _blocks(bars, fold, searched.start)
    if not len(rows):
        return _nothing(strategy, grid, names, rank_by, keep)
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
            metrics=list(names),
            windows=[fold.validation],
            returns="session",
            executor=runs,
            allow_fallback=allow_fallback,
            calibration=here.calibration(1) if runs in ("auto", "cuda") else None,
            start=searched.start,
            threads=1,
            blocks=blocks or None,
        )
    here.note(**{name: result.profile[name] for name in NOTED} | _told(executor, runs, result.profile))
    table = result.table.copy()
    table.insert(0, NUMBER, numbers)
    kept = summary(table, made.parameters, [grid[name] for name in made.parameters], rank_by, keep)
    yearly = float(result.profile["periods_per_year"])
    if not blocks:
        return SweepChunk(kept, *_no_sums(), yearly)
    found = result.session_sums()[np.flatnonzero(np.isin(numbers, searched.judged))]
    return SweepChunk(kept, found.sums, found.squares, found.counts, yearly)


def _executor(asked: str, allow_fallback: bool, machine: Machine) -> str:
    """The executor that a worker with a GPU, or one without, stands for; as asked where no worker was chosen."""
    if machine.gpu is None or not (asked == "auto" or (asked == "cuda" and allow_fallback)):
        return asked
    return "cuda" if machine.gpu else "cpu"


def _told(asked: str, runs: str, profile: Mapping[str, Any]) -> dict[str, Any]:
    """What is noted where the worker decided; nothing where the sweep itself did."""
    if runs == asked:
        return {}
    if asked == "cuda":
        return {"why": "fell back: no worker holds a GPU", "fallback_reason": NO_GPU_WORKER}
    least = profile["break_even_combinations"]
    small = "" if least is None else f", though the CPU is estimated faster below about {least:,} combinations"
    return {"why": f"auto: its worker holds {'a' if runs == 'cuda' else 'no'} GPU{small}"}


def _nothing(strategy: str, grid: Grid, names: tuple[str, ...], rank_by: str, keep: int) -> SweepChunk:
    """A chunk of which the strategy's constraint leaves nothing."""
    parameters = named_strategy(strategy).parameters
    empty = pd.DataFrame({name: np.empty(0) for name in (NUMBER, *parameters, *names)})
    kept = summary(empty, parameters, [grid[name] for name in parameters], rank_by, keep)
    return SweepChunk(kept, *_no_sums(), 0.0)


def _no_sums() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    return np.empty((0, 0)), np.empty((0, 0)), np.empty(0, np.int64)


def strategy_ranking(
    chunks: list[SweepChunk], searched: SweepSearch, strategy: str, rank_by: str, keep: int
) -> StrategyRanking:
    """Join the chunks and name the best combination; ties go to the earlier one, NaN never wins."""
    parameters = tuple(named_strategy(strategy).parameters)
    whole = joined([chunk.summary for chunk in chunks], rank_by, keep)
    if whole.combinations != searched.combinations:
        raise ValueError(f"{strategy}: {whole.combinations} combinations were scored of {searched.combinations} searched")
    some = [chunk for chunk in chunks if chunk.summary.combinations]
    return StrategyRanking(
        table=whole.best,
        parameters=parameters,
        metric=rank_by,
        more_is_better=better(rank_by),
        best={name: float(whole.best[name].iloc[0]) for name in parameters} if len(whole.best) else {},
        start=searched.start,
        trials=whole.combinations,
        undefined=whole.undefined,
        positive=whole.positive,
        median=median(whole.values),
        sharpes=whole.sharpes,
        cells=whole.cells,
        sums=np.concatenate([chunk.sums for chunk in some]),
        squares=np.concatenate([chunk.squares for chunk in some]),
        counts=np.asarray(some[0].counts),
        sessions_per_year=some[0].sessions_per_year,
        search=searched.words,
    )


def _blocks(bars: pd.DataFrame, fold: Fold, start: int) -> int:
    """Blocks of the sessions that are scored: those of the validation rows from the first target on."""
    session = bars["session"].to_numpy()[max(fold.validation[0], start) : fold.validation[1]]
    return blocks_of(int((session[1:] != session[:-1]).sum()) + 1)
