"""T28: features that look ahead at some minutes of the day only are found; rows to look at are drawn, others on each day."""

import numpy as np
import pandas as pd
import pytest

from kernels.features.causality import checked_column
from kernels.features.errors import FeatureError, LookAheadError
from kernels.features.returns import log_returns
from kernels.features.user import feature
from loaders.sessions import SessionRule, session_starts

BARS, LOOK_BACK = 1380, 253  # of a trade date, 17:00 to 16:00 in Chicago; in front of its part


def market(sessions):
    """Minutes of whole trade dates from 2024-03-01 on: the clocks change within."""
    rng = np.random.default_rng(sessions)
    days = np.array([day for day in range(19_783, 19_783 + 2 * sessions + 3) if (day + 3) % 7 < 5][:sessions])
    ts = (session_starts(days, SessionRule())[:, np.newaxis] + np.arange(BARS) * 60 * 10**9).ravel()
    close = 5000 + 0.25 * np.cumsum(rng.integers(-3, 4, len(ts)))
    return pd.DataFrame({
        "ts_event": pd.DatetimeIndex(ts.view("datetime64[ns]"), tz="UTC"),
        "session": np.repeat(pd.to_datetime(days, unit="D").strftime("%Y%m%d").astype(np.int32), BARS),
        "contract": pd.Series(["ESH4"] * len(ts), dtype="str"),
        "expiry": np.full(len(ts), 202403, np.int32),
        "close": close,
        "volume": rng.integers(1, 99, len(ts)),
    })  # fmt: skip


def parts_of(bars):
    """Each trade date with its look-back and the bar after it, as `feature_days` computes it."""
    for start in range(0, len(bars), BARS):
        yield bars.iloc[max(0, start - LOOK_BACK) : start + BARS + 1].reset_index(drop=True)


def check(made, bars):
    for part in parts_of(bars):
        checked_column(made, part, log_returns(part))


def peeking(when, ahead=1, warm_up=2):
    def function(bars, clamped_returns):
        later = bars["close"].shift(-ahead) - bars["close"]
        return later.where(when(bars["ts_event"].dt.tz_convert("America/Chicago").dt), 0.0).fillna(0.0)

    return feature("peek", low=-5, high=5, warm_up=warm_up, formula="peeks")(function)


def from_eight_thirty(when):
    return (when.hour == 8) & (when.minute >= 30) & (when.minute < 40)


def every_tenth_minute(when):
    return when.minute % 10 == 0


@pytest.mark.parametrize("ahead", [1, 5])
@pytest.mark.parametrize(
    ("when", "sessions"), [(from_eight_thirty, 3), (from_eight_thirty, 12), (from_eight_thirty, 60), (every_tenth_minute, 3)]
)
def test_t28_a_look_ahead_at_the_same_minutes_of_every_day_is_found(when, sessions, ahead):
    bars = market(sessions)
    with pytest.raises(LookAheadError, match=r"feature peek: bar .* it reads later bars"):
        check(peeking(when, ahead), bars)
    if ahead == 1:  # the table at once, without the flow
        with pytest.raises(LookAheadError):
            checked_column(peeking(when), bars, log_returns(bars))


def test_t28_with_a_long_warm_up_it_is_found_within_days():
    """About five of 61 bars of a day are looked at one by one: ten in a row are missed on one day of three."""
    with pytest.raises(LookAheadError):
        check(peeking(from_eight_thirty, warm_up=60), market(12))


def test_what_looks_ahead_once_an_hour_is_found_although_bars_are_replaced_an_hour_apart():
    with pytest.raises(LookAheadError):
        check(peeking(lambda when: when.minute == 30, warm_up=59), market(3))


def test_one_minute_a_day_is_found_on_the_first_with_a_short_warm_up():
    made = peeking(lambda when: (when.hour == 11) & (when.minute == 17), warm_up=5)
    with pytest.raises(LookAheadError, match=r"bar 2024-02-29T|bar 2024-03-01T17:17"):
        check(made, market(1))


