"""Sweeps of the flow: what chunks keep says of the whole what the whole table says, however it is cut and joined."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.execution import Costs, Execution, Instrument
from kernels.grid import GridError, combinations
from kernels.sampling import random_combinations, sobol_combinations
from kernels.strategies import STRATEGIES
from kernels.sweep import sweep, warm_up
from pipelines.steps import searching
from pipelines.steps.searching import numbered, sweep_search
from pipelines.steps.selecting import selection_overfitting
from pipelines.steps.sweep_summary import CELLS, NUMBER, bucket, joined, median, middle, summary
from pipelines.steps.sweeping import METRICS, SweepChunk, blocks_of, strategy_ranking, sweep_chunk
from tests.pipelines.steps.test_evaluating import bars
from training.folds import Fold
from training.overfitting import block_sums, probability_of_backtest_overfitting

FOLD = Fold(0, (0, 150), (160, 1_100), (1_110, 1_195))  # validation: 19 sessions, of which two are cut
TRADING = (Instrument("ES", 0.25, 50.0, fee_per_contract=2.10), Costs(slippage_ticks=1.0), Execution(), 100_000.0)
GRID = {"slow": (9.0, 14.0, 30.0, 45.0), "fast": (3.0, 5.0, 12.0, 20.0)}
NAME = "ema_cross"


def chunks(search, size: int, rank_by: str = "sharpe", keep: int = 100) -> list[SweepChunk]:
    return [
        sweep_chunk(bars(), FOLD, search, NAME, chunk, GRID, rank_by, keep, size, *TRADING, "cpu", False)
        for chunk in range(-(-search.size // size))
    ]


@pytest.fixture(scope="module")
def whole():
    contract, costs, execution, capital = TRADING
    return sweep(
        STRATEGIES[NAME](), bars().iloc[: FOLD.validation[1]], instrument=contract, costs=costs, execution=execution,
        capital=capital, grid=GRID, windows=[FOLD.validation], metrics=METRICS, executor="numpy", blocks=8,
    )  # fmt: skip


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_a_ranking_of_chunks_is_that_of_the_whole_sweep(whole, size):
    search = sweep_search(NAME, GRID, "grid", 0, seed=0, judged=1_000)
    assert (search.size, search.combinations, search.start) == (16, len(whole.table), whole.start)
    ranking = strategy_ranking(chunks(search, size), search, NAME, "sharpe", 100)
    order = whole.ranking("sharpe")
    pd.testing.assert_frame_equal(
        ranking.table.drop(columns=NUMBER), whole.table.iloc[order].reset_index(drop=True), check_exact=True
    )
    numbers = [n for n in range(16) if GRID["fast"][n % 4] < GRID["slow"][n // 4]]
    assert ranking.table[NUMBER].tolist() == [numbers[row] for row in order]
    assert ranking.best == {name: whole.best("sharpe")[name] for name in ("fast", "slow")}
    assert (ranking.trials, ranking.undefined) == (len(whole.table), int(whole.table["sharpe"].isna().sum()))
    assert ranking.positive == int((whole.table["sharpe"] > 0).sum())
    assert ranking.median == pytest.approx(whole.table["sharpe"].median(), rel=1e-3)
    sums = whole.session_sums()
    assert np.array_equal(ranking.sums, sums.sums) and np.array_equal(ranking.squares, sums.squares)
    assert np.array_equal(ranking.counts, sums.counts) and ranking.counts.sum() == 19
    found = selection_overfitting(ranking)
    expected = probability_of_backtest_overfitting(sums.sums, sums.squares, sums.counts)
    assert (found.probability, found.loss, found.halves) == (expected.probability, expected.loss, math.comb(8, 4))
    assert (found.judged, found.combinations, found.sessions, found.reason) == (13, 13, 19, None)


def test_only_the_best_stay_and_less_can_be_better(whole):
    search = sweep_search(NAME, GRID, "grid", 0, seed=0, judged=5)
    parts = chunks(search, 4, "turnover", keep=2)
    assert all(len(part.summary.best) <= 2 for part in parts)
    ranking = strategy_ranking(parts, search, NAME, "turnover", 2)
    assert ranking.table["turnover"].tolist() == np.sort(whole.table["turnover"])[:2].tolist()
    assert not ranking.more_is_better and ranking.trials == 13 and len(ranking.sums) == 5
    rows = [n for n in range(16) if GRID["fast"][n % 4] < GRID["slow"][n // 4]]
    judged = [rows.index(number) for number in search.judged]
    assert np.array_equal(ranking.sums, whole.session_sums().sums[judged])
    found = selection_overfitting(ranking)
    assert (found.judged, found.combinations) == (5, 13)
    with pytest.raises(ValueError, match=r"\d combinations were scored of 13 searched"):
        strategy_ranking([part for part in parts if part.summary.combinations != 4], search, NAME, "turnover", 2)


def test_a_metric_beside_the_reported_ones_ranks_too():
    search = sweep_search(NAME, GRID, "grid", 0, seed=0, judged=5)
    ranking = strategy_ranking(chunks(search, 100, "omega"), search, NAME, "omega", 3)
    assert ranking.table["omega"].is_monotonic_decreasing and len(ranking.table) == 3


def test_too_few_sessions_have_no_probability():
    assert [blocks_of(sessions) for sessions in (11, 12, 15, 16, 18, 31, 32, 500)] == [0, 6, 6, 8, 8, 14, 16, 16]
    search = sweep_search(NAME, GRID, "grid", 0, seed=0, judged=50)
    short = Fold(0, (0, 150), (160, 600), (610, 700))
    parts = [sweep_chunk(bars(), short, search, NAME, 0, GRID, "sharpe", 9, 99, *TRADING, "cpu", False)]
    found = selection_overfitting(strategy_ranking(parts, search, NAME, "sharpe", 9))
    assert found.probability is None and found.reason == "the validation rows hold fewer than 12 sessions"
    assert found.combinations == 13


@pytest.mark.parametrize(("search", "draw"), [("random", random_combinations), ("sobol", sobol_combinations)])
def test_a_sample_is_drawn_once_and_counted_as_drawn(search, draw):
    found = sweep_search(NAME, GRID, search, 7, seed=3, judged=1_000)
    expected = draw(STRATEGIES[NAME](), GRID, 7, 3)
    assert found.table.equals(expected) and (found.size, found.combinations) == (7, 7)
    assert found.words == f"7 {search} combinations (seed 3) of a grid of 16"
    assert found.start == warm_up(STRATEGIES[NAME](), expected) and found.judged.tolist() == list(range(7))
    parts = [numbered(NAME, GRID, found.table, low, min(low + 3, 7)) for low in (0, 3, 6)]
    assert pd.concat([part[1] for part in parts], ignore_index=True).equals(expected)
    one, two = (strategy_ranking(chunks(found, size), found, NAME, "sharpe", 3) for size in (2, 99))
    assert one.table.equals(two.table) and one.trials == two.trials == 7 and np.array_equal(one.sums, two.sums)
    assert not sweep_search(NAME, GRID, search, 7, seed=4, judged=9).table.equals(expected)
    with pytest.raises(GridError, match="14 are asked for"):
        sweep_search(NAME, GRID, search, 14, seed=3, judged=9)


def test_the_judged_are_drawn_evenly_from_those_that_are_tried(monkeypatch):
    monkeypatch.setattr(searching, "BLOCK", 5)  # the draw does not depend on how the grid is enumerated
    allowed = [n for n in range(16) if GRID["fast"][n % 4] < GRID["slow"][n // 4]]
    counts = dict.fromkeys(allowed, 0)
    for seed in range(100):
        drawn = sweep_search(NAME, GRID, "grid", 0, seed, judged=3).judged.tolist()
        assert drawn == sorted(set(drawn)) and len(drawn) == 3
        for number in drawn:
            counts[number] += 1
    assert min(counts.values()) > 8 and max(counts.values()) < 40  # 23 each expected, standard deviation 4.2
    monkeypatch.setattr(searching, "BLOCK", 2**17)
    assert sweep_search(NAME, GRID, "grid", 0, 99, judged=3).judged.tolist() == drawn
    assert len(combinations(GRID, STRATEGIES[NAME]())) == len(allowed)


finite = st.floats(allow_nan=False, allow_infinity=False)
rows = st.lists(st.tuples(st.floats(width=32), st.sampled_from([1.0, 2.0, 3.0]), st.sampled_from([4.0, 5.0])), min_size=1)


@settings(deadline=None, max_examples=60)
@given(rows, st.data())
def test_joins_do_not_depend_on_the_cuts_nor_on_the_order(found, data):
    table = pd.DataFrame(found, columns=["sharpe", "x", "y"])[["x", "y", "sharpe"]]
    table.insert(0, NUMBER, np.arange(len(table)))
    keep = data.draw(st.integers(1, 6))

    def said(part):
        return summary(part.reset_index(drop=True), ("x", "y"), [(1.0, 2.0, 3.0), (4.0, 5.0)], "sharpe", keep)

    cuts = sorted(data.draw(st.lists(st.integers(0, len(table)), max_size=4)))
    parts = [said(table.iloc[a:b]) for a, b in zip([0, *cuts], [*cuts, len(table)], strict=True)]
    shuffled = data.draw(st.permutations(parts))
    split = data.draw(st.integers(0, len(parts)))
    nested = [joined(group, "sharpe", keep) for group in (shuffled[:split], shuffled[split:]) if group]
    expected = said(table)
    for together in (joined(shuffled, "sharpe", keep), joined(nested, "sharpe", keep)):
        for name in ("best", "values", "sharpes", "cells"):
            pd.testing.assert_frame_equal(getattr(together, name), getattr(expected, name), check_exact=True)
        for name in ("combinations", "undefined", "positive"):
            assert getattr(together, name) == getattr(expected, name)


def test_t14_what_never_lost_ranks_first_and_what_never_traded_nowhere():
    factors = [0.5, np.nan, 3.0, np.inf, np.inf]
    table = pd.DataFrame({NUMBER: range(5), "x": [1.0, 1.0, 2.0, 2.0, 3.0], "profit_factor": factors})
    parts = [
        summary(table.iloc[rows].reset_index(drop=True), ("x",), [(1.0, 2.0, 3.0)], "profit_factor", 3)
        for rows in (slice(0, 2), slice(2, 5))
    ]
    whole = joined(parts, "profit_factor", 3)
    assert whole.best[NUMBER].tolist() == [3, 4, 2]
    assert (whole.combinations, whole.undefined, whole.positive) == (5, 1, 4)
    assert whole.cells["value"].tolist() == [0.5, np.inf, np.inf]
    values = table["profit_factor"].dropna().to_numpy()
    assert middle(bucket(values))[-2:].tolist() == [np.inf, np.inf]
    assert median(whole.values) == np.inf  # of 0.5, 3 and two that never lost


@given(st.lists(finite, min_size=1))
def test_buckets_keep_the_order_and_a_thousandth(values):
    array = np.sort(np.array(values))
    buckets = bucket(array)
    assert (np.diff(buckets) >= 0).all()
    normal = np.abs(array) > 1e-300
    np.testing.assert_allclose(middle(buckets)[normal], array[normal], rtol=5e-4)
    assert bucket(np.array([0.0, -0.0])).tolist() == [0, 0] and middle(np.array([0])).tolist() == [0.0]


def test_the_median_of_counts_by_hand():
    assert math.isnan(median(pd.DataFrame({"bucket": np.empty(0, np.int64), "count": np.empty(0, np.int64)})))
    found, counts = np.unique(bucket(np.array([1.0, 1.0, 2.0, 8.0])), return_counts=True)
    assert median(pd.DataFrame({"bucket": found, "count": counts})) == pytest.approx(1.5, rel=5e-4)


def test_neighbouring_values_of_a_fine_axis_share_a_cell():
    axis = tuple(float(n) for n in range(250))
    table = pd.DataFrame({NUMBER: np.arange(250), "p": axis, "sharpe": np.arange(250) % 7.0})
    cells = summary(table, ("p",), [axis], "sharpe", 1).cells
    assert len(cells) == CELLS and cells["x"].is_monotonic_increasing and (cells["y"] == 0.0).all()
    edges = [*cells["x"], 250.0]
    for low, high, value in zip(edges[:-1], edges[1:], cells["value"], strict=True):
        inside = table[(table["p"] >= low) & (table["p"] < high)]
        assert len(inside) in (2, 3) and value == inside["sharpe"].max()


def test_the_sums_that_are_judged_are_of_session_returns(whole):
    profit = np.stack([whole.sessions(row)["profit"].to_numpy() for row in range(len(whole.table))])
    before = 100_000.0 + np.cumsum(profit, axis=1) - profit
    sums, _, counts = block_sums(profit / before, 8)
    np.testing.assert_allclose(whole.session_sums().sums, sums, rtol=1e-9, atol=1e-12)
    assert counts.tolist() == whole.session_sums().counts.tolist()
