"""Hoisting: every node of a graph goes where it is computed least often.

What a node depends on decides its place: data alone, a *row*, once a bar; parameters alone, a *lane* value, once a
lane; an indicator of data and parameters, a *family*, once for each distinct assignment of its parameters; the rest
is the program's body, for every bar and lane. What reads an event stays in the body, so that it vanishes on bars
without one. Equal nodes share a register.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from kernels.opcodes import OPCODES
from kernels.program import Instruction, Output, Program, State
from kernels.program_inputs import INPUT
from kernels.trace import Graph
from kernels.values import Value
from kernels.walks import nodes
from kernels.windowed import is_indicator

DATA, PARAM, STATE, EVENT = "data", "param", "state", "event"


LEGEND = 200
"""Characters of an expression where a program is printed."""


@dataclass(frozen=True)
class Hoisted:
    """A program with the nodes its sources stand for: ``rows[r]``, ``families[f]`` and ``lanes[p]``."""

    program: Program
    rows: tuple[Value, ...]
    families: tuple[Value, ...]
    lanes: tuple[Value, ...]

    def __str__(self) -> str:
        kinds = (("row", self.rows), ("family", self.families), ("lane", self.lanes))
        read = [f"{kind} {place} is {value!r:.{LEGEND}}" for kind, values in kinds for place, value in enumerate(values)]
        return "\n".join([*read, str(self.program)])


def dependencies(roots: Iterable[Value]) -> dict[int, frozenset[str]]:
    """What each node under the roots depends on, by ``id`` of the node."""
    own = {"col": {DATA}, INPUT: {DATA}, "param": {PARAM}, "state": {STATE}, "carried": {STATE}}
    found: dict[int, frozenset[str]] = {}
    for node in nodes(*roots):
        leaf = own.get(node.op, set()) | ({EVENT} if _is_event(node) else set())
        union = frozenset(leaf).union(*(found[id(operand)] for operand in node.operands))
        # an indicator varies from bar to bar whatever it reads; a scan's states are its own
        found[id(node)] = (union | {DATA}) - {STATE} if is_indicator(node) else union
    return found


def hoist(graph: Graph, lags: bool = True) -> Hoisted:
    """The graph as a checked program.

    ``lags``: whether the program may read a family some bars back, which a program that starts at the first bar must
    not: there a lagged family is a family of its own.
    """
    builder = _Builder([*graph.following.values(), *graph.outputs.values()], lags)
    for name in graph.initial:
        builder.register(graph.following[name])
    for value in graph.outputs.values():
        builder.register(value)
    states = tuple(State(name, graph.initial[name], builder.register(graph.following[name])) for name in graph.initial)
    outputs = tuple(Output(name, builder.register(value)) for name, value in graph.outputs.items())
    rare = tuple(place for place, row in enumerate(builder.rows) if _is_event(row))
    fixed = tuple(place for place, row in enumerate(builder.rows) if _is_setting(row))
    program = Program(tuple(builder.instructions), states, outputs, rare, fixed).check()
    return Hoisted(program, tuple(builder.rows), tuple(builder.families), tuple(builder.lanes))


def _is_event(node: Value) -> bool:
    return node.op == INPUT and node.detail.is_event


def _is_setting(row: Value) -> bool:
    leaves = [node for node in nodes(row) if node.op not in OPCODES and node.op != "constant"]
    return all(leaf.op == INPUT and leaf.detail.is_setting for leaf in leaves)


def state_name(place: int) -> str:
    """Name of a scan's state in the program that runs it."""
    return f"s{place}"


class _Builder:
    """Numbers nodes and emits each distinct one once."""

    def __init__(self, roots: list[Value], lags: bool) -> None:
        self._lags = lags
        self.instructions: list[Instruction] = []
        self.rows: list[Value] = []
        self.families: list[Value] = []
        self.lanes: list[Value] = []
        self._depends = dependencies(roots)
        self._registers: dict[Instruction, int] = {}
        self._by_node: dict[int, int] = {}
        self._structure = Structure()
        self._places: dict[tuple[str, int], int] = {}

    def register(self, root: Value) -> int:
        """The register of a node, emitted with everything it needs."""
        stack = [root]
        while stack:
            node = stack[-1]
            if id(node) in self._by_node:
                stack.pop()
                continue
            operands = () if self._is_source(node) else node.operands
            missing = [operand for operand in operands if id(operand) not in self._by_node]
            if missing:
                stack.extend(reversed(missing))
                continue
            self._by_node[id(node)] = self._emit(node, operands)
            stack.pop()
        return self._by_node[id(root)]

    def _is_source(self, node: Value) -> bool:
        if not node.operands or is_indicator(node) or node.op == "lag":
            return True
        return self._depends[id(node)] in ({DATA}, {PARAM})

    def _emit(self, node: Value, operands: tuple[Value, ...]) -> int:
        if self._is_source(node):
            instruction = self._source(node)
        else:
            registers = tuple(self._by_node[id(operand)] for operand in operands)
            instruction = Instruction(node.op, registers, node.type)
        # -0.0 == 0.0 and NaN != NaN: constants are told apart by their text
        key = instruction if node.op != "constant" else Instruction("constant", (), node.type, repr(node.detail))
        if key not in self._registers:
            self._registers[key] = len(self.instructions)
            self.instructions.append(instruction)
        return self._registers[key]

    def _source(self, node: Value) -> Instruction:
        depends = self._depends[id(node)]
        if node.op in ("constant", "state"):
            return Instruction(node.op, (), node.type, node.detail)
        if node.op == "carried":
            return Instruction("state", (), node.type, state_name(node.detail))
        if PARAM not in depends:
            return Instruction("row", (), node.type, self._place("row", self.rows, node))
        if depends == {PARAM}:
            return Instruction("lane", (), node.type, self._place("lane", self.lanes, node))
        family, lag = (node.operands[0], node.detail) if node.op == "lag" and self._lags else (node, 0)
        return Instruction("family", (), node.type, (self._place("family", self.families, family), lag))

    def _place(self, kind: str, places: list[Value], node: Value) -> int:
        key = (kind, self._structure.number(node))
        if key not in self._places:
            self._places[key] = len(places)
            places.append(node)
        return self._places[key]


class Structure:
    """Numbers nodes so that two of them have the same number exactly when they are built alike."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}
        self._by_node: dict[int, tuple[int, Value]] = {}  # the node too, so that its identity stays taken

    def number(self, root: Value) -> int:
        """The node's number; nodes under it that are new are numbered with it."""
        if id(root) not in self._by_node:
            for node in nodes(root):
                operands = (self._by_node[id(operand)][0] for operand in node.operands)
                key = (node.op, node.type, repr(node.detail), *operands)
                self._by_node[id(node)] = (self._numbers.setdefault(key, len(self._numbers)), node)
        return self._by_node[id(root)][0]
