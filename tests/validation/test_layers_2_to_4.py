"""Layers 2, 3 and 4: what is clamped, what stays missing, what the findings say."""

import math

import numpy as np
import pytest

from validation.features import bound_features
from validation.findings import finding_lines
from validation.normalise import fit_normaliser, normalise
from validation.returns import clamp_returns


def times(rows):
    return np.arange(rows, dtype=np.int64) * 60_000_000_000


def test_returns_are_clamped_masked_and_found(bars_of):
    bars = bars_of([5000, 5750, 5000, 4500, 4501])
    returns = np.append(np.nan, np.diff(np.log(bars["close"])))
    clamped, findings, masked = clamp_returns(bars, returns)
    np.testing.assert_allclose(clamped, [np.nan, 0.1, -0.1, -0.1, np.log(4501 / 4500)])
    assert masked.tolist() == [False, True, True, True, False]
    assert findings["value"].tolist() == returns[1:4].tolist()
    assert findings["limit"].tolist() == [0.1, -0.1, -0.1]
    assert finding_lines(findings, at_most=1) == [
        f"bar 2024-03-15T09:32Z ESH4: log return {returns[1]} > 0.10 (layer 2)", "... and 2 more findings",
    ]  # fmt: skip


def test_real_limit_move_is_no_finding(bars_of):
    bars = bars_of([5000, 4650])
    returns = np.array([np.nan, np.log(0.93)])
    clamped, findings, masked = clamp_returns(bars, returns)
    assert clamped[1] == returns[1]
    assert len(findings) == 0
    assert not masked.any()


def test_missing_and_infinite_returns_are_never_a_bound(bars_of):
    """Case D01: NaN and infinities become neither ±0.1 nor legal; only where no return exists is NaN no finding."""
    bars = bars_of([5000] * 6)
    bars.loc[3:, "expiry"] = np.int32(202406)
    clamped, findings, masked = clamp_returns(bars, np.array([np.nan, np.nan, np.inf, np.nan, -np.inf, 0.05]))
    np.testing.assert_array_equal(clamped, [np.nan] * 5 + [0.05])
    assert masked.tolist() == [False, True, True, False, True, False]
    assert set(findings["rule"]) == {"non_finite"}
    assert set(findings["action"]) == {"masked"}


def test_price_below_zero_leaves_no_return_and_no_finding(bars_of):
    bars = bars_of([5000] * 4)
    bars.loc[1, "close"] = -37.63
    _, findings, masked = clamp_returns(bars, np.array([np.nan, np.nan, np.nan, 0.0]))
    assert len(findings) == 0
    assert not masked.any()


def test_float32_returns_are_clamped_in_float64(bars_of):
    """Case D04."""
    clamped, _, _ = clamp_returns(bars_of([5000] * 4), np.array([np.nan, 0.25, -0.3, 0.05], np.float32))
    assert clamped.dtype == np.float64
    assert (np.abs(clamped[1:]) <= 0.1).all()


def test_returns_of_other_bars_and_a_zero_limit_are_refused(bars_of):
    with pytest.raises(ValueError, match="2 returns for 3 bars"):
        clamp_returns(bars_of([5000] * 3), np.zeros(2))
    with pytest.raises(ValueError, match="limit 0"):
        clamp_returns(bars_of([5000] * 3), np.zeros(3), limit=0)


def test_feature_clamp_keeps_missing_values_recognisable():
    """Case D01."""
    matrix = np.array([[1.0, np.nan, -6.0, 6.0, np.inf, -np.inf, 5.0, -5.0]]).T
    before = matrix.copy()
    bounded, findings = bound_features(matrix, ["user"], times(8))
    np.testing.assert_array_equal(bounded[:, 0], [1.0, np.nan, -5.0, 5.0, np.nan, np.nan, 5.0, -5.0])
    np.testing.assert_array_equal(matrix, before)
    assert findings["rule"].tolist() == ["feature_bound", "feature_bound", "non_finite", "non_finite"]
    assert findings["action"].tolist() == ["altered", "altered", "masked", "masked"]
    assert findings["value"].tolist() == [-6.0, 6.0, np.inf, -np.inf]
    assert findings["ts_event"].astype(str).tolist()[0] == "1970-01-01 00:02:00+00:00"


def test_features_are_clamped_in_every_block_of_a_long_matrix():
    matrix = np.zeros((20_000, 3))
    matrix[[5, 8191, 8192, 19_999], [0, 1, 2, 0]] = [1e3, -1e3, 7.0, 6.0]
    bounded, findings = bound_features(matrix, ["a", "b", "c"], times(20_000))
    assert bounded[[5, 8191, 8192, 19_999], [0, 1, 2, 0]].tolist() == [5.0, -5.0, 5.0, 5.0]
    assert findings["column"].tolist() == ["a", "b", "c", "a"]
    assert np.abs(bounded).max() == 5.0


def test_in_place_saves_the_copy_and_gives_the_same():
    matrix = np.array([[9.0], [np.nan], [1.0]])
    copied, _ = bound_features(matrix, ["a"], times(3))
    changed, findings = bound_features(matrix, ["a"], times(3), in_place=True)
    assert changed is matrix and len(findings) == 1
    np.testing.assert_array_equal(changed, copied)


