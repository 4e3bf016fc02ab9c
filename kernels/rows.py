"""The values that a program finds ready: rows, families of rows, lane values; and the warm-up they need.

Everything here is computed once, in float64, and handed to every executor, so that it is equal on bits by
construction. A recursive indicator's family is written by a program of its own, whose lanes are the family's distinct
assignments; the executor that runs the sweep runs it.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.executor import Device, Inputs
from kernels.hoisting import Structure, hoist, state_name
from kernels.opcodes import OPCODES
from kernels.program_inputs import DATA, Input
from kernels.trace import Graph
from kernels.values import ROUNDING, Value
from kernels.walks import nodes, parameters
from kernels.windowed import TIMED, WINDOWED, Windowed, is_indicator

Array: TypeAlias = NDArray[np.float64]
Columns: TypeAlias = Mapping[str | Input, NDArray[Any]]
"""Column of the user's table, by its name, or input → one value a bar."""
Lanes: TypeAlias = Mapping[Any, Array]
"""Parameter, by its name, or ``kernels.plan.Carried`` → one value a lane."""


TILE = 1024
LEAST_SHARED = 2**18
"""Fewest values of a family that are worth a second thread."""


class WindowError(ValueError):
    """A window that is no whole number of bars, or too short for its indicator."""


LARGEST_WINDOW = 2**53
"""Above it float64, in which parameters are kept, holds not all whole numbers."""


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
        if is_indicator(node):
            sizes = window_sizes(node, lanes)  # checked for windows in time too, whose bars only the data know
            offset = node.detail.offset if node.op == "scan" else WINDOWED[node.op].offset
            longest += 0 if node.op in TIMED else int(np.max(sizes)) + offset
        bars[id(node)] = longest + (node.detail if node.op == "lag" else 0)
    return bars[id(root)]


class RowWriter:
    """Computes rows and families over fixed columns; what two of them share is computed once."""

    def __init__(self, columns: Columns, device: Device) -> None:
        self._columns = columns
        self._device = device
        self._bars = len(next(iter(columns.values())))
        self._structure = Structure()
        self._rows: dict[int, NDArray[Any]] = {}
        self._matrices: dict[tuple[int, bytes], Any] = {}

    def row(self, root: Value) -> NDArray[Any]:
        """A node over data alone: an array [bars] of float64 or bool."""
        key = self._structure.number(root)
        if key not in self._rows:
            self._rows[key] = np.broadcast_to(_computed(root, self._leaf), (self._bars,))
        return self._rows[key]

    def family(self, node: Value, lanes: Lanes) -> Family:
        """An indicator of data and parameters for the lanes' distinct assignments, in ascending order of assignment."""
        bound, index = _bound(parameters(node), lanes)
        key = (self._structure.number(node), b"".join(values.tobytes() for values in bound.values()))
        if key not in self._matrices:
            self._matrices[key] = self._matrix(node, bound)
        return Family(self._matrices[key], index)

    def _matrix(self, node: Value, bound: Lanes) -> Any:
        if node.op == "lag":
            source = self.family(node.operands[0], bound)
            return _delayed(source.matrix, node.detail)
        if node.op == "scan":
            return self._scan(node, bound)
        if not is_indicator(node):
            return self._recorded(Graph({}, {}, {"value": node}, {}), bound, {})
        sizes = window_sizes(node, bound)
        sources, places = zip(*(self._source(operand, bound, len(sizes)) for operand in node.operands[:-1]), strict=True)
        return _windowed(WINDOWED[node.op], sources, places, sizes, self._device)

    def _source(self, node: Value, bound: Lanes, count: int) -> tuple[Sequence[Array], NDArray[np.int64]]:
        """The distinct series of a window's source, and which of them each of ``count`` assignments reads."""
        if not parameters(node):
            return [np.ascontiguousarray(self.row(node))], np.zeros(count, dtype=np.int64)
        family = self.family(node, bound)
        matrix = self._device.download(family.matrix)
        return [np.ascontiguousarray(column) for column in matrix.T], family.index

    def _scan(self, node: Value, bound: Lanes) -> Any:
        count = node.detail.states
        following, first = node.operands[:count], node.operands[count : 2 * count]
        window_sizes(node, bound)
        names = [state_name(place) for place in range(count)]
        graph = Graph(
            dict.fromkeys(names, 0.0), dict(zip(names, following, strict=True)), {"value": node.operands[-2]}, {}
        )
        return self._recorded(graph, bound, dict(zip(names, first, strict=True)))

    def _recorded(self, graph: Graph, bound: Lanes, first: Mapping[str, Value]) -> Any:
        """The graph's one output at every bar, by a program of its own: [bars, assignments]."""
        count = _assignments(bound)
        hoisted = hoist(graph, lags=False)
        families = [self.family(node, bound) for node in hoisted.families]
        rows = [self.row(node) for node in hoisted.rows]
        inputs = Inputs(
            rows=np.stack(rows, axis=1).astype(np.float64) if rows else np.empty((self._bars, 0)),
            families=tuple(family.matrix for family in families),
            index=np.array([family.index for family in families], dtype=np.int64).reshape(len(families), count),
            lanes=np.array([lane_values(node, bound, count) for node in hoisted.lanes], np.float64).reshape(-1, count),
            event=np.zeros(self._bars, dtype=bool),
        )
        starts = [lane_values(first[state.name], bound, count) for state in hoisted.program.states]
        states = np.array(starts, dtype=np.float64).reshape(-1, count)
        return self._device.write(hoisted.program, inputs, 0, self._bars, states)

    def _leaf(self, node: Value) -> NDArray[Any]:
        if node.op in DATA:
            return self._columns[node.detail]
        if node.op == "lag":
            return _lagged(self.row(node.operands[0]), node.detail)
        return np.ascontiguousarray(self._device.download(self.family(node, {}).matrix[:, 0]))


