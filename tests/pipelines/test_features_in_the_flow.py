"""The real steps from rolled bars to a fold's features: negative prices, each layer alone, the user's features and keys."""

import importlib
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from kernels.features.selection import FeatureSettings
from loaders.continuous import continuous_bars
from pipelines.config.configuration import load_settings
from pipelines.errors import ConfigurationError
from pipelines.flow import check_features, check_grid
from pipelines.graphs.graph import build_graph
from pipelines.keying import keys
from pipelines.nodes import NODES
from pipelines.steps import boundaries, fold_rows
from pipelines.steps.feature_set import clamped_returns, feature_matrix, feature_set
from training.errors import FoldError
from training.folds import FoldSettings
from validation.bar_rules import BarRules
from validation.errors import GateError, ValidationError
from validation.sanitise import sanitise_rolled

POINT, MINUTE = 1_000_000_000, 60_000_000_000
START = 1_587_333_600_000_000_000  # 2020-04-19T22:00Z
FOLDS = FoldSettings(train_bars=600, validation_bars=200, test_bars=200, step_bars=200, purge_bars=1, embargo_bars=10)
OFF = float("inf")
PRICES = ["open", "high", "low", "close"]


def rolled(closes, tick):
    """Rolled bars of one contract, a minute each, on the tick."""
    close = np.rint(np.asarray(closes) / tick).astype(np.int64) * round(tick * POINT)
    opened, rows = np.append(close[:1], close[:-1]), len(closes)
    return pd.DataFrame({
        "ts_event": pd.DatetimeIndex((START + np.arange(rows) * MINUTE).astype("datetime64[ns]"), tz="UTC"),
        "publisher_id": np.ones(rows, np.int32), "instrument_id": np.ones(rows, np.int64),
        "contract": pd.Series(["CLK0"] * rows, dtype="str"), "expiry": np.full(rows, 202005, np.int32),
        "open": opened, "high": np.maximum(opened, close), "low": np.minimum(opened, close), "close": close,
        "volume": np.arange(rows, dtype=np.int64) % 50 + 1, "source_row": np.arange(rows, dtype=np.int64),
        "backwards": np.zeros(rows, bool), "session": np.full(rows, 20200420, np.int32),
        "role": pd.Series(["followed"] * rows, dtype="str"),
    })  # fmt: skip


def through_the_steps(table, rules, limits, features=FeatureSettings(include=("market",)), fold=0):  # noqa: B008
    """Sanitised, feature set and normalised features as the nodes make them, gates included."""
    clean = sanitise_rolled(table, rules)
    bars = continuous_bars(clean.accepted)
    clamped = clamped_returns(bars, limits[0])
    made = feature_set(bars, clamped, feature_matrix(bars, clamped.returns, features, "America/Chicago"), limits[1], limits[0])
    boundaries.gate_features_and_targets(made, "before cache write")
    cut = fold_rows.fold_rows(fold_rows.fold_table(made, FOLDS), fold)
    return clean, made, cut, fold_rows.normalised_features(made, cut, limits[2])


def walk(rows, seed=0, tick=0.01, start=18.0):
    return start + np.cumsum(np.random.default_rng(seed).integers(-2, 3, rows)) * tick


def negative_day():
    """Crude on 2020-04-20: 18 down to -40 within the afternoon, back above zero the next morning."""
    closes = walk(1700)
    closes[800:900] = np.linspace(closes[799], 0.5, 100)
    closes[900:940] = np.linspace(-0.01, -40.32, 40)
    closes[940:1000] = np.linspace(-37.63, 10.0, 60)
    closes[1000:] = closes[1000:] - closes[1000] + 10.0
    return rolled(closes, 0.01)


