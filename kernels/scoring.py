"""Scoring: combinations of one sweep to their metrics, chunk by chunk, on the executor that was chosen once for all."""

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels import numpy_executor, preparation
from kernels.annualisation import periods_per_year
from kernels.bars import bar_inputs
from kernels.block_sums import BlockSums, block_edges, joined
from kernels.calibration import Calibration
from kernels.dispatch import Choice, choose
from kernels.execution import Execution, Instrument
from kernels.executor import host
from kernels.fallback import cuda_refusal
from kernels.grid import lanes
from kernels.metrics import Totals, compute, reads
from kernels.plan import Plan, Window
from kernels.portfolio import Terms, rounding_of
from kernels.program_result import ProgramResult
from kernels.progress import Progress
from kernels.rows import Array, Lanes
from kernels.runners import Runner, runner
from kernels.simulation import Conditions
from kernels.strategy import Strategy
from kernels.values import ROUNDING

REPORTED = 2**14
"""Combinations between two reports of progress, at most."""

LANES_A_BLOCK = 64
"""Cuts of many lanes are multiples of this, the blocks of the ``cpu`` executor."""


ROUNDINGS = {"fp64": ROUNDING, "fp32": 2.0**-20}
"""What sums of each precision may be off by, as a part of what went into them."""


@dataclass(frozen=True)
class Settings:
    """A sweep's arguments apart from strategy, bars, combinations, start and precision."""

    terms: Terms
    execution: Execution
    instrument: Instrument | None
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
    progress: Callable[[Progress], None] | None
    blocks: int

    @property
    def kept_bytes(self) -> int:
        """Memory that the scores of a combination take, in all windows: tallies, metrics, sums over blocks (measured)."""
        windows = 1 if self.windows is None else len(self.windows)
        return 8 * windows * (5 * len(self.metrics) + 4 * self.blocks)


