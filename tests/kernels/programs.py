"""Programs that try every operation: over special values, and drawn at random by hypothesis."""

import itertools

import numpy as np
from hypothesis import strategies as st

from kernels import numpy_executor
from kernels.executor import Inputs, host
from kernels.expressions import clip, col, exp, isnan, lag, log, param, prev, scan, sign
from kernels.hoisting import Hoisted, hoist
from kernels.indicators import ema, rolling_corr, rolling_median, rolling_rank, rsi, sma, wma, zscore
from kernels.opcodes import BOOL, F64, OPCODES
from kernels.rows import RowWriter, lane_values
from kernels.trace import trace
from kernels.values import Value, apply, where

SPECIAL = [
    float("nan"),
    float("inf"),
    float("-inf"),
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    2.2e-308,
    1e-308,
    1e308,
    -1e308,
    1.0,
    -1.5,
    2.5,
]


def number(value):
    return value if value.type == F64 else where(value, 1.0, 0.0)


def special_program() -> tuple[Hoisted, Inputs, np.ndarray]:
    """(program, inputs, states) over len(SPECIAL) bars and a lane a pair."""
    pairs = list(itertools.product(SPECIAL, SPECIAL))

    def step(states):
        a, b = states["a"], states["b"]
        results = {}
        for name, row in OPCODES.items():
            for place, (x, y) in enumerate([(a, b), (a, col("x")), (col("x"), b)]):
                operands = [x > y, x, y] if row.arity == 3 else [x, y][: row.arity]
                kinds = zip(operands, row.operands, strict=True)
                operands = [v > 0.0 if kind == BOOL and v.type == F64 else v for v, kind in kinds]
                results[f"{name} {place}"] = number(apply(name, *operands))
        return {"a": where(a == a, a, a), "b": where(b == b, b, b)}, results  # as they are at every bar

    hoisted = hoist(trace(step, {"a": 0.0, "b": 0.0}))
    inputs = inputs_of(hoisted, {"x": np.array(SPECIAL)}, {}, len(pairs))
    return hoisted, inputs, np.array(pairs).T.copy()


def inputs_of(hoisted, columns, lanes, count, device=None):
    """The program's inputs over columns [bars] and lanes [count]."""
    writer = RowWriter(columns, device or host(numpy_executor.run))
    bars = len(next(iter(columns.values())))
    families = [writer.family(node, lanes) for node in hoisted.families]
    rows = [writer.row(node) for node in hoisted.rows]
    return Inputs(
        rows=np.stack(rows, axis=1).astype(float) if rows else np.empty((bars, 0)),
        families=tuple(family.matrix for family in families),
        index=np.array([family.index for family in families], dtype=np.int64).reshape(-1, count),
        lanes=np.array([lane_values(node, lanes, count) for node in hoisted.lanes], dtype=float).reshape(-1, count),
        event=np.zeros(bars, dtype=bool),
    )


def decayed(state, x):
    """A scan's step with a parameter inside: NaN changes nothing."""
    return where(isnan(x), state, state * clip(param("q"), -0.9, 0.9) + x)


EXPRESSIONS = st.recursive(
    st.sampled_from(
        [
            col("x"),
            col("y"),
            prev(col("y"), 2),
            param("p"),
            param("q"),
            sma(col("x"), param("n")),
            ema(col("y"), param("n")),
            prev(zscore(col("x"), param("n"))),
            scan(decayed, param("q"), col("x") * param("p")),
            rsi(col("x") - prev(col("x")), param("n")),
            rolling_corr(col("x"), col("y"), param("n")),
            rolling_rank(lag(col("y"), param("n")), 3) - rolling_median(col("x"), param("n")),
            wma(exp(col("x") * param("q")), 3),
            Value("state", (), F64, "s"),
            where(col("x") > 0, 1.5, float("nan")),
        ]
    ),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["add", "sub", "mul", "div", "minimum", "maximum"]), inner, inner).map(
            lambda t: apply(*t)
        ),
        st.tuples(st.sampled_from(["neg", "abs", "sqrt", "floor", "trunc"]), inner).map(lambda t: apply(*t)),
        st.tuples(st.sampled_from([exp, log, sign]), inner).map(lambda t: t[0](t[1])),
        st.tuples(st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]), inner, inner, inner).map(
            lambda t: where(apply(t[0], t[1], t[2]), t[3], t[1])
        ),
        st.tuples(inner, inner, inner).map(lambda t: where(((t[0] > 0) & (t[1] != t[2])) | ~(t[2] < 1), t[0], t[1])),
    ),
    max_leaves=8,
)
