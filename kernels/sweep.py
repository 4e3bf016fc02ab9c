"""Sweeps: every combination of a strategy's parameters over the same bars, in one process.

``sweep`` plans (kernels.plan), runs lanes in chunks that keep the rows they share within a memory limit, and merges the
chunks. The result does not depend on the chunks, on threads or on the executor, to the bit.
"""

import functools
import itertools
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kernels import numpy_executor, preparation
from kernels.annualisation import periods_per_year
from kernels.bars import bar_inputs
from kernels.calibration import Calibration
from kernels.dispatch import Choice, choose
from kernels.execution import Costs, Execution, Instrument
from kernels.executor import host
from kernels.fallback import cuda_refusal
from kernels.grid import as_table, combinations, lanes
from kernels.metrics import METRICS, compute, reads
from kernels.mixed import confirmed
from kernels.plan import Plan, Window
from kernels.portfolio import Terms, terms
from kernels.preparation import SweepError
from kernels.program_cache import default_cache
from kernels.result import SweepResult
from kernels.rows import Array, Lanes
from kernels.rows import warm_up as longest_warm_up
from kernels.runners import Runner, runner
from kernels.simulation import Conditions
from kernels.strategy import Strategy

__all__ = ["SweepError", "combinations", "sweep", "warm_up"]

ROW_BYTES = 2**29
"""Default limit for the rows that lanes share; past it lanes run in chunks."""


def sweep(
    strategy: Strategy,
    bars: pd.DataFrame,
    *,
    instrument: Instrument,
    grid: Mapping[str, Sequence[Any]] | pd.DataFrame | None = None,
    costs: Costs | None = None,
    capital: float = 100_000.0,
    execution: Execution | None = None,
    metrics: Sequence[str] = tuple(METRICS),
    windows: Sequence[Window] | None = None,
    returns: str | None = None,
    start: int | None = None,
    executor: str = "auto",
    precision: str = "fp64",
    allow_fallback: bool = False,
    rank_by: str = "sharpe",
    confirm: int = 100,
    calibration: Calibration | None = None,
    threads: int | None = None,
    cache: Path | None = None,
    row_bytes: int = ROW_BYTES,
    device_bytes: int | None = None,
) -> SweepResult:
    """Scores every combination of ``grid`` over ``bars``, in money of real contracts.

    ``grid``: parameter → values (Cartesian, last axis fastest, the strategy's constraint applied) or a table of
    explicit combinations. ``windows``: half-open ranges of bars to score, each from a flat account (default: all from
    ``start``); indicators run from bar 0. The target decided at the close of a window's first bar is the first that
    fills. ``returns``: "session" (default where the bars have that column) or "bar". ``start``: the first bar with a
    target; by default the longest warm-up of the grid, and never earlier. ``executor``: "numpy", "cpu", "cuda", or
    "auto", which takes the one that ``calibration`` lets expect the shorter run, "cpu" without one. "cuda" where it
    cannot run raises, or with ``allow_fallback`` warns once and runs on the CPU. ``precision``: "fp64"; on "cuda" also
    "fp32", a scan whose numbers are approximate, and "mixed", a scan in fp32 whose best ``confirm`` combinations by
    ``rank_by`` are computed again in fp64. ``threads``: default all cores. ``cache``: folder of compiled programs, by
    default one of the user's. ``row_bytes``: memory for shared rows; ``device_bytes``: device memory for lanes.

    Raises ``SweepError``, ``GridError``, ``MetricError``, ``BarsError``, ``WindowError`` or ``CudaUnavailableError``,
    each naming the remedy.
    """
    settings = _Settings(
        terms(costs or Costs(), instrument, execution or Execution()), capital, tuple(metrics), windows,
        returns or ("session" if "session" in bars.columns else "bar"), executor, allow_fallback, calibration,
        threads or os.cpu_count() or 1, cache or default_cache(), row_bytes, device_bytes,
    )  # fmt: skip
    preparation.check_settings(capital, settings.returns, executor, precision)
    preparation.check_bars(bars, settings.returns)
    run = functools.partial(_run, strategy, bars, settings)
    table = as_table(grid, strategy)
    if precision == "mixed":
        return confirmed(run, table, start, rank_by, confirm)
    return run(table, start, precision)


@dataclass(frozen=True)
class _Settings:
    """A sweep's arguments apart from strategy, bars, combinations, start and precision."""

    terms: Terms
    capital: float
    metrics: tuple[str, ...]
    windows: Sequence[Window] | None
    returns: str
    executor: str
    allow_fallback: bool
    calibration: Calibration | None
    threads: int
    cache: Path
    row_bytes: int
    device_bytes: int | None


