"""A feature set by trade date equals the one of the whole series on bits, and a change rebuilds only what it reaches."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from kernels.features.selection import FeatureSettings
from kernels.features.table import feature_names
from pipelines.errors import CorruptArtefactError
from pipelines.steps.feature_days import day_features, joined_days, split_days
from tests.pipelines.day_bars import MINUTES, Workshop, bars_of

SETTINGS = (FeatureSettings(), "America/Chicago", 5.0, 0.1)


def nothing(bars):
    return pd.DataFrame(index=pd.RangeIndex(len(bars)))


def whole_series(bars):
    """The same function on the whole table at once."""
    made = day_features(bars, nothing(bars), *SETTINGS)
    return joined_days([made.rows], bars, nothing(bars), 5.0, 0.1)


def assert_same(left, right):
    for name in ("features", "targets", "valid", "has_flow"):
        a, b = np.asarray(getattr(left, name)), np.asarray(getattr(right, name))
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), name
    pd.testing.assert_frame_equal(left.bars, right.bars)
    pd.testing.assert_frame_equal(left.findings, right.findings)
    assert left.names == right.names


@pytest.fixture(scope="module")
def bars():
    return bars_of()


@pytest.fixture
def shop(tmp_path):
    return Workshop(tmp_path / "shop")


def dates(bars):
    return sorted(set(bars["session"].tolist()))


def test_the_days_joined_are_the_whole_series_on_bits(bars, shop):
    made = shop.build(bars)
    assert_same(made, whole_series(bars))
    assert made.features.dtype == np.float32 and made.targets.dtype == np.float64
    assert made.features.shape == (len(bars), 42) and made.valid.sum() == len(bars) - 253
    assert made.findings["rule"].tolist().count("return_clamp") == 2  # the spike and its way back
    assert made.bars["masked"].sum() == 2


def test_the_manifest_lists_every_trade_date_with_its_rows_times_and_key(bars, shop):
    shop.build(bars)
    table = shop.listed.table
    assert table["session"].tolist() == dates(bars) and (table["rows"] == MINUTES).all()
    first = pd.DatetimeIndex(bars["ts_event"]).asi8[::MINUTES]
    assert_array_equal(table["first_ts"], first)
    assert_array_equal(table["last_ts"], first + (MINUTES - 1) * 60_000_000_000)
    assert table["key"].is_unique and set(shop.listed.schema) == {"code", "configuration", "libraries"}
    assert shop.listed.schema["libraries"]["back end"] == "numpy"


def test_a_second_build_computes_nothing(bars, shop):
    shop.build(bars)
    key, shop.made = shop.key, ()
    shop.build(bars)
    assert shop.made == () and shop.key == key


def test_an_added_day_rebuilds_itself_and_the_day_whose_next_bar_it_brings(bars, shop):
    shop.build(bars.iloc[: -MINUTES])
    made = shop.build(bars)
    assert shop.sessions_made() == dates(bars)[-2:]
    assert_same(made, whole_series(bars))


def test_a_corrected_bar_rebuilds_its_day_and_those_that_look_back_on_it(bars, shop):
    shop.build(bars)
    corrected = bars.copy()
    row = 2 * MINUTES + 120
    corrected.loc[row, ["close", "adj_close"]] += 0.25
    corrected.loc[row, ["high", "adj_high"]] += 0.25
    made = shop.build(corrected)
    # 254 bars on from bar 120 of day 2 is bar 174 of day 3; day 4's look-back starts at bar 146 of day 2 and misses it
    assert shop.sessions_made() == dates(bars)[2:4]
    assert_same(made, whole_series(corrected))


def test_a_correction_of_the_first_bar_of_a_day_reaches_the_targets_of_the_day_before(bars, shop):
    shop.build(bars)
    corrected = bars.copy()
    corrected.loc[5 * MINUTES, ["low", "open"]] -= 0.25
    made = shop.build(corrected)
    assert shop.sessions_made() == dates(bars)[4:7]
    assert_same(made, whole_series(corrected))


def test_a_late_bar_shifts_no_day_beyond_its_look_back(bars, shop):
    late = 3 * MINUTES + 10
    shop.build(bars.drop(index=late).reset_index(drop=True))
    made = shop.build(bars)
    assert shop.sessions_made() == dates(bars)[3:5]
    assert_same(made, whole_series(bars))


def test_a_changed_roll_rebuilds_the_days_from_there_on_and_keeps_the_past(bars, shop):
    shop.build(bars)
    moved = bars_of(roll_on=6)
    assert_array_equal(moved["close"], bars["close"])
    made = shop.build(moved)
    # day 3 ends with the roll's next bar; from day 4 on contract, returns or forward-adjusted levels differ up to the
    # new roll, and day 7 looks back on it
    assert shop.sessions_made() == dates(bars)[3:8]
    assert_same(made, whole_series(moved))


def test_other_bounds_or_features_share_no_day(bars, shop):
    shop.build(bars)
    narrow = dataclasses.replace(shop, overrides=("instrument.limits.log_return=0.05",))
    made = narrow.build(bars)
    assert narrow.sessions_made() == dates(bars)
    assert np.nanmax(np.abs(made.targets[:, 0])) == 0.05


def test_t23_the_time_of_day_is_that_of_the_instruments_exchange(bars, shop):
    """The days begin at 14:00 UTC in March before the clocks change: 08:00 in Chicago (120 degrees), 15:00 in Berlin (225)."""
    place = feature_names().index("tod_sin")
    assert shop.build(bars).features[0, place] == np.float32(np.sin(np.radians(120.0)))
    elsewhere = dataclasses.replace(
        shop, overrides=("instrument.session.timezone=Europe/Berlin", "instrument.session.calendar=always")
    )
    assert elsewhere.build(bars).features[0, place] == np.float32(np.sin(np.radians(225.0)))
    assert elsewhere.sessions_made() == dates(bars)


def test_a_bound_that_float32_cannot_hold_passes_its_own_gate(bars, shop):
    """Case D04: float32(0.1) is above 0.1; layer 3 compares in float64, the gate in the matrix's float32."""
    tight = dataclasses.replace(shop, overrides=("instrument.limits.feature=0.1",))
    made = tight.build(bars)
    values = np.asarray(made.features)[np.asarray(made.valid)]
    assert values.max() == np.float32(0.1) and float(values.max()) > 0.1
    assert (made.findings["rule"] == "feature_bound").any()


