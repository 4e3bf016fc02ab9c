"""Whole sub-expressions as axes of a sweep, all scored over the same bars and ranked together.

An axis whose choices all read data alone becomes one family of rows, a row a choice, and costs no program of its own.
Of the other axes each combination of choices is a program.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.expressions import param, scan
from kernels.grid import GridError, combinations
from kernels.metrics import ALL_METRICS, MetricError, ranking
from kernels.opcodes import F64
from kernels.result import SweepResult
from kernels.strategy import Strategy
from kernels.sweep import sweep, warm_up
from kernels.values import Value, where
from kernels.walks import open_leaves, parameters


@dataclass(frozen=True, eq=False)
class ChoiceResults:
    """``parts``: for each program, by axis the name of what was chosen, and the result of its sweep; axes that are rows
    are parameters of it, numbered in the order of their choices.

    ``table``: the parts' tables below one another, the axes of choices first; a parameter that a choice does not read is
    NaN there.
    """

    parts: tuple[tuple[dict[str, str], SweepResult], ...]
    table: pd.DataFrame

    @property
    def profile(self) -> dict[str, Any]:
        """``programs``: how many were compiled or read from cache; ``compile_seconds`` of all; ``parts``: their profiles."""
        profiles = [result.profile for _, result in self.parts]
        compiling = sum(profile["seconds"]["compile"] for profile in profiles)
        return {"programs": len(profiles), "compile_seconds": compiling, "parts": profiles}

    def ranking(self, metric: str) -> NDArray[np.int64]:
        """Rows of the table from best to worst over all choices; ties in the table's order; NaN is left out."""
        if metric not in self.table.columns:
            raise MetricError(f"metric {metric!r} is not in the table: it has {', '.join(self.table.columns)}")
        return ranking(metric, self.table[metric].to_numpy(dtype=np.float64))

    def best(self, metric: str) -> pd.Series:
        """The table's best row; raises ``MetricError`` where the metric is NaN throughout."""
        order = self.ranking(metric)
        if len(order) == 0:
            undefined = ALL_METRICS[metric].undefined
            raise MetricError(f"no best {metric}: it is NaN for all {len(self.table)} combinations (NaN for: {undefined})")
        return self.table.iloc[int(order[0])]

    def trace(self, row: int) -> pd.DataFrame:
        """One combination bar by bar, as ``SweepResult.trace`` gives it."""
        if not 0 <= row < len(self.table):
            raise IndexError(f"row {row}: the table has rows 0 to {len(self.table) - 1}")
        ends = np.cumsum([len(result.table) for _, result in self.parts])
        place = int(np.searchsorted(ends, row, side="right"))
        result = self.parts[place][1]
        return result.trace(row - int(ends[place]) + len(result.table))


def sweep_choices(
    make: Callable[..., Strategy],
    choices: Mapping[str, Mapping[str, Value]],
    bars: pd.DataFrame,
    *,
    grid: Mapping[str, Sequence[Any]],
    start: int | None = None,
    **settings: Any,
) -> ChoiceResults:
    """``sweep`` for every choice of sub-expressions: ``make(**chosen)`` builds the strategy from one of each axis.

    ``choices``: axis → name → expression, e.g. ``{"signal": {"rsi": rsi(...), "zscore": zscore(...)}}``. Order: choices
    that are programs first, then those that are rows, then the grid, the last axis of each fastest. Each choice takes the
    axes of ``grid`` that it reads; one that no choice reads raises ``GridError``. All start at the longest warm-up of all,
    so that they are scored over the same bars. ``settings`` are ``sweep``'s.
    """
    for axis, options in choices.items():
        if not options:
            raise GridError(f"choices: the axis {axis!r} is empty; give it at least one expression")
    rows = {axis: options for axis, options in choices.items() if all(map(_is_row, options.values()))}
    programs = {axis: options for axis, options in choices.items() if axis not in rows}
    chosen = [dict(zip(programs, name, strict=True)) for name in itertools.product(*programs.values())]
    picks = {axis: _pick(axis, list(options.values())) for axis, options in rows.items()}
    made = [make(**{axis: choices[axis][name] for axis, name in one.items()}, **picks) for one in chosen]
    _check(grid, choices, made)
    axes = {**{axis: list(range(len(options))) for axis, options in rows.items()}, **grid}
    tables = [combinations(axes, strategy) for strategy in made]
    longest = max(warm_up(strategy, table) for strategy, table in zip(made, tables, strict=True))
    first = longest if start is None else start
    parts = tuple(
        (one, sweep(strategy, bars, grid=table, start=first, **settings))
        for one, strategy, table in zip(chosen, made, tables, strict=True)
    )
    labels = {axis: list(options) for axis, options in rows.items()}
    return ChoiceResults(parts, _joined(parts, list(choices), list(grid), labels))


def _is_row(option: Value) -> bool:
    """Whether the expression is a number that depends on data alone."""
    return option.type == F64 and not parameters(option) and not open_leaves(option)


def _pick(axis: str, options: Sequence[Value]) -> Value:
    """The option whose number the parameter ``axis`` holds: a scan that reads no state, so that it is a family."""

    def step(_: Value, *read: Value) -> Value:
        found = read[-1]
        for place in range(len(read) - 2, -1, -1):
            found = where(param(axis) == float(place), read[place], found)
        return found

    return scan(step, 0.0, *options, name=axis)


def _check(grid: Mapping[str, Sequence[Any]], choices: Mapping[str, Any], made: Sequence[Strategy]) -> None:
    read = {name for strategy in made for name in strategy.parameters}
    for axis in choices:
        if axis in grid:
            raise GridError(f"{axis!r} is an axis of the choices and of the grid: rename one")
    for name in grid:
        if name not in read:
            raise GridError(f"the grid sweeps {name!r}, which no choice reads (they read: {', '.join(sorted(read))})")


def _joined(
    parts: Sequence[tuple[dict[str, str], SweepResult]],
    axes: Sequence[str],
    parameters: Sequence[str],
    rows: Mapping[str, Sequence[str]],
) -> pd.DataFrame:
    labelled = []
    for chosen, result in parts:
        count = len(result.table)
        names = {axis: [name] * count for axis, name in chosen.items()}
        names |= {axis: [options[int(n)] for n in result.table[axis]] for axis, options in rows.items()}
        labels = {axis: pd.Series(name, dtype="str") for axis, name in names.items()}
        missing = {name: np.full(count, np.nan) for name in parameters if name not in result.table.columns}
        labelled.append(result.table.assign(**labels, **missing))
    joined = pd.concat(labelled, ignore_index=True)
    front = [*axes, *parameters]
    return joined[[*front, *joined.columns.drop(front)]]
