"""Rankings where a metric has no number: what never lost stands above any value, what never traded nowhere."""

import math

import numpy as np
import pytest

from kernels.expressions import col, param, where
from kernels.metrics import METRICS, MetricError
from kernels.mixed import agreement
from kernels.plots import plot_heat_map, plot_parallel, plot_stability
from kernels.strategy import Strategy
from tests.kernels.paths import minutes, run

CLOSE = np.arange(100.0, 160.0)
WITHOUT_A_LOSS = ("profit_factor", "sortino", "omega", "calmar")
NAMES = (*WITHOUT_A_LOSS, "recovery_factor", "net_profit", "avg_win", "avg_loss")


def sides(grid, metrics=NAMES, **options):
    """A side from bar 6 to 49 of prices that rise by 1 a bar; ``side`` 0 never trades."""
    inside = (np.arange(60) >= 6) & (np.arange(60) < 49)
    bars = minutes(np.append(100.0, CLOSE[:-1]), CLOSE, np.ones(60), inside=inside.astype(float))
    target = where(col("inside") > 0.5, param("side"), 0.0)
    other = where(param("other") > 0.0, target, 0.0) if "other" in grid else target
    return run(bars, Strategy("side", other), grid=grid, capital=1000.0, metrics=metrics, **options)


@pytest.mark.parametrize("metric", [*WITHOUT_A_LOSS, "recovery_factor"])
def test_t14_what_never_lost_comes_before_what_always_does(metric):
    result = sides({"side": [-1.0, 0.0, 1.0]})
    assert result.best(metric)["side"] == 1.0
    assert result.table["side"][result.ranking(metric)].tolist() == [1.0, -1.0]  # what never traded stands nowhere
    assert result.table[metric][2] == math.inf and math.isnan(result.table[metric][1])
    top = sides({"side": [-1.0, 0.0, 1.0]}, top=3, rank_by=metric)
    assert top.table["side"].tolist() == [1.0, -1.0]
    assert result.table["net_profit"][2] > 0 > result.table["net_profit"][0]


def test_t14_on_the_compiled_executor(program_cache, same_bits):
    options = {"metrics": ["profit_factor", "omega"], "cache": program_cache}
    found, expected = (sides({"side": [-1.0, 0.0, 1.0]}, executor=name, **options) for name in ("cpu", "numpy"))
    assert same_bits(found.table, expected.table) and found.best("profit_factor")["side"] == 1.0


@pytest.mark.parametrize("metric", WITHOUT_A_LOSS)
def test_t14_nothing_but_idle_combinations_has_no_best(metric):
    with pytest.raises(MetricError, match=f"no best {metric}: it is NaN for all 1 combinations"):
        sides({"side": [0.0]}).best(metric)


def test_the_ends_of_averages_of_wins_and_losses():
    table = sides({"side": [-1.0, 0.0, 1.0]}).table
    assert table["avg_win"][0] == 0.0 < table["avg_win"][2] and math.isnan(table["avg_win"][1])
    assert table["avg_loss"][2] == 0.0 > table["avg_loss"][0] and math.isnan(table["avg_loss"][1])


def test_every_quotient_of_gains_and_losses_says_its_end():
    said = {name for name, metric in METRICS.items() if "infinite" in metric.doc}
    assert said == {"cagr", "sortino", "calmar", "omega", "recovery_factor", "profit_factor"}


def test_surfaces_and_pictures_show_the_infinite():
    result = sides({"side": [-1.0, -0.5, 0.5, 1.0], "other": [0.0, 1.0]})
    grid = result.heat_map("side", "other", "profit_factor")
    assert grid.loc[1.0].tolist() == [0.0, 0.0, math.inf, math.inf] and grid.loc[0.0].isna().all()
    found = result.stability("profit_factor", count=4)
    assert found["profit_factor"].tolist() == [math.inf, math.inf, 0.0, 0.0]
    assert found["lead"].tolist() == [0.0, 0.0, 0.0, -math.inf]  # all have a neighbour alike but the last, whose best is more
    assert found["neighbours"].tolist() == [2, 1, 1, 2]  # what never trades has no value to compare with
    image = plot_heat_map(grid, "profit_factor").images[0]
    assert np.isfinite(image.get_clim()).all() and image.get_array().mask.tolist() == [[True] * 4, [False] * 4]
    assert image.get_array()[1, 3] >= image.get_array()[1, 0]
    assert len(plot_parallel(result.table, ["side", "other"], "profit_factor").lines) == 4
    plot_stability(found, "profit_factor").figure.canvas.draw()


def test_infinite_values_of_both_precisions_agree():
    found = agreement(np.array([math.inf, 1.0, math.nan]), np.array([math.inf, 1.5, 2.0]))
    assert found == {"spearman": pytest.approx(1.0), "largest_difference": 0.5, "same_best": True}