def test_rows_that_are_not_valid_are_neither_fitted_nor_shown():
    features = np.array([[1.0, 7.0], [100.0, np.nan], [3.0, 7.0], [1e9, 1e9]])
    valid = np.array([True, False, True, False])
    fitted = fit_normaliser(features, (0, 4), valid)
    assert (fitted.mean.tolist(), fitted.scale.tolist(), fitted.rows.tolist()) == ([2.0, 7.0], [1.0, 1.0], [2, 2])
    z, findings = normalise(features, fitted, valid=valid)
    np.testing.assert_array_equal(z, np.array([[-1, 0], [np.nan] * 2, [1, 0], [np.nan] * 2], np.float32))
    assert len(findings) == 0


def test_moments_of_many_rows_far_from_zero_lose_nothing():
    """Case A07: a sum of squares minus the squared sum would be noise here."""
    features = 1e9 + np.random.default_rng(0).normal(0, 1, (5_000, 3))
    fitted = fit_normaliser(features, (0, 5_000))
    np.testing.assert_allclose(fitted.mean, [math.fsum(column) / 5_000 for column in features.T], rtol=1e-15)
    np.testing.assert_allclose(fitted.scale, (features - 1e9).std(axis=0), rtol=1e-9)


def test_timestamps_may_come_as_a_column_or_as_nanoseconds(bars_of):
    ts = bars_of([5000] * 3)["ts_event"]
    of_column = bound_features(np.full((3, 1), 9.0), ["a"], ts)[1]
    of_integers = bound_features(np.full((3, 1), 9.0), ["a"], ts.to_numpy("datetime64[ns]").astype(np.int64))[1]
    assert of_column["ts_event"].tolist() == ts.tolist() == of_integers["ts_event"].tolist()


def test_features_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 1\), but there are 3 timestamps and 1 names"):
        bound_features(np.zeros((2, 1)), ["a"], times(3))


def test_normaliser_knows_the_train_rows_only():
    """Leakage list of walk-forward evaluation, no. 1: nothing is fitted on other rows."""
    features = np.random.default_rng(0).normal(3.0, 2.0, (100, 2))
    fitted = fit_normaliser(features, (20, 60))
    np.testing.assert_allclose(fitted.mean, features[20:60].mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(fitted.scale, features[20:60].std(axis=0), rtol=1e-14)
    changed = features.copy()
    changed[:20], changed[60:] = 1e9, np.inf
    again = fit_normaliser(changed, (20, 60))
    np.testing.assert_array_equal([again.mean, again.scale], [fitted.mean, fitted.scale])
    assert (fitted.start, fitted.stop, fitted.rows.tolist()) == (20, 60, [40, 40])


def test_test_rows_are_scaled_by_the_train_rows_alone():
    """Case E01: mean 13 and deviation sqrt(5) of the train rows; multiplying the test rows changes nothing before them."""
    features = np.array([[10.0], [12.0], [14.0], [16.0], [60.0], [-40.0]])
    fitted = fit_normaliser(features, (0, 4))
    assert (fitted.mean[0], fitted.scale[0]) == (13.0, pytest.approx(2.23606797749979, rel=1e-15))
    z, findings = normalise(features, fitted)
    assert z[4:, 0].tolist() == [20.0, -20.0]
    np.testing.assert_allclose(findings["value"], [21.01903899, -23.70232056], rtol=1e-9)
    canary = features * np.array([[1], [1], [1], [1], [10], [10]])
    again = fit_normaliser(canary, (0, 4))
    assert (again.mean, again.scale) == (fitted.mean, fitted.scale)
    np.testing.assert_array_equal(normalise(canary, again)[0][:4], z[:4])


def test_zscores_are_clamped_and_missing_values_stay():
    features = np.array([[0.0], [2.0], [np.nan], [100.0], [-np.inf]])
    fitted = fit_normaliser(features, (0, 3))
    z, findings = normalise(features, fitted, names=["body"], ts=times(5))
    assert z.dtype == np.float32
    np.testing.assert_array_equal(z[:, 0], np.array([-1.0, 1.0, np.nan, 20.0, np.nan], np.float32))
    assert findings[["rule", "column", "value"]].to_numpy().tolist() == [
        ["zscore_clamp", "body", 99.0], ["non_finite", "body", -np.inf],
    ]  # fmt: skip
    assert (findings["layer"] == 4).all()


def test_constant_feature_keeps_scale_one():
    features = np.full((50, 2), 0.1)
    features[:, 1] = np.linspace(0, 1e-15, 50) + 0.1  # rounding is no spread
    fitted = fit_normaliser(features, (0, 50))
    assert fitted.scale.tolist() == [1.0, 1.0]
    z, _ = normalise(features, fitted)
    assert np.abs(z).max() < 1e-6


def test_normaliser_refuses_what_it_cannot_fit():
    with pytest.raises(ValueError, match="rows 5 to 200 do not lie in the 100 rows"):
        fit_normaliser(np.zeros((100, 1)), (5, 200))
    with pytest.raises(ValueError, match="feature 1 has no finite value in train rows 0 to 10"):
        fit_normaliser(np.array([[0.0, np.nan]] * 10), (0, 10))
    with pytest.raises(ValueError, match="normaliser of 1 features for 2"):
        normalise(np.zeros((3, 2)), fit_normaliser(np.zeros((3, 1)), (0, 3)))
