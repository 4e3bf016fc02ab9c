"""The grid of a strategy with choices: which options are kept, and each program's combinations of it."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.grid import GridError, combination_bytes, explicit, lattice, listed, require_memory
from kernels.strategy import Strategy, nearest

FEWER = "name fewer options, give fewer values, or sweep strategy.chosen({axis: name}) for each, with top=1000"
"""What to do about choices that make too many combinations."""


@dataclass(frozen=True, eq=False)
class Swept:
    """What a grid sweeps beside the choices: ``axes`` of a Cartesian grid, or the columns of a ``table`` that holds the
    options of axes too. Iterates over the names of the parameters.
    """

    axes: Mapping[str, Sequence[Any]]
    table: pd.DataFrame | None = None

    def __iter__(self) -> Iterator[str]:
        return iter(self.axes)


def split(grid: Any, strategy: Strategy) -> tuple[dict[str, tuple[str, ...]], Swept]:
    """The names of each choice that the grid keeps, and the rest of it.

    A grid of axes keeps the options it names for a choice, ``{"signal": ["rsi"]}``, all of a choice that it does not
    name; a table names an option in the choice's column, or has no such column. Raises ``GridError`` for an axis or an
    option that the strategy does not have.
    """
    grid, choices = listed({} if grid is None else grid), strategy.choices
    known = (*choices, *strategy.parameters)
    for name in grid:
        if name not in known:
            raise GridError(
                f"{strategy.name}: the grid sweeps {name!r}, which the strategy does not read{nearest(name, known)}"
            )
    if isinstance(grid, pd.DataFrame):
        named = {axis: grid[axis].dropna().unique().tolist() for axis in choices if axis in grid}
        kept = {axis: named.get(axis) or options for axis, options in choices.items()}
    else:
        kept = {axis: grid.get(axis, choices[axis]) for axis in choices}
    names = {axis: kept_names(strategy, axis, given) for axis, given in kept.items()}
    axes = {name: grid[name] for name in grid if name not in choices}
    return names, Swept(axes, grid if isinstance(grid, pd.DataFrame) else None)


def kept_names(strategy: Strategy, axis: str, given: Any) -> tuple[str, ...]:
    """The names that a grid gives for a choice, checked."""
    options = strategy.choices[axis]
    names = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else ()
    if not names:
        raise GridError(f"{strategy.name}: the choice {axis!r} is {given!r:.60}; give a list of names, [{options[0]!r}]")
    for name in names:
        if name not in options:
            raise GridError(f"{strategy.name}: the choice {axis!r} has no option {name!r}{nearest(name, options)}")
    if len(set(names)) < len(names):
        raise GridError(f"{strategy.name}: the choice {axis!r} names an option twice: {list(names)}")
    return names


def table_of(
    strategy: Strategy, names: Mapping[str, str], rows: Mapping[str, Sequence[str]], swept: Swept, kept_bytes: int
) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """The combinations of one program, perhaps none, and the rows of the grid's table that they are from.

    ``names``: what the program chose; ``rows``: the names of each axis whose number is a parameter of it; ``kept_bytes``:
    memory of the scores of a combination. Raises ``GridError`` where memory does not hold them.
    """
    numbers = {axis: list(range(len(options))) for axis, options in rows.items() if axis in strategy.parameters}
    if swept.table is None:
        return lattice({**numbers, **swept.axes}, strategy).whole(kept_bytes, FEWER), np.empty(0, np.int64)
    given = swept.table
    fits = np.ones(len(given), dtype=bool)
    for axis, name in names.items():
        if axis in given.columns:
            fits &= (given[axis] == name).to_numpy(dtype=bool)
    own = given[fits]
    taken = np.flatnonzero(fits)
    for axis in numbers:
        if axis in own.columns:
            named = own[axis].notna().to_numpy(dtype=bool)
            own, taken = own[named], taken[named]
            own = own.assign(**{axis: [rows[axis].index(name) for name in own[axis]]})
    own = own[[name for name in own.columns if name in strategy.parameters]]
    own = own.drop_duplicates() if len(own.columns) else own.iloc[:1]
    free = {axis: values for axis, values in numbers.items() if axis not in own.columns}
    if free:
        count = math.prod(map(len, free.values())) * max(len(own), 1)
        require_memory(f"{strategy.name}: combinations", count, kept_bytes + combination_bytes(len(strategy.parameters)), FEWER)
        product = pd.DataFrame(list(itertools.product(*free.values())), columns=list(free))
        own = product.merge(own, how="cross") if len(own.columns) else product
    return (explicit(own, strategy) if len(taken) else own.iloc[:0]), taken


def unused(strategy: Strategy, table: pd.DataFrame, row: int) -> str:
    """What to say of a combination that no choice takes: a choice has no name in it."""
    given = ", ".join(f"{name}={table[name].iloc[row]}" for name in table.columns)
    return f"{strategy.name}: combination {row} ({given}) leaves a choice open: name an option in each column of one"
