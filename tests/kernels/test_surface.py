"""Heat maps, neighbours, stability, pictures and files, each against values got by hand."""

import numpy as np
import pandas as pd
import pytest

from kernels.metrics import MetricError
from kernels.plots import plot_heat_map, plot_parallel, plot_stability
from kernels.result_file import read_parquet, write_parquet
from kernels.strategies import ema_cross, zscore_reversion
from kernels.sweep import sweep

GRID = {"window": [5, 9, 14], "entry": [0.8, 1.3, 2.0], "exit": [-0.2, 0.4]}


@pytest.fixture(scope="module")
def result(random_bars, contract):
    return sweep(
        zscore_reversion(), random_bars(3, bars=400, session_bars=10, rolls=1), instrument=contract, grid=GRID,
        executor="numpy", windows=[(30, 390), (100, 390)],
    )  # fmt: skip


def test_a_heat_map_holds_the_best_over_the_other_parameters(result):
    first = result.table[result.table["scored_window"] == 0]
    for metric, best in (("net_profit", max), ("fees", min)):
        grid = result.heat_map("entry", "exit", metric)
        assert list(grid.columns) == [0.8, 1.3, 2.0] and list(grid.index) == [-0.2, 0.4]
        for entry in grid.columns:
            for leave in grid.index:
                rows = first[(first["entry"] == entry) & (first["exit"] == leave)]
                assert grid.loc[leave, entry] == best(rows[metric])
    with pytest.raises(MetricError, match="'slow' is no parameter of the sweep: it has window, entry, exit"):
        result.heat_map("slow", "entry", "sharpe")
    with pytest.raises(MetricError, match="'window' against itself"):
        result.heat_map("window", "window", "sharpe")
    with pytest.raises(MetricError, match="metric 'shrape' is not in the table"):
        result.heat_map("window", "entry", "shrape")


def test_a_cell_no_combination_stands_in_is_empty(random_bars, contract):
    grid = {"fast": [3, 6, 9], "slow": [5, 8, 12]}
    found = sweep(ema_cross(), random_bars(1, bars=80), instrument=contract, grid=grid, executor="numpy")
    cells = found.heat_map("fast", "slow", "final_equity")
    assert cells.isna().to_numpy().tolist() == [[False, True, True], [False, False, True], [False, False, False]]


def test_neighbours_are_one_step_along_one_parameter(result):
    row = 1 * 6 + 1 * 2 + 0  # window 9, entry 1.3, exit -0.2: the last axis is fastest
    beside = result.neighbours(row)
    assert beside[["row", "parameter", "step"]].to_numpy().tolist() == [
        [row - 6, "window", -1], [row + 6, "window", 1], [row - 2, "entry", -1], [row + 2, "entry", 1],
        [row + 1, "exit", 1],
    ]  # fmt: skip
    assert beside["sharpe"].equals(result.table["sharpe"].iloc[beside["row"]].reset_index(drop=True))
    later = result.neighbours(18 + row)
    assert later["row"].tolist() == (beside["row"] + 18).tolist()
    corner = result.neighbours(0)
    assert corner["row"].tolist() == [6, 2, 1]


def test_stability_sets_the_best_beside_their_neighbours(result):
    for metric, sign in (("net_profit", 1.0), ("fees", -1.0)):
        found = result.stability(metric, count=4)
        assert found["row"].tolist() == [row for row in result.ranking(metric).tolist() if row < 18][:4]
        for _, row in found.iterrows():
            around = result.neighbours(int(row["row"]))[metric]
            assert row["neighbours"] == len(around)
            assert row["mean"] == pytest.approx(around.mean())
            ends = (around.min(), around.max()) if sign > 0 else (around.max(), around.min())
            assert (row["worst"], row["best"]) == ends
            assert row["lead"] == pytest.approx(sign * (row[metric] - around.mean()))


def test_a_trace_sums_to_the_numbers_of_the_table(result):
    for row in (0, 5, 17, 18, 30):
        trace, table = result.trace(row), result.table.iloc[row]
        begin, stop = result.windows[row // 18]
        scored = trace.iloc[begin:stop]
        assert len(trace) == stop
        assert scored["profit"].iloc[-1] == table["gross_profit"]
        assert scored["profit"].iloc[-1] - scored["costs"].iloc[-1] == table["net_profit"]
        assert scored["equity"].iloc[-1] == table["final_equity"]
        equity = scored["equity"].to_numpy()
        assert (equity / np.maximum.accumulate(equity) - 1.0).min() == table["max_drawdown"]
        assert (scored["position"] != 0).mean() == table["exposure"]
        position = scored["position"].to_numpy()
        closed = (position[:-1] != 0) & (position[:-1] * position[1:] <= 0)
        assert closed.sum() == table["trades"]


def test_a_result_comes_back_from_its_file(result, tmp_path, same_bits):
    path = tmp_path / "sweep.parquet"
    write_parquet(result, path)
    table, note = read_parquet(path)
    assert list(table.columns) == list(result.table.columns) and same_bits(table, result.table)
    assert same_bits(pd.read_parquet(path), result.table)
    assert note["start"] == result.start and note["windows"] == [list(window) for window in result.windows]
    assert note["profile"]["executor"] == "numpy"
    assert [one.name for one in tmp_path.iterdir()] == ["sweep.parquet"]
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(ValueError, match="holds no sweep"):
        read_parquet(tmp_path / "other.parquet")


def test_pictures_show_the_numbers(result):
    cells = result.heat_map("exit", "entry", "sharpe")
    axes = plot_heat_map(cells, "sharpe")
    assert np.array_equal(axes.images[0].get_array(), cells.to_numpy())
    assert [label.get_text() for label in axes.get_xticklabels()] == ["-0.2", "0.4"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("exit", "entry")
    lines = plot_parallel(result.table.iloc[:18], ["window", "entry", "exit"], "net_profit").lines
    assert len(lines) == 18
    assert lines[-1].get_ydata()[-1] == 1.0 and lines[0].get_ydata()[-1] == 0.0  # the best is drawn last
    found = result.stability("sharpe", count=5)
    axes = plot_stability(found, "sharpe")
    assert [text.get_text() for text in axes.get_xticklabels()] == [str(row) for row in found["row"]]
    drawn = next(line for line in axes.lines if line.get_marker() == "s")
    assert drawn.get_ydata().tolist() == found["sharpe"].tolist()
    assert plot_stability(found, "sharpe", axes) is axes
    assert result.parameters == ("window", "entry", "exit")