def test_crude_below_zero_keeps_every_bar_and_masks_its_look_back():
    settings = load_settings(["instrument=CL", "data=x"]).instrument
    limits = (settings.limits.log_return, settings.limits.feature, settings.limits.zscore)
    clean, made, fold, normalised = through_the_steps(negative_day(), settings.bars, limits, fold=1)
    assert clean.report["quarantined"] == 0 and len(made.bars) == 1700
    below = np.flatnonzero(made.bars["low"] <= 0)
    assert len(below) > 50
    missing = np.flatnonzero(~made.valid)
    assert missing.tolist() == [*range(253), *range(below[0], below[-1] + 254)]
    # the fold's train rows hold the missing ones: they are fitted around, and no model sees them
    assert fold.train[0] < below[0] < fold.train[1]
    assert np.isnan(normalised.z[~made.valid]).all() and np.isfinite(normalised.z[made.valid]).all()
    train = slice(*fold.train)
    seen = made.features[train][made.valid[train]]
    np.testing.assert_allclose(normalised.normaliser.mean, seen.astype(np.float64).mean(axis=0), rtol=1e-12)
    assert (normalised.normaliser.rows == made.valid[train].sum()).all()


def test_a_root_without_negative_prices_quarantines_them():
    clean = sanitise_rolled(negative_day(), BarRules(tick_size=0.01))
    assert clean.report["rejected"]["nonpositive_price"] > 50


MODULE = """
import numpy as np
from kernels.features.user import feature

@feature("user", low=-5, high=5, warm_up=1, formula="0 but for faults")
def user(bars, clamped_returns):
    value = np.zeros(len(bars))
    value[bars["volume"] == 777] = {value}
    value[bars["volume"] == 888] = {drift}
    value[bars["ts_event"].dt.minute % 2 == 0] += 0.1
    return value
"""


@pytest.fixture
def user_module(tmp_path, monkeypatch):
    """Write the module `bench_desk` and return a function that does so again."""

    def write(value="0.0", drift="0.0"):
        (tmp_path / "bench_desk.py").write_text(MODULE.replace("{value}", value).replace("{drift}", drift))
        sys.modules.pop("bench_desk", None)
        importlib.invalidate_caches()
        return FeatureSettings(modules=("bench_desk",))

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield write
    sys.modules.pop("bench_desk", None)


def test_each_layer_of_the_flow_catches_its_fault_with_the_other_four_off(user_module):
    """Off: layer 1 gets only what it lets pass, layers 2 to 4 have no bound, layer 5 sees no missing value."""
    rules, closes = BarRules(tick_size=0.25), walk(1500, tick=0.25, start=5000.0)
    table = rolled(closes, 0.25)
    broken = table.copy()
    broken.loc[700, "high"] = broken.loc[700, "low"] - POINT
    assert through_the_steps(broken, rules, (OFF, OFF, OFF))[0].report["rejected"] == {"high_below_low": 1}

    spike = closes.copy()
    spike[700] *= 1.15
    found = through_the_steps(rolled(spike, 0.25), rules, (0.1, OFF, OFF))[1]
    assert found.findings["rule"].tolist() == ["return_clamp"] * 2 and found.bars["masked"].sum() == 2

    faulty = table.assign(volume=table["volume"].where(table.index != 700, 777))
    found = through_the_steps(faulty, rules, (OFF, 5.0, OFF), user_module(value="1e3"))[1]
    only = found.findings[["rule", "column", "value", "limit"]].to_numpy().tolist()
    assert only == [["feature_bound", "user", 1000.1, 5.0]]

    late = table.assign(volume=table["volume"].where(table.index != 1300, 888))
    z = through_the_steps(late, rules, (OFF, OFF, 20.0), user_module(drift="4.0"))[3]
    assert z.findings[["rule", "column"]].to_numpy().tolist() == [["zscore_clamp", "user"]]

    with pytest.raises(GateError, match="user = nan is not within ±inf"):
        through_the_steps(faulty, rules, (OFF, OFF, OFF), user_module(value="np.nan"))


def test_order_flow_without_books_is_constant_and_passes_every_gate():
    both = FeatureSettings(include=("market", "order_flow"))
    table = rolled(walk(1500, tick=0.25, start=5000.0), 0.25)
    _, made, _, normalised = through_the_steps(table, BarRules(), (0.1, 5, 20), both)
    assert made.features.shape == (1500, 51) and not made.has_flow.any()
    assert (normalised.normaliser.scale[42:] == 1.0).all() and (normalised.normaliser.mean[42:] == 0.0).all()
    assert not normalised.z[made.valid][:, 42:].any()


