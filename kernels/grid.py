"""Combinations of parameters: Cartesian grids, explicit lists, constraints."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kernels.rows import Array, lane_values
from kernels.strategy import Strategy


class GridError(ValueError):
    """A grid that does not fit its strategy; the message names the parameter, or the combination, and the remedy."""


def combinations(grid: Mapping[str, Sequence[Any]], strategy: Strategy) -> pd.DataFrame:
    """All combinations of the axes that the strategy declares, a row each; axes of other strategies are left out.

    Order: axes as the grid gives them, the last one fastest. Combinations that break the strategy's constraint are not
    generated. Raises ``GridError`` for a missing or empty axis, a repeated or non-finite value, or where none is left.
    """
    names = [name for name in grid if name in strategy.parameters]
    _require_parameters(strategy, names)
    axes = [_axis(strategy, name, grid[name]) for name in names]
    if not axes:
        return pd.DataFrame(index=pd.RangeIndex(1))
    meshes = np.meshgrid(*axes, indexing="ij")
    table = pd.DataFrame({name: mesh.reshape(-1) for name, mesh in zip(names, meshes, strict=True)})
    kept = table[_allowed(strategy, table)].reset_index(drop=True)
    if kept.empty:
        raise GridError(f"{strategy.name}: no combination fulfils {strategy.constraint!r}; widen the grid")
    return kept


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
    for row in np.flatnonzero(~_allowed(strategy, table))[:1]:
        values = ", ".join(f"{name}={table[name].iloc[row]}" for name in table.columns)
        raise GridError(f"{strategy.name}: combination {row} ({values}) breaks {strategy.constraint!r}; leave it out")
    return table


def as_table(grid: Mapping[str, Sequence[Any]] | pd.DataFrame | None, strategy: Strategy) -> pd.DataFrame:
    """A sweep's grid as one table of combinations; an axis that the strategy does not declare raises ``GridError``."""
    if isinstance(grid, pd.DataFrame):
        return explicit(grid, strategy)
    for name in grid or {}:
        if name not in strategy.parameters:
            raise GridError(_unknown(strategy, name))
    return combinations(grid or {}, strategy)


def lanes(table: pd.DataFrame) -> dict[str, Array]:
    """Parameter name → float64 [combinations]."""
    return {str(name): np.ascontiguousarray(table[name].to_numpy(dtype=np.float64)) for name in table.columns}


def _axis(strategy: Strategy, name: str, values: Sequence[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    axis = np.asarray(list(values))
    if axis.ndim != 1 or len(axis) == 0:
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


def _unknown(strategy: Strategy, name: str) -> str:
    near = difflib.get_close_matches(name, strategy.parameters, n=1)
    meant = f", did you mean {near[0]!r}?" if near else ""
    declared = ", ".join(strategy.parameters) or "none"
    return f"{strategy.name}: the grid sweeps {name!r}, which the strategy does not read{meant} (it reads: {declared})"


def _allowed(strategy: Strategy, table: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.bool_]]:
    if strategy.constraint is None:
        return np.ones(len(table), dtype=bool)
    return lane_values(strategy.constraint, lanes(table), len(table)).astype(bool)
