"""Tracing: a step function over values becomes the graph of one bar."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kernels.opcodes import F64
from kernels.values import Value, constant

Step = Callable[[Mapping[str, Value]], tuple[Mapping[str, Value], Mapping[str, Value]]]
"""States at a bar's start → (states at its end, values to record)."""


class TraceError(ValueError):
    """A step function returned other states than it was given."""


@dataclass(frozen=True)
class Graph:
    """One bar as nodes: initial values and next values of the states, and the values recorded at every bar.

    ``constants``: the states that no bar can change (costs where trading is free), with their value.
    """

    initial: dict[str, float]
    following: dict[str, Value]
    outputs: dict[str, Value]
    constants: dict[str, float]


def trace(step: Step, initial: Mapping[str, float]) -> Graph:
    """Runs ``step`` once on symbolic states. A state that the step hands back unchanged becomes a constant.

    Raises ``TraceError`` where the step drops or invents a state.
    """
    varying = dict(initial)
    while True:
        given = {name: constant(value) for name, value in initial.items()}
        given.update({name: Value("state", (), F64, name) for name in varying})
        following, outputs = step(given)
        if set(following) != set(initial):
            wrong = sorted(set(following) ^ set(initial))
            raise TraceError(f"the step must return exactly the states it is given; these differ: {', '.join(wrong)}")
        constants = [name for name in varying if following[name] is given[name]]
        if not constants:
            break
        for name in constants:
            del varying[name]
    nexts = {name: constant(following[name]) for name in varying}
    fixed = {name: value for name, value in initial.items() if name not in varying}
    return Graph(varying, nexts, {name: constant(value) for name, value in outputs.items()}, fixed)


def without_outputs(graph: Graph) -> Graph:
    """The graph with its states alone."""
    return Graph(graph.initial, graph.following, {}, graph.constants)


def only_output(graph: Graph, name: str) -> Graph:
    """The graph with that output alone."""
    return Graph(graph.initial, graph.following, {name: graph.outputs[name]}, graph.constants)


def pruned(graph: Graph, wanted: frozenset[str]) -> Graph:
    """The graph with the wanted states, the outputs and the states that these depend on; the rest is not computed."""
    keep = {name for name in graph.initial if name in wanted}
    roots = list(graph.outputs.values())
    while True:
        read = _states_read([*roots, *(graph.following[name] for name in keep)])
        if read <= keep:
            break
        keep |= read
    ordered = [name for name in graph.initial if name in keep]
    initial = {name: graph.initial[name] for name in ordered}
    return Graph(initial, {name: graph.following[name] for name in ordered}, graph.outputs, graph.constants)


def _states_read(roots: list[Value]) -> set[str]:
    seen: set[int] = set()
    found: set[str] = set()
    stack = list(roots)
    while stack:
        value = stack.pop()
        if id(value) not in seen:
            seen.add(id(value))
            if value.op == "state":
                found.add(value.detail)
            stack.extend(value.operands)
    return found