def test_another_bound_of_layer_2_is_another_artefact():
    """Case D05: a changed sanitiser bound never meets old features."""
    assert key_of_features(load_settings(["data=x"])) == key_of_features(load_settings(["data=x"]))
    tighter = load_settings(["data=x", "instrument.limits.log_return=0.05"])
    assert key_of_features(tighter) != key_of_features(load_settings(["data=x"]))


def key_of_features(settings):
    upto = NODES[: [node.name for node in NODES].index("feature_days") + 1]
    axes = {axis: (lambda place: []) for node in upto for axis in node.per}
    files = {group: () for node in upto for group in node.files.values()}
    return build_graph(upto, settings, files, axes)["feature_days"].key


def test_the_users_code_and_choice_are_in_the_key_and_nothing_else_is(user_module, tmp_path):
    """Case D05: a changed constant in the user's module is another feature set."""
    user_module()
    settings = load_settings(["data=x", "features.modules=bench_desk"])
    check_features(settings)
    before = key_of_features(settings)
    assert key_of_features(settings) == before != key_of_features(load_settings(["data=x"]))
    chosen = load_settings(["data=x", "features.modules=bench_desk", "features.names=user,clv"])
    assert chosen.features.names == ("user", "clv") and key_of_features(chosen) != before
    user_module(drift="0.5")
    changed = key_of_features(settings)
    assert changed != before
    path = tmp_path / "bench_desk.py"
    path.write_text("# a remark\n" + path.read_text())
    assert key_of_features(settings) == changed


def test_a_module_of_a_package_brings_its_helpers_into_the_key(tmp_path, monkeypatch):
    (tmp_path / "desk_pack").mkdir()
    for name, text in (("__init__", ""), ("ideas", "from desk_pack.maths import half\n"), ("maths", "half = 0.5\n")):
        (tmp_path / "desk_pack" / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    start = keys.Start(modules=("desk_pack.ideas",))
    before = keys.code_reached(start).digest
    (tmp_path / "desk_pack" / "maths.py").write_text("half = 0.25  # changed\n")
    assert keys.code_reached(start).digest != before


def test_the_libraries_of_the_users_modules_are_in_the_key_by_version(tmp_path, monkeypatch):
    """Case D05: a library that only the user's feature calls is another one after an upgrade."""
    (tmp_path / "desk_libs").mkdir()
    (tmp_path / "desk_libs" / "__init__.py").write_text("")
    (tmp_path / "desk_libs" / "deeper.py").write_text("import json\nimport scipy.signal\n")
    text = MODULE.replace("{value}", "0.0").replace("{drift}", "0.0")
    (tmp_path / "desk_libs" / "ideas.py").write_text("from desk_libs import deeper\n" + text)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert set(keys.code_reached(keys.Start(modules=("desk_libs.ideas",))).libraries) == {"numpy", "scipy"}
    settings = load_settings(["data=x", "features.modules=desk_libs.ideas"])
    before = key_of_features(settings)
    real = keys.installed_versions
    new = {"scipy": "99"}
    monkeypatch.setattr(keys, "installed_versions", lambda names: real(names) | {n: new[n] for n in names if n in new})
    assert key_of_features(settings) != before


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["features.names=clw"], "features.names: there is no feature 'clw'; did you mean 'clv'"),
        (["features.modules=nowhere.at_all"], "nowhere.at_all cannot be imported"),
        (["features.include=book"], "'book' is no group"),
        (["instrument.limits.zscore=0"], "instrument.limits.zscore is 0.0, must be above 0"),
        (["limits.zscore=10"], "unknown key 'limits.zscore'"),
    ],
)
def test_a_wrong_configuration_is_refused_before_anything_runs(overrides, message):
    with pytest.raises(ConfigurationError, match=message):
        check_features(load_settings(["data=x", *overrides]))


