"""Values of a traced computation, and the functions that treat a float, an array and a traced value alike.

A ``Value`` is an immutable node: an operation over other values, or a leaf (constant, column, input, parameter, state,
indicator). Arithmetic and comparison build new nodes and compute nothing; ``kernels.trace`` turns the nodes into a
program. Portfolio and metrics are written once over these functions and run on floats (tests), arrays (environments)
and values (sweeps).

A Python ``if`` on configuration is fine and wanted: it specialises the program. An ``if`` on a ``Value`` raises.
"""

from typing import Any, TypeAlias

import numpy as np

from kernels.opcodes import BOOL, F64, OPCODES
from kernels.refusals import ExpressionError as ExpressionError
from kernels.refusals import Refusals

Number: TypeAlias = Any
"""A float, a float64 array or a traced ``Value`` of type f64."""
Truth: TypeAlias = Any
"""A bool, a bool array or a traced ``Value`` of type bool."""


ROUNDING = 2.0**-40
"""What float64 sums and products may be off by, as a part of what went into them: 8,192 times the rounding of one."""


class Value(Refusals):
    """One node of a traced computation: ``op`` over ``operands``, with a leaf's content in ``detail``; ``type`` f64 or
    bool.
    """

    __slots__ = ("detail", "op", "operands", "type")

    def __init__(self, op: str, operands: tuple["Value", ...], type_: str, detail: Any = None) -> None:
        self.op = op
        self.operands = operands
        self.type = type_
        self.detail = detail

    def __add__(self, other: Any) -> "Value":
        return apply("add", self, other)

    def __radd__(self, other: Any) -> "Value":
        return apply("add", other, self)

    def __sub__(self, other: Any) -> "Value":
        return apply("sub", self, other)

    def __rsub__(self, other: Any) -> "Value":
        return apply("sub", other, self)

    def __mul__(self, other: Any) -> "Value":
        return apply("mul", self, other)

    def __rmul__(self, other: Any) -> "Value":
        return apply("mul", other, self)

    def __truediv__(self, other: Any) -> "Value":
        return apply("div", self, other)

    def __rtruediv__(self, other: Any) -> "Value":
        return apply("div", other, self)

    def __neg__(self) -> "Value":
        return apply("neg", self)

    def __pos__(self) -> "Value":
        return self

    def __abs__(self) -> "Value":
        return apply("abs", self)

    def __lt__(self, other: Any) -> "Value":
        return apply("lt", self, other)

    def __le__(self, other: Any) -> "Value":
        return apply("le", self, other)

    def __gt__(self, other: Any) -> "Value":
        return apply("gt", self, other)

    def __ge__(self, other: Any) -> "Value":
        return apply("ge", self, other)

    def __eq__(self, other: object) -> "Value":  # type: ignore[override]
        return apply("eq", self, other)

    def __ne__(self, other: object) -> "Value":  # type: ignore[override]
        return apply("ne", self, other)

    def __and__(self, other: Any) -> "Value":
        return apply("and", self, other)

    def __rand__(self, other: Any) -> "Value":
        return apply("and", other, self)

    def __or__(self, other: Any) -> "Value":
        return apply("or", self, other)

    def __ror__(self, other: Any) -> "Value":
        return apply("or", other, self)

    def __invert__(self) -> "Value":
        return apply("not", self)

    __hash__ = Refusals.__hash__  # a class that defines __eq__ has none otherwise

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **settings: Any) -> "Value":
        """Arithmetic and comparison with a number of numpy's; all else, arrays among it, is refused by name."""
        op = _UFUNCS.get(ufunc.__name__)
        if op is None or method != "__call__" or settings:
            self.refuse_numpy(ufunc.__name__)
        # numpy hands some of its scalars over as arrays without dimensions
        return apply(op, *(item[()] if isinstance(item, np.ndarray) and item.ndim == 0 else item for item in inputs))

    def __repr__(self) -> str:
        return _text(self, DEPTH)


DEPTH = 9
"""Operations inside one another that an expression prints: what is shared prints once for each use, and may be without end."""

_UFUNCS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "less": "lt", "less_equal": "le",
    "greater": "gt", "greater_equal": "ge", "equal": "eq", "not_equal": "ne", "bitwise_and": "and", "bitwise_or": "or",
}  # fmt: skip


def _text(value: Value, depth: int) -> str:
    if value.op == "constant":
        return repr(value.detail)
    if value.op == "state" and value.detail == "target":
        return "hold()"
    if value.op == "input":
        return repr(value.detail)
    if depth == 0 and value.operands:
        return "…"
    shown = value.detail.shown if value.op == "scan" else value.operands
    parts = [_text(part, depth - 1) for part in shown]
    if value.op in OPCODES:
        return _operation_text(value.op, parts)
    if value.op == "scan":
        return f"{value.detail.name}({', '.join(parts)})"
    if value.op == "lag":
        return f"lag({parts[0]}, {value.detail})"
    if value.op == "choice":
        options = ", ".join(f"{name!r}: {part}" for name, part in zip(value.detail.names, parts, strict=True))
        return f"choice({value.detail.axis!r}, {{{options}}})" if options else f"choice({value.detail.axis!r})"
    return f"{value.op}({', '.join([repr(value.detail), *parts] if value.detail is not None else parts)})"


