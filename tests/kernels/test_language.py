"""The language: exp and log to the last digit, lags, crossings, memory, scans; misuse teaches."""

import math
import pickle
from typing import NamedTuple

import mpmath
import numpy as np
import pandas as pd
import pytest

from kernels import expressions as language
from kernels import numpy_executor
from kernels.executor import host
from kernels.expressions import clip, col, exp, hold, isnan, lag, log, param, prev, scan, sign, where
from kernels.indicators import (
    bars_since,
    count_over,
    cross_above,
    cross_below,
    ema,
    ffill,
    garch_variance,
    kalman_level,
    sma,
    valid_over,
)
from kernels.rows import RowWriter, warm_up
from kernels.values import ExpressionError

NAN, INF = float("nan"), float("inf")


def row(expression, **columns):
    """The expression's series over the columns."""
    arrays = {name: np.asarray(values, dtype=float) for name, values in columns.items()}
    return RowWriter(arrays, host(numpy_executor.run)).row(expression).astype(float)


def ulps(found, exact):
    with mpmath.workprec(200):
        pairs = zip(map(float, found), exact, strict=True)
        distances = [abs((mpmath.mpf(a) - b) / float(np.spacing(abs(float(b))))) for a, b in pairs]
        return float(max(distances))


def test_exp_is_within_one_ulp():
    draw = np.random.default_rng(1)
    x = np.concatenate([draw.uniform(-1, 1, 3000), draw.uniform(-745, 709.7, 3000), draw.normal(0, 1e-6, 1000)])
    with mpmath.workprec(200):
        exact = [mpmath.exp(mpmath.mpf(float(value))) for value in x]
    with np.errstate(under="ignore"):
        assert ulps(exp(x), exact) < 0.9


def test_log_is_within_one_ulp():
    draw = np.random.default_rng(2)
    near_one = 1.0 + draw.normal(0, 1e-5, 1000)
    x = np.concatenate([draw.uniform(0.4, 2.5, 3000), np.exp(draw.uniform(-708, 709, 3000)), near_one, [5e-324, 1e-310]])
    with mpmath.workprec(200):
        exact = [mpmath.log(mpmath.mpf(float(value))) for value in x]
    assert ulps(log(x), exact) < 0.9


def test_exp_and_log_of_special_values(same_bits):
    x = np.array([NAN, INF, -INF, 0.0, -0.0, 1e308, -1e308, 709.79, -745.2, 1.0])
    with np.errstate(all="ignore"):
        assert same_bits(np.where(np.isnan(x), NAN, exp(x)), [NAN, INF, 0, 1, 1, INF, 0, INF, 0, math.e])
        found = log(np.array([NAN, INF, -INF, 0.0, -0.0, -1.0, 1.0, 2.0]))
    np.testing.assert_array_equal(found, [NAN, INF, NAN, -INF, -INF, NAN, 0.0, math.log(2.0)])


def test_sign_and_clip():
    np.testing.assert_array_equal(sign(np.array([-3.0, 0.0, 5e-324, NAN])), [-1.0, 0.0, 1.0, NAN])
    np.testing.assert_array_equal(clip(np.array([-3.0, 0.5, 9.0, NAN]), 0.0, 1.0), [0.0, 0.5, 1.0, NAN])
    assert repr(language.max(language.abs(col("a")), language.min(col("b"), 1.0))) == (
        "maximum(abs(col('a')), minimum(col('b'), 1.0))"
    )


def test_lags_fixed_and_swept(same_bits):
    x = np.arange(6.0)
    np.testing.assert_array_equal(row(lag(col("x"), 2), x=x), [NAN, NAN, 0, 1, 2, 3])
    assert lag(col("x"), 0).op == "col" and warm_up(lag(col("x"), param("k")), {"k": np.array([0.0, 4.0])}) == 4
    family = RowWriter({"x": x}, host(numpy_executor.run)).family(
        lag(col("x"), param("k")), {"k": np.array([4.0, 0.0, 9.0])}
    )
    assert same_bits(family.matrix[:, family.index[0]], [NAN, NAN, NAN, NAN, 0, 1])
    assert same_bits(family.matrix[:, family.index[1]], x) and np.all(np.isnan(family.matrix[:, family.index[2]]))