def _run(
    strategy: Strategy, bars: pd.DataFrame, settings: _Settings, table: pd.DataFrame, start: int | None, precision: str
) -> SweepResult:
    begun = time.perf_counter()
    needed = sorted(reads(settings.metrics))
    values = lanes(table)
    first = preparation.first_target(longest_warm_up(strategy.target, values), start)
    scored = preparation.scored_windows(settings.windows, first, len(bars))
    plan = _plan(strategy, bars, scored, first, settings)
    choice = choose(
        settings.executor,
        settings.allow_fallback and precision == "fp64",
        lambda: plan.workload(needed, len(table)),
        settings.calibration,
        cuda_refusal,
    )
    used = runner(choice.executor, precision, settings.threads, settings.cache, settings.device_bytes)
    plan = replace(plan, execute=used.timed.run, device=used.device)
    parts = _scores(plan, values, len(table), needed, settings.metrics, settings.row_bytes)
    total = time.perf_counter() - begun
    profile = _profile(plan, settings.returns, precision, len(table), len(parts), choice, used, total)
    return SweepResult(_table(table, settings.metrics, parts, len(scored)), first, scored, profile, plan, bars, values)


def _plan(strategy: Strategy, bars: pd.DataFrame, windows: tuple[Window, ...], start: int, settings: _Settings) -> Plan:
    stop = max(end for _, end in windows)
    inputs = bar_inputs(bars)
    conditions = Conditions(
        terms=settings.terms,
        capital=float(settings.capital),
        rolls=bool(inputs.rolled[:stop].any()),
        masks=not bool(inputs.executable[:stop].all()),
        every_bar=settings.returns == "bar",
    )
    return Plan(
        strategy=strategy,
        columns=preparation.program_columns(strategy, bars, inputs, conditions, stop),
        ends=preparation.period_ends(bars, settings.returns, stop),
        conditions=conditions,
        windows=windows,
        start=start,
        periods_per_year=periods_per_year(bars, settings.returns),
        execute=numpy_executor.run,
        device=host(numpy_executor.run),
    )


def warm_up(strategy: Strategy, grid: Mapping[str, Sequence[Any]] | pd.DataFrame | None = None) -> int:
    """Bars before every combination of the grid has a target: the ``start`` for all parts of a split grid."""
    return longest_warm_up(strategy.target, lanes(as_table(grid, strategy)))


def _scores(
    plan: Plan, values: Lanes, count: int, needed: Sequence[str], metrics: Sequence[str], row_bytes: int
) -> list[list[dict[str, Array]]]:
    """Metrics by chunk and window."""
    cuts = _chunks(plan, values, count, row_bytes)
    parts = []
    for low, high in itertools.pairwise(cuts):
        chunk = {name: column[low:high] for name, column in values.items()}
        parts.append([compute(metrics, totals) for totals in plan.totals(needed, chunk, high - low)])
    return parts


def _chunks(plan: Plan, values: Lanes, count: int, row_bytes: int) -> list[int]:
    """Cuts of the lanes, in order, so that each chunk's shared rows fit; a single lane is never cut."""
    number = 1
    while True:
        cuts = [count * place // number for place in range(number + 1)]
        needs = (
            plan.family_bytes({name: column[low:high] for name, column in values.items()})
            for low, high in itertools.pairwise(cuts)
        )
        if number >= count or all(need <= row_bytes for need in needs):
            return cuts
        number = min(2 * number, count)


def _table(
    table: pd.DataFrame, metrics: Sequence[str], parts: list[list[dict[str, Array]]], windows: int
) -> pd.DataFrame:
    blocks = []
    for window in range(windows):
        scores = {name: np.concatenate([part[window][name] for part in parts]) for name in metrics}
        label = {"window": np.full(len(table), window)} if windows > 1 else {}
        blocks.append(pd.DataFrame({**label, **{name: table[name] for name in table.columns}, **scores}))
    return pd.concat(blocks, ignore_index=True)


def _profile(
    plan: Plan,
    returns: str,
    precision: str,
    count: int,
    chunks: int,
    choice: Choice,
    used: Runner,
    total: float,
) -> dict[str, Any]:
    steps = count * sum(stop - begin - 1 for begin, stop in plan.windows)
    seconds = _seconds(total, used.timed.seconds, used.compile_seconds)
    return {
        "executor": choice.executor,
        "why": choice.why,
        "fallback_reason": choice.fallback_reason,
        "estimated_seconds": choice.estimates,
        "actual_seconds": total - used.compile_seconds,
        "break_even_combinations": choice.break_even,
        "precision": precision,
        "returns": returns,
        "periods_per_year": plan.periods_per_year,
        "combinations": count,
        "chunks": chunks,
        "bar_steps": steps,
        "bar_steps_per_second": steps / max(total - used.compile_seconds, 1e-9),
        "seconds": seconds,
        **used.facts,
    }


def _seconds(total: float, programs: float, compiling: float) -> dict[str, float]:
    """Where the time went: compiling (or reading compiled code), running programs, all else (rows, tables)."""
    return {
        "total": total,
        "compile": compiling,
        "run": max(programs - compiling, 0.0),
        "rest": total - max(programs, compiling),
    }
