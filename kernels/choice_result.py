"""The result of a sweep of a strategy with choices: the results of its programs, joined to one table."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from kernels.block_sums import BlockSums, joined
from kernels.choice_nodes import substituted
from kernels.hoisting import Hoisted
from kernels.preparation import SweepError
from kernels.program_result import ProgramResult
from kernels.result import SweepResult
from kernels.sweep_state import SweepState
from kernels.values import Value, constant


@dataclass(frozen=True, eq=False)
class ChoicePart:
    """One program's part: the options of the axes that are programs, by name, and its result.

    ``rows``: of each axis that is a family of rows, and so a parameter of the result, the names of its numbers.
    ``replaced``: what stands for each axis in the program.
    """

    names: dict[str, str]
    result: ProgramResult
    rows: dict[str, tuple[str, ...]] = field(repr=False)
    replaced: dict[str, str | Value] = field(repr=False)


@dataclass(frozen=True, eq=False)
class ChoiceResult(SweepResult):
    """``parts``: the programs, in the order of the table's rows within a window.

    ``table`` has the name of the option in a column for each axis of choices, then the parameters. A parameter, or an
    axis, that a choice does not read is NaN there.
    """

    parts: tuple[ChoicePart, ...]
    _axes: tuple[str, ...] = field(repr=False)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the axes: choices first, then the swept parameters."""
        return self._axes

    @property
    def programs(self) -> tuple[Hoisted, ...]:
        """The program of each part."""
        return tuple(program for part in self.parts for program in part.result.programs)

    def trace(self, row: int, show: Mapping[str, Value] | None = None) -> pd.DataFrame:
        """One combination bar by bar (``SweepResult.trace``); choices in ``show`` are what the row chose."""
        part, place = self._place(row)
        given = {name: constant(value) for name, value in (show or {}).items()}
        chosen = substituted(list(given.values()), part.replaced)
        return part.result.trace(place, dict(zip(given, chosen, strict=True)))

    def sessions(self, row: int) -> pd.DataFrame:
        """Net profit of one combination by session of its window (``SweepResult.sessions``)."""
        part, place = self._place(row)
        return part.result.sessions(place)

    def session_sums(self, window: int = 0) -> BlockSums:
        """Sums over blocks of a window's periods, a row a combination (``SweepResult.session_sums``)."""
        return joined([part.result.session_sums(window) for part in self.parts])

    def state(self, window: int = 0) -> SweepState:
        """Raises ``SweepError``: a state belongs to one program, and is asked of the sweep of one choice."""
        raise SweepError("a state is of one program, not of choices: sweep strategy.chosen({axis: name}) and ask that result")

    def why_undefined(self, metric: str) -> str:
        """When the metric is undefined, as each program says it."""
        return "; ".join(dict.fromkeys(part.result.why_undefined(metric) for part in self.parts))

    def _place(self, row: int) -> tuple[ChoicePart, int]:
        """The part that the table's row is of, and its row there."""
        self._require_row(row)
        window, place = divmod(row, self._combinations)
        counts = [_combinations(part) for part in self.parts]
        ends = np.cumsum(counts)
        which = int(np.searchsorted(ends, place, side="right"))
        return self.parts[which], window * counts[which] + place - (int(ends[which]) - counts[which])


def choice_result(parts: Sequence[ChoicePart], axes: Sequence[str], parameters: Sequence[str]) -> ChoiceResult:
    """Joins the programs' results; ``axes`` are the choices, ``parameters`` all that the grid sweeps."""
    first = parts[0].result
    windows = len(first.windows)
    tables = [_labelled(part, axes, parameters) for part in parts]
    rows = [
        table.iloc[window * _combinations(part) : (window + 1) * _combinations(part)]
        for window, (part, table) in itertools.product(range(windows), list(zip(parts, tables, strict=True)))
    ]
    table = pd.concat(rows, ignore_index=True)
    front = [*axes, *parameters]
    label = [name for name in ("window", "scored_window") if name in table.columns and name not in front]
    table = table[[*label, *front, *table.columns.drop([*label, *front])]]
    return ChoiceResult(table, first.start, first.windows, _profile(parts), tuple(parts), tuple(front))


def _combinations(part: ChoicePart) -> int:
    return len(part.result.table) // len(part.result.windows)


def _labelled(part: ChoicePart, axes: Sequence[str], parameters: Sequence[str]) -> pd.DataFrame:
    """The part's table with the names of what was chosen, and NaN for what it does not read."""
    table, read = part.result.table, part.result.parameters
    if "window" in (*axes, *parameters) and "window" in table.columns and "window" not in read:
        table = table.rename(columns={"window": "scored_window"})
    count = len(table)
    names: dict[str, Any] = {axis: [part.names.get(axis)] * count for axis in axes}
    for axis, options in part.rows.items():
        if axis in read:
            names[axis] = [options[int(number)] for number in table[axis]]
    labels = {axis: pd.Series(name, dtype="str") for axis, name in names.items()}
    missing = {name: np.full(count, np.nan) for name in parameters if name not in read}
    return table.assign(**labels, **missing)


def _profile(parts: Sequence[ChoicePart]) -> dict[str, Any]:
    """``programs``: how many were compiled or read from cache; ``compile_seconds`` of all; ``parts``: their profiles."""
    profiles = [part.result.profile for part in parts]
    same = ("precision", "returns", "periods_per_year")
    seconds = {name: sum(profile["seconds"][name] for profile in profiles) for name in profiles[0]["seconds"]}
    steps = sum(profile["bar_steps"] for profile in profiles)
    return {
        "programs": len(profiles),
        "compile_seconds": seconds["compile"],
        "executor": ", ".join(dict.fromkeys(profile["executor"] for profile in profiles)),
        "fallback_reason": next((p["fallback_reason"] for p in profiles if p["fallback_reason"]), None),
        **{name: profiles[0][name] for name in same},
        "combinations": sum(profile["combinations"] for profile in profiles),
        "bar_steps": steps,
        "bar_steps_per_second": steps / max(seconds["total"] - seconds["compile"], 1e-9),
        "seconds": seconds,
        "parts": profiles,
    }
