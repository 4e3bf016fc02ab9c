"""Trade dates and session minutes against Python's own zoneinfo, daylight saving on both sides."""

import datetime
import zoneinfo

import numpy as np
import pytest
from numpy.typing import NDArray

from loaders.sessions import SessionRule, day_numbers, session_minutes, session_starts, trade_dates

CHICAGO = zoneinfo.ZoneInfo("America/Chicago")


def utc(*moments: str) -> NDArray[np.int64]:
    return np.array(moments, dtype="datetime64[ns]").view(np.int64)


def test_trade_dates_around_the_change_of_clocks() -> None:  # case C06
    ts = utc("2024-10-31T22:30", "2024-11-04T22:30", "2024-11-04T23:30", "2024-03-08T22:30", "2024-03-11T22:30")
    dates = trade_dates(ts, SessionRule())
    assert dates.tolist() == [20241101, 20241104, 20241105, 20240308, 20240312]
    assert dates.dtype == np.int32
    assert session_minutes(ts, SessionRule()).tolist() == [30, 1410, 30, 1410, 30]


def test_sunday_open_belongs_to_monday_in_winter_and_summer() -> None:  # dbn.md §8.14
    ts = utc("2024-03-03T23:00", "2024-03-10T22:00", "2024-03-10T21:59:59.999999999", "2024-12-31T23:00")
    assert trade_dates(ts, SessionRule()).tolist() == [20240304, 20240311, 20240311, 20250101]


def test_what_happens_at_a_weekend_belongs_to_monday_unless_the_market_never_closes() -> None:
    ts = utc("2024-03-15T21:59", "2024-03-15T22:00", "2024-03-16T15:00", "2024-03-17T12:00", "2024-03-17T22:00")
    assert trade_dates(ts, SessionRule()).tolist() == [20240315, 20240318, 20240318, 20240318, 20240318]
    assert trade_dates(ts, SessionRule(calendar="always")).tolist() == [20240315, 20240316, 20240316, 20240317, 20240318]


def test_two_years_of_hours_agree_with_zoneinfo() -> None:
    ts = utc("2023-01-01") + np.arange(0, 731 * 24) * 3_600_000_000_000 + 1
    local = [datetime.datetime.fromtimestamp(int(t) // 10**9, CHICAGO) for t in ts]
    days = [t.date() + datetime.timedelta(days=int(t.hour >= 17)) for t in local]
    days = [day + datetime.timedelta(days=max(0, 7 - day.weekday()) if day.weekday() >= 5 else 0) for day in days]
    dates = [day.strftime("%Y%m%d") for day in days]
    assert trade_dates(ts, SessionRule()).tolist() == [int(date) for date in dates]
    minutes = [(t.hour * 60 + t.minute - 17 * 60) % 1440 for t in local]
    assert session_minutes(ts, SessionRule()).tolist() == minutes


def test_a_session_that_turns_at_midnight_is_the_calendar_day() -> None:
    rule = SessionRule("UTC", "00:00")
    assert trade_dates(utc("2024-02-29T00:00", "2024-02-29T23:59"), rule).tolist() == [20240229, 20240229]


@pytest.mark.parametrize(("timezone", "turns_at"), [("America/Chicag", "17:00"), ("UTC", "25:00"), ("UTC", "5pm")])
def test_bad_rules_are_refused(timezone: str, turns_at: str) -> None:
    with pytest.raises(ValueError, match=r"session\.(timezone|turns_at) '"):
        SessionRule(timezone, turns_at)


def test_sessions_start_at_their_turn_on_both_sides_of_the_change_of_clocks() -> None:
    dates = np.array([20240308, 20240311, 20241101, 20241104, 20250101], dtype=np.int32)
    expected = utc("2024-03-07T23:00", "2024-03-10T22:00", "2024-10-31T22:00", "2024-11-03T23:00", "2024-12-31T23:00")
    assert session_starts(day_numbers(dates), SessionRule()).tolist() == expected.tolist()
    assert trade_dates(expected, SessionRule()).tolist() == dates.tolist()


@pytest.mark.parametrize(("changes", "message"), [
    ({"calendar": "cme"}, r"session\.calendar 'cme' is not known; known are cme_equity"),
    ({"fill": "backward"}, r"session\.fill 'backward' is not known; known are none, forward"),
    ({"exceptions": {"2025-1-9": "closed"}}, r"session\.exceptions '2025-1-9': 'closed' is not a trade date"),
    ({"exceptions": {"2025-01-09": "noon"}}, r"session\.exceptions '2025-01-09': 'noon'"),
])  # fmt: skip
def test_bad_calendars_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SessionRule(**changes)  # type: ignore[arg-type]
