"""The linear baseline: labels, ridge, threshold, coefficients."""

import numpy as np
import pytest
from scipy import stats

from training.errors import TrainingError
from training.folds import Fold
from training.linear import (
    LinearModel,
    LinearSettings,
    _solved,
    fit_linear,
    forward_profit,
    information_coefficients,
    linear_positions,
    threshold_actions,
)
from training.market import market, path_profit

FOLD = Fold(0, (0, 12_000), (12_300, 15_800), (16_100, 20_000))


def test_cases_e06_e07_labels_look_forward_and_the_last_are_missing(make_bars, free):
    bars = make_bars([1.0, 1.0, 2.0, 4.0, 8.0, 16.0], [1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    table = market(bars, (0, 6), *free.all())
    # Row t: bought at the open of t + 1 and sold at the close of t + 2.
    assert forward_profit(table, 2)[:4].tolist() == [3.0, 6.0, 12.0, 24.0]
    assert np.isnan(forward_profit(table, 2)[4])
    assert np.isnan(forward_profit(table, 6)).all()
    assert forward_profit(table, 1).tolist() == [1.0, 2.0, 4.0, 8.0, 16.0]


def test_labels_cross_rolls_without_a_jump_and_skip_masked_fills(make_bars, free):
    bars = make_bars([10.0, 10.0, 110.0, 112.0, 112.0], [10.0, 11.0, 112.0, 113.0, 113.0], (2,), (11.5,), (4,))
    table = market(bars, (0, 5), *free.all())
    # 10 -> 11, the old contract's last half point, 110 -> 112 in the new one.
    assert forward_profit(table, 2)[0] == 1.0 + 0.5 + 2.0
    assert np.isnan(forward_profit(table, 1)[3])


def test_threshold_rule_by_hand():
    forecast = np.array([0.1, -0.4, 0.9, np.nan, 0.2, -1.0, -0.1])
    assert threshold_actions(forecast, 0.5).tolist() == [1, 1, 2, 2, 2, 0, 0]
    assert threshold_actions(np.array([0.0, -0.1, 0.0]), 0.0).tolist() == [1, 0, 0]


def test_ridge_solves_its_equations(reverting, es):
    settings = LinearSettings(horizons=(7,), quantiles=(0.5,), penalty=0.3)
    model = fit_linear(reverting.features, reverting.bars, FOLD, settings, *es.all())
    table = market(reverting.bars, FOLD.train, *es.all())
    x = reverting.features[: table.decisions].astype(np.float64)
    y = forward_profit(table, 7) / model.scale[0]
    keep = np.isfinite(x).all(axis=1) & np.isfinite(y)
    x, y = x[keep], y[keep]
    # The same problem as least squares with the penalty as extra rows.
    wide = np.concatenate([x - x.mean(axis=0), np.sqrt(0.3 * len(x)) * np.eye(x.shape[1])])
    weights = np.linalg.lstsq(wide, np.concatenate([y - y.mean(), np.zeros(x.shape[1])]), rcond=None)[0]
    assert model.weights[0] == pytest.approx(weights, abs=1e-8)
    assert model.intercepts[0] == pytest.approx(y.mean() - x.mean(axis=0) @ weights, abs=1e-8)


def test_finds_a_real_edge_counts_its_looks_and_reports_coefficients(reverting, es):
    model = fit_linear(reverting.features, reverting.bars, FOLD, LinearSettings(), *es.all())
    assert model.looks == len(model.candidates) == 21
    best = max(one["validation_profit"] for one in model.candidates)
    chosen = [one for one in model.candidates if (one["horizon"], one["threshold"]) == (model.horizon, model.threshold)]
    assert chosen[0]["validation_profit"] == best
    table = market(reverting.bars, FOLD.test, *es.all())
    positions = linear_positions(model, reverting.features, FOLD.test)
    gross, paid = path_profit(table, (positions[FOLD.test[0] : FOLD.test[1] - 1] + 1).astype(np.int8))
    assert gross.sum() - paid.sum() > 5_000.0
    assert not positions[: FOLD.test[0]].any()
    lines = information_coefficients(model, reverting.features, reverting.bars, FOLD.test, es.instrument)
    assert lines["horizon"].tolist() == [5, 15, 60]
    assert (lines["low"] > 0.0).all() and (lines["low"] < lines["coefficient"]).all()
    assert lines["method"].str.contains("block bootstrap").all()
    forecast = reverting.features[slice(FOLD.test[0], FOLD.test[1] - 1)] @ model.weights[1] + model.intercepts[1]
    outcome = forward_profit(table, 15)
    keep = np.isfinite(outcome)
    expected = stats.spearmanr(forecast[keep], outcome[keep]).statistic
    assert lines["coefficient"].iloc[1] == pytest.approx(expected, abs=1e-6)


def test_test_rows_and_thread_counts_change_nothing_fitted(reverting, es):
    changed = reverting.features.copy()
    changed[FOLD.test[0] :] *= 10.0
    changed[FOLD.train[1] : FOLD.validation[0]] = 7.0
    one = fit_linear(reverting.features, reverting.bars, FOLD, LinearSettings(), *es.all())
    two = fit_linear(changed, reverting.bars, FOLD, LinearSettings(), *es.all())
    assert one.weights.tobytes() == two.weights.tobytes()
    assert (one.threshold, one.horizon, one.candidates) == (two.threshold, two.horizon, two.candidates)


def test_positions_do_not_change_with_the_future():
    generator = np.random.default_rng(5)
    features = generator.normal(size=(500, 4)).astype(np.float32)
    model = LinearModel(
        generator.normal(size=(1, 4)), np.array([0.1]), np.ones(1), [3], 3, 1.0, 1, []
    )
    whole = linear_positions(model, features, (0, 500))
    assert linear_positions(model, features[:333], (0, 333)).tobytes() == whole[:333].tobytes()


def test_weights_are_those_of_lapack_and_dependent_features_need_a_penalty(reverting, es):
    """Issue 9.4: LAPACK's own bits follow the processor and the number of threads, so the weights are not made by it."""
    generator = np.random.default_rng(2)
    root = generator.normal(size=(60, 45))
    matrix, right = root.T @ root / 60 + 0.02 * np.eye(45), generator.normal(size=45)
    np.testing.assert_allclose(_solved(matrix, right), np.linalg.solve(matrix, right), rtol=1e-9)
    features = reverting.features.copy()
    features[:, 1] = 1.0
    with pytest.raises(TrainingError, match=r"feature 1 is constant .* linear.penalty is 0; give a penalty > 0"):
        fit_linear(features, reverting.bars, FOLD, LinearSettings(penalty=0.0), *es.all())


def test_refusals(reverting, es):
    with pytest.raises(ValueError, match=r"linear.horizons = \(0,\)"):
        LinearSettings(horizons=(0,))
    with pytest.raises(ValueError, match=r"linear.quantiles = \(1\.0,\)"):
        LinearSettings(quantiles=(1.0,))
    with pytest.raises(ValueError, match=r"linear.penalty = -1"):
        LinearSettings(penalty=-1)
    empty = np.full_like(reverting.features, np.nan)
    with pytest.raises(TrainingError, match="no train row"):
        fit_linear(empty, reverting.bars, FOLD, LinearSettings(), *es.all())
