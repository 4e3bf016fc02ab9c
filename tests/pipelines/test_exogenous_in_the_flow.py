"""Exogenous columns reach strategies and the user's features, rebuild what they change, and are in the key by content."""

import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from kernels.execution import Instrument
from kernels.expressions import col, where
from kernels.strategy import Strategy
from kernels.sweep import sweep
from pipelines.config.configuration import load_settings
from pipelines.errors import ConfigurationError, UsageError
from pipelines.flow import flow_graph
from tests.pipelines.day_bars import MINUTES, Workshop, bars_of

ES = Instrument("ES", tick_size=0.25, multiplier=50.0)
FEATURE = """
from kernels.features.user import feature


@feature("vix_level", low=0, high=5, warm_up=1, formula="vix / 20")
def vix_level(bars, clamped_returns):
    return bars["vix"].to_numpy() / 20
"""


@pytest.fixture
def bars():
    return bars_of(days=4, roll_on=None)


@pytest.fixture
def shop(tmp_path):
    rule = f"exogenous=[{{path: {tmp_path / 'vix.csv'}, time: when, columns: [vix], delay: 1min}}]"
    return Workshop(tmp_path / "shop", overrides=(rule,))


def write_vix(folder, bars, rows, values):
    """One value at each of these bars' starts: with a minute of delay known at the bar's close."""
    times = bars["ts_event"].iloc[list(rows)].dt.strftime("%Y-%m-%dT%H:%M:%SZ").to_numpy()
    pd.DataFrame({"when": times, "vix": values}).to_csv(folder / "vix.csv", index=False)


def test_a_strategy_reads_an_exogenous_column_of_the_feature_set(tmp_path, shop, bars):
    write_vix(tmp_path, bars, [100, 300, 500], [15.0, 30.0, 12.0])
    made = shop.build(bars)
    expected = np.repeat([np.nan, 15.0, 30.0, 12.0], [100, 200, 200, 300])
    assert_array_equal(made.bars["vix"], expected)
    calm = Strategy("calm", target=where(col("vix") < 20.0, 1.0, 0.0))
    trace = sweep(calm, made.bars, instrument=ES, executor="numpy").trace(0)
    assert_array_equal(trace["target"], (expected < 20.0).astype(float))


def test_a_new_value_rebuilds_the_days_that_see_it_and_no_other(tmp_path, shop, bars):
    write_vix(tmp_path, bars, [100, 300], [15.0, 30.0])
    shop.build(bars)
    write_vix(tmp_path, bars, [100, 300, 3 * MINUTES + 50], [15.0, 30.0, 12.0])
    shop.build(bars)
    assert shop.sessions_made() == sorted(set(bars["session"]))[3:]


def test_a_users_feature_is_valid_once_its_column_is_known(tmp_path, shop, bars, monkeypatch):
    (tmp_path / "my_vix_features.py").write_text(FEATURE)
    monkeypatch.syspath_prepend(str(tmp_path))
    write_vix(tmp_path, bars, [310], [15.0])
    shop.overrides += ("features.modules=[my_vix_features]", "features.names=[ret_1, vix_level]")
    made = shop.build(bars)
    sys.modules.pop("my_vix_features", None)
    look_back = 61  # of ret_1
    first = 310 + look_back - 1
    assert not made.valid[:first].any() and made.valid[first:].all()
    assert_array_equal(made.features[first:, 1], np.float32(0.75))


def flow_key(tmp_path, small_sample, path):
    settings = load_settings([
        f"data={small_sample}", f"store={tmp_path / 'store'}",
        f"exogenous=[{{path: {path}, time: when, columns: [vix], delay: 15min}}]",
    ])  # fmt: skip
    return flow_graph(settings, ())["exogenous"].key


def test_a_file_is_in_the_key_by_its_content_not_its_name(tmp_path, small_sample):
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one.write_text("when,vix\n2024-03-01T00:00:00Z,15\n")
    other.write_text(one.read_text())
    before = flow_key(tmp_path, small_sample, one)
    assert flow_key(tmp_path, small_sample, other) == before
    one.write_text("when,vix\n2024-03-01T00:00:00Z,16\n")
    assert flow_key(tmp_path, small_sample, one) != before


def test_a_mistyped_rule_and_a_missing_file_are_named(tmp_path, small_sample):
    with pytest.raises(ConfigurationError, match=r"unknown key 'exogenous\[0\].colums': did you mean 'columns'"):
        load_settings(["exogenous=[{path: a.csv, time: t, colums: [x], delay: 0s}]"])
    with pytest.raises(ConfigurationError, match="say when a value is known"):
        load_settings(["exogenous=[{path: a.csv, time: t, columns: [x]}]"])
    settings = load_settings([f"data={small_sample}", "exogenous=[{path: absent.csv, time: t, columns: [x], delay: 0s}]"])
    with pytest.raises(UsageError, match=r"there is no file absent\.csv"):
        flow_graph(settings, ())