def families_under(*roots: Value) -> list[Value]:
    """The families that some are computed from, themselves included, each once; what data alone decides is none."""
    structure, found = Structure(), {}
    for node in nodes(*roots):
        read = node.operands[:-1] if node.op in WINDOWED else ()
        for family in (*read, *((node,) if is_indicator(node) or any(node is root for root in roots) else ())):
            if parameters(family):
                found[structure.number(family)] = family
    return list(found.values())


def distinct(names: Sequence[str], lanes: Lanes) -> tuple[Array, NDArray[np.int64]]:
    """Distinct assignments of some parameters [assignments, parameters], and each lane's place among them."""
    if not names:
        return np.empty((1, 0)), np.zeros(_assignments(lanes), dtype=np.int64)
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


def window_sizes(node: Value, lanes: Lanes) -> NDArray[Any]:
    """Window of an indicator for each assignment: a whole number of bars, or seconds for windows in time.

    What is whole but for rounding is whole: 0.29 of 100 bars are 29. Raises ``WindowError`` for any other.
    """
    sizes = lane_values(node.operands[-1], lanes, _assignments(lanes))
    least = node.detail.least if node.op == "scan" else WINDOWED[node.op].least
    name = node.detail.name if node.op == "scan" else node.op
    if node.op in TIMED:
        wrong = sizes[~((sizes > 0.0) & np.isfinite(sizes))]
        limit = "a duration > 0 s"
    else:
        with np.errstate(invalid="ignore"):
            whole = np.rint(sizes)
            sizes = np.where(np.abs(sizes - whole) <= ROUNDING * np.abs(whole), whole, sizes)
        wrong = sizes[(sizes != np.floor(sizes)) | (sizes < least) | ~(sizes <= LARGEST_WINDOW)]
        limit = f"a whole number of bars >= {least}"
    if len(wrong):
        raise WindowError(f"{name}: window {node.operands[-1]!r} = {wrong[0]:g}: must be {limit}; change the grid")
    return sizes if node.op in TIMED else sizes.astype(np.int64)


def _assignments(lanes: Lanes) -> int:
    return max((len(values) for values in lanes.values()), default=1)


def _bound(names: Sequence[str], lanes: Lanes) -> tuple[dict[str, Array], NDArray[np.int64]]:
    """The distinct assignments of some parameters, a column a name, and each lane's place among them."""
    assignments, index = distinct(names, lanes)
    return {name: assignments[:, place].copy() for place, name in enumerate(names)}, index


def _windowed(
    indicator: Windowed,
    sources: Sequence[Sequence[Array]],
    places: Sequence[NDArray[np.int64]],
    windows: NDArray[Any],
    device: Device,
) -> Any:
    """All assignments' rows as a matrix; those that read the same series are computed in one call a thread."""
    spans, together = windows.tolist(), np.stack(places)
    on_host = device.threads > 0 or indicator.on_host
    rows: dict[int, Any] = {}
    matrix = np.empty((len(sources[0][0]), len(windows))) if on_host else None
    for pick in np.unique(together, axis=1).T:
        lanes = np.flatnonzero((together == pick[:, np.newaxis]).all(axis=0))
        read = [series[place] for series, place in zip(sources, pick, strict=True)]
        if matrix is not None:
            _write(indicator, read, spans, matrix, lanes, device.threads)
        else:
            uploaded = [device.upload(series) for series in read]
            rows.update(zip(lanes.tolist(), indicator.rows(*uploaded, [spans[lane] for lane in lanes]), strict=True))
    if matrix is not None:
        return device.upload(matrix)
    return np.stack([rows[lane] for lane in range(len(windows))], axis=1)


def _write(
    indicator: Windowed,
    read: Sequence[Array],
    spans: Sequence[Any],
    matrix: Array,
    lanes: NDArray[np.int64],
    threads: int,
) -> None:
    """The windows of some lanes over the same series, as those columns of the matrix; threads share the lanes."""

    def part(mine: NDArray[np.int64]) -> None:
        chosen = [spans[lane] for lane in mine]
        if indicator.write is not None and mine[-1] - mine[0] + 1 == len(mine):
            indicator.write(*read, chosen, matrix[:, mine[0] : mine[-1] + 1])
            return
        rows = indicator.rows(*read, chosen)
        for begin in range(0, len(matrix), TILE):  # bars that stay in the cache while all columns are written
            for lane, row in zip(mine, rows, strict=True):
                matrix[begin : begin + TILE, lane] = row[begin : begin + TILE]

    if threads > 1 and len(lanes) > 1 and len(lanes) * len(matrix) >= LEAST_SHARED:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(part, np.array_split(lanes, min(threads, len(lanes)))))
    else:
        part(lanes)


def _delayed(matrix: Any, bars: int) -> Any:
    """A family as it was some bars before, NaN where there was none."""
    moved = np.full_like(matrix, np.nan)
    moved[bars:] = matrix[: max(len(matrix) - bars, 0)]
    return moved


def _lagged(series: NDArray[Any], bars: int) -> NDArray[Any]:
    moved = np.full(len(series), np.nan) if series.dtype == np.float64 else np.zeros(len(series), dtype=bool)
    moved[bars:] = series[: max(len(series) - bars, 0)]
    return moved
