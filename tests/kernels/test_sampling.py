"""Random and Sobol samples: seeded, within axes and constraint, different, even; errors where they cannot be."""

import numpy as np
import pytest
from scipy.stats import qmc

from kernels.expressions import col, param, where
from kernels.grid import GridError
from kernels.sampling import Span, random_combinations, sobol_combinations
from kernels.strategies import ema_cross
from kernels.strategy import Strategy
from kernels.sweep import sweep

AXES = {"fast": Span(2, 40, step=1), "slow": Span(5, 200, step=5)}
BOTH = [random_combinations, sobol_combinations]
FREE = Strategy("free", where(col("close") > param("a") + param("b"), 1.0, 0.0))


@pytest.mark.parametrize("sample", BOTH)
def test_a_sample_is_seeded_and_within_axes_and_constraint(sample):
    table = sample(ema_cross(), AXES, 300, seed=4)
    assert table.equals(sample(ema_cross(), AXES, 300, seed=4))
    assert not table.equals(sample(ema_cross(), AXES, 300, seed=5))
    assert len(table) == len(table.drop_duplicates()) == 300
    assert list(table.columns) == ["fast", "slow"]
    assert (table["fast"] < table["slow"]).all()
    assert set(table["fast"]) <= set(range(2, 41)) and set(table["slow"]) <= set(range(5, 201, 5))
    assert {2, 40} <= set(sample(ema_cross(), AXES, 1000, seed=1)["fast"])  # both ends are reached


def test_sobol_points_are_those_of_scipy_and_more_even_than_random():
    axes = {"a": Span(0.0, 1.0), "b": Span(0.0, 1.0)}
    found = sobol_combinations(FREE, axes, 256, seed=9)
    points = qmc.Sobol(2, scramble=True, rng=np.random.default_rng(9)).random_base2(8)
    assert np.array_equal(found.to_numpy(), points)
    drawn = random_combinations(FREE, axes, 256, seed=9)
    assert np.array_equal(drawn.to_numpy(), np.random.default_rng(9).random((256, 2)))
    assert qmc.discrepancy(found.to_numpy()) < qmc.discrepancy(drawn.to_numpy()) / 3


@pytest.mark.parametrize("sample", BOTH)
def test_axes_are_lists_steps_numbers_or_logarithms(sample):
    table = sample(FREE, {"a": [3, 5, 8], "b": Span(1e-3, 10.0, logarithmic=True)}, 200, seed=0)
    assert set(table["a"]) == {3, 5, 8} and table["a"].dtype == np.int64
    assert table["b"].between(1e-3, 10.0).all()
    assert 80 < (table["b"] < 0.1).sum() < 120  # half of the logarithm
    assert Span(0.5, 0.9, step=0.1).at(np.array([0.0, 0.999])) == pytest.approx([0.5, 0.9])


@pytest.mark.parametrize("sample", BOTH)
def test_all_of_a_small_grid_can_be_drawn_and_not_more(sample):
    axes = {"a": [1, 2, 3], "b": [1, 2, 3, 4]}
    assert len(sample(FREE, axes, 12, seed=2)) == 12
    with pytest.raises(GridError, match="gave 12 different combinations, 13 are asked for"):
        sample(FREE, axes, 13, seed=2)
    with pytest.raises(GridError, match="0 combinations asked for"):
        sample(FREE, axes, 0, seed=2)
    with pytest.raises(GridError, match=r"2\.5 combinations asked for; ask for a whole number"):
        sample(FREE, axes, 2.5, seed=2)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"a": [1]}, "parameter 'b' has no values"),
        ({"a": [1], "b": [1], "c": [1]}, "sweeps 'c'"),
        ({"a": [], "b": [1]}, "the axis 'a' is empty"),
        ({"a": [1, 1], "b": [1]}, "holds a value twice"),
    ],
)
def test_wrong_axes_are_named(axes, message):
    with pytest.raises(GridError, match=message):
        random_combinations(FREE, axes, 1, seed=0)


@pytest.mark.parametrize("wrong", [(2, 1), (0, float("inf")), (0, 1, 0.0), (0, 1, None, True), (1, 2, 0.5, True), ("a", 2)])
def test_a_span_without_numbers_is_refused(wrong):
    with pytest.raises(GridError, match="Span"):
        Span(*wrong)


def test_a_sample_is_swept_in_its_order(random_bars, contract):
    table = sobol_combinations(ema_cross(), {"fast": [2, 3, 4], "slow": [3, 6, 9]}, 5, seed=3)
    found = sweep(ema_cross(), random_bars(3, bars=80), instrument=contract, grid=table, executor="numpy")
    assert found.table[["fast", "slow"]].equals(table)
