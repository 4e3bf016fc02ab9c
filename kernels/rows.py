"""The values that a program finds ready: rows, families of rows, lane values; and the warm-up they need.

Everything here is computed once, in float64, and handed to every executor, so that it is equal on bits by
construction. A recursive indicator's family is written by a program of its own, whose lanes are the family's distinct
assignments; the executor that runs the sweep runs it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.executor import Device, Inputs
from kernels.expressions import nodes, parameters
from kernels.hoisting import hoist
from kernels.indicators import INDICATORS, Recursive, Windowed
from kernels.opcodes import F64, OPCODES
from kernels.trace import trace
from kernels.values import Value

Array: TypeAlias = NDArray[np.float64]
Columns: TypeAlias = Mapping[str, NDArray[Any]]
Lanes: TypeAlias = Mapping[str, Array]
"""Parameter name → one value a lane."""


TILE = 1024


class WindowError(ValueError):
    """A window that is no whole number of bars, or too short for its indicator."""


@dataclass(frozen=True)
class Family:
    """``matrix`` [bars, assignments], kept where the executor wants it, and, for each lane, the place of its assignment
    in it: ``index`` [lanes].
    """

    matrix: Any
    index: NDArray[np.int64]


def lane_values(root: Value, lanes: Lanes, count: int) -> NDArray[Any]:
    """A node over parameters alone, for each of ``count`` lanes: an array [lanes]."""
    return np.ascontiguousarray(np.broadcast_to(_computed(root, lambda leaf: lanes[leaf.detail]), (count,)))


def warm_up(root: Value, lanes: Lanes) -> int:
    """Bars before the expression exists in every lane: windows and lags added along the longest path."""
    bars: dict[int, int] = {}
    for node in nodes(root):
        longest = max((bars[id(operand)] for operand in node.operands), default=0)
        if node.op in INDICATORS:
            longest += int(np.max(_windows(node, lanes))) - 1
        bars[id(node)] = longest + (node.detail if node.op == "lag" else 0)
    return bars[id(root)]


class RowWriter:
    """Computes rows and families over fixed columns; what two of them share is computed once."""

    def __init__(self, columns: Columns, device: Device) -> None:
        self._columns = columns
        self._device = device
        self._bars = len(next(iter(columns.values())))
        self._done: dict[tuple[int, tuple[float, ...]], NDArray[Any]] = {}

    def row(self, root: Value) -> NDArray[Any]:
        """A node over data alone: an array [bars] of float64 or bool."""
        return self._series(root, {})

    def family(self, node: Value, lanes: Lanes) -> Family:
        """An indicator of data and parameters for the lanes' distinct assignments, in ascending order of assignment."""
        names = parameters(node)
        assignments, index = distinct(names, lanes)
        bound = {name: assignments[:, place].copy() for place, name in enumerate(names)}
        return Family(self._matrix(node, bound), index)

    def _matrix(self, node: Value, bound: Lanes) -> Any:
        windows = _windows(node, bound)
        count = len(windows)
        source = node.operands[0]
        names = parameters(source)
        series = [self._series(source, {name: float(bound[name][place]) for name in names}) for place in range(count)]
        indicator = INDICATORS[node.op]
        if isinstance(indicator, Recursive):
            return self._recursive(indicator, series, windows)
        return _windowed(indicator, series, windows, self._device)

    def _recursive(self, indicator: Recursive, series: Sequence[Array], windows: NDArray[np.int64]) -> Any:
        sources, index = _distinct_arrays(series)

        def step(states: Mapping[str, Value]) -> tuple[dict[str, Value], dict[str, Value]]:
            x, weight = Value("series", (), F64, 0), Value("param", (), F64, "weight")
            value = indicator.step(states["value"], x, weight)
            return {"value": value}, {"value": value}

        program = hoist(trace(step, {"value": float("nan")})).program
        weights = np.asarray(indicator.weight(windows.astype(np.float64)))[np.newaxis, :]
        inputs = Inputs(
            rows=np.empty((self._bars, 0)),
            families=(np.ascontiguousarray(np.stack(sources, axis=1)),),
            index=index[np.newaxis, :],
            lanes=weights,
            event=np.zeros(self._bars, dtype=bool),
        )
        seed = np.full((1, len(windows)), np.nan)
        return self._device.write(program, inputs, 0, self._bars, seed)

    def _series(self, root: Value, binding: Mapping[str, float]) -> NDArray[Any]:
        key = (id(root), tuple(binding.values()))
        if key not in self._done:
            computed = _computed(root, lambda leaf: self._leaf(leaf, binding))
            self._done[key] = np.broadcast_to(computed, (self._bars,))
        return self._done[key]

    def _leaf(self, node: Value, binding: Mapping[str, float]) -> NDArray[Any]:
        if node.op == "col":
            return self._columns[node.detail]
        if node.op == "param":
            return np.asarray(binding[node.detail])
        if node.op == "lag":
            held = self._series(node.operands[0], {name: binding[name] for name in parameters(node.operands[0])})
            return _lagged(held, node.detail)
        bound = {name: np.array([binding[name]]) for name in parameters(node)}
        return np.ascontiguousarray(self._device.download(self._matrix(node, bound)[:, 0]))


