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

from kernels.best import best_row, ranked
from kernels.expressions import param, scan
from kernels.grid import GridError, combinations, explicit, listed
from kernels.metrics import ALL_METRICS, undefined
from kernels.opcodes import F64
from kernels.result import SweepResult
from kernels.strategy import Strategy
from kernels.sweep import sweep, warm_up
from kernels.values import Value, constant, where
from kernels.walks import nodes, open_leaves, parameters


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
        return ranked(self.table, metric)

    def best(self, metric: str) -> pd.Series:
        """The table's best row; raises ``MetricError`` where the metric is NaN throughout."""
        return best_row(self.table, metric, undefined)

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
    choices: Mapping[str, Mapping[str, Any]],
    bars: pd.DataFrame,
    *,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]] | pd.DataFrame | None = None,
    start: int | None = None,
    **settings: Any,
) -> ChoiceResults:
    """``sweep`` for every choice of sub-expressions: ``make(**chosen)`` builds the strategy from one of each axis.

    ``choices``: axis → name → expression, e.g. ``{"signal": {"rsi": rsi(...), "zscore": zscore(...)}}``. Order: choices
    that are programs first, then those that are rows, then the grid, the last axis of each fastest. Each choice takes the
    axes of ``grid`` that it reads (of explicit combinations: those columns, each combination of them once); one that no
    choice reads raises ``GridError``. All start at the longest warm-up of all, so that they are scored over the same
    bars. ``settings`` are ``sweep``'s. Strategies without parameters are choices of the target, without a grid.
    """
    choices = {axis: _expressions(axis, options) for axis, options in choices.items()}
    axes = listed({} if grid is None else grid)
    rows = {axis: options for axis, options in choices.items() if _rows_alone(options)}
    programs = {axis: options for axis, options in choices.items() if axis not in rows}
    chosen = [dict(zip(programs, name, strict=True)) for name in itertools.product(*programs.values())]
    picks = {axis: _pick(axis, list(options.values())) for axis, options in rows.items()}
    made = [make(**{axis: choices[axis][name] for axis, name in one.items()}, **picks) for one in chosen]
    _check(axes, choices, rows, made)
    numbers = {axis: list(range(len(options))) for axis, options in rows.items()}
    tables = [_combinations(numbers, axes, strategy) for strategy in made]
    longest = max(warm_up(strategy, table) for strategy, table in zip(made, tables, strict=True))
    first = longest if start is None else start
    parts = tuple(
        (one, sweep(strategy, bars, grid=table, start=first, **settings))
        for one, strategy, table in zip(chosen, made, tables, strict=True)
    )
    labels = {axis: list(options) for axis, options in rows.items()}
    return ChoiceResults(parts, _joined(parts, list(choices), list(axes), labels))


def _expressions(axis: str, options: Any) -> dict[str, Value]:
    if not isinstance(options, Mapping) or not options:
        raise GridError(f"choices: the axis {axis!r} is {options!r:.60}; give it {{name: expression}}, at least one")
    return {str(name): constant(option) for name, option in options.items()}


def _is_row(option: Value) -> bool:
    """Whether the expression is a number that depends on data alone."""
    return option.type == F64 and not parameters(option) and not open_leaves(option)


def _rows_alone(options: Mapping[str, Value]) -> bool:
    """Whether the choices are a family of rows; numbers alone are not, for a stop may be chosen from them."""
    reads_data = any(node.op == "col" for node in nodes(*options.values()))
    return reads_data and len(options) > 1 and all(map(_is_row, options.values()))


def _combinations(rows: Mapping[str, Sequence[int]], grid: Any, strategy: Strategy) -> pd.DataFrame:
    if not isinstance(grid, pd.DataFrame):
        return combinations({**rows, **grid}, strategy)
    own = grid[[name for name in grid.columns if name in strategy.parameters]].drop_duplicates()
    if not rows:
        return explicit(own, strategy)
    chosen = pd.DataFrame(list(itertools.product(*rows.values())), columns=list(rows))
    return explicit(chosen.merge(own, how="cross") if len(own.columns) else chosen, strategy)


def _pick(axis: str, options: Sequence[Value]) -> Value:
    """The option whose number the parameter ``axis`` holds: a scan that reads no state, so that it is a family."""

    def step(_: Value, *read: Value) -> Value:
        found = read[-1]
        for place in range(len(read) - 2, -1, -1):
            found = where(param(axis) == float(place), read[place], found)
        return found

    return scan(step, 0.0, *options, name=axis)


def _check(grid: Any, choices: Mapping[str, Any], rows: Mapping[str, Any], made: Sequence[Any]) -> None:
    for strategy in made:
        if not isinstance(strategy, Strategy):
            raise GridError(f"choices: make returned {strategy!r:.60}; it must return a kernels.strategy.Strategy")
        for axis in rows:
            if axis not in strategy.parameters:
                raise GridError(f"choices: the strategy that make returned does not read the axis {axis!r}; leave it out")
    read = {name for strategy in made for name in strategy.parameters}
    for axis in choices:
        if axis in grid:
            raise GridError(f"{axis!r} is an axis of the choices and of the grid: rename one")
        if axis in ALL_METRICS:
            raise GridError(f"choices: the axis {axis!r} has the name of a metric: rename it")
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
    swept = "window" in parameters
    for chosen, result in parts:
        table = result.table
        if swept and len(result.windows) > 1 and "scored_window" not in table.columns:
            table = table.rename(columns={"window": "scored_window"})  # a choice that does not read the parameter
        count = len(result.table)
        names = {axis: [name] * count for axis, name in chosen.items()}
        names |= {axis: [options[int(n)] for n in table[axis]] for axis, options in rows.items()}
        labels = {axis: pd.Series(name, dtype="str") for axis, name in names.items()}
        missing = {name: np.full(count, np.nan) for name in parameters if name not in table.columns}
        labelled.append(table.assign(**labels, **missing))
    joined = pd.concat(labelled, ignore_index=True)
    front = [*axes, *parameters]
    return joined[[*front, *joined.columns.drop(front)]]