@dataclass(eq=False)
class Scorer:
    """One sweep under way: its plan, the executor that runs it, the ``total`` of its combinations, what is done."""

    plan: Plan
    bars: pd.DataFrame
    settings: Settings
    precision: str
    choice: Choice
    used: Runner
    total: int
    begun: float = field(default_factory=time.perf_counter)
    done: int = 0
    chunks: int = 0
    halved: int = 0
    shared_bytes: int = 0

    def score(self, table: pd.DataFrame, carried: Lanes | None = None) -> tuple[pd.DataFrame, tuple[BlockSums, ...]]:
        """The combinations with their metrics, a row each and window, windows one after another; and of each window the
        sums over blocks, where they were asked for. ``carried``: the states that their accounts go on from.
        """
        needed, metrics = sorted(reads(self.settings.metrics)), self.settings.metrics
        values, parts, sums = {**lanes(table), **(carried or {})}, [], []
        for low, high in itertools.pairwise(self._cuts(values, len(table))):
            for found in self._totals(needed, {name: column[low:high] for name, column in values.items()}, high - low):
                parts.append([compute(metrics, totals) for totals in found])
                sums.append([_block_sums(*one.blocks) for one in found if one.blocks])
            self._report(high - low)
        windows = zip(*sums, strict=True)
        return _table(table, metrics, parts, len(self.plan.windows)), tuple(joined(list(part)) for part in windows)

    def _totals(self, states: Sequence[str], values: Lanes, count: int) -> list[list[Totals]]:
        """The plan's totals of some lanes, in one part; where memory does not suffice, in halves, and so on."""
        try:
            return [self.plan.totals(states, values, count, self.settings.blocks)]
        except MemoryError:
            if count == 1:
                raise
        # outside the handler, where the error no longer keeps alive what was computed before it
        middle = count // 2
        first = {name: column[:middle] for name, column in values.items()}
        second = {name: column[middle:] for name, column in values.items()}
        self.halved += 1
        return self._totals(states, first, middle) + self._totals(states, second, count - middle)

    def result(
        self,
        table: pd.DataFrame,
        combinations: pd.DataFrame,
        blocks: tuple[BlockSums, ...] = (),
        carried: Lanes | None = None,
    ) -> ProgramResult:
        """The result whose rows are these combinations, in each window; ``carried`` as in ``score``."""
        plan, values = self.plan, lanes(combinations)
        return ProgramResult(
            table, plan.start, plan.windows, self.profile(), plan, self.bars, values, carried or {}, blocks
        )

    def profile(self) -> dict[str, Any]:
        """What ran, why, and where the time went so far."""
        total, used = time.perf_counter() - self.begun, self.used
        steps, running = self._steps(self.total), total - used.compile_seconds
        return {
            "executor": self.choice.executor,
            "why": self.choice.why,
            "fallback_reason": self.choice.fallback_reason,
            "estimated_seconds": self.choice.estimates,
            "actual_seconds": running,
            "break_even_combinations": self.choice.break_even,
            "precision": self.precision,
            "returns": self.settings.returns,
            "periods_per_year": self.plan.periods_per_year,
            "combinations": self.total,
            "chunks": self.chunks,
            "halved_for_memory": self.halved,
            "row_bytes": self.shared_bytes,
            "bar_steps": steps,
            "bar_steps_per_second": steps / max(running, 1e-9),
            "seconds": _seconds(total, used.timed.seconds, used.compile_seconds),
            **used.facts,
        }

    def _steps(self, combinations: int) -> int:
        return combinations * sum(stop - begin - 1 for begin, stop in self.plan.windows)

    def _report(self, combinations: int) -> None:
        self.done += combinations
        self.chunks += 1
        if self.settings.progress is not None:
            seconds = time.perf_counter() - self.begun
            self.settings.progress(Progress(self.done, self.total, self._steps(self.done), seconds))

    def _cuts(self, values: Lanes, count: int) -> list[int]:
        """Cuts of the lanes, in order, so that each chunk's shared rows fit; a single lane is never cut.

        Rows of data alone, which no cut makes fewer, leave families at least half of the memory. Chunks are of whole blocks
        of lanes where they can be: an executor pads the last block of each.
        """
        families, rows = self.plan.shared(sorted(reads(self.settings.metrics)))
        limit = max(self.settings.row_bytes - rows, self.settings.row_bytes // 2, 1)
        least = -(-self.plan.family_bytes(families, values) // limit)
        reports = 1 if self.settings.progress is None else -(-count // REPORTED)
        number = max(min(max(least, reports), count), 1)
        while True:
            whole = -(-count // (number * LANES_A_BLOCK)) * LANES_A_BLOCK
            cuts = [min(whole * place, count) for place in range(-(-count // whole) + 1)]
            if len(cuts) - 1 < number:
                cuts = [count * place // number for place in range(number + 1)]
            needs = [
                self.plan.family_bytes(families, {name: column[low:high] for name, column in values.items()})
                for low, high in itertools.pairwise(cuts)
            ]
            if number >= count or max(needs) <= limit:
                self.shared_bytes = max(self.shared_bytes, rows + max(needs))
                return cuts
            number = min(2 * number, count)


def scorer(
    strategy: Strategy, bars: pd.DataFrame, settings: Settings, total: int, start: int, precision: str
) -> Scorer:
    """Plans a sweep of so many combinations, none of which has a target before ``start``, and chooses its executor."""
    begun = time.perf_counter()
    needed = sorted(reads(settings.metrics))
    scored = preparation.scored_windows(settings.windows, start, len(bars))
    plan = _plan(strategy, bars, scored, start, settings, precision)
    for window in scored if settings.blocks else ():
        block_edges(plan.period_ends(window), window, settings.blocks)  # raises before anything runs
    choice = choose(
        settings.executor,
        settings.allow_fallback and precision == "fp64",
        lambda: plan.workload(needed, total),
        settings.calibration,
        cuda_refusal,
    )
    used = runner(choice.executor, precision, settings.threads, settings.cache, settings.device_bytes)
    plan = replace(plan, execute=used.timed.run, device=used.device)
    return Scorer(plan, bars, settings, precision, choice, used, total, begun)


def _plan(
    strategy: Strategy,
    bars: pd.DataFrame,
    windows: tuple[Window, ...],
    start: int,
    settings: Settings,
    precision: str,
) -> Plan:
    stop = max(end for _, end in windows)
    inputs, capital = bar_inputs(bars), float(settings.capital)
    price = inputs.close[inputs.executable][:1].sum()  # the first one: no later bar may change what is rounding
    sizing = settings.execution.sizing_for(settings.instrument)
    rounding = rounding_of(settings.terms, sizing, capital, float(price), ROUNDINGS[precision])
    conditions = Conditions(
        terms=settings.terms._replace(rounding=rounding),
        capital=capital,
        rolls=bool(inputs.rolled[:stop].any()),
        masks=not bool(inputs.executable[:stop].all()),
        every_bar=settings.returns == "bar",
        execution=settings.execution,
        sizing=sizing,
        whole=settings.instrument is not None,
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


def _block_sums(sums: Array, counts: NDArray[np.int64]) -> BlockSums:
    return BlockSums(np.ascontiguousarray(sums[0].T), np.ascontiguousarray(sums[1].T), counts)


def _table(
    table: pd.DataFrame, metrics: Sequence[str], parts: list[list[dict[str, Array]]], windows: int
) -> pd.DataFrame:
    blocks = []
    for window in range(windows):
        scores = {name: np.concatenate([part[window][name] for part in parts]) for name in metrics}
        name = "scored_window" if "window" in table.columns else "window"  # a parameter of that name keeps it
        label = {name: np.full(len(table), window)} if windows > 1 else {}
        blocks.append(pd.DataFrame({**label, **{name: table[name] for name in table.columns}, **scores}))
    return pd.concat(blocks, ignore_index=True)


def _seconds(total: float, programs: float, compiling: float) -> dict[str, float]:
    """Where the time went: compiling (or reading compiled code), running programs, all else (rows, tables)."""
    return {
        "total": total,
        "compile": compiling,
        "run": max(programs - compiling, 0.0),
        "rest": total - max(programs, compiling),
    }
