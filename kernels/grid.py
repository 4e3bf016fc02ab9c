"""Combinations of parameters: Cartesian grids, enumerated whole or a block at a time, explicit lists, constraints."""

import difflib
import math
import os
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kernels.rows import Array, lane_values
from kernels.strategy import Strategy


class GridError(ValueError):
    """A grid that does not fit its strategy; the message names the parameter, or the combination, and the remedy."""


BLOCK = 2**17
"""Combinations that are enumerated at once."""

VALUE_BYTES = 40
"""Memory of a value of an axis while it is read: a Python number in a list, and its place in an array."""

TOP = "keep the best alone with top=1000, draw a sample (kernels.sampling), or give fewer values"
"""What to do about a grid that is too large."""


def combination_bytes(axes: int) -> int:
    """Memory that a combination of so many axes takes while it is enumerated and scored, its scores apart (measured)."""
    return 8 * (8 + 3 * axes)


def require_memory(what: str, count: int, each: int, remedy: str) -> None:
    """Raises ``GridError`` where ``count`` of something that takes ``each`` bytes are more than this machine's memory."""
    present = machine_memory()
    if count * each > present:
        raise GridError(
            f"{what}: {count:,} take about {count * each / 1e9:,.0f} GB, this machine has {present / 1e9:,.0f} GB: {remedy}"
        )


def machine_memory() -> float:
    """Bytes of memory of this machine; infinite where the system does not say."""
    if not hasattr(os, "sysconf"):
        return math.inf
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


@dataclass(frozen=True, eq=False)
class Lattice:
    """A Cartesian grid that is never held whole: combination n has the mixed-radix digits of n, the last axis fastest.

    ``size`` counts all of them, those that break the strategy's constraint included.
    """

    strategy: Strategy
    names: tuple[str, ...]
    axes: tuple[np.ndarray[Any, np.dtype[Any]], ...]

    @property
    def size(self) -> int:
        """The product of the axes' lengths."""
        return math.prod(len(axis) for axis in self.axes)

    def table(self, low: int, high: int) -> pd.DataFrame:
        """The combinations numbered [low, high) that fulfil the constraint, in order: a row each, perhaps none."""
        return self.numbered(low, high)[1]

    def numbered(self, low: int, high: int) -> tuple[np.ndarray[Any, np.dtype[np.int64]], pd.DataFrame]:
        """(numbers, combinations) of those numbered [low, high) that fulfil the constraint, in order."""
        numbers = np.arange(low, high, dtype=np.int64)
        table = pd.DataFrame(index=pd.RangeIndex(high - low))
        if self.axes:
            places = np.unravel_index(numbers, [len(axis) for axis in self.axes])
            columns = zip(self.names, self.axes, places, strict=True)
            table = pd.DataFrame({name: axis[place] for name, axis, place in columns})
        kept = allowed(self.strategy, table)
        return numbers[kept], table[kept].reset_index(drop=True)

    def whole(self, kept_bytes: int, remedy: str) -> pd.DataFrame:
        """All combinations that fulfil the constraint, in order, perhaps none; ``kept_bytes``: memory of each one's scores.

        Raises ``GridError`` before they fill the machine's memory, saying the ``remedy``.
        """
        each, tables, count = kept_bytes + combination_bytes(len(self.axes)), [], 0
        for low in range(0, self.size, BLOCK):
            tables.append(self.table(low, min(low + BLOCK, self.size)))
            count += len(tables[-1])
            least = count if self.strategy.constraint is not None else self.size
            require_memory(f"{self.strategy.name}: combinations", least, each, remedy)
        return pd.concat(tables, ignore_index=True) if len(tables) > 1 else tables[0]


def lattice(grid: Mapping[str, Sequence[Any]], strategy: Strategy) -> Lattice:
    """The grid's axes that the strategy declares, checked.

    Raises ``GridError`` for a missing or empty axis, a repeated or non-finite value.
    """
    require_no_choices(strategy)
    names = tuple(name for name in grid if name in strategy.parameters)
    _require_parameters(strategy, names)
    return Lattice(strategy, names, tuple(axis_values(strategy, name, grid[name]) for name in names))


def combinations(grid: Mapping[str, Sequence[Any]], strategy: Strategy, kept_bytes: int = 0) -> pd.DataFrame:
    """All combinations of the axes that the strategy declares, a row each; axes of other strategies are left out.

    Order: axes as the grid gives them, the last one fastest. Combinations that break the strategy's constraint are not
    generated. Raises ``GridError`` as ``lattice`` does, where no combination is left, or where they would not fit into
    memory with ``kept_bytes`` of scores each.
    """
    kept = lattice(grid, strategy).whole(kept_bytes, TOP)
    if not len(kept):
        raise _nothing_left(strategy)
    return kept


def blocks(
    grid: Mapping[str, Sequence[Any]] | pd.DataFrame | None, strategy: Strategy, size: int
) -> Iterator[pd.DataFrame]:
    """What ``as_table`` returns, in the same order, as tables cut from at most ``size`` combinations; none is empty."""
    if isinstance(grid, pd.DataFrame):
        table = explicit(grid, strategy)
        for low in range(0, len(table), size):
            yield table.iloc[low : low + size].reset_index(drop=True)
        return
    _require_known(grid or {}, strategy)
    axes = lattice(grid or {}, strategy)
    found = False
    for low in range(0, axes.size, size):
        table = axes.table(low, min(low + size, axes.size))
        if len(table):
            found = True
            yield table
    if not found:
        raise _nothing_left(strategy)