def test_crossings():
    a, b = [1, 2, 3, NAN, 3, 1, 1], [2, 2, 2, 2, 2, 2, 1]
    np.testing.assert_array_equal(row(cross_above(col("a"), col("b")), a=a, b=b), [0, 0, 1, 0, 0, 0, 0])
    np.testing.assert_array_equal(row(cross_below(col("a"), col("b")), a=a, b=b), [0, 0, 0, 0, 0, 1, 0])
    assert warm_up(where(cross_above(col("a"), 2.0), 1.0, 0.0), {}) == 1


def test_memory_of_conditions_and_values():
    x = [NAN, 5, 1, NAN, 7, 7, 2]
    np.testing.assert_array_equal(row(ffill(col("x")), x=x), [NAN, 5, 1, 1, 7, 7, 2])
    np.testing.assert_array_equal(row(bars_since(col("x") > 4), x=x), [NAN, 0, 1, 2, 0, 0, 1])
    np.testing.assert_array_equal(row(count_over(col("x") > 4, 3), x=x), [NAN, NAN, 1, 1, 1, 2, 2])
    np.testing.assert_array_equal(row(valid_over(col("x"), 3), x=x), [NAN, NAN, 2, 2, 2, 2, 3])


def test_a_scan_runs_a_python_step():
    x = np.array([1.0, 2.0, NAN, 4.0])
    decayed = scan(lambda s, v: where(isnan(v), s, 0.5 * s + v), 0.0, col("x"))
    np.testing.assert_array_equal(row(decayed, x=x), [1.0, 2.5, 2.5, 5.25])
    assert repr(decayed) == "scan(col('x'))" and warm_up(prev(decayed), {}) == 1


def test_pandas_other_rule_over_gaps_is_a_scan():
    # case A04: adjust=False, ignore_na=False weighs the old value down over a gap; the built-in ema does not (A03)
    def step(state, x):
        mean, weight = state["mean"], state["weight"] * 0.75
        mixed = (weight * mean + 0.25 * x) / (weight + 0.25)
        return {
            "mean": where(isnan(x), mean, where(isnan(mean), x, mixed)),
            "weight": where(isnan(x), weight, 1.0),
        }

    found = row(scan(step, {"mean": NAN, "weight": 1.0}, col("x")), x=[NAN, 2, NAN, 4, 6])
    np.testing.assert_allclose(found, [NAN, 2.0, 2.0, 2.6153846153846154, 3.4615384615384617], rtol=1e-12)
    np.testing.assert_array_equal(row(ema(col("x"), 7), x=[NAN, 2, NAN, 4, 6]), [NAN, 2.0, 2.0, 2.5, 3.375])


class Local(NamedTuple):
    level: object
    variance: object


def local_level(q, r):
    def step(state, x):
        predicted = state.variance + q
        gain = predicted / (predicted + r)
        return Local(state.level + gain * (x - state.level), (1.0 - gain) * predicted)

    return step


def test_parameters_inside_a_scan_are_swept():
    x = 10 + np.cumsum(np.random.default_rng(3).normal(0, 1, 50))
    node = scan(local_level(param("q"), param("r")), Local(10.0, param("p0")), col("x"))
    lanes = {"q": np.array([0.1, 0.5, 0.1]), "r": np.array([1.0, 2.0, 1.0]), "p0": np.array([1.0, 3.0, 1.0])}
    family = RowWriter({"x": x}, host(numpy_executor.run)).family(node, lanes)
    assert family.matrix.shape == (50, 2)  # two distinct assignments
    for lane in range(3):
        level, variance = 10.0, lanes["p0"][lane]
        for bar, value in enumerate(x):
            gain = (variance + lanes["q"][lane]) / (variance + lanes["q"][lane] + lanes["r"][lane])
            level, variance = level + gain * (value - level), (1 - gain) * (variance + lanes["q"][lane])
            assert family.matrix[bar, family.index[lane]] == pytest.approx(level, rel=1e-12)


