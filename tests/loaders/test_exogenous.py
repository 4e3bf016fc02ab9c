"""Exogenous columns are joined as they were known at the close of a bar, and every doubt about that is refused."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from loaders.errors import DataError
from loaders.exogenous import as_known, exogenous_columns
from loaders.exogenous_files import Observations, read_observations
from loaders.exogenous_rules import ExogenousFile, ExogenousRule

MINUTE = 60_000_000_000
RULE = ExogenousRule(time="when", columns=("vix",), delay="0s")


def bars(count=6, start="2024-03-15T09:30", step=1):
    """Minute bars, each known a minute after it starts."""
    first = pd.Timestamp(start, tz="UTC").value
    times = pd.DatetimeIndex((first + np.arange(count) * step * MINUTE).view("datetime64[ns]"), tz="UTC")
    return pd.DataFrame({"ts_event": times, "close": np.arange(count, dtype=float)})


def csv(folder, text, name="vix.csv"):
    path = folder / name
    path.write_text("\n".join(line.strip() for line in text.strip().splitlines()) + "\n")
    return path


def joined(path, rule=RULE, table=None):
    made = exogenous_columns(bars() if table is None else table, (path,), (rule,), 60)
    return made.columns


def test_a_value_is_visible_from_the_bar_that_closes_when_it_is_known(tmp_path):
    """By hand: the bar 09:30 closes at 09:31. Known at 09:32:00: seen by 09:31; at 09:32:00.000000001: by 09:32."""
    path = csv(
        tmp_path,
        """
        when,vix
        2024-03-15T09:32:00Z,20.5
        2024-03-15T09:33:00.000000001Z,21.5
        2024-03-15T09:34:30+00:00,22.5
        """,
    )
    # closes:                       09:31   09:32 09:33 09:34 09:35 09:36
    assert_array_equal(joined(path)["vix"], [np.nan, 20.5, 20.5, 21.5, 22.5, 22.5])


def test_a_delay_moves_every_value_and_an_availability_column_each_of_its_own(tmp_path):
    path = csv(
        tmp_path,
        """
        when,known,vix
        2024-03-15T09:31:00Z,2024-03-15T09:34:00Z,1
        2024-03-15T09:32:00Z,2024-03-15T09:36:00Z,2
        """,
    )
    late = dataclasses.replace(RULE, delay="", available="known")
    assert_array_equal(joined(path, late)["vix"], [np.nan, np.nan, np.nan, 1, 1, 2])
    two = dataclasses.replace(RULE, delay="2min")
    assert_array_equal(joined(path, two)["vix"], [np.nan, np.nan, 1, 2, 2, 2])


@pytest.mark.parametrize(
    ("when", "delay", "known"),
    [
        ("2024-11-02 18:00", "1d", "2024-11-03T23:00"),  # 18:00 EDT, then 18:00 EST: 25 hours
        ("2024-11-02 18:00", "24h", "2024-11-03T22:00"),  # time that passes: 17:00 by the clock
        ("2024-03-09 18:00", "1d", "2024-03-10T22:00"),  # 23 hours
        ("2024-03-09 18:00", "2d", "2024-03-11T22:00"),
        ("2024-07-01 18:00", "1d", "2024-07-02T22:00"),
        ("2024-11-02 01:30", "1d", "2024-11-03T06:30"),  # 01:30 comes twice: the second, so that nothing is known early
        ("2024-03-09 02:30", "1d", "2024-03-10T07:00"),  # 02:30 is skipped: 03:00 EDT
        ("2024-11-03 12:00", "0d", "2024-11-03T17:00"),
    ],
)
def test_t23_a_delay_in_days_is_the_same_time_by_the_clock(tmp_path, when, delay, known):
    """By hand, New York: UTC - 4 until 2024-11-03 06:00Z and from 2024-03-10 07:00Z, else UTC - 5."""
    path = csv(tmp_path, f"when,vix\n{when},1")
    rule = dataclasses.replace(RULE, delay=delay, timezone="America/New_York")
    assert read_observations(path, rule).available.tolist() == [pd.Timestamp(known, tz="UTC").value]


def test_times_with_offsets_take_the_clock_of_a_delay_in_days_from_the_rule(tmp_path):
    rule = dataclasses.replace(RULE, delay="1d", timezone="America/New_York")
    for text in ("2024-11-02T18:00-04:00", "2024-11-02T22:00Z"):
        path = csv(tmp_path, f"when,vix\n{text},1")
        assert read_observations(path, rule).available.tolist() == [pd.Timestamp("2024-11-03T23:00", tz="UTC").value]


def test_a_value_known_later_than_its_time_cannot_be_seen_before(tmp_path):
    """The attack: a file stamped with the day a figure is about, published that evening; joined by its time it would be
    seen from midnight."""
    path = csv(
        tmp_path,
        """
        when,known,vix
        2024-03-14T00:00:00Z,2024-03-14T21:15:00Z,14
        2024-03-15T00:00:00Z,2024-03-15T21:15:00Z,15
        """,
    )
    rule = dataclasses.replace(RULE, delay="", available="known")
    day = bars(count=24 * 60, start="2024-03-15T00:00")
    seen = joined(path, rule, day)["vix"].to_numpy()
    close = 21 * 60 + 14  # the bar 21:14 closes at 21:15
    assert (seen[:close] == 14).all() and (seen[close:] == 15).all()


def test_a_late_correction_of_the_past_replaces_no_newer_value_and_a_revision_does(tmp_path):
    path = csv(
        tmp_path,
        """
        when,known,vix
        2024-03-15T09:30:00Z,2024-03-15T09:31:00Z,30
        2024-03-15T09:31:00Z,2024-03-15T09:32:00Z,31
        2024-03-15T09:30:00Z,2024-03-15T09:33:00Z,30.9
        2024-03-15T09:31:00Z,2024-03-15T09:34:00Z,31.9
        """,
    )
    rule = dataclasses.replace(RULE, delay="", available="known")
    assert_array_equal(joined(path, rule)["vix"], [30, 31, 31, 31.9, 31.9, 31.9])


def test_a_missing_value_leaves_the_last_one_standing_column_by_column(tmp_path):
    path = csv(
        tmp_path,
        """
        when,vix,rate
        2024-03-15T09:31:00Z,1,
        2024-03-15T09:32:00Z,,7
        2024-03-15T09:33:00Z,3,
        """,
    )
    rule = dataclasses.replace(RULE, columns=("vix", "rate"), prefix="x_")
    made = exogenous_columns(bars(4), (path,), (rule,), 60)
    assert_array_equal(made.columns["x_vix"], [1, 1, 3, 3])
    assert_array_equal(made.columns["x_rate"], [np.nan, 7, 7, 7])
    assert made.report[0]["missing"] == {"x_vix": 1, "x_rate": 2}
    assert made.report[0]["bars_without_value"] == {"x_vix": 0, "x_rate": 1}


def test_rows_in_any_order_give_the_same_columns_and_are_counted(tmp_path):
    lines = [f"2024-03-15T09:3{minute}:00Z,{minute}" for minute in range(1, 6)]
    straight = csv(tmp_path, "\n".join(["when,vix", *lines]))
    mixed = csv(tmp_path, "\n".join(["when,vix", *(lines[at] for at in (3, 0, 4, 1, 2))]), "mixed.csv")
    assert_array_equal(joined(straight)["vix"], joined(mixed)["vix"])
    assert read_observations(mixed, RULE).counts["out_of_order"] == 2
    assert read_observations(straight, RULE).counts["out_of_order"] == 0


def test_duplicates_are_an_error_unless_the_last_is_asked_for(tmp_path):
    path = csv(tmp_path, "when,vix\n2024-03-15T09:31:00Z,1\n2024-03-15T09:32:00Z,2\n2024-03-15T09:31:00Z,3")
    with pytest.raises(DataError, match=r"1 rows repeat a time.*2024-03-15T09:31:00.*duplicates: last"):
        joined(path)
    made = exogenous_columns(bars(3), (path,), (dataclasses.replace(RULE, duplicates="last"),), 60)
    assert_array_equal(made.columns["vix"], [3, 2, 2])
    assert made.report[0]["duplicates"] == 1


def test_parquet_and_csv_with_zones_offsets_or_integers_mean_the_same_moments(tmp_path):
    when = pd.DatetimeIndex(["2024-03-15T09:32:00", "2024-03-15T09:34:00"], tz="UTC").as_unit("ns")
    texts = csv(tmp_path, "when,vix\n2024-03-15T05:32:00-04:00,1\n2024-03-15T10:34:00+01:00,2")
    new_york = csv(tmp_path, "when,vix\n2024-03-15 05:32,1\n2024-03-15 05:34,2", "naive.csv")
    aware = tmp_path / "aware.parquet"
    pd.DataFrame({"when": when.tz_convert("Asia/Tokyo"), "vix": [1.0, 2.0]}).to_parquet(aware)
    micro = tmp_path / "micro.parquet"
    pd.DataFrame({"when": when.as_unit("us").tz_localize(None), "vix": [1.0, 2.0]}).to_parquet(micro)
    seconds = csv(tmp_path, f"when,vix\n{when[0].value // 10**9},1\n{when[1].value // 10**9},2", "seconds.csv")
    expected = [np.nan, 1, 1, 2, 2, 2]
    assert_array_equal(joined(texts)["vix"], expected)
    assert_array_equal(joined(aware)["vix"], expected)
    for path, change in (
        (new_york, {"timezone": "America/New_York"}), (micro, {"timezone": "UTC"}), (seconds, {"unit": "s"}),
    ):  # fmt: skip
        assert_array_equal(joined(path, dataclasses.replace(RULE, **change))["vix"], expected)


@pytest.mark.parametrize(
    ("text", "change", "message"),
    [
        ("when,vix\n2024-03-15T09:31:00,1", {}, "has no time zone.*timezone: UTC"),
        ("when,vix\n2024-03-15,1", {}, "has no time zone"),
        ("when,vix\n1710495060,1", {}, "holds integers; set unit"),
        ("when,vix\n2024-03-15T09:31:00Z,1\n2024-03-15T09:32:00,2", {}, "row 1: when .* has no UTC offset"),
        ("when,vix\n2024-03-15T09:31:00Z,1", {"timezone": "UTC"}, "its own time zone"),
        ("when,vix\n2024-11-03 01:30,1", {"timezone": "America/New_York"}, "no single moment in America/New_York"),
        ("when,vix\n2024-03-15T09:31:00Z,1\n,2", {}, "row 1: when is missing"),
        ("when,vix\nyesterday,1", {"timezone": "UTC"}, "no ISO 8601 time"),
        ("when,vix\n2024-03-15T09:31:00Z,high", {}, "column vix is .*not numbers"),
        ("when,vix\n2024-03-15T09:31:00Z,inf", {}, "row 0: vix is infinite"),
        ("when,vex\n2024-03-15T09:31:00Z,1", {}, "no column 'vix'; its columns are when, vex"),
        ("when,vix", {}, "holds no rows"),
        ("when,known,vix\n2024-03-15T09:31Z,2024-03-15T09:30Z,1", {"delay": "", "available": "known"}, "row 0: its known"),
    ],
)
def test_a_file_that_leaves_a_doubt_is_refused_with_the_remedy(tmp_path, text, change, message):
    path = csv(tmp_path, text)
    with pytest.raises(DataError, match=message) as error:
        joined(path, dataclasses.replace(RULE, **change))
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delay": ""}, "say when a value is known"),
        ({"available": "known"}, "say when a value is known"),
        ({"delay": "-5min"}, "delay '-5min' is none"),
        ({"delay": "2d"}, "delay '2d' is counted in calendar days.* set timezone .* or write 48h for time that passes"),
        ({"columns": ()}, "name at least one column"),
        ({"columns": ("10y",)}, "cannot be read as col"),
        ({"unit": "minutes"}, "must be one of s, ms, us, ns"),
        ({"duplicates": "first"}, "must be one of error, last"),
        ({"timezone": "New York"}, "timezone 'New York' is not known"),
    ],
)
def test_a_rule_that_leaves_a_doubt_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(RULE, **change)


def test_names_that_exist_and_bars_shorter_than_said_are_refused(tmp_path):
    path = csv(tmp_path, "when,close\n2024-03-15T09:31:00Z,1")
    rule = dataclasses.replace(RULE, columns=("close",))
    with pytest.raises(DataError, match=r"exogenous column close: the bars have a column of that name; set a prefix"):
        joined(path, rule)
    assert list(joined(path, dataclasses.replace(rule, prefix="vix_")).columns) == ["vix_close"]
    vix = csv(tmp_path, "when,vix\n2024-03-15T09:31:00Z,1", "other.csv")
    with pytest.raises(DataError, match="another exogenous file has"):
        exogenous_columns(bars(), (vix, vix), (RULE, RULE), 60)
    with pytest.raises(DataError, match=r"bar 2024-03-15T09:30.*the next bar starts 60 s later, but bar_seconds is 3600"):
        exogenous_columns(bars(), (vix,), (RULE,), 3600)


def test_a_file_has_a_path_and_no_rules_mean_no_columns():
    assert ExogenousFile(path="a.csv", time="t", columns=("x",), delay="24h").delay_ns == 86_400_000_000_000
    made = exogenous_columns(bars(3), (), (), 60)
    assert made.columns.shape == (3, 0) and made.report == []


OBSERVATIONS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 8), st.one_of(st.integers(0, 99), st.none())), min_size=1, max_size=25,
    unique_by=lambda row: (row[0], row[1]),
)  # fmt: skip


def observations(rows):
    table = pd.DataFrame([(t, t + lag, np.nan if v is None else v) for t, lag, v in rows], columns=["time", "available", "v"])
    table = table.sort_values(["available", "time"], kind="stable").astype({"v": "float64"})
    return Observations(
        table["time"].to_numpy(np.int64), table["available"].to_numpy(np.int64), table[["v"]].to_numpy(), {}
    )


@settings(max_examples=200, deadline=None)
@given(OBSERVATIONS)
def test_what_is_known_follows_its_definition(rows):
    """Against the definition, spelled out: of what is available, the latest time; of that, the latest revision."""
    moments = np.arange(-1, 32)
    expected = []
    for moment in moments:
        visible = [(t, t + lag, v) for t, lag, v in rows if t + lag <= moment and v is not None]
        expected.append(max(visible)[2] if visible else np.nan)
    made = observations(rows)
    assert_array_equal(as_known(made, made.values[:, 0], moments), expected)


@settings(max_examples=100, deadline=None)
@given(OBSERVATIONS, st.integers(0, 30))
def test_the_future_changes_nothing_before_it(rows, cut):
    """The prefix property: without all that became available after the cut, what was known until then is the same."""
    moments = np.arange(cut + 1)
    whole = observations(rows)
    past = [row for row in rows if row[0] + row[1] <= cut]
    known = as_known(whole, whole.values[:, 0], moments)
    if not past:
        assert np.isnan(known).all()
        return
    before = observations(past)
    assert known.tobytes() == as_known(before, before.values[:, 0], moments).tobytes()


def test_without_revisions_it_is_merge_asof():
    draw = np.random.default_rng(3)
    time = np.sort(draw.choice(100_000, 400, replace=False)).astype(np.int64)
    values = draw.normal(size=400)
    moments = np.sort(draw.integers(0, 110_000, 5000)).astype(np.int64)
    left, right = pd.DataFrame({"at": moments}), pd.DataFrame({"at": time + 50, "v": values})
    expected = pd.merge_asof(left, right, on="at", direction="backward")["v"]
    seen = Observations(time, time + 50, values[:, None], {})
    assert_array_equal(as_known(seen, values, moments), expected)


def test_numbers_of_a_csv_file_keep_their_last_bit(tmp_path):
    """Texts that Python's repr wrote, subnormals and halves between two doubles among them, read back to the bit."""
    draw = np.random.default_rng(4)
    drawn = draw.integers(0, 2**63, 2000).view(np.float64) * draw.choice([-1.0, 1.0], 2000)
    values = np.concatenate([drawn[np.isfinite(drawn)], draw.normal(20, 5, 2000), [5e-324, 1.7976931348623157e308, -0.0, 0.1]])
    times = pd.date_range("2024-03-15T09:31Z", periods=len(values), freq="min").strftime("%Y-%m-%dT%H:%M:%SZ")
    path = tmp_path / "vix.csv"
    path.write_text("\n".join(["when,vix", *(f"{time},{value!r}" for time, value in zip(times, values.tolist(), strict=True))]))
    read = joined(path, table=bars(len(values)))["vix"].to_numpy()
    assert_array_equal(read.view(np.int64), values.view(np.int64))
    # 2^53 + 1 is no double, and lies halfway: to even
    ties = csv(tmp_path, "when,vix\n2024-03-15T09:31:00Z,9007199254740993.0\n2024-03-15T09:32:00Z,0.5", "ties.csv")
    assert joined(ties)["vix"][0] == 9007199254740992.0


def test_a_column_that_stands_twice_is_refused(tmp_path):
    twice = csv(tmp_path, "when,vix,vix\n2024-03-15T09:31:00Z,1,2")
    with pytest.raises(DataError, match=r"vix\.csv: has 2 columns 'vix': which is meant\? Rename"):
        joined(twice)
    times = csv(tmp_path, "when,vix,when\n2024-03-15T09:31:00Z,1,2024-03-15T09:31:00Z", "times.csv")
    with pytest.raises(DataError, match="has 2 columns 'when'"):
        joined(times)
    marked = tmp_path / "marked.csv"
    marked.write_bytes(b"\xef\xbb\xbfwhen,vix\n2024-03-15T09:31:00Z,1\n")  # with a byte-order mark
    assert joined(marked)["vix"][0] == 1.0
    unread = csv(tmp_path, "when,vix,x,x\n2024-03-15T09:31:00Z,1,2,3", "unread.csv")
    assert joined(unread)["vix"][0] == 1.0