def test_limits_belong_to_the_root():
    settings = load_settings(["data=x", "instrument=CL", "instrument.limits.log_return=0.2"])
    assert settings.instrument.limits.log_return == 0.2 and settings.instrument.bars.allow_nonpositive
    assert load_settings(["data=x"]).instrument.limits.log_return == 0.1
    assert replace(settings.instrument.bars, ratio_floor=0.0) != settings.instrument.bars


def test_a_series_that_layer_1_rejects_whole_stops_with_its_rules():
    bars = negative_day().assign(high=2**63 - 1)
    with pytest.raises(ValidationError, match=r"layer 1 rejects all 1700 bars \(\{'undefined_price': 1700\}\)"):
        boundaries.gate_sanitised(sanitise_rolled(bars, BarRules(tick_size=0.01, allow_nonpositive=True)), "fresh computation")


def test_a_set_without_a_row_for_a_model_says_why():
    short = rolled(walk(100), 0.01)
    rules = BarRules(tick_size=0.01)
    with pytest.raises(FoldError, match="none of the 100 rows of the feature set may be seen by a model: the bars are"):
        through_the_steps(short, rules, (0.1, 5.0, 20.0))
    made = through_the_steps(rolled(walk(1300), 0.01), rules, (0.1, 5.0, 20.0))[1]
    unknown = replace(made, valid=np.zeros(1300, bool), bars=made.bars.assign(vix=np.nan))
    with pytest.raises(FoldError, match="exogenous column vix has no value that was known by the end of the bars"):
        fold_rows.fold_table(unknown, FOLDS)


NAMED = """
from kernels.features.user import feature


@feature({name!r}, low=-1, high=1, warm_up=1, formula="0")
def nothing(bars, clamped_returns):
    return bars["close"] * 0
"""


@pytest.mark.parametrize(
    ("name", "exogenous", "message"),
    [
        ("close", "vix", "feature close: the bars have a column of that name; give it another name"),
        ("masked", "vix", "feature masked: the bars have a column of that name"),
        ("valid", "vix", "feature valid: the table of a feature set has a column of that name"),
        ("mine", "adj_close", "exogenous column adj_close: the bars have a column of that name; set a prefix, e.g. x_"),
        ("mine", "valid", "exogenous column valid: the table of a feature set has a column of that name; set a prefix"),
        ("mine", "symbol", "exogenous column symbol: sweeps tell instruments apart by it; set a prefix"),
        ("mine", "rsi_14", "exogenous column rsi_14: a feature has that name; set a prefix"),
        ("mine", "mine", "exogenous column mine: a feature has that name; set a prefix"),
    ],
)
def test_no_two_columns_of_a_feature_set_have_one_name(name, exogenous, message, tmp_path, monkeypatch):
    module = f"names_{name}_{exogenous}"
    (tmp_path / f"{module}.py").write_text(NAMED.format(name=name))
    monkeypatch.syspath_prepend(str(tmp_path))
    words = f"exogenous=[{{path: a.csv, time: t, columns: [{exogenous}], delay: 0s}}]"
    with pytest.raises(ConfigurationError, match=message):
        check_features(load_settings(["data=x", f"features.modules={module}", words]))
    prefixed = words.replace("time: t", "time: t, prefix: x_")
    check_features(load_settings(["data=x", f"features.modules={module}" if name == "mine" else "capital=5", prefixed]))


def test_a_parameter_called_like_a_column_of_the_ranking_is_refused(tmp_path, monkeypatch):
    (tmp_path / "named_parameter.py").write_text(
        "from kernels.expressions import col, param, where\nfrom kernels.strategy import Strategy\n\n"
        "bad = Strategy('bad', where(col('close') > param('combination'), 1.0, 0.0))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    settings = load_settings(["data=x", "sweep.strategies=[named_parameter:bad]", "sweep.grid={combination: [1, 2]}"])
    with pytest.raises(ConfigurationError, match="named_parameter:bad: parameter 'combination' has the name of a column"):
        check_grid(settings)