def distinct(names: Sequence[str], lanes: Lanes) -> tuple[Array, NDArray[np.int64]]:
    """Distinct assignments of some parameters [assignments, parameters], and each lane's place among them."""
    if len(names) == 1:  # by hashing, not by sorting all lanes
        codes, values = pd.factorize(lanes[names[0]], sort=True)
        return np.asarray(values)[:, np.newaxis], codes.astype(np.int64)
    table = np.stack([lanes[name] for name in names], axis=1)
    assignments, index = np.unique(table, axis=0, return_inverse=True)
    return assignments, index.reshape(-1).astype(np.int64)


def _computed(root: Value, leaf: Callable[[Value], NDArray[Any]]) -> Any:
    """The node by the opcode table's definition, over arrays; leaves, indicators and lags come from ``leaf``."""
    done: dict[int, Any] = {}
    stack = [root]
    with np.errstate(all="ignore"):
        while stack:
            node = stack[-1]
            missing = [operand for operand in node.operands if node.op in OPCODES and id(operand) not in done]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if node.op == "constant":
                done[id(node)] = np.asarray(node.detail)[()]
            elif node.op in OPCODES:
                done[id(node)] = OPCODES[node.op].numpy(*(done[id(operand)] for operand in node.operands))
            else:
                done[id(node)] = leaf(node)
    return done[id(root)]


def _windows(node: Value, lanes: Lanes) -> NDArray[np.int64]:
    """Window sizes of an indicator, one a lane (one in all where no parameter reaches it)."""
    count = max((len(values) for values in lanes.values()), default=1)
    sizes = lane_values(node.operands[1], lanes, count)
    least = INDICATORS[node.op].least
    wrong = sizes[(sizes != np.floor(sizes)) | (sizes < least) | ~np.isfinite(sizes)]
    if len(wrong):
        raise WindowError(
            f"{node.op}: window {node.operands[1]!r} = {wrong[0]:g}: must be a whole number of bars >= {least}; "
            "change the grid"
        )
    return sizes.astype(np.int64)


def _windowed(indicator: Windowed, series: Sequence[Array], windows: NDArray[np.int64], device: Device) -> Any:
    sources, index = _distinct_arrays(series)
    rows: dict[int, Any] = {}
    for place, source in enumerate(sources):
        lanes = np.flatnonzero(index == place).tolist()
        rows.update(
            zip(lanes, indicator.rows(device.upload(source), [int(windows[lane]) for lane in lanes]), strict=True)
        )
    if not isinstance(rows[0], np.ndarray):
        return np.stack([rows[lane] for lane in range(len(windows))], axis=1)
    matrix = np.empty((len(sources[0]), len(windows)))
    for begin in range(0, len(matrix), TILE):  # bars that stay in the cache while all columns are written
        for lane, row in rows.items():
            matrix[begin : begin + TILE, lane] = row[begin : begin + TILE]
    return matrix


def _distinct_arrays(series: Sequence[Array]) -> tuple[list[Array], NDArray[np.int64]]:
    places: dict[int, int] = {}
    index = [places.setdefault(id(array), len(places)) for array in series]
    first = {place: array for array, place in zip(reversed(series), reversed(index), strict=True)}
    return [first[place] for place in range(len(places))], np.array(index, dtype=np.int64)


def _lagged(series: NDArray[Any], bars: int) -> NDArray[Any]:
    moved = np.full(len(series), np.nan) if series.dtype == np.float64 else np.zeros(len(series), dtype=bool)
    moved[bars:] = series[: max(len(series) - bars, 0)]
    return moved
