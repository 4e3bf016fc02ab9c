"""Sums over blocks of sessions: by hand from traces, on every executor's bits, without a trace in what is not asked."""

import functools
import math

import numpy as np
import pytest

from kernels.block_sums import block_edges
from kernels.executor import host
from kernels.expressions import col, param, where
from kernels.metrics import MetricError, reads
from kernels.preparation import SweepError
from kernels.simulation import account_graph
from kernels.strategies import ema_cross, zscore_reversion
from kernels.strategy import Strategy
from kernels.sweep import sweep
from kernels.trace import pruned, without_outputs
from tests.kernels.host_shim import run_text
from training.overfitting import block_sums, probability_of_backtest_overfitting

GRID = {"window": [5, 9, 14], "entry": [0.8, 1.3, 2.0], "exit": [-0.2, 0.4]}
WINDOWS = [(30, 390), (105, 390)]


@pytest.fixture(scope="module")
def bars(random_bars):
    return random_bars(3, bars=400, session_bars=10, rolls=1, masks=4)


@pytest.fixture(scope="module")
def result(bars, contract):
    return sweep(
        zscore_reversion(), bars, instrument=contract, grid=GRID, executor="numpy", windows=WINDOWS, blocks=4
    )  # fmt: skip


def session_returns(result, row: int) -> np.ndarray:
    profit = result.sessions(row)["profit"].to_numpy()
    return profit / np.concatenate([[100_000.0], 100_000.0 + np.cumsum(profit)[:-1]])


@pytest.mark.parametrize("window", [0, 1])
def test_sums_are_those_of_the_session_returns(result, window):
    found = result.session_sums(window)
    returns = np.array([session_returns(result, window * 18 + place) for place in range(18)])
    sums, squares, counts = block_sums(returns, 4)
    assert found.counts.tolist() == counts.tolist()
    np.testing.assert_allclose(found.sums, sums, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.squares, squares, rtol=1e-9, atol=1e-18)
    assert 0.0 <= probability_of_backtest_overfitting(found.sums, found.squares, found.counts).probability <= 1.0


def test_the_metrics_do_not_change_and_the_sums_are_theirs(result, bars, contract, same_bits):
    plain = sweep(zscore_reversion(), bars, instrument=contract, grid=GRID, executor="numpy", windows=WINDOWS)
    assert same_bits(plain.table, result.table)
    with pytest.raises(MetricError, match="kept no sums over blocks: give it blocks=16"):
        plain.session_sums()
    with pytest.raises(IndexError, match="window 2"):
        result.session_sums(2)
    found = result.session_sums(1)
    n = found.counts.sum()
    mean = found.sums.sum(axis=1) / n
    spread = (found.squares.sum(axis=1) - n * mean**2) / (n - 1)
    table = result.table["sharpe"].to_numpy()[18:]
    traded = ~np.isnan(table)
    assert traded.sum() > 9 and not found.squares[~traded].any()
    sharpe = mean[traded] / np.sqrt(spread[traded]) * math.sqrt(result.profile["periods_per_year"])
    np.testing.assert_allclose(sharpe, table[traded], rtol=1e-9)


@pytest.mark.parametrize("row_bytes", [2**29, 1])
def test_cpu_and_chunks_give_the_same_bits(result, bars, contract, program_cache, same_bits, row_bytes):
    other = sweep(
        zscore_reversion(), bars, instrument=contract, grid=GRID, executor="cpu", windows=WINDOWS, blocks=4,
        cache=program_cache, threads=2, row_bytes=row_bytes,
    )  # fmt: skip
    assert (other.profile["chunks"] > 1) == (row_bytes == 1)
    for window in (0, 1):
        one, two = result.session_sums(window), other.session_sums(window)
        assert same_bits(one.sums, two.sums) and same_bits(one.squares, two.squares)
        assert one.counts.tolist() == two.counts.tolist()


def test_the_cuda_text_gives_the_same_bits(result, bars, contract, tmp_path, same_bits):
    execute = functools.partial(run_text, tmp_path)
    plan = result._plan.__class__(**{**vars(result._plan), "execute": execute, "device": host(execute)})
    lanes = {name: np.asarray(values) for name, values in result._lanes.items()}
    for window, totals in enumerate(plan.totals(sorted(reads(["sharpe"])), lanes, 18, 4)):
        sums, counts = totals.blocks
        one = result.session_sums(window)
        assert same_bits(one.sums.T, sums[0]) and same_bits(one.squares.T, sums[1])
        assert counts.tolist() == one.counts.tolist()


def test_the_program_has_them_only_where_asked(result):
    graph = without_outputs(account_graph(zscore_reversion(), result._plan.conditions))
    states = pruned(graph, frozenset(reads(["sharpe"]))).following
    assert not {"block_sum", "block_squares"} & set(states)


def test_who_never_trades_has_sums_of_zero(bars, contract):
    idle = Strategy("idle", where(col("close") > param("level"), 0.0, 0.0))
    found = sweep(idle, bars, instrument=contract, grid={"level": [1.0, 2.0]}, executor="numpy", blocks=4).session_sums()
    assert found.sums.shape == (2, 4) and not found.sums.any() and not found.squares.any()


def test_returns_a_bar_have_blocks_of_bars(bars, contract):
    options = {"instrument": contract, "grid": {"fast": [3], "slow": [8]}, "executor": "numpy", "returns": "bar"}
    found = sweep(ema_cross(), bars, windows=[(50, 150)], blocks=8, **options)
    equity = found.trace(0)["equity"].to_numpy()[49:150].copy()
    equity[0] = 100_000.0
    returns = equity[1:] / equity[:-1] - 1.0
    sums, squares, counts = block_sums(returns[np.newaxis], 8)
    np.testing.assert_allclose(found.session_sums().sums, sums, rtol=1e-7, atol=1e-14)
    np.testing.assert_allclose(found.session_sums().squares, squares, rtol=1e-7, atol=1e-17)
    assert found.session_sums().counts.tolist() == counts.tolist()


def test_edges_by_hand():
    ends = np.zeros(12, dtype=bool)
    ends[[1, 3, 4, 7, 9, 11]] = True
    assert [part.tolist() if hasattr(part, "tolist") else part for part in block_edges(ends, (0, 12), 3)] == [
        [4, 8, 12], [2, 2, 2],
    ]  # fmt: skip
    assert block_edges(ends, (2, 12), 2)[0] == [5, 12]
    with pytest.raises(MetricError, match="blocks=4: 6 return periods are too few for 4 blocks: give at least 8"):
        block_edges(ends, (0, 12), 4)


def test_what_cannot_be_kept_is_refused(bars, contract):
    options = {"instrument": contract, "grid": GRID, "executor": "numpy", "windows": WINDOWS}
    with pytest.raises(MetricError, match="36 return periods are too few for 20 blocks"):
        sweep(zscore_reversion(), bars, blocks=20, **options)
    with pytest.raises(SweepError, match="blocks=0"):
        sweep(zscore_reversion(), bars, blocks=0, **options)
    with pytest.raises(SweepError, match="of two precisions"):
        sweep(zscore_reversion(), bars, blocks=4, **{**options, "executor": "cuda"}, precision="mixed")
