"""Combinations of parameters: Cartesian grids, enumerated whole or a block at a time, explicit lists, constraints."""

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kernels.rows import Array, lane_values
from kernels.strategy import Strategy


class GridError(ValueError):
    """A grid that does not fit its strategy; the message names the parameter, or the combination, and the remedy."""


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
        if not self.axes:
            return numbers, pd.DataFrame(index=pd.RangeIndex(high - low))
        places = np.unravel_index(numbers, [len(axis) for axis in self.axes])
        columns = zip(self.names, self.axes, places, strict=True)
        table = pd.DataFrame({name: axis[place] for name, axis, place in columns})
        kept = allowed(self.strategy, table)
        return numbers[kept], table[kept].reset_index(drop=True)


def lattice(grid: Mapping[str, Sequence[Any]], strategy: Strategy) -> Lattice:
    """The grid's axes that the strategy declares, checked.

    Raises ``GridError`` for a missing or empty axis, a repeated or non-finite value.
    """
    names = tuple(name for name in grid if name in strategy.parameters)
    _require_parameters(strategy, names)
    return Lattice(strategy, names, tuple(axis_values(strategy, name, grid[name]) for name in names))


def combinations(grid: Mapping[str, Sequence[Any]], strategy: Strategy) -> pd.DataFrame:
    """All combinations of the axes that the strategy declares, a row each; axes of other strategies are left out.

    Order: axes as the grid gives them, the last one fastest. Combinations that break the strategy's constraint are not
    generated. Raises ``GridError`` as ``lattice`` does, or where no combination is left.
    """
    axes = lattice(grid, strategy)
    kept = axes.table(0, axes.size)
    if kept.empty and axes.names:
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


def as_table(grid: Mapping[str, Sequence[Any]] | pd.DataFrame | None, strategy: Strategy) -> pd.DataFrame:
    """A sweep's grid as one table of combinations; an axis that the strategy does not declare raises ``GridError``."""
    if isinstance(grid, pd.DataFrame):
        return explicit(grid, strategy)
    _require_known(grid or {}, strategy)
    return combinations(grid or {}, strategy)


def lanes(table: pd.DataFrame) -> dict[str, Array]:
    """Parameter name → float64 [combinations]."""
    return {str(name): np.ascontiguousarray(table[name].to_numpy(dtype=np.float64)) for name in table.columns}


def axis_values(strategy: Strategy, name: str, values: Sequence[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    """The axis as an array; raises ``GridError`` where it is empty, or holds a value twice or one that is no number."""
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


def require_axes(axes: Mapping[str, Any], strategy: Strategy) -> None:
    """Raises ``GridError`` unless the axes are exactly the strategy's parameters."""
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
