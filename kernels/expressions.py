"""The language strategies are written in: columns, parameters, conditions, the current target, the bar before.

``a & b``, ``a | b``, ``~a`` are and, or, not; comparisons and arithmetic are the usual signs; ``where(condition, x,
y)`` chooses. Nothing can read a later bar. A comparison with NaN is false; NaN as a target holds the current target.
"""

from kernels.opcodes import F64, OPCODES
from kernels.values import (
    ExpressionError,
    Value,
    absolute,
    apply,
    constant,
    floor,
    isnan,
    maximum,
    minimum,
    sqrt,
    trunc,
    where,
)

__all__ = [
    "absolute",
    "col",
    "floor",
    "hold",
    "isnan",
    "maximum",
    "minimum",
    "param",
    "parameters",
    "prev",
    "sqrt",
    "trunc",
    "where",
]

TARGET = "target"
"""Name of the state that ``hold()`` reads."""


def col(name: str) -> Value:
    """A column of the bars, as float64; NaN in it is data."""
    return Value("col", (), F64, _name(name, "col"))


def param(name: str) -> Value:
    """A swept parameter: one number a combination."""
    return Value("param", (), F64, _name(name, "param"))


def hold() -> Value:
    """The target decided at the bar before (flat at first): ``where(enter, 1.0, hold())``."""
    return Value("state", (), F64, TARGET)


def prev(value: Value, bars: int = 1) -> Value:
    """The expression's value ``bars`` bars before; one bar more of warm-up each. Raises for fewer than 1."""
    if isinstance(bars, bool) or not isinstance(bars, int) or bars < 1:
        raise ExpressionError(f"prev(x, {bars!r}): the number of bars must be a whole number >= 1")
    return _lagged(constant(value), bars, {})


def _lagged(value: Value, bars: int, done: dict[int, Value]) -> Value:
    if id(value) in done:
        return done[id(value)]
    if value.op in ("constant", "param"):
        lagged = value
    elif value.op == "state":
        raise ExpressionError("prev(hold()): only the target of the bar before is kept; write hold() alone")
    elif value.op == "lag":
        lagged = Value("lag", value.operands, value.type, value.detail + bars)
    elif value.op in OPCODES:  # an operation at the bar before is the operation over the operands at the bar before
        lagged = apply(value.op, *(_lagged(operand, bars, done) for operand in value.operands))
    else:
        lagged = Value("lag", (value,), value.type, bars)
    done[id(value)] = lagged
    return lagged


def parameters(*values: Value) -> tuple[str, ...]:
    """Names of the parameters the expressions read, in the order of first appearance."""
    names: dict[str, None] = {}
    for value in nodes(*values):
        if value.op == "param":
            names.setdefault(value.detail)
    return tuple(names)


def nodes(*roots: Value) -> list[Value]:
    """Every node under the roots once, operands before the operations that use them."""
    ordered: list[Value] = []
    seen: set[int] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        value, expanded = stack.pop()
        if expanded:
            ordered.append(value)
        elif id(value) not in seen:
            seen.add(id(value))
            stack.append((value, True))
            stack.extend((operand, False) for operand in reversed(value.operands))
    return ordered


def _name(name: str, function: str) -> str:
    if not isinstance(name, str) or not name:
        raise ExpressionError(f"{function}({name!r}): a name is a string that is not empty")
    return name
