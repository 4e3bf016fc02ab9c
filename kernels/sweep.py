"""Sweeps: every combination of a strategy's parameters over the same bars, in one process.

``sweep`` plans (kernels.plan), runs lanes in chunks that keep the rows they share within a memory limit, and merges the
chunks. The result does not depend on the chunks, on threads or on the executor, to the bit.
"""

import itertools
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kernels import numpy_executor, preparation
from kernels.annualisation import periods_per_year
from kernels.bars import bar_inputs
from kernels.cpu_executor import CpuExecutor, default_cache
from kernels.execution import Costs, Execution, Instrument
from kernels.executor import Execute, Timed
from kernels.grid import as_table, combinations, lanes
from kernels.metrics import METRICS, compute, reads
from kernels.plan import Plan, Window
from kernels.portfolio import Terms, terms
from kernels.preparation import SweepError
from kernels.result import SweepResult
from kernels.rows import Array, Lanes
from kernels.rows import warm_up as longest_warm_up
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
    threads: int | None = None,
    cache: Path | None = None,
    row_bytes: int = ROW_BYTES,
) -> SweepResult:
    """Scores every combination of ``grid`` over ``bars``, in money of real contracts.

    ``grid``: parameter → values (Cartesian, last axis fastest, the strategy's constraint applied) or a table of
    explicit combinations. ``windows``: half-open ranges of bars to score, each from a flat account (default: all from
    ``start``); indicators run from bar 0. The target decided at the close of a window's first bar is the first that
    fills. ``returns``: "session" (default where the bars have that column) or "bar". ``start``: the first bar with a
    target; by default the longest warm-up of the grid, and never earlier. ``executor``: "numpy", "cpu", or "auto",
    which is "cpu". ``threads``: default all cores. ``cache``: folder of compiled programs, by default one of the
    user's. ``row_bytes``: memory for shared rows.

    Raises ``SweepError``, ``GridError``, ``MetricError``, ``BarsError`` or ``WindowError``, each naming the remedy.
    """
    begun = time.perf_counter()
    returns = returns or ("session" if "session" in bars.columns else "bar")
    preparation.check_settings(capital, returns, executor, precision)
    preparation.check_bars(bars, returns)
    needed = sorted(reads(metrics))
    table = as_table(grid, strategy)
    values = lanes(table)
    first = preparation.first_target(longest_warm_up(strategy.target, values), start)
    scored = preparation.scored_windows(windows, first, len(bars))
    agreed = terms(costs or Costs(), instrument, execution or Execution())
    runner = CpuExecutor(threads or os.cpu_count() or 1, cache or default_cache())
    timed = Timed(numpy_executor.run if executor == "numpy" else runner.run)
    plan = _plan(strategy, bars, scored, first, returns, agreed, capital, timed.run)
    parts = _scores(plan, values, len(table), needed, metrics, row_bytes)
    seconds = _seconds(time.perf_counter() - begun, timed.seconds, runner.compile_seconds)
    profile = _profile(plan, "numpy" if executor == "numpy" else "cpu", returns, len(table), len(parts), seconds)
    return SweepResult(_table(table, metrics, parts, len(scored)), first, scored, profile, plan, bars, values)


def _plan(
    strategy: Strategy,
    bars: pd.DataFrame,
    windows: tuple[Window, ...],
    start: int,
    returns: str,
    agreed: Terms,
    capital: float,
    execute: Execute,
) -> Plan:
    stop = max(end for _, end in windows)
    inputs = bar_inputs(bars)
    conditions = Conditions(
        terms=agreed,
        capital=float(capital),
        rolls=bool(inputs.rolled[:stop].any()),
        masks=not bool(inputs.executable[:stop].all()),
        every_bar=returns == "bar",
    )
    return Plan(
        strategy=strategy,
        columns=preparation.program_columns(strategy, bars, inputs, conditions, stop),
        ends=preparation.period_ends(bars, returns, stop),
        conditions=conditions,
        windows=windows,
        start=start,
        periods_per_year=periods_per_year(bars, returns),
        execute=execute,
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
    plan: Plan, executor: str, returns: str, count: int, chunks: int, seconds: dict[str, float]
) -> dict[str, Any]:
    steps = count * sum(stop - begin - 1 for begin, stop in plan.windows)
    return {
        "executor": executor,
        "fallback_reason": None,
        "precision": "fp64",
        "returns": returns,
        "periods_per_year": plan.periods_per_year,
        "combinations": count,
        "chunks": chunks,
        "bar_steps": steps,
        "bar_steps_per_second": steps / max(seconds["total"] - seconds["compile"], 1e-9),
        "seconds": seconds,
    }


def _seconds(total: float, programs: float, compiling: float) -> dict[str, float]:
    """Where the time went: compiling (or reading compiled code), running programs, all else (rows, tables)."""
    return {"total": total, "compile": compiling, "run": programs - compiling, "rest": total - programs}
