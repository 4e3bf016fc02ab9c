"""Traced values: what they build, what they refuse and how the refusal teaches."""

import math

import numpy as np
import pytest

from kernels.expressions import col, hold, param, parameters, prev
from kernels.strategy import Strategy
from kernels.values import (
    ExpressionError,
    absolute,
    floor,
    isnan,
    known,
    logical_and,
    logical_not,
    maximum,
    minimum,
    sqrt,
    trunc,
    where,
)

left, right = col("a"), col("b")


@pytest.mark.parametrize(
    ("misuse", "remedy"),
    [
        (lambda: left > 1 and right > 1, r"Write `a & b`"),
        (lambda: left > 1 or right > 1, r"`a \| b`"),
        (lambda: not (left > 1), r"`~a`"),
        (lambda: 1 if left > right else 2, r"`where\(condition, x, y\)` for `if`"),
        (lambda: 1 < left < 2, r"`\(low < x\) & \(x < high\)`"),
        (lambda: max(left, right), r"no truth value"),
        (lambda: float(left), r"cannot be converted to a number"),
        (lambda: math.floor(left), r"cannot be converted to a number"),
        (lambda: int(left), r"use floor\(x\)"),
        (lambda: range(left), r"windows take a whole number or param"),
        (lambda: list(left), r"cannot be iterated"),
        (lambda: len(left), r"known to the sweep only"),
        (lambda: 3 in left, r"\(x == a\) \| \(x == b\)"),
        (lambda: left[-1], r"write prev\(x\)"),
        (lambda: {left: 1}, r"cannot be hashed"),
        (lambda: left + "b", r"str 'b' cannot stand in an expression"),
        (lambda: left + np.ones(3), r"ndarray .* cannot stand in an expression"),
        (lambda: np.ones(3) + left, r"ndarray .* cannot stand in an expression"),
        (
            lambda: left + (left > right),
            r"operand 2 of add is .* a bool, not a f64: write where\(condition, 1.0, 0.0\)",
        ),
        (lambda: left & (left > right), r"operand 1 of and is .* compare it"),
        (lambda: ~left, r"compare it, for instance `x != 0`"),
        (lambda: where(left, 1.0, 0.0), r"operand 1 of select"),
        (lambda: prev(left, -1), r"prev\(x, -1\): .* whole number >= 1"),
        (lambda: prev(left, 0), r"whole number >= 1"),
        (lambda: prev(hold()), r"prev\(hold\(\)\)"),
        (lambda: col(""), r"a name is a string that is not empty"),
        (lambda: Strategy("s", left > right), r"strategy s: the target .* is a condition; write where"),
        (lambda: Strategy("s", left, constraint=left > 1), r"the constraint reads col\('a'\); only parameters"),
        (lambda: Strategy("s", left, constraint=param("p")), r"is no condition"),
    ],
)
def test_misuse_teaches_the_rewrite(misuse, remedy):
    with pytest.raises(TypeError, match=remedy):
        misuse()


def test_an_expression_prints_as_it_is_written():
    assert repr(where((left > 1) & (right <= param("p")), -left, hold())) == (
        "where(((col('a') > 1.0) & (col('b') <= param('p'))), -col('a'), hold())"
    )


def test_constants_fold_by_the_definition():
    assert repr(where(col("a") > 0, minimum(2.0, 1.0) + 1, 0.0)) == "where((col('a') > 0.0), 2.0, 0.0)"
    assert repr(-(left * 0) + (-0.0)) == "(-(col('a') * 0.0) + -0.0)"


def test_a_plain_bool_chooses_at_once():
    assert where(True, left, right) is left
    assert where(np.False_, left, right) is right
    assert logical_and(True, left > right).op == "gt" and logical_and(left > right, False) is False
    assert logical_not(True) is False and logical_not(left > right).op == "not"


def test_known_is_about_plain_numbers_only():
    assert known(0, 0.0) and known(0.0, 0.0)
    assert not known(left, 0.0) and not known(np.zeros(2), 0.0) and not known(1.0, 0.0)


@pytest.mark.parametrize("kind", ["float", "array"])
def test_functions_on_numbers(kind):
    x, y, nan = (
        (-2.5, 0.5, float("nan")) if kind == "float" else (np.array([-2.5]), np.array([0.5]), np.array([np.nan]))
    )
    with np.errstate(invalid="ignore"):
        found = [absolute(x), floor(x), trunc(x), sqrt(y), minimum(x, y), maximum(x, y), where(x < y, x, y)]
        assert [float(np.squeeze(value)) for value in found] == [2.5, -3.0, -2.0, 0.5**0.5, -2.5, 0.5, -2.5]
        for value in (minimum(nan, x), minimum(x, nan), maximum(nan, x), maximum(x, nan), sqrt(x)):
            assert bool(isnan(value))


def test_prev_reaches_the_leaves():
    assert repr(prev(left - right * param("p"), 2)) == "(lag(col('a'), 2) - (lag(col('b'), 2) * param('p')))"
    assert repr(prev(prev(left))) == "lag(col('a'), 2)"


def test_parameters_in_order_of_first_appearance():
    assert parameters(param("b") * left + param("a") + param("b")) == ("b", "a")
    with_constraint = Strategy("s", left * param("b"), constraint=param("a") < param("b"))
    assert with_constraint.parameters == ("b", "a")


def test_errors_are_type_errors_of_ours():
    assert issubclass(ExpressionError, TypeError)


def test_a_deep_expression_prints_in_bounded_length():
    doubled, chain = col("a"), col("a")
    for _ in range(60):
        doubled = doubled + doubled * 0.5  # prints 2^60 times in full
    for _ in range(5000):
        chain = chain + 1.0  # and 5,000 deep
    assert len(repr(doubled)) < 20_000 and repr(chain).endswith("+ 1.0)") and "…" in repr(chain)
    with pytest.raises(ExpressionError, match="has no truth value"):
        bool(doubled > chain)