def _operation_text(op: str, parts: list[str]) -> str:
    symbol = OPCODES[op].symbol
    if symbol and len(parts) == 2:
        return f"({parts[0]} {symbol} {parts[1]})"
    if symbol:
        return f"{symbol}{parts[0]}"
    return f"{'where' if op == 'select' else op}({', '.join(parts)})"


def constant(content: Any) -> Value:
    """A number or a truth value as a leaf; raises ``ExpressionError`` for anything else (arrays, strings, None)."""
    if isinstance(content, Value):
        return content
    if isinstance(content, bool | np.bool_):
        return Value("constant", (), BOOL, bool(content))
    if isinstance(content, int | float | np.integer | np.floating):
        return Value("constant", (), F64, float(content))
    timed = "; windows in time ('30s') are those of sma, rolling_sum, rolling_std, rolling_max, rolling_min"
    raise ExpressionError(
        f"{type(content).__name__} {content!r:.60} cannot stand in an expression: use numbers, col(name) for a column "
        f"of the bars, param(name) for a swept parameter{timed if isinstance(content, str) else ''}"
    )


def apply(op: str, *operands: Any) -> Value:
    """The node ``op(operands)``; numbers become constants, an operation over constants alone is folded by its
    definition.
    """
    row = OPCODES[op]
    nodes = tuple(constant(operand) for operand in operands)
    for position, (node, wanted) in enumerate(zip(nodes, row.operands, strict=True), start=1):
        if node.type != wanted:
            remedy = "write where(condition, 1.0, 0.0)" if wanted == F64 else "compare it, for instance `x != 0`"
            raise ExpressionError(f"operand {position} of {op} is {node!r}, a {node.type}, not a {wanted}: {remedy}")
    if all(node.op == "constant" for node in nodes):
        with np.errstate(all="ignore"):
            return constant(row.numpy(*(np.asarray(node.detail)[()] for node in nodes)))
    return Value(op, nodes, row.result)


def _dispatch(op: str, *operands: Any) -> Any:
    if any(isinstance(operand, Value) for operand in operands):
        return apply(op, *operands)
    return OPCODES[op].numpy(*operands)


def known(a: Number, number: float) -> bool:
    """Whether ``a`` is that plain number, decided while tracing; False for arrays and values, whatever they hold."""
    return isinstance(a, int | float) and a == number


def where(condition: Truth, chosen: Number, otherwise: Number) -> Number:
    """``chosen`` where the condition holds, else ``otherwise``; a NaN in the operand not chosen is ignored.

    A plain Python bool picks at once, so that a feature that is switched off leaves no trace in a program.
    """
    if isinstance(condition, bool | np.bool_):
        return chosen if condition else otherwise
    return _dispatch("select", condition, chosen, otherwise)


def minimum(a: Number, b: Number) -> Number:
    """The smaller of two; NaN if either is NaN; of two zeros the second."""
    return _dispatch("minimum", a, b)


def maximum(a: Number, b: Number) -> Number:
    """The larger of two; NaN if either is NaN; of two zeros the second."""
    return _dispatch("maximum", a, b)


def absolute(a: Number) -> Number:
    """Absolute value; NaN stays NaN."""
    return _dispatch("abs", a)


def sqrt(a: Number) -> Number:
    """Square root; NaN below zero."""
    return _dispatch("sqrt", a)


def floor(a: Number) -> Number:
    """Largest whole number not above ``a``; NaN stays NaN."""
    return _dispatch("floor", a)


def trunc(a: Number) -> Number:
    """``a`` rounded toward zero; NaN stays NaN."""
    return _dispatch("trunc", a)


def exponent(a: Number) -> Number:
    """k with 2^k <= |a| < 2^(k + 1), as a float: -inf at 0, inf at ±inf; NaN stays NaN."""
    return _dispatch("exponent", a)


def scale(a: Number, k: Number) -> Number:
    """a · 2^trunc(k), rounded once; NaN if either is NaN."""
    return _dispatch("scale", a, k)


def isnan(a: Number) -> Truth:
    """True where ``a`` is NaN."""
    return _dispatch("ne", a, a)


def logical_not(a: Truth) -> Truth:
    """Negation of a bool, a bool array or a bool value (``~`` of a plain Python bool is a number)."""
    return not a if isinstance(a, bool) else _dispatch("not", a)


def logical_and(a: Truth, b: Truth) -> Truth:
    """Both; a plain Python bool decides at once."""
    if isinstance(a, bool):
        return b if a else False
    if isinstance(b, bool):
        return a if b else False
    return _dispatch("and", a, b)


def logical_or(a: Truth, b: Truth) -> Truth:
    """Either; a plain Python bool decides at once."""
    if isinstance(a, bool):
        return True if a else b
    if isinstance(b, bool):
        return True if b else a
    return _dispatch("or", a, b)
