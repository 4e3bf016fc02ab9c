"""Sweeps: every combination of a strategy's parameters over the same bars, in one process.

``sweep`` plans (kernels.plan), runs lanes in chunks that keep the rows they share within a memory limit, and merges the
chunks. The result does not depend on the chunks, on threads or on the executor, to the bit.
"""

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from kernels import arguments, bar_checks, choices, preparation
from kernels.calibration import Calibration
from kernels.continuation import continued
from kernels.execution import Costs, Execution, Instrument
from kernels.grid import BLOCK, as_table, blocks, combinations, lanes, listed
from kernels.metrics import STANDARD
from kernels.mixed import confirmed
from kernels.plan import Window
from kernels.portfolio import terms
from kernels.preparation import SweepError
from kernels.program_cache import default_cache
from kernels.program_result import ProgramResult
from kernels.progress import Progress
from kernels.result import SweepResult
from kernels.rows import warm_up as longest_warm_up
from kernels.scoring import Settings, scorer
from kernels.strategy import Strategy
from kernels.sweep_state import SweepState
from kernels.top import best_combinations

__all__ = ["SweepError", "combinations", "sweep", "warm_up"]

ROW_BYTES = 2**29
"""Default limit for the rows that lanes share; past it lanes run in chunks."""


def sweep(
    strategy: Strategy,
    bars: pd.DataFrame,
    *,
    instrument: Instrument | None = None,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]] | pd.DataFrame | None = None,
    costs: Costs | None = None,
    capital: float | None = None,
    execution: Execution | None = None,
    metrics: Sequence[str] = STANDARD,
    windows: Sequence[Window] | None = None,
    returns: str | None = None,
    start: int | None = None,
    executor: str = "auto",
    precision: str = "fp64",
    allow_fallback: bool = False,
    rank_by: str = "sharpe",
    confirm: int = 100,
    top: int | None = None,
    blocks: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    calibration: Calibration | None = None,
    threads: int | None = None,
    cache: Path | str | None = None,
    row_bytes: int = ROW_BYTES,
    device_bytes: int | None = None,
    resume: SweepState | None = None,
) -> SweepResult:
    """Scores every combination of ``grid`` over ``bars``: in money of real contracts (``capital`` 100,000 by default), or
    without ``instrument`` as fractions of equity (1.0).

    ``grid``: parameter → values (Cartesian, last axis fastest, the strategy's constraint applied) or explicit combinations: a
    table, or a list of {parameter: value}; of a strategy's choices all options, or the named: ``{"signal": ["rsi"]}``
    (``kernels.choices``). ``windows``: half-open ranges of bars to score, each from a flat account (default: all); indicators
    run from bar 0, ``hold()`` from ``start``. The target decided at the close of a window's first bar is the first that fills.
    ``returns``: "session" (default where the bars have that column) or "bar". ``start``: the first bar with a target; by
    default the longest warm-up of the grid, and never earlier. ``executor``: "numpy", "cpu", "cuda", or "auto", the one for
    which ``calibration`` predicts the shorter run, "cpu" without one. "cuda" where it cannot run raises, or with
    ``allow_fallback`` warns once and runs on the CPU. ``precision``: "fp64"; on "cuda" also "fp32", an approximate scan, and
    "mixed", such a scan whose best ``confirm`` combinations by ``rank_by`` are computed again in fp64. ``threads``: default
    all cores. ``cache``: the folder of compiled programs. ``row_bytes``: memory for shared rows; ``device_bytes``: device
    memory for lanes. ``top``: keep that many combinations, the best by ``rank_by`` in each window (``kernels.top``): memory
    does not grow with the grid. ``blocks``: keep sums of the returns over so many blocks of periods
    (``SweepResult.session_sums``). ``progress`` is called after every chunk. ``resume``: the state (``result.state()``) that
    an earlier sweep's accounts go on from; combinations, start and window are its own, ``bars`` those of that sweep and more.

    Raises ``SweepError``, ``GridError``, ``MetricError``, ``BarsError``, ``WindowError`` or ``CudaUnavailableError``.
    """
    arguments.check(locals())
    settings = Settings(
        terms(costs or Costs(), instrument, execution or Execution()), execution or Execution(), instrument,
        capital if capital is not None else (1.0 if instrument is None else 100_000.0), tuple(metrics), windows,
        returns or ("session" if "session" in bars.columns else "bar"), executor, allow_fallback, calibration,
        threads or os.cpu_count() or 1, Path(cache or default_cache()), row_bytes, device_bytes, progress, blocks or 0,
    )  # fmt: skip
    preparation.check(settings.capital, settings.returns, executor, precision, blocks, top)
    bars = bar_checks.checked_bars(bars, strategy, settings.returns)
    grid, run = listed(grid), functools.partial(_run, bars)
    if strategy.choices:
        return choices.sweep_choices(run, strategy, settings, grid, start, precision, top=top, resume=resume)
    if resume is not None:
        return continued(strategy, bars, settings, resume, precision, grid=grid, start=start, top=top)
    if top is not None:
        return best_combinations(strategy, bars, settings, grid, start, precision, rank_by, top, confirm)
    table = as_table(grid, strategy, settings.kept_bytes)
    if precision == "mixed":
        return confirmed(functools.partial(run, strategy, settings), table, start, rank_by, confirm)
    return run(strategy, settings, table, start, precision)


def _run(
    bars: pd.DataFrame, strategy: Strategy, settings: Settings, table: pd.DataFrame, start: int | None, precision: str
) -> ProgramResult:
    first = preparation.first_target(longest_warm_up(strategy.target, lanes(table)), start)
    scoring = scorer(strategy, bars, settings, len(table), first, precision)
    scored, sums = scoring.score(table)
    return scoring.result(scored, table, sums)


def warm_up(strategy: Strategy, grid: Mapping[str, Sequence[Any]] | pd.DataFrame | None = None) -> int:
    """Bars before every combination of the grid has a target: the ``start`` for all parts of a split grid."""
    if strategy.choices:
        return choices.longest_warm_up(strategy, grid)
    return max(longest_warm_up(strategy.target, lanes(block)) for block in blocks(listed(grid), strategy, BLOCK))