def test_kalman_and_garch_that_ship():
    x = [NAN, 10.0, 12.0, NAN, 11.0]
    # l = 10, P = 2 · p = 3, k = 3/5: l = 11.2, P = 1.2 · NaN: P = 2.2 · p = 3.2, k = 3.2 / 5.2
    expected = [NAN, 10.0, 11.2, 11.2, 11.2 + 3.2 / 5.2 * (11.0 - 11.2)]
    np.testing.assert_allclose(row(kalman_level(col("x"), 1.0, 2.0), x=x), expected, rtol=1e-14)
    # v0 = 0.1 / (1 - 0.7) = 1/3
    first = 0.1 + 0.2 * 4.0 + 0.5 / 3
    expected = [first, first, 0.1 + 0.2 * 1.0 + 0.5 * first]
    np.testing.assert_allclose(row(garch_variance(col("r"), 0.1, 0.2, 0.5), r=[2.0, NAN, -1.0]), expected, rtol=1e-14)


def test_indicators_inside_and_around_a_scan():
    x = np.random.default_rng(8).normal(0, 1, 60)
    twice = scan(lambda s, v: 0.5 * s + v - sma(col("x"), 3), 0.0, prev(ema(col("x"), param("n"))))
    outer = sma(twice * param("k"), param("m"))
    lanes = {"n": np.array([4.0, 6.0]), "k": np.array([2.0, 3.0]), "m": np.array([5.0, 2.0])}
    family = RowWriter({"x": x}, host(numpy_executor.run)).family(outer, lanes)
    assert warm_up(outer, lanes) == 6 + 4
    for lane in range(2):
        inner = pd.Series(x).ewm(span=lanes["n"][lane], adjust=False).mean().shift() - pd.Series(x).rolling(3).mean()
        state, states = NAN, []
        for value in inner:
            state = 0.5 * (0.0 if not states else state) + value
            states.append(state)
        assert np.isnan(states[0]) and np.all(np.isnan(family.matrix[:, family.index[lane]]))  # NaN is data: it stays
    clean = scan(lambda s, v: where(isnan(v), s, 0.5 * s + v), 0.0, prev(ema(col("x"), param("n"))))
    family = RowWriter({"x": x}, host(numpy_executor.run)).family(sma(clean * param("k"), param("m")), lanes)
    for lane in range(2):
        state, states = 0.0, []
        for value in pd.Series(x).ewm(span=lanes["n"][lane], adjust=False).mean().shift():
            state = state if np.isnan(value) else 0.5 * state + value
            states.append(state * lanes["k"][lane])
        expected = pd.Series(states).rolling(int(lanes["m"][lane])).mean()
        np.testing.assert_allclose(family.matrix[:, family.index[lane]], expected, rtol=1e-12)


def test_what_is_built_alike_is_computed_once():
    programs = []

    def counting(program, *arguments):
        programs.append(program)
        return numpy_executor.run(program, *arguments)

    x = np.arange(20.0)
    twice = sma(ema(col("x"), param("n")) - 1.0, 3) + sma(ema(col("x"), param("n")) - 1.0, 3)
    found = RowWriter({"x": x}, host(counting)).family(sma(twice, 1), {"n": np.array([3.0, 5.0])})
    assert len(programs) == 3  # the average, what is averaged again, and the sum
    expected = 2 * (pd.Series(x).ewm(span=5, adjust=False).mean() - 1.0).rolling(3).mean()
    np.testing.assert_allclose(found.matrix[:, 1], expected, rtol=1e-12)


def test_a_strategy_travels_to_another_process(same_bits):
    node = sma(scan(local_level(param("q"), 2.0), Local(10.0, 1.0), col("x")), param("n"))
    sent = pickle.loads(pickle.dumps(node))
    lanes, x = {"q": np.array([0.1, 0.5]), "n": np.array([2.0, 3.0])}, np.arange(9.0)
    both = [RowWriter({"x": x}, host(numpy_executor.run)).family(item, lanes).matrix for item in (node, sent)]
    assert same_bits(both[0], both[1]) and repr(sent) == repr(node)


def _branching(state, x):
    return state if x > 0 else x


