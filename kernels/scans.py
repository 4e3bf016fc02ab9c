"""Scans: a plain Python step function over its own past, traced to states of a program.

``scan(step, init, x, y)`` is ``state = step(state, x, y)`` from bar to bar. The step runs once, on symbols; what it
reads of parameters is swept like any other. Its series is computed once for each distinct assignment of the
parameters that it reads, by a program of its own that the sweep's executor runs (``kernels.rows``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernels.opcodes import BOOL, F64, OPCODES
from kernels.values import ExpressionError, Value, constant
from kernels.walks import nodes, open_leaves


@dataclass(frozen=True, eq=False)
class Scan:
    """What a scan's node holds beside its operands, which are: next states, first states, the value, the window.

    ``shown`` are the arguments it prints with; the warm-up is ``window + offset`` bars, and a window below ``least`` is
    refused.
    """

    name: str
    states: int
    shown: tuple[Value, ...]
    least: int
    offset: int

    def __repr__(self) -> str:
        return f"scan {self.name} of {self.states}, warm-up {self.offset}, window >= {self.least}"


def scan(
    step: Callable[..., Any],
    init: Any,
    *inputs: Any,
    output: Callable[[Any], Any] | None = None,
    warm_up: Any = 0,
    name: str | None = None,
) -> Value:
    """The series of ``step(state, *inputs)``, where state is what the step returned at the bar before, ``init`` at first.

    ``init``: a number, or a tuple, NamedTuple or dict of numbers, each plain or an expression over parameters; the step
    returns the same form. ``output``: what of the new state is the value (default: the state, or the first of several).
    ``warm_up``: bars before the value counts, a whole number or an expression over parameters. NaN rule: that of the
    operations in the step; ``where(isnan(x), state, …)`` leaves the state as it is.

    Raises ``ExpressionError`` for a step that returns another form, or reads ``hold()``; an ``if`` in it raises.
    """
    label = name or getattr(step, "__name__", "scan").replace("<lambda>", "scan")
    return build_scan(label, step, init, tuple(constant(item) for item in inputs), output, constant(warm_up), least=0)


def build_scan(
    name: str,
    step: Callable[..., Any],
    init: Any,
    inputs: tuple[Value, ...],
    output: Callable[[Any], Any] | None,
    window: Value,
    *,
    least: int,
    offset: int = 0,
    shown: tuple[Value, ...] | None = None,
) -> Value:
    """A scan's node whose warm-up is ``window + offset``; prints as ``name(*shown)`` (default: the inputs)."""
    first, wrap = _form(name, init)
    leaves = tuple(Value("carried", (), F64, place) for place in range(len(first)))
    state = step(wrap(leaves), *inputs)
    following = _same_form(name, init, state)
    value = constant(output(state)) if output is not None else following[0]
    for role, node in (*(("a state", item) for item in following), ("the value", value)):
        if node.type != F64:
            raise ExpressionError(f"{name}: {role} is the condition {node!r}; write where(condition, 1.0, 0.0)")
    _check_reads(name, (*following, value), leaves)
    for node in (*first, window):
        _check_start(name, node)
    detail = Scan(name, len(first), inputs if shown is None else shown, least, offset)
    return Value("scan", (*following, *first, value, window), F64, detail)


def _form(name: str, init: Any) -> tuple[tuple[Value, ...], Callable[[tuple[Value, ...]], Any]]:
    """The first states, and what makes the step's argument of as many leaves."""
    if isinstance(init, dict):
        return tuple(map(constant, init.values())), lambda leaves: dict(zip(init, leaves, strict=True))
    if isinstance(init, tuple) and len(init) > 0:
        return tuple(map(constant, init)), getattr(init, "_make", tuple)  # a NamedTuple makes its own kind
    if isinstance(init, tuple | list):
        raise ExpressionError(f"{name}: init={init!r}: give a number, or a tuple or dict of numbers that is not empty")
    return (constant(init),), lambda leaves: leaves[0]


def _same_form(name: str, init: Any, state: Any) -> tuple[Value, ...]:
    if isinstance(init, dict):
        fits = isinstance(state, dict) and list(state) == list(init)
        parts = tuple(state.values()) if fits else ()
    elif isinstance(init, tuple):
        fits = isinstance(state, tuple) and len(state) == len(init)
        parts = state if fits else ()
    else:
        fits, parts = not isinstance(state, dict | tuple | list), (state,)
    if not fits:
        raise ExpressionError(f"{name}: the step must return a state in the form of init={init!r}, not {state!r:.80}")
    return tuple(map(constant, parts))


def _check_reads(name: str, roots: tuple[Value, ...], own: tuple[Value, ...]) -> None:
    mine = {id(leaf) for leaf in own}
    for leaf in open_leaves(*roots):
        if leaf.op == "state":
            raise ExpressionError(f"{name}: the step reads hold(); scans read data and parameters, write where outside it")
        if id(leaf) not in mine:
            raise ExpressionError(
                f"{name}: stands in another scan's step and reads its state; put both states into one step"
            )


def _check_start(name: str, node: Value) -> None:
    if node.type == BOOL:
        raise ExpressionError(f"{name}: {node!r} is a condition, not a number; write where(condition, 1.0, 0.0)")
    for leaf in nodes(node):
        if leaf.op not in OPCODES and leaf.op not in ("choice", "constant", "param"):
            raise ExpressionError(
                f"{name}: first states, windows and warm-up read {leaf!r}; they are known before the first bar, from "
                "parameters and numbers alone"
            )