@pytest.mark.parametrize("column", ["session", "contract"])
def test_what_knows_the_last_bar_of_a_session_or_contract_in_advance_is_found(column):
    bars = market(3)
    bars["contract"] = np.where(bars["session"] > bars["session"].iloc[0], "ESM4", "ESH4")

    def last(bars, clamped_returns):
        return bars[column].ne(bars[column].shift(-1, fill_value=bars[column].iloc[-1]))

    made = feature("last", low=0, high=1, warm_up=1, formula="")(last)
    with pytest.raises(LookAheadError):
        check(made, bars)


def test_honest_features_pass_whatever_the_time_of_day():
    def opening_range(bars, clamped_returns):
        when = bars["ts_event"].dt.tz_convert("America/Chicago").dt
        return bars["close"].diff().where(from_eight_thirty(when), 0.0).fillna(0.0)

    made = feature("opening", low=-5, high=5, warm_up=2, formula="")(opening_range)
    fading = feature("fading", low=-5, high=5, warm_up=60, formula="")(
        lambda bars, clamped_returns: (bars["close"] - bars["close"].ewm(span=6).mean()).clip(-5, 5)
    )
    for honest in (made, fading):
        check(honest, market(4))


def test_rows_to_look_at_differ_by_day_and_not_by_run():
    calls = []

    def watching(bars, clamped_returns):
        calls.append((bars["ts_event"].iloc[0], len(bars)))
        return np.zeros(len(bars))

    made = feature("watching", low=-5, high=5, warm_up=30, formula="")(watching)
    parts = list(parts_of(market(30)))[1:]
    seen, whole = [], len(parts[1])
    for part in parts:
        calls.clear()
        checked_column(made, part, log_returns(part))
        seen.append([(start - part["ts_event"].iloc[0], rows) for start, rows in calls])
        assert seen[-1].count((pd.Timedelta(0), len(part) - 1)) == 1  # the last bar is always left out once
        assert len(calls) <= 16  # the column, up to five cuts, one later start, nine tables
    cuts = {rows for calls_of in seen for start, rows in calls_of if start == pd.Timedelta(0)} - {whole, whole - 1}
    starts = {start for calls_of in seen for start, _ in calls_of} - {pd.Timedelta(0)}
    assert len(cuts) > 45 and max(cuts) - min(cuts) > 1200 and len(starts) > 25
    assert any(rows in (LOOK_BACK, LOOK_BACK + 1, LOOK_BACK - 1) for rows in cuts)  # beside the session's first bar
    calls.clear()
    checked_column(made, parts[-1], log_returns(parts[-1]))
    assert [(start - parts[-1]["ts_event"].iloc[0], rows) for start, rows in calls] == seen[-1]


def test_a_replaced_bar_is_another_bar_whole_and_its_place_in_time_stays():
    tables = []

    def watching(bars, clamped_returns):
        tables.append((bars.copy(), np.array(clamped_returns)))
        return np.zeros(len(bars))

    bars = market(1)
    returns = log_returns(bars)
    checked_column(feature("watching", low=-5, high=5, warm_up=30, formula="")(watching), bars, returns)
    changed = [(table, given) for table, given in tables if len(table) == len(bars)][1:]
    assert len(changed) == 9
    known = set(map(tuple, bars[["close", "volume"]].to_numpy()))
    for table, given in changed:
        pd.testing.assert_frame_equal(table[["ts_event", "session", "contract"]], bars[["ts_event", "session", "contract"]])
        assert set(map(tuple, table[["close", "volume"]].to_numpy())) <= known and set(given[1:]) <= set(returns[1:])
        assert (table["close"] != bars["close"]).sum() > 10


def test_an_error_on_the_way_is_the_features_own():
    def failing(bars, clamped_returns):
        if len(bars) < BARS:
            raise RuntimeError("too short")
        return np.zeros(len(bars))

    with pytest.raises(FeatureError, match="raised RuntimeError: too short"):
        check(feature("failing", low=0, high=1, warm_up=2, formula="")(failing), market(1))