def explicit(table: pd.DataFrame, strategy: Strategy) -> pd.DataFrame:
    """A table of combinations, checked: exactly the strategy's parameters, finite, within its constraint."""
    require_no_choices(strategy)
    _require_parameters(strategy, list(table.columns))
    for name in table.columns:
        if name not in strategy.parameters:
            raise GridError(_unknown(strategy, str(name)))
        _finite(strategy, name, np.asarray(table[name]))
    if table.empty and len(table.columns):
        raise GridError(f"{strategy.name}: the table of combinations has no rows")
    table = table.reset_index(drop=True)
    for row in np.flatnonzero(~allowed(strategy, table))[:1]:
        values = ", ".join(f"{name}={table[name].iloc[row]}" for name in table.columns)
        raise GridError(f"{strategy.name}: combination {row} ({values}) breaks {strategy.constraint!r}; leave it out")
    return table


def listed(grid: Any) -> Any:
    """A list of combinations, a mapping from parameter to value each, as a table; any other grid as it is."""
    if isinstance(grid, list | tuple):
        if not all(isinstance(one, Mapping) for one in grid):
            raise GridError(f"grid={grid!r:.50}: a list holds combinations, {{parameter: value}} each; axes are a dict")
        return pd.DataFrame(list(grid))
    if grid is not None and not isinstance(grid, Mapping | pd.DataFrame):
        raise GridError(f"grid={grid!r:.60}: give axes {{parameter: values}}, a list of combinations, or a DataFrame of them")
    return grid


def as_table(
    grid: Mapping[str, Sequence[Any]] | pd.DataFrame | None, strategy: Strategy, kept_bytes: int = 0
) -> pd.DataFrame:
    """A sweep's grid as one table of combinations, for ``kept_bytes`` of scores each.

    Raises ``GridError`` as ``combinations`` does, and for an axis that the strategy does not declare.
    """
    if isinstance(grid, pd.DataFrame):
        each = kept_bytes + combination_bytes(len(grid.columns))
        require_memory(f"{strategy.name}: combinations", len(grid), each, TOP)
        return explicit(grid, strategy)
    _require_known(grid or {}, strategy)
    return combinations(grid or {}, strategy, kept_bytes)


def lanes(table: pd.DataFrame) -> dict[str, Array]:
    """Parameter name → float64 [combinations]."""
    return {str(name): np.ascontiguousarray(table[name].to_numpy(dtype=np.float64)) for name in table.columns}


def axis_values(strategy: Strategy, name: str, values: Sequence[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    """The axis as an array; raises ``GridError`` where it is empty, too long, or holds a value twice or one that is no
    number.
    """
    if isinstance(values, Sized):
        require_memory(f"{strategy.name}: values of the axis {name!r}", len(values), VALUE_BYTES, "give fewer")
    try:
        axis = np.asarray(list(values))
    except (TypeError, ValueError) as error:
        raise GridError(f"{strategy.name}: the axis {name!r} is {values!r:.60}, no list of numbers: write [5, 10]") from error
    if axis.ndim != 1:
        raise GridError(f"{strategy.name}: the axis {name!r} holds {axis[:1].tolist()[0]!r:.60}; its values are numbers")
    if len(axis) == 0:
        raise GridError(f"{strategy.name}: the axis {name!r} is empty; give it at least one value")
    _finite(strategy, name, axis)
    if len(np.unique(axis)) != len(axis):
        raise GridError(f"{strategy.name}: the axis {name!r} holds a value twice: {axis.tolist()}")
    return axis


def _finite(strategy: Strategy, name: str, values: np.ndarray[Any, np.dtype[Any]]) -> None:
    if values.dtype.kind not in "iuf":
        raise GridError(f"{strategy.name}: {name!r} holds {values.dtype} values; parameters are numbers")
    if not np.all(np.isfinite(values)):
        raise GridError(f"{strategy.name}: {name!r} holds a value that is not finite: {values.tolist()}")


def _require_parameters(strategy: Strategy, names: Sequence[str]) -> None:
    for name in strategy.parameters:
        if name not in names:
            raise GridError(f"{strategy.name}: parameter {name!r} has no values in the grid; give it an axis")


def require_no_choices(strategy: Strategy) -> None:
    """Raises ``GridError`` for a strategy with choices, whose options do not read the same parameters."""
    if strategy.choices:
        axes = ", ".join(map(repr, strategy.choices))
        raise GridError(
            f"{strategy.name} has choices ({axes}), each with combinations of its own: sweep() takes them whole; else give "
            "strategy.chosen({axis: name})"
        )


def require_axes(axes: Mapping[str, Any], strategy: Strategy) -> None:
    """Raises ``GridError`` unless the axes are exactly the parameters of the strategy, which has no choices."""
    require_no_choices(strategy)
    _require_known(axes, strategy)
    _require_parameters(strategy, list(axes))


def _require_known(grid: Mapping[str, Any], strategy: Strategy) -> None:
    for name in grid:
        if name not in strategy.parameters:
            raise GridError(_unknown(strategy, name))


def _nothing_left(strategy: Strategy) -> GridError:
    return GridError(f"{strategy.name}: no combination fulfils {strategy.constraint!r}; widen the grid")


def _unknown(strategy: Strategy, name: str) -> str:
    near = difflib.get_close_matches(name, strategy.parameters, n=1)
    meant = f", did you mean {near[0]!r}?" if near else ""
    declared = ", ".join(strategy.parameters) or "none"
    return f"{strategy.name}: the grid sweeps {name!r}, which the strategy does not read{meant} (it reads: {declared})"


def allowed(strategy: Strategy, table: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Whether each row of the table fulfils the strategy's constraint."""
    if strategy.constraint is None:
        return np.ones(len(table), dtype=bool)
    return lane_values(strategy.constraint, lanes(table), len(table)).astype(bool)
