"""Indicators and strategies of the language give the same bits on numpy, on cpu and by the CUDA text."""

import functools

import numpy as np
import pytest

from kernels import indicators as ours
from kernels import numpy_executor
from kernels.cpu_executor import CpuExecutor
from kernels.executor import host
from kernels.expressions import col, exp, isnan, log, param, scan, where
from kernels.hoisting import hoist
from kernels.program_inputs import Input
from kernels.rows import RowWriter
from kernels.trace import trace
from kernels.values import exponent, scale
from tests.kernels.host_shim import run_text
from tests.kernels.programs import inputs_of
from tests.kernels.shipped import CASES, same_tables

H, L, C, V, N = col("high"), col("low"), col("close"), col("volume"), param("n")


def states(state, x):
    """Two states that feed each other through exp and log."""
    fast, slow = state
    fast = where(isnan(x), fast, fast + (x - fast) * exp(-N / 10.0))
    return fast, where(fast > slow, slow + log(1.0 + fast - slow), fast)


FAMILIES = {
    "ema": ours.ema(C, N),
    "ema of log, mean seed": ours.ema(log(C) * N, N, "mean"),
    "halflife": ours.ema_halflife(C, N),
    "adx": ours.adx(H, L, C, N),
    "rsi of a spread": ours.rsi(C - ours.wma(L, N), 5),
    "kama": ours.kama(C, N),
    "obv": ours.obv(C, V) * N,
    "anchored": ours.anchored_vwap(C, V, where(C > N, 1.0, 0.0)),
    "kalman": ours.kalman_level(C, N, 2.0),
    "garch": ours.garch_variance(C / 50.0 - 2.0, 0.1, 1.0 / (N + 3.0), 0.3),
    "bars_since": ours.bars_since(ours.cross_below(C, ours.sma(C, N))),
    "custom": scan(states, (100.0, N), ours.ffill(C)),
    "windows": ours.rolling_corr(C, V, N) + ours.mean_deviation(C, N) * ours.linreg_slope(C, N),
    "order": ours.rolling_rank(C, N) - ours.rolling_median(C, N) / ours.rolling_var(C, N),
}


@pytest.fixture(scope="module")
def market():
    draw = np.random.default_rng(17)
    close = 100.0 + np.cumsum(draw.normal(0, 1, 90))
    close[[0, 30, 31]] = np.nan
    columns = {"close": close, "high": close + 0.5, "low": close - draw.uniform(0, 1, 90), "volume": np.arange(90.0)}
    return {**columns, Input.TIME: np.arange(90) * 10**9}


@pytest.mark.parametrize("name", FAMILIES)
def test_families_have_the_same_bits(name, market, program_cache, same_bits, shim_folder):
    node = ours.sma(FAMILIES[name], 1)  # of one bar: the expression as a family
    lanes = {"n": np.array([3.0, 7.0, 4.0])}
    execute = functools.partial(run_text, shim_folder)
    devices = [host(numpy_executor.run), host(CpuExecutor(1, program_cache).run), host(execute)]
    found = [RowWriter(market, device).family(node, lanes).matrix for device in devices]
    assert np.isfinite(found[0]).any()
    canonical = [np.where(np.isnan(matrix), np.nan, matrix) for matrix in found]
    assert same_bits(canonical[1], canonical[0]) and same_bits(canonical[2], canonical[0])


def test_exponents_and_scales_have_the_same_bits(program_cache, same_bits):
    # any bits at all, and scales that end among the subnormal numbers, where only one rounding gives the right ones
    draw, count = np.random.default_rng(18), 40_000
    x = draw.integers(-(2**63), 2**63, count, dtype=np.int64).view(np.float64)
    k = np.where(draw.random(count) < 0.5, draw.integers(-2300, 2300, count), draw.uniform(-2300, 2300, count))
    small = np.arange(0, count, 2)
    x[small] = draw.uniform(1, 2, len(small)) * 2.0 ** draw.integers(-300, 300, len(small))
    k[small] = draw.integers(-1080, -1010, len(small)) - np.floor(np.log2(x[small]))
    x[:8], k[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.0, 1.0], [3, -3, -np.inf, np.inf, 1, 1074, np.nan, -1074]
    outputs = {"e": exponent(col("x") + 0.0 * param("n")), "s": scale(col("x"), col("k") * param("n"))}
    hoisted = hoist(trace(lambda states: ({}, outputs), {}))
    inputs = inputs_of(hoisted, {"x": x, "k": k}, {"n": np.ones(1)}, 1)
    found = [execute(hoisted.program, inputs, 0, count, np.empty((0, 1))).outputs
             for execute in (numpy_executor.run, CpuExecutor(1, program_cache).run)]  # fmt: skip
    assert same_bits(found[1], found[0])
    finite = np.isfinite(found[0][1]) & (found[0][1] != 0.0) & (np.abs(found[0][1]) < 2.3e-308)
    assert finite.sum() > 10_000 and found[0][1, 5, 0] == 1.0 and found[0][1, 7, 0] == 5e-324


@pytest.mark.parametrize("case", [case for case in CASES if case.strategy in ("kalman_surface", "oscillators")],
                         ids=lambda case: case.name)  # fmt: skip
def test_sweeps_have_the_same_bits_and_trade(case, program_cache):
    table = case.run().table
    assert same_tables(case.run("cpu", cache=program_cache, threads=2).table, table)
    assert (table["trades"] > 0).all() and table["total_return"].nunique() > 1
    small = case.run(row_bytes=1)  # a chunk a lane
    assert same_tables(small.table, table) and small.profile["chunks"] == len(table)
