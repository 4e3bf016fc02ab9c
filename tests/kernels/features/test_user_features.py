"""Features of the user's own: loaded, chosen, checked for their shape and for reading later bars."""

import importlib
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from kernels.features.causality import checked_column
from kernels.features.errors import FeatureError, LookAheadError
from kernels.features.returns import log_returns
from kernels.features.selection import FeatureSettings, feature_columns, select_features
from kernels.features.table import FEATURES, feature_names
from kernels.features.user import feature, load_features

MODULE = '''
import numpy as np
from kernels.features.user import feature

@feature("range_rel", low=0, high=5, warm_up=2, formula="(H - L) / |C - C_t-1|, clip 5")
def range_rel(bars, clamped_returns):
    move = bars["close"].diff().abs()
    return np.minimum((bars["high"] - bars["low"]) / move.clip(lower=0.25), 5.0)

@feature("even_minute", low=0, high=1, warm_up=1, formula="1 on even minutes")
def even_minute(bars, clamped_returns):
    return bars["ts_event"].dt.minute % 2 == 0
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "ideas.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "desk"]:
        del sys.modules[name]
    importlib.invalidate_caches()


@pytest.fixture(scope="module")
def bars(bars_of):
    return bars_of(400, seed=4)


@pytest.fixture(scope="module")
def returns(bars):
    return np.clip(log_returns(bars), -0.1, 0.1)


def test_a_decorated_function_becomes_columns_beside_the_built_in_ones(package, bars, returns):
    made = feature_columns(bars, returns, FeatureSettings(modules=("desk.ideas",)), "America/Chicago")
    assert made.names == [*feature_names(), "range_rel", "even_minute"]
    assert made.values.shape == (400, 44) and made.look_back == 254
    span = (bars["high"] - bars["low"]).to_numpy()
    step = np.abs(np.diff(bars["close"].to_numpy()))
    expected = np.minimum(span[1:] / np.maximum(step, 0.25), 5)
    np.testing.assert_array_equal(made.values[1:, 42], expected)
    np.testing.assert_array_equal(made.values[:4, 43], [1.0, 0.0, 1.0, 0.0])
    assert np.isnan(made.values[0, 42])


def test_the_feature_of_the_tutorial_works(tmp_path, monkeypatch, bars, returns):
    page = Path(__file__).resolve().parents[3] / "docs" / "tutorial-feature.md"
    code = page.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    (tmp_path / "myfeatures.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    settings = FeatureSettings(modules=("myfeatures",), names=("ret_1", "vol_10_60", "range_z"))
    made = feature_columns(bars, returns, settings, "America/Chicago")
    sys.modules.pop("myfeatures")
    column = made.values[:, 2]
    assert made.names[2] == "range_z" and made.look_back == 61
    assert np.isfinite(column[59:]).all() and (np.abs(column[59:]) <= 5).all() and np.isnan(column[:59]).all()


def test_names_choose_columns_and_their_order(package, bars, returns):
    settings = FeatureSettings(modules=("desk.ideas",), names=("even_minute", "clv", "range_rel"))
    made = feature_columns(bars, returns, settings, "America/Chicago")
    assert made.names == ["even_minute", "clv", "range_rel"] and made.look_back == 2
    whole = feature_columns(bars, returns, FeatureSettings(), "America/Chicago")
    np.testing.assert_array_equal(made.values[:, 1], whole.values[:, feature_names().index("clv")])
    only = FeatureSettings(include=(), modules=("desk.ideas",))
    assert select_features(only).names == ("range_rel", "even_minute")


def test_what_does_not_exist_is_refused_with_a_hint(package, tmp_path):
    with pytest.raises(FeatureError, match="no feature 'rnage_rel'; did you mean 'range_rel'"):
        select_features(FeatureSettings(modules=("desk.ideas",), names=("rnage_rel",)))
    with pytest.raises(FeatureError, match=r"desk\.idaes cannot be imported"):
        select_features(FeatureSettings(modules=("desk.idaes",)))
    with pytest.raises(FeatureError, match="desk defines no feature; decorate"):
        load_features(("desk",))
    with pytest.raises(FeatureError, match="no feature 'ofi_l1'"):
        select_features(FeatureSettings(names=("ofi_l1",)))
    (package / "twice.py").write_text(MODULE.replace("even_minute", "clv"))
    with pytest.raises(FeatureError, match=r"feature clv of desk\.twice exists already"):
        select_features(FeatureSettings(modules=("desk.twice",)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"include": ("book",)}, "'book' is no group; choose from market, order_flow"),
        ({"include": ()}, "neither include nor modules"),
        ({"names": ("clv", "clv")}, "repeats a name"),
    ],
)
def test_settings_that_contradict_themselves_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        FeatureSettings(**arguments)


LOOK_AHEADS = {
    "next close": lambda bars, returns: bars["close"].shift(-1) / bars["close"] - 1,
    "whole-sample mean": lambda bars, returns: bars["volume"] - bars["volume"].mean(),
    "centred window": lambda bars, returns: bars["close"].rolling(5, center=True).mean(),
    "filled backwards": lambda bars, returns: bars["close"].diff().where(bars.index % 7 == 0).bfill(),
    "the day's last close": lambda bars, returns: bars.groupby("session")["close"].transform("last"),
}


@pytest.mark.parametrize("kind", LOOK_AHEADS)
def test_a_look_ahead_is_refused_by_name_and_bar(bars, returns, kind):
    made = feature("peek", low=-5, high=5, warm_up=5, formula="peeks")(LOOK_AHEADS[kind])
    with pytest.raises(LookAheadError, match=r"feature peek: bar 2024-01-01T\d\d:\d\d:00Z is .* it reads later bars") as caught:
        checked_column(made, bars, returns)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_honest_features_pass_with_running_totals_too(bars, returns):
    for honest in (lambda b, r: b["close"].rolling(20).std(), lambda b, r: b["close"].ewm(span=9).mean(), lambda b, r: r):
        made = feature("honest", low=-5, high=5, warm_up=20, formula="")(honest)
        np.testing.assert_array_equal(checked_column(made, bars, returns), np.asarray(honest(bars, returns), float))


def test_results_that_are_no_number_a_bar_are_refused(bars, returns):
    for wrong, message in (
        (lambda b, r: r[:-1], r"float64 of shape \(399,\) for 400 bars"),
        (lambda b, r: b["contract"], "of shape"),
        (lambda b, r: 1.0, r"shape \(\)"),
    ):
        with pytest.raises(FeatureError, match=message):
            feature("wrong", low=0, high=1, warm_up=1, formula="")(wrong)(bars, returns)


def test_a_feature_cannot_change_what_others_read(bars, returns):
    def meddler(table, clamped):
        table["close"] = 0.0
        clamped[:] = 0.0
        return table["close"]

    before = bars["close"].copy()
    with pytest.raises(ValueError, match="read-only"):
        feature("meddler", low=0, high=1, warm_up=1, formula="")(meddler)(bars, returns)
    np.testing.assert_array_equal(bars["close"], before)
    assert np.isfinite(returns[1:]).all() and returns[1:].any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "two words"}, "no identifier"),
        ({"low": 1.0, "high": 1.0}, "give low < high"),
        ({"high": float("inf")}, "range"),
        ({"warm_up": 0}, "warm_up 0 < 1"),
    ],
)
def test_descriptions_that_say_nothing_are_refused(arguments, message):
    whole = {"name": "x", "low": 0.0, "high": 1.0, "warm_up": 1, "formula": "x", **arguments}
    with pytest.raises(FeatureError, match=message):
        feature(**whole)(lambda bars, returns: returns)


def test_order_flow_without_books_is_nine_zero_columns_and_no_row_that_has_flow(bars, returns):
    made = feature_columns(bars, returns, FeatureSettings(include=("market", "order_flow")), "America/Chicago")
    assert made.values.shape == (400, 51)
    assert not made.values[:, 42:].any() and not made.has_flow.any()
    assert made.names[42:] == [
        "ofi_l1", "ofi_ml", "imb_l1", "imb_l10", "micro_dev", "spread_rel", "trade_imb", "trade_rate", "kyle_60",
    ]  # fmt: skip
    assert len(FEATURES) == 42


def made_by(function, warm_up=10):
    return feature("mine", low=-5, high=5, warm_up=warm_up, formula="x")(function)


def gap_to_mean(span):
    return lambda bars, clamped_returns: (bars["close"] - bars["close"].ewm(span=span).mean()).clip(-5, 5)


def test_a_feature_that_reads_more_than_its_warm_up_is_named(bars, returns):
    with pytest.raises(FeatureError, match=r"feature mine: bar .* with its warm-up of \d+ bars alone: it reads more bars than"):
        checked_column(made_by(gap_to_mean(30), warm_up=20), bars, returns)
    assert np.isfinite(checked_column(made_by(gap_to_mean(10), warm_up=100), bars, returns)[1:]).all()
    with pytest.raises(FeatureError, match="it reads more bars than warm_up says; raise warm_up"):
        checked_column(made_by(lambda bars, clamped_returns: 100 * np.nancumsum(clamped_returns)), bars, returns)
    rolling = made_by(lambda bars, clamped_returns: bars["close"].rolling(10).std().clip(upper=5), warm_up=10)
    assert np.isfinite(checked_column(rolling, bars, returns)[9:]).all()


def test_what_a_feature_raises_names_the_feature_its_file_and_line(bars, returns):
    def broken(bars, clamped_returns):
        return bars["volum"]

    with pytest.raises(FeatureError, match=r"feature mine of .*test_user_features raised KeyError: 'volum' \(.*, line \d+\)"):
        made_by(broken)(bars, returns)


def test_what_a_library_raises_names_the_line_of_the_user(bars, returns):
    def broken(bars, clamped_returns):
        return bars["volume"].rolling("no window").mean()

    line = broken.__code__.co_firstlineno + 1
    with pytest.raises(FeatureError, match=rf"raised ValueError: .* \(test_user_features\.py, line {line}\)"):
        made_by(broken)(bars, returns)


def test_a_series_in_another_order_is_refused(bars, returns):
    with pytest.raises(FeatureError, match=r"returned a Series in another order than the bars \(index 399"):
        made_by(lambda bars, clamped_returns: bars["volume"].iloc[::-1])(bars, returns)


def test_a_module_that_raises_while_imported_is_named(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "half_written.py").write_text("def value(:\n")
    with pytest.raises(FeatureError, match=r"features\.modules: importing half_written raises SyntaxError: .*half_written\.py"):
        load_features(["half_written"])
