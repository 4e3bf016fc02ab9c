"""Folds: purge, embargo, half-open ranges, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.expressions import col, param, where
from kernels.indicators import sma
from kernels.strategy import Strategy
from kernels.sweep import sweep
from training.errors import FoldError
from training.folds import FoldSettings, fold_report, select_fold, walk_forward
from validation.normalise import fit_normaliser, normalise


def minutes(n):
    return pd.Series(pd.date_range("2024-01-02", periods=n, freq="min", tz="UTC").astype("datetime64[ns, UTC]"))


def small(**changes):
    sizes = {
        "train_bars": 10, "validation_bars": 5, "test_bars": 5, "step_bars": 5, "purge_bars": 3, "embargo_bars": 0,
    }
    return FoldSettings(**(sizes | changes))


def test_case_e01_the_normaliser_sees_the_train_rows_only():
    fold = walk_forward(minutes(7), FoldSettings(4, 1, 2, 2, 0, 0))[0]
    values = np.array([10.0, 12.0, 14.0, 16.0, 99.0, 60.0, -40.0])[:, None]
    fitted = fit_normaliser(values, fold.train)
    assert fitted.mean[0] == 13.0
    assert fitted.scale[0] == pytest.approx(2.23606797749979)  # divided by the number of rows (ddof 0)
    assert normalise(values, fitted, 1e9)[0][slice(*fold.test), 0].tolist() == pytest.approx([21.01903899, -23.70232056])
    assert normalise(values, fitted, 20.0)[0][slice(*fold.test), 0].tolist() == [20.0, -20.0]
    values[fold.test[0] :] *= 10.0
    again = fit_normaliser(values, fold.train)
    assert (again.mean[0], again.scale[0]) == (fitted.mean[0], fitted.scale[0])


def test_case_e02_labels_of_the_last_train_rows_stay_before_the_next_block():
    fold = walk_forward(minutes(20), small())[0]
    brute = [t for t in range(10) if t + 3 < 10]  # a label of row t reads t..t+3
    assert list(range(*fold.train)) == brute == [0, 1, 2, 3, 4, 5, 6]


def test_case_e03_boundary_bar_is_in_one_range_only():
    hours = pd.date_range("2026-01-05", periods=24, freq="h", tz="UTC")
    settings = FoldSettings(11, 1, 12, 12, 0, 0)
    fold = walk_forward(hours, settings)[0]
    before = set(range(*fold.train)) | set(range(*fold.validation))
    test = set(range(*fold.test))
    assert (len(before), len(test), len(before & test), len(before | test)) == (12, 12, 0, 24)
    assert hours[fold.test[0]] == pd.Timestamp("2026-01-05T12:00Z")


def test_case_e04_embargo_counts_bars_across_the_weekend_and_says_so():
    friday = pd.date_range("2026-01-09T20:30Z", "2026-01-09T20:55Z", freq="5min")
    sunday = pd.date_range("2026-01-11T23:00Z", periods=24, freq="5min")
    times = friday.append(sunday)
    # The train block ends with the first hour of Sunday: 12 bars of embargo take that hour, whatever the clock says.
    settings = FoldSettings(train_bars=18, validation_bars=6, test_bars=6, step_bars=6, purge_bars=0, embargo_bars=0)
    with_gap = FoldSettings(train_bars=18, validation_bars=13, test_bars=6, step_bars=6, purge_bars=0, embargo_bars=12)
    assert walk_forward(times, settings)[0].train == (0, 18)
    with pytest.raises(FoldError, match="one fold needs 37"):
        walk_forward(times, with_gap)
    times = times.append(pd.date_range("2026-01-12T05:00Z", periods=12, freq="5min"))
    fold = walk_forward(times, with_gap)[0]
    assert fold.train == (0, 6)
    assert times[fold.train[1]] == pd.Timestamp("2026-01-11T23:00Z")
    report = fold_report(fold, times, with_gap)
    assert report["embargo_bars"] == 12
    assert json.loads(json.dumps(report)) == report
    assert report["validation"] == {
        "start_row": 18, "stop_row": 19, "bars": 1, "first": "2026-01-12T00:00:00Z", "last": "2026-01-12T00:00:00Z",
    }


def test_case_e08_a_test_row_sees_the_full_history():
    close = np.arange(1.0, 11.0)
    fold = walk_forward(minutes(10), FoldSettings(3, 2, 5, 5, 0, 0))[0]
    assert fold.test == (5, 10)
    bars = pd.DataFrame({"ts_event": minutes(10), "open": close, "high": close, "low": close, "close": close, "volume": 1})
    above = Strategy("above", target=where(sma(col("close"), param("length")) >= 5.0, 1.0, -1.0))
    for length, decided in ((3, 1.0), (5, -1.0)):  # (4 + 5 + 6) / 3 = 5 and (2 + 3 + 4 + 5 + 6) / 5 = 4
        result = sweep(above, bars, grid={"length": [length]}, windows=[fold.test], executor="numpy")
        trace = result.trace(0)
        assert trace["target"].iloc[5] == decided, "the first test row decides: no cold start"
        assert np.sign(trace["position"].iloc[6]) == decided and (trace["position"].iloc[:6] == 0).all()


def test_defaults_give_four_folds_on_the_sample_and_a_wide_enough_gap():
    defaults = FoldSettings()
    folds = walk_forward(minutes(250_000), defaults)
    assert len(folds) == 5
    assert folds[0].train == (0, 90_000 - 320)
    assert folds[0].validation == (90_000, 115_000 - 320)
    assert folds[4].test == (215_000, 240_000)
    assert defaults.embargo_bars >= 254


def test_anchored_keeps_the_start():
    folds = walk_forward(minutes(30), small(mode="anchored"))
    assert [fold.train for fold in folds] == [(0, 7), (0, 12), (0, 17)]
    assert [fold.test for fold in folds] == [(15, 20), (20, 25), (25, 30)]


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    st.integers(5, 40), st.integers(5, 20), st.integers(1, 20), st.integers(1, 30), st.integers(0, 2),
    st.integers(0, 2), st.sampled_from(["rolling", "anchored"]), st.integers(0, 300),
)
def test_folds_are_ordered_disjoint_and_inside(train, validation, test, step, purge, embargo, mode, extra):
    n = train + validation + test + extra
    config = FoldSettings(train, validation, test, step, purge, embargo, mode)
    folds = walk_forward(minutes(n), config)
    assert [fold.index for fold in folds] == list(range(len(folds)))
    for fold in folds:
        assert 0 <= fold.train[0] < fold.train[1] <= fold.validation[0] - purge - embargo
        assert fold.validation[1] == fold.test[0] - purge - embargo
        assert fold.test[1] <= n
    assert folds[-1].test[1] + step > n  # no fold that would fit is left out


def test_a_later_bar_moves_no_fold():
    longer = walk_forward(minutes(41), small())
    assert walk_forward(minutes(30), small()) == longer[: len(walk_forward(minutes(30), small()))]


def test_refusals_name_the_value_and_the_remedy():
    folds = walk_forward(minutes(30), small())
    assert select_fold(folds, 2) is folds[2]
    for index in (3, 99, -1):
        with pytest.raises(FoldError, match=f"fold={index}: there are 3 folds; choose 0 to 2"):
            select_fold(folds, index)
    with pytest.raises(FoldError, match="19 bars: one fold needs 20"):
        walk_forward(minutes(19), small())
    with pytest.raises(ValueError, match=r"folds.mode = 'expanding'.*rolling, anchored"):
        small(mode="expanding")
    with pytest.raises(ValueError, match=r"folds.validation_bars = 5: purge_bars \+ embargo_bars = 5"):
        small(embargo_bars=2)
    with pytest.raises(ValueError, match=r"folds.step_bars = 0"):
        small(step_bars=0)
    with pytest.raises(ValueError, match=r"folds.purge_bars = -1"):
        small(purge_bars=-1)
    times = minutes(20)
    times[7] = times[6]
    with pytest.raises(FoldError, match=r"row 7"):
        walk_forward(times, small())
