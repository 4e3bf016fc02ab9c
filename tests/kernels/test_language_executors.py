"""Indicators and strategies of the language give the same bits on numpy, on cpu and by the CUDA text."""

import functools

import numpy as np
import pytest

from kernels import indicators as ours
from kernels import numpy_executor
from kernels.cpu_executor import CpuExecutor
from kernels.executor import host
from kernels.expressions import col, exp, isnan, log, param, scan, where
from kernels.rows import RowWriter
from kernels.windowed import TIME
from tests.kernels.host_shim import run_text
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
    return {**columns, TIME: np.arange(90) * 10**9}


@pytest.mark.parametrize("name", FAMILIES)
def test_families_have_the_same_bits(name, market, program_cache, same_bits, tmp_path_factory):
    node = ours.sma(FAMILIES[name], 1)  # of one bar: the expression as a family
    lanes = {"n": np.array([3.0, 7.0, 4.0])}
    execute = functools.partial(run_text, tmp_path_factory.getbasetemp())
    devices = [host(numpy_executor.run), host(CpuExecutor(1, program_cache).run), host(execute)]
    found = [RowWriter(market, device).family(node, lanes).matrix for device in devices]
    assert np.isfinite(found[0]).any()
    canonical = [np.where(np.isnan(matrix), np.nan, matrix) for matrix in found]
    assert same_bits(canonical[1], canonical[0]) and same_bits(canonical[2], canonical[0])


@pytest.mark.parametrize("case", [case for case in CASES if case.strategy in ("kalman_surface", "oscillators")],
                         ids=lambda case: case.name)  # fmt: skip
def test_sweeps_have_the_same_bits_and_trade(case, program_cache):
    table = case.run().table
    assert same_tables(case.run("cpu", cache=program_cache, threads=2).table, table)
    assert (table["trades"] > 0).all() and table["total_return"].nunique() > 1
    small = case.run(row_bytes=1)  # a chunk a lane
    assert same_tables(small.table, table) and small.profile["chunks"] == len(table)
