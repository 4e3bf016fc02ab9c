"""The opcode table: one row an operation of a program, with its meaning in every executor.

Two value types exist, ``f64`` and ``bool``. All operations are exact in the sense of IEEE 754 (correctly rounded), so
that every executor gives the same bits; a NaN's payload is not part of the contract and outputs are canonicalised.
Nothing here reads another bar: the past enters through states and lagged rows, the future not at all. Adding an
operation is adding a row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

F64 = "f64"
BOOL = "bool"


@dataclass(frozen=True)
class Opcode:
    """One operation: its types, its rules and its texts.

    ``numpy`` takes and returns floats or arrays (the definition); ``numba`` is a format string over the operands' names
    (what it calls is in ``kernels.numba_bits``), ``cuda`` one for C++ (float and double alike); ``symbol`` is an infix or
    prefix sign for printing, empty where the operation prints as a call. ``slots`` is what it costs on a GPU, in
    instructions of its arithmetic unit.
    """

    name: str
    operands: tuple[str, ...]
    result: str
    doc: str
    nan: str
    numpy: Callable[..., Any]
    numba: str
    cuda: str
    symbol: str = ""
    slots: int = 1

    @property
    def arity(self) -> int:
        """Number of operands."""
        return len(self.operands)


def _minimum(a: Any, b: Any) -> Any:
    return _select((a < b) | (a != a), a, b)


def _maximum(a: Any, b: Any) -> Any:
    return _select((a > b) | (a != a), a, b)


def _select(condition: Any, a: Any, b: Any) -> Any:
    return np.where(condition, a, b)[()]  # [()] makes a scalar of a 0-d array and leaves other arrays alone


def _exponent(a: Any) -> Any:
    _, power = np.frexp(a)  # a = m * 2^power with 0.5 <= |m| < 1
    ordinary = np.isfinite(a) & (a != 0.0)
    return _select(ordinary, power - 1.0, _select(a == 0.0, -np.inf, np.absolute(a)))


def _scale(a: Any, k: Any) -> Any:
    whole = np.clip(np.nan_to_num(k), -LARGEST_SCALE, LARGEST_SCALE).astype(np.int32)
    return _select(k != k, k, np.ldexp(a, whole))


LARGEST_SCALE = 2200
"""Powers of two past this change no result: any number times 2^±2200 is zero or infinite, as it was or as it becomes."""

_PROPAGATES = "NaN if an operand is NaN"
_FALSE = "false if an operand is NaN"
_LOGIC = "cannot be NaN"
_F, _FF, _B, _BB = (F64,), (F64, F64), (BOOL,), (BOOL, BOOL)

_ROWS = (
    Opcode("add", _FF, F64, "a + b", _PROPAGATES, np.add, "{0} + {1}", "{0} + {1}", "+"),
    Opcode("sub", _FF, F64, "a - b", _PROPAGATES, np.subtract, "{0} - {1}", "{0} - {1}", "-"),
    Opcode("mul", _FF, F64, "a * b", _PROPAGATES + ", or for 0 * inf", np.multiply, "{0} * {1}", "{0} * {1}", "*"),
    Opcode(
        "div",
        _FF,
        F64,
        "a / b; x / 0 is ±inf",
        _PROPAGATES + ", or for 0 / 0, inf / inf",
        np.divide,
        "{0} / {1}",
        "{0} / {1}",
        "/",
        slots=10,
    ),
    Opcode("neg", _F, F64, "-a, the sign of zero included", _PROPAGATES, np.negative, "-{0}", "-{0}", "-"),
    Opcode("abs", _F, F64, "absolute value", _PROPAGATES, np.absolute, "abs({0})", "fabs({0})", slots=0),
    Opcode(
        "sqrt", _F, F64, "square root", _PROPAGATES + " or below zero", np.sqrt, "np.sqrt({0})", "sqrt({0})", slots=10
    ),
    # math.floor would return an int64 under numba and turn NaN into -9.2e18.
    Opcode(
        "floor", _F, F64, "largest whole number <= a", _PROPAGATES, np.floor, "np.floor({0})", "floor({0})", slots=2
    ),
    Opcode(
        "trunc",
        _F,
        F64,
        "a rounded toward zero, keeping its sign",
        _PROPAGATES,
        np.trunc,
        "np.trunc({0})",
        "trunc({0})",
        slots=2,
    ),
    Opcode(
        "exponent",
        _F,
        F64,
        "k with 2^k <= |a| < 2^(k + 1); -inf at 0, inf at ±inf",
        _PROPAGATES,
        _exponent,
        "exponent({0})",
        "logb({0})",
        slots=6,
    ),
    Opcode(
        "scale",
        _FF,
        F64,
        "a * 2^trunc(b), rounded once",
        _PROPAGATES,
        _scale,
        "scale({0}, {1})",
        "({1} != {1} ? {1} : ldexp({0}, {1} < 2200 ? ({1} > -2200 ? (int){1} : -2200) : 2200))",
        slots=6,
    ),
    Opcode(
        "minimum",
        _FF,
        F64,
        "a if a < b else b; of two zeros b",
        _PROPAGATES,
        _minimum,
        "({0} if (({0} < {1}) | ({0} != {0})) else {1})",
        "(({0} < {1} || {0} != {0}) ? {0} : {1})",
        slots=2,
    ),
    Opcode(
        "maximum",
        _FF,
        F64,
        "a if a > b else b; of two zeros b",
        _PROPAGATES,
        _maximum,
        "({0} if (({0} > {1}) | ({0} != {0})) else {1})",
        "(({0} > {1} || {0} != {0}) ? {0} : {1})",
        slots=2,
    ),
    Opcode("lt", _FF, BOOL, "a < b", _FALSE, np.less, "{0} < {1}", "{0} < {1}", "<"),
    Opcode("le", _FF, BOOL, "a <= b", _FALSE, np.less_equal, "{0} <= {1}", "{0} <= {1}", "<="),
    Opcode("gt", _FF, BOOL, "a > b", _FALSE, np.greater, "{0} > {1}", "{0} > {1}", ">"),
    Opcode("ge", _FF, BOOL, "a >= b", _FALSE, np.greater_equal, "{0} >= {1}", "{0} >= {1}", ">="),
    Opcode("eq", _FF, BOOL, "a == b; -0 equals +0", _FALSE, np.equal, "{0} == {1}", "{0} == {1}", "=="),
    Opcode("ne", _FF, BOOL, "a != b", "true if an operand is NaN", np.not_equal, "{0} != {1}", "{0} != {1}", "!="),
    Opcode("and", _BB, BOOL, "both", _LOGIC, np.logical_and, "{0} & {1}", "{0} & {1}", "&", slots=0),
    Opcode("or", _BB, BOOL, "either", _LOGIC, np.logical_or, "{0} | {1}", "{0} | {1}", "|", slots=0),
    Opcode("not", _B, BOOL, "negation", _LOGIC, np.logical_not, "not {0}", "!{0}", "~", slots=0),
    Opcode(
        "select",
        (BOOL, F64, F64),
        F64,
        "a where the condition holds, else b",
        "the chosen operand as it is; the other one is ignored",
        _select,
        "({1} if {0} else {2})",
        "({0} ? {1} : {2})",
        slots=0,
    ),
)

OPCODES: dict[str, Opcode] = {row.name: row for row in _ROWS}
