"""Sweeps of strategies with choices: every option of each axis, all scored over the same bars and ranked together.

An axis whose options all read data alone becomes one family of rows, a row an option, and costs no program of its own.
Of the other axes each combination of options is a program.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from kernels.choice_grid import FEWER, Swept, split, table_of, unused
from kernels.choice_nodes import choices_in
from kernels.choice_result import ChoicePart, ChoiceResult, choice_result
from kernels.dispatch import FallbackWarning
from kernels.expressions import param, scan
from kernels.grid import GridError, combination_bytes, lanes, require_memory
from kernels.opcodes import BOOL
from kernels.preparation import SweepError, first_target
from kernels.program_inputs import DATA
from kernels.program_result import ProgramResult
from kernels.progress import Progress
from kernels.rows import warm_up
from kernels.scoring import Settings
from kernels.strategy import FIELDS, Strategy, replaced
from kernels.values import Value, where
from kernels.walks import nodes, open_leaves, parameters

MOST_PROGRAMS = 2**14
"""Programs that a sweep may be made of: hours of compilation, at about one a second."""

Run = Callable[[Strategy, Settings, pd.DataFrame, int, str], ProgramResult]
"""(strategy without choices, settings, combinations, start, precision) → result."""


@dataclass(frozen=True, eq=False)
class ChosenProgram:
    """One program to be swept: the names of what was chosen, what stands for each axis, and its combinations."""

    names: dict[str, str]
    replaced: dict[str, str | Value]
    strategy: Strategy
    table: pd.DataFrame


def sweep_choices(
    run: Run, strategy: Strategy, settings: Settings, grid: Any, start: int | None, precision: str, **given: Any
) -> ChoiceResult:
    """Sweeps every option of the strategy's choices that ``grid`` keeps (``kernels.choice_grid``).

    Order: axes that are programs first, then those that are rows, as the strategy reads them, then the grid, the last of
    each fastest. All start at the longest warm-up of all, so that they are scored over the same bars. ``given``: arguments
    of one program alone, which must be None; raises ``SweepError`` for one that is not.
    """
    _refuse(strategy, precision, given)
    kept, swept = split(grid, strategy)
    rows = _rows(strategy, kept)
    programs = _programs(strategy, kept, rows, swept, settings.kept_bytes)
    first = first_target(_longest(programs), start)
    total, begun = sum(len(program.table) for program in programs), time.perf_counter()
    parts: list[ChoicePart] = []
    done = steps = 0
    for program in programs:
        own = settings
        if settings.progress is not None:
            own = replace(settings, progress=_onward(settings.progress, done, total, steps, begun))
        with warnings.catch_warnings():
            if parts and parts[0].result.profile["fallback_reason"]:
                warnings.simplefilter("ignore", FallbackWarning)  # said once for all programs
            result = run(program.strategy, own, program.table, first, precision)
        done, steps = done + len(program.table), steps + result.profile["bar_steps"]
        parts.append(ChoicePart(program.names, result, {axis: kept[axis] for axis in rows}, program.replaced))
    return choice_result(parts, list(strategy.choices), list(swept))


def longest_warm_up(strategy: Strategy, grid: Any) -> int:
    """Bars before every combination of every choice has a target."""
    kept, swept = split(grid, strategy)
    return _longest(_programs(strategy, kept, _rows(strategy, kept), swept, 0))


def _longest(programs: Sequence[ChosenProgram]) -> int:
    return max(warm_up(program.strategy.target, lanes(program.table)) for program in programs)


def _programs(
    strategy: Strategy, kept: Mapping[str, tuple[str, ...]], rows: Mapping[str, Value], swept: Swept, kept_bytes: int
) -> list[ChosenProgram]:
    """Every program with at least one combination; raises ``GridError`` where there is none, one of a table is lost, or
    they are too many: of programs, or of combinations with ``kept_bytes`` of scores each for the memory.
    """
    what, each = f"{strategy.name}: combinations", kept_bytes + combination_bytes(len(strategy.choices) + len(tuple(swept)))
    numbers = {axis: kept[axis] for axis in rows}
    used = np.zeros(len(swept.table) if swept.table is not None else 0, dtype=bool)
    found, count = [], 0
    for names, made in _chosen(replaced(strategy, rows), kept):
        table, taken = table_of(made, names, numbers, swept, kept_bytes)
        used[taken] = True
        if len(table):
            found.append(ChosenProgram(names, {**names, **rows}, made, table))
            count += len(table)
            require_memory(what, count, each, FEWER)
        if len(found) > MOST_PROGRAMS:
            raise GridError(
                f"{strategy.name}: the choices make more than {MOST_PROGRAMS:,} programs, each compiled on its own: name "
                "fewer options in the grid, or write options that read data alone, which are rows of one program"
            )
    if not used.all():
        raise GridError(unused(strategy, swept.table, int(np.argmin(used))))
    if not found:
        raise GridError(f"{strategy.name}: no combination fulfils {strategy.constraint!r:.200}; widen the grid")
    return found


def _chosen(strategy: Strategy, kept: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[dict[str, str], Strategy]]:
    """The strategy without choices, for each combination of the options kept; what an option does not read is not chosen."""
    axis = next(iter(strategy.choices), None)
    if axis is None:
        yield {}, strategy
        return
    for name in kept[axis]:
        for names, last in _chosen(strategy.chosen({axis: name}), kept):
            yield {axis: name, **names}, last


def _rows(strategy: Strategy, kept: Mapping[str, tuple[str, ...]]) -> dict[str, Value]:
    """By axis what picks the option, for the axes that are a family of rows."""
    found = {}
    roots = [value for field in FIELDS if (value := getattr(strategy, field)) is not None]
    for axis, node in choices_in(*roots).items():
        options = [node.operands[node.detail.names.index(name)] for name in kept[axis]]
        if _rows_alone(options):
            found[axis] = _pick(axis, options)
    return found


def _rows_alone(options: Sequence[Value]) -> bool:
    """Whether the options are a family of rows; numbers alone are not, for a stop may be chosen from them."""
    reads_data = any(node.op in DATA for node in nodes(*options))
    alone = not (parameters(*options) or open_leaves(*options) or choices_in(*options))
    return reads_data and alone and len(options) > 1


def _pick(axis: str, options: Sequence[Value]) -> Value:
    """The option whose number the parameter ``axis`` holds: a scan that reads no state, so that it is a family."""
    conditions = options[0].type == BOOL

    def step(_: Value, *read: Value) -> Value:
        found = read[-1]
        for place in range(len(read) - 2, -1, -1):
            found = where(param(axis) == float(place), read[place], found)
        return found

    read = [where(option, 1.0, 0.0) for option in options] if conditions else options
    picked = scan(step, 0.0, *read, name=axis)
    return picked > 0.5 if conditions else picked


def _refuse(strategy: Strategy, precision: str, given: Mapping[str, Any]) -> None:
    reasons = {
        "top": "the best of a grid are kept within one program",
        "resume": "a state is of one program",
        "precision": "a scan and its confirmation are of one program",
    }
    for name, value in {**given, "precision": precision if precision == "mixed" else None}.items():
        if value is not None:
            axes = ", ".join(map(repr, strategy.choices))
            raise SweepError(
                f"{name}={value!r:.60} with choices ({axes}): {reasons[name]}; sweep strategy.chosen({{axis: name}}) for each"
            )


def _onward(
    progress: Callable[[Progress], None], done: int, total: int, steps: int, begun: float
) -> Callable[[Progress], None]:
    """Reports of one program as those of all of them."""

    def report(own: Progress) -> None:
        progress(Progress(done + own.done, total, steps + own.bar_steps, time.perf_counter() - begun))

    return report