def test_a_damaged_day_is_found_set_aside_and_made_again(bars, shop):
    before = shop.build(bars)
    day = shop.listed.table["key"].iloc[3]
    path = shop.store.folder(day) / "rows.features.npy"
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    more = bars_of(days=9)
    with pytest.raises(CorruptArtefactError, match=f"{day[:12]}.*rows.features.npy"):
        shop.build(pd.concat([bars, more.iloc[len(bars) :]], ignore_index=True))
    assert not shop.store.folder(day).exists()
    assert_same(shop.build(bars), before)


def test_a_days_rows_do_not_depend_on_how_much_lies_around_it(bars):
    whole = day_features(bars, nothing(bars), *SETTINGS).rows
    at = 0
    for part in split_days(bars, nothing(bars), *SETTINGS):
        settings = {"features": SETTINGS[0], "timezone": SETTINGS[1], "limit": 5.0, "return_limit": 0.1}
        rows = day_features(**part.arguments, **settings).rows
        stop = at + part.about["rows"]
        assert rows.features.tobytes() == whole.features[at:stop].tobytes()
        assert rows.targets.tobytes() == whole.targets[at:stop].tobytes()
        assert rows.flags.tobytes() == np.ascontiguousarray(whole.flags[at:stop]).tobytes()
        at = stop
    assert at == len(bars)


def test_a_masked_bars_adjusted_levels_are_those_of_the_close_before_it(bars, shop):
    """The spike on day 2 is masked, and so is the bar after it: no indicator may see either."""
    made = shop.build(bars).bars
    at = np.flatnonzero(made["masked"])
    assert at.tolist() == [2 * MINUTES + 50, 2 * MINUTES + 51]
    for name in ("adj_open", "adj_high", "adj_low", "adj_close"):
        assert (made[name].iloc[at] == bars["adj_close"].iloc[at[0] - 1]).all()
    assert_array_equal(made["close"], bars["close"])
