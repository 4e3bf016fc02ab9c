"""Grids, samples and choices that no memory holds are refused with the number, the memory and what to do instead."""

import numpy as np
import pandas as pd
import pytest

from kernels import choices, grid
from kernels.expressions import choice, col, hold, param, where
from kernels.grid import GridError, combinations
from kernels.indicators import ema
from kernels.sampling import Span, random_combinations, sobol_combinations
from kernels.strategies import ema_cross
from kernels.strategy import Strategy
from kernels.sweep import sweep, warm_up

FREE = Strategy("free", where(col("close") > param("a") + param("b") + param("c"), 1.0, hold()))
THOUSAND = {name: range(1000) for name in "abc"}
BILLION = r"free: combinations: 1,000,000,000 take about \d[\d,]+ GB, this machine has 16 GB: keep the best alone with top=1000"


@pytest.fixture(autouse=True)
def sixteen_gigabytes(monkeypatch):
    monkeypatch.setattr(grid, "machine_memory", lambda: 16e9)


def test_a_billion_combinations_are_refused_at_once(random_bars):
    bars = random_bars(1, bars=30)
    for given in (THOUSAND, {"a": range(1_000_000), "b": [1, 2, 3, 4], "c": range(250)}):
        with pytest.raises(GridError, match=BILLION):
            sweep(FREE, bars, grid=given, executor="numpy")
    with pytest.raises(GridError, match=BILLION):
        combinations(THOUSAND, FREE)
    with pytest.raises(GridError, match="values of the axis 'a': 1,000,000,000 take about 40 GB, this machine has 16 GB"):
        sweep(FREE, bars, grid={"a": range(10**9), "b": [1], "c": [1]}, executor="numpy", top=5)


def test_scores_windows_and_blocks_count_too(random_bars):
    bars, given = random_bars(1, bars=30), {"a": range(1000), "b": range(1000), "c": range(10)}  # 10 million: 1.4 GB
    for options in ({"windows": [(0, 20)] * 50}, {"blocks": 200}):
        with pytest.raises(GridError, match=r"combinations: 10,000,000 take about \d+ GB"):
            sweep(FREE, bars, grid=given, executor="numpy", metrics=["sharpe"], **options)
    table = pd.DataFrame({name: np.arange(100_000) for name in "abc"})
    with pytest.raises(GridError, match=r"combinations: 100,000 take about \d+ GB.*top=1000"):
        sweep(FREE, bars, grid=table, executor="numpy", windows=[(0, 20)] * 300)


def test_what_a_constraint_leaves_is_what_counts(monkeypatch):
    monkeypatch.setattr(grid, "BLOCK", 1000)
    few = Strategy("few", FREE.target, constraint=(param("a") == param("b")) & (param("c") < 3.0))
    axes = {"a": range(40), "b": range(40), "c": range(40)}
    found = combinations(axes, few)  # 64,000 in the product, 120 kept
    expected = pd.DataFrame([(a, a, c) for a in range(40) for c in range(3)], columns=list("abc"))
    pd.testing.assert_frame_equal(found, expected)
    monkeypatch.setattr(grid, "machine_memory", lambda: 120.0 * grid.combination_bytes(3))
    assert len(combinations(axes, few)) == 120
    monkeypatch.setattr(grid, "machine_memory", lambda: 119.0 * grid.combination_bytes(3))
    with pytest.raises(GridError, match="few: combinations: 120 take about"):
        combinations(axes, few)


@pytest.mark.parametrize("sample", [random_combinations, sobol_combinations])
def test_a_sample_that_no_memory_holds_is_refused(sample):
    axes = {name: Span(0.0, 1.0) for name in "abc"}
    with pytest.raises(GridError, match=r"free: combinations: 1,000,000,000 take about 136 GB, .* 16 GB: ask for fewer"):
        sample(FREE, axes, 10**9, seed=1)


def test_choices_times_a_grid_are_refused(random_bars, monkeypatch):
    bars, close = random_bars(1, bars=30), col("close")
    held = choice("side", {name: where(close > param("a"), sign, hold()) for name, sign in (("up", 1.0), ("down", -1.0))})
    strategy = Strategy("both", where(close > param("b") + param("c"), held, hold()))
    message = r"both: combinations: 1,000,000,000 take about .* GB: name fewer options, .*strategy\.chosen\(.*top=1000"
    with pytest.raises(GridError, match=message):
        sweep(strategy, bars, grid=THOUSAND, executor="numpy")
    rows = Strategy("rows", where(choice("in", {str(n): close + n for n in range(200)}) > param("a"), 1.0, hold()))
    with pytest.raises(GridError, match="rows: combinations: 200,000,000 take about"):
        sweep(rows, bars, grid={"a": range(1_000_000)}, executor="numpy")
    with pytest.raises(GridError, match="rows: combinations: 20,000,000 take about"):  # a table, crossed with the options
        sweep(rows, bars, grid=pd.DataFrame({"a": np.arange(100_000)}), executor="numpy")


def test_all_programs_together_must_fit(random_bars, monkeypatch):
    close = col("close")
    options = {str(n): where(close > param("a") + n, 1.0, hold()) for n in range(4)}
    strategy = Strategy("four", choice("in", options))
    each = 8 * 5 + grid.combination_bytes(2)
    monkeypatch.setattr(grid, "machine_memory", lambda: 350.0 * each)
    given = {"metrics": ["trades"], "executor": "numpy", "grid": {"a": range(100)}}
    with pytest.raises(GridError, match="four: combinations: 400 take about"):
        sweep(strategy, random_bars(1, bars=30), **given)
    monkeypatch.setattr(grid, "machine_memory", lambda: 400.0 * each)
    assert len(sweep(strategy, random_bars(1, bars=30), **given).table) == 400


def test_choices_that_make_too_many_programs_are_refused(random_bars, monkeypatch):
    monkeypatch.setattr(choices, "MOST_PROGRAMS", 20)
    total = 0.0
    for place in range(40):  # 2^40 programs
        sides = {"on": where(hold() > place, 1.0, 0.0), "off": where(hold() < place, 1.0, 0.0)}
        total = choice(f"axis {place}", sides) + total
    with pytest.raises(GridError, match="many: the choices make more than 20 programs, each compiled on its own: name fewer"):
        sweep(Strategy("many", total), random_bars(1, bars=30), executor="numpy")


def test_the_warm_up_of_a_large_grid_needs_no_memory(monkeypatch):
    slow = Strategy("slow", where(ema(col("close"), param("a")) > param("b") + param("c"), 1.0, 0.0))
    monkeypatch.setattr(grid, "machine_memory", lambda: 1e6)
    assert warm_up(slow, {"a": [5, 90], "b": range(1000), "c": range(100)}) == warm_up(slow, {"a": [90], "b": [0], "c": [0]})
    with pytest.raises(GridError, match="no combination fulfils"):
        warm_up(ema_cross(), {"fast": [9], "slow": [5]})


def test_where_the_system_does_not_say_its_memory_nothing_is_refused(monkeypatch):
    monkeypatch.undo()
    assert 2**28 < grid.machine_memory() < 2**60
    monkeypatch.delattr(grid.os, "sysconf")
    grid.require_memory("combinations", 10**30, 8, "none")