@pytest.mark.parametrize(
    ("misuse", "remedy"),
    [
        (lambda: lag(col("a"), -1), r"lag\(x, -1\): a lead would read bars of the future"),
        (lambda: prev(col("a"), -2), r"a lead would read bars of the future"),
        (lambda: lag(col("a"), 1.5), r"must be a whole number >= 0"),
        (lambda: lag(col("a"), col("b")), r"its window col\('b'\) reads col\('b'\)"),
        (lambda: col("a") ** 2, r"write x \* x"),
        (lambda: 2 ** col("a"), r"exp\(x \* log\(base\)\)"),
        (lambda: col("a") // 2, r"floor\(a / b\)"),
        (lambda: col("a") % 2, r"a - b \* floor\(a / b\)"),
        (lambda: 2 % col("a"), r"a - b \* floor\(a / b\)"),
        (lambda: 2 // col("a"), r"floor\(a / b\)"),
        (lambda: divmod(col("a"), 2), r"floor\(a / b\) and"),
        (lambda: (col("a") > 1) ^ (col("b") > 1), r"\(a & ~b\) \| \(~a & b\)"),
        (lambda: True ^ (col("b") > 1), r"\(a & ~b\) \| \(~a & b\)"),
        (lambda: round(col("a"), 2), r"floor\(x / tick \+ 0\.5\) \* tick"),
        (lambda: min(col("a"), 1.0), r"`min\(a, b\)`, `max\(a, b\)` of kernels\.expressions"),
        (lambda: np.sqrt(col("a")), r"given to numpy's sqrt: write sqrt\(x\)"),
        (lambda: np.maximum(col("a"), 0.0), r"write max\(a, b\)"),
        (lambda: np.sin(col("a")), r"numpy's sin: use the words"),
        (lambda: np.where(col("a") > 0, 1.0, 0.0), "made an array: use where"),
        (lambda: np.arange(3.0) * col("a"), "ndarray .* cannot stand in an expression"),
        (lambda: np.add.reduce(col("a")), "numpy's add"),
        (lambda: col("a").shift(1), r"is no Series and has no \.shift: write lag\(x, n\)"),
        (lambda: col("a").rolling(5), r"write sma\(x, n\)"),
        (lambda: f"{col('a'):.2f}", "formatted with '.2f'"),
        (lambda: scan(lambda s, x: np.maximum(s, x), 0.0, col("a")), r"numpy's maximum"),
        (lambda: scan(_branching, 0.0, col("a")), r"`where\(condition, x, y\)` for `if`"),
        (lambda: scan(lambda s, x: (s, x), 0.0, col("a")), r"in the form of init=0.0"),
        (lambda: scan(lambda s: s[0], (0.0, 1.0)), r"in the form of init"),
        (lambda: scan(lambda s: {"b": s["a"]}, {"a": 0.0}), r"in the form of init"),
        (lambda: scan(lambda s: s, ()), r"not empty"),
        (lambda: scan(lambda s, x: x > s, 0.0, col("a")), r"a state is the condition .* write where"),
        (lambda: scan(lambda s, x: s + hold() * x, 0.0, col("a")), r"the step reads hold\(\)"),
        (lambda: scan(lambda s, x: sma(s, 3) + x, 0.0, col("a")), r"reads a scan's state"),
        (lambda: scan(lambda s, x: prev(s) + x, 0.0, col("a")), r"prev of a scan's state"),
        (lambda: scan(lambda s, x: scan(lambda u: u + s, 0.0) + x, 0.0, col("a")), r"put both states into one step"),
        (lambda: scan(lambda s, x: s + x, col("b"), col("a")), r"read col\('b'\); they are known before the first bar"),
        (lambda: ema(col("a"), 3, seed="mid"), r"use 'first' or 'mean'"),
        (lambda: bars_since(col("a")), r"not a condition; compare it"),
    ],
)
def test_misuse_teaches(misuse, remedy):
    with pytest.raises(ExpressionError, match=remedy):
        misuse()


def test_numpys_numbers_stand_in_expressions_like_pythons():
    x = col("x")
    found = [np.float64(2.0) * x, np.float32(2.0) * x, np.int64(2) * x, x * np.float64(2.0)]
    assert [repr(one) for one in found] == [*3 * ["(2.0 * col('x'))"], "(col('x') * 2.0)"]
    assert repr(np.float64(1.0) < x) == "(1.0 < col('x'))" and repr(np.bool_(True) & (x > 1)) == "(True & (col('x') > 1.0))"
    assert +x is x and repr(hold()) == "hold()"
    with pytest.raises(AttributeError, match="no attribute 'x'"):
        x.x  # noqa: B018
