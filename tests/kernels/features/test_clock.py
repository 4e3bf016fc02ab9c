"""T23: time of day and weekday follow the exchange's clock and its trade dates, not the clock of storage."""

import numpy as np
import pandas as pd
import pytest

from kernels.features.market import market_features
from kernels.features.table import feature_names
from loaders.sessions import SessionRule, trade_dates

CLOCK = [feature_names().index(name) for name in ("tod_sin", "tod_cos", "dow_sin", "dow_cos")]


def clock_at(bars_of, times, rule=SessionRule()):  # noqa: B008
    """tod_sin, tod_cos, dow_sin, dow_cos of bars that start at these times on the rule's clock."""
    moments = pd.DatetimeIndex(times).tz_localize(rule.timezone).tz_convert("UTC").as_unit("ns")
    bars = bars_of(len(times)).assign(ts_event=moments, session=trade_dates(moments.asi8, rule))
    return market_features(bars, np.zeros(len(times)), rule.timezone)[:, CLOCK]


def test_t23_the_open_stands_at_one_place_before_and_after_the_clocks_change(bars_of):
    before, after = clock_at(bars_of, ["2024-03-08 08:30", "2024-03-11 08:30"])
    np.testing.assert_array_equal(before[:2], after[:2])
    np.testing.assert_allclose(after, [0.793353, -0.608761, 0.0, 1.0], atol=1e-6)  # 127.5 degrees, a Monday
    friday = 2 * np.pi * 4 / 7
    np.testing.assert_allclose(before[2:], [np.sin(friday), np.cos(friday)], rtol=1e-12)


def test_t23_a_sunday_evening_has_the_weekday_of_its_trade_date(bars_of):
    evening, morning, last = clock_at(bars_of, ["2024-03-03 17:30", "2024-03-04 08:30", "2024-03-04 15:59"])
    np.testing.assert_array_equal(evening[2:], morning[2:])
    np.testing.assert_array_equal(evening[2:], last[2:])
    np.testing.assert_array_equal(evening[2:], [0.0, 1.0])


@pytest.mark.parametrize(
    ("rule", "time", "minute", "weekday"),
    [
        (SessionRule("America/Chicago", "16:00"), "2024-03-04 16:30", 990, 1),
        (SessionRule("America/Chicago", "17:00"), "2024-03-04 16:30", 990, 0),
        (SessionRule("Europe/Berlin", "00:00"), "2024-03-29 08:00", 480, 4),
        (SessionRule("Europe/Berlin", "00:00"), "2024-07-05 08:00", 480, 4),
        (SessionRule("Asia/Kolkata", "00:00", "always"), "2024-03-03 09:15", 555, 6),  # half an hour from whole ones; a Sunday
    ],
)
def test_timezone_and_turn_of_the_session_decide(bars_of, rule, time, minute, weekday):
    (found,) = clock_at(bars_of, [time], rule)
    turns = 2 * np.pi * np.array([minute / 1440, weekday / 7])
    np.testing.assert_allclose(found, [np.sin(turns[0]), np.cos(turns[0]), np.sin(turns[1]), np.cos(turns[1])], atol=1e-12)


def test_weekdays_are_those_of_the_calendar(bars_of):
    days = pd.date_range("2019-12-20", "2024-03-10", freq="23D")
    rule = SessionRule(calendar="always", turns_at="00:00")
    dow_sin, dow_cos = clock_at(bars_of, days + pd.Timedelta(hours=9), rule)[:, 2:].T
    found = np.round(np.arctan2(dow_sin, dow_cos) / (2 * np.pi / 7)).astype(int) % 7
    assert found.tolist() == days.dayofweek.tolist()
