"""``choice``: a sub-expression that is one of several by name, an axis of a sweep; and what is put in its place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernels.hoisting import Structure
from kernels.lags import lagged
from kernels.opcodes import F64, OPCODES
from kernels.values import ExpressionError, Value, apply, constant
from kernels.walks import nodes, parameters


@dataclass(frozen=True)
class Choice:
    """What a choice's node holds beside its operands, which are the options: its axis and their names."""

    axis: str
    names: tuple[str, ...]


def choice(axis: str, options: Mapping[str, Any]) -> Value:
    """One of the expressions, by name: ``choice("signal", {"rsi": rsi(close, 14), "zscore": zscore(close, 20)})``.

    It may stand wherever an expression may, in as many places as wanted; a sweep tries each option
    (``kernels.choices``). NaN rule, warm-up: those of the option. Raises ``ExpressionError`` for options that are not
    all numbers or all conditions.
    """
    if not isinstance(axis, str) or not axis:
        raise ExpressionError(f"choice({axis!r}, …): the name of an axis is a string that is not empty")
    if not isinstance(options, Mapping) or not options:
        raise ExpressionError(f"choice({axis!r}, {options!r:.60}): give {{name: expression}}, at least one")
    for name in options:
        if not isinstance(name, str) or not name:
            raise ExpressionError(f"choice({axis!r}, …): the option {name!r} must be named by a string that is not empty")
    values = {name: constant(option) for name, option in options.items()}
    first, *rest = values
    for name in rest:
        if values[name].type != values[first].type:
            kinds = ", ".join(f"{one!r} a {'number' if values[one].type == F64 else 'condition'}" for one in (first, name))
            raise ExpressionError(f"choice({axis!r}, …): {kinds}: write where(condition, 1.0, 0.0) for the condition")
    return Value("choice", tuple(values.values()), values[first].type, Choice(axis, tuple(values)))


def choices_in(*roots: Value) -> dict[str, Value]:
    """By axis a choice under the roots, in the order of reading; the first of them stands under no other choice."""
    found: dict[str, Value] = {}
    seen, stack = set(), list(reversed(roots))
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            if node.op == "choice":
                found.setdefault(node.detail.axis, node)
            stack.extend(reversed(node.operands))
    return found


def check_axes(*roots: Value) -> None:
    """Raises ``ExpressionError`` where an axis stands for different options, or is called like a parameter."""
    structure, numbers = Structure(), dict[str, int]()
    axes = choices_in(*roots)
    for node in nodes(*roots) if axes else ():
        if node.op == "choice" and numbers.setdefault(node.detail.axis, structure.number(node)) != structure.number(node):
            raise ExpressionError(
                f"the axis {node.detail.axis!r} is {axes[node.detail.axis]!r:.200} in one place, {node!r:.200} in another: "
                "give each its own name, or the same options"
            )
    for name in parameters(*roots) if axes else ():
        if name in axes:
            raise ExpressionError(f"{name!r} is an axis of choices and a parameter: rename one")


def substituted(roots: Sequence[Value], chosen: Mapping[str, str | Value]) -> list[Value]:
    """The expressions with the option of that name, or that expression, in the place of each choice of these axes.

    What reads no such choice stays the same node; what does is built anew, as if it had been written so.
    """
    done: dict[int, Value] = {}
    return [_substituted(root, chosen, done) for root in roots]


def _substituted(root: Value, chosen: Mapping[str, str | Value], done: dict[int, Value]) -> Value:
    for node in nodes(root):
        if id(node) not in done:
            done[id(node)] = _rebuilt(node, tuple(done[id(operand)] for operand in node.operands), chosen, done)
    return done[id(root)]


def _rebuilt(
    node: Value, operands: tuple[Value, ...], chosen: Mapping[str, str | Value], done: dict[int, Value]
) -> Value:
    if node.op == "choice" and node.detail.axis in chosen:
        option = chosen[node.detail.axis]
        return option if isinstance(option, Value) else operands[node.detail.names.index(option)]
    if all(new is old for new, old in zip(operands, node.operands, strict=True)):
        return node
    if node.op in OPCODES:
        return apply(node.op, *operands)
    if node.op == "lag":
        return lagged(operands[0], node.detail)
    detail = node.detail
    if node.op == "scan":
        detail = replace(detail, shown=tuple(_substituted(shown, chosen, done) for shown in detail.shown))
    return Value(node.op, operands, node.type, detail)
