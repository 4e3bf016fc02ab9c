"""Trading calendars against the exchange's announcements, real minutes and hours written down elsewhere."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from loaders import sample_calendar
from loaders.dbn import read_bars
from loaders.sessions import SessionRule, trade_dates
from loaders.sessions_calendar import GROUPS, STATES, trading_calendar
from loaders.types import nanoseconds
from tests.loaders.dbn_builder import MINUTE, ns


def minutes(first: str, last: str) -> NDArray[np.int64]:
    return np.arange(ns(first), ns(last), MINUTE)


def stretches(rule: SessionRule, first: str, last: str) -> list[tuple[str, str]]:
    """Start in Chicago (MM-DD HH:MM) and state of every stretch that begins from ``first`` up to ``last`` (UTC)."""
    calendar = trading_calendar(rule, ns(first), ns(last))
    chosen = (calendar.starts >= ns(first)) & (calendar.starts < ns(last))
    local = pd.DatetimeIndex(calendar.starts[chosen].view("datetime64[ns]")).tz_localize("UTC").tz_convert("America/Chicago")
    return list(zip(local.strftime("%m-%d %H:%M"), (STATES[state] for state in calendar.states[chosen]), strict=True))


def open_minutes(rule: SessionRule, first: str, last: str) -> dict[int, int]:
    """Open minutes of each trade date from ``first`` to ``last`` (UTC)."""
    every = minutes(first, last)
    dates = trade_dates(every[trading_calendar(rule, every[0], every[-1]).is_open(every)], rule)
    return dict(zip(*(part.tolist() for part in np.unique(dates, return_counts=True)), strict=True))


def test_a_regular_week_opens_on_sunday_and_closes_an_hour_a_day() -> None:  # dbn.md §8.14
    assert stretches(SessionRule(), "2024-02-25 12:00", "2024-02-27 00:00") == [
        ("02-25 17:00", "open"), ("02-26 16:00", "maintenance"), ("02-26 17:00", "open")]
    assert stretches(SessionRule(), "2024-03-01 12:00", "2024-03-04 12:00") == [
        ("03-01 16:00", "closed"), ("03-03 17:00", "open")]


def test_clocks_change_on_both_sides_of_the_atlantic_on_chicagos_date() -> None:  # dbn.md §8.14
    for first, last in (("2024-03-07", "2024-03-14"), ("2024-10-31", "2024-11-07")):
        counts = open_minutes(SessionRule(), f"{first} 00:00", f"{last} 22:00")
        assert set(list(counts.values())[1:]) == {1380}, "no session is an hour longer or shorter"
    opens = [ns(moment) for moment in ("2024-03-10 22:00", "2024-03-31 22:00", "2024-10-27 22:00", "2024-11-03 23:00")]
    for moment in opens:
        is_open = trading_calendar(SessionRule(), moment, moment).is_open(np.array([moment - MINUTE, moment]))
        assert is_open.tolist() == [False, True]


def test_half_days_and_holidays() -> None:  # dbn.md §8.14
    assert stretches(SessionRule(), "2024-11-27 12:00", "2024-12-01 12:00") == [
        ("11-27 16:00", "maintenance"), ("11-27 17:00", "open"), ("11-28 12:00", "half_day"), ("11-28 16:00", "maintenance"),
        ("11-28 17:00", "open"), ("11-29 12:15", "half_day"), ("11-29 16:00", "closed")]
    assert stretches(SessionRule(), "2024-12-24 12:00", "2024-12-26 12:00") == [
        ("12-24 12:15", "half_day"), ("12-24 16:00", "maintenance"), ("12-24 17:00", "holiday"),
        ("12-25 16:00", "maintenance"), ("12-25 17:00", "open")]


def test_good_friday_trades_only_when_the_jobs_report_falls_on_it() -> None:
    assert ("04-07 08:15", "half_day") in stretches(SessionRule(), "2023-04-06 12:00", "2023-04-08 00:00")
    assert stretches(SessionRule(), "2024-03-28 12:00", "2024-03-30 00:00") == [
        ("03-28 16:00", "maintenance"), ("03-28 17:00", "holiday"), ("03-29 16:00", "closed")]


@pytest.mark.parametrize(("day", "breaks"), [
    ("2013-10-08", [("10-08 15:15", "maintenance"), ("10-08 15:30", "open"), ("10-08 16:15", "maintenance")]),
    ("2015-09-22", [("09-22 15:15", "maintenance"), ("09-22 15:30", "open"), ("09-22 16:00", "maintenance")]),
    ("2021-06-29", [("06-29 16:00", "maintenance")]),
])  # fmt: skip
def test_the_break_grew_to_an_hour_and_the_halt_ended(day: str, breaks: list[tuple[str, str]]) -> None:
    assert stretches(SessionRule(), f"{day} 12:00", f"{day} 21:59") == breaks


@pytest.mark.parametrize(("calendar", "friday"), [
    ("cme_equity", "12:15"), ("cme_rates", "12:15"), ("nymex_energy", "12:45"), ("comex_metals", "12:45"),
])  # fmt: skip
def test_each_group_has_its_own_half_days(calendar: str, friday: str) -> None:
    found = stretches(SessionRule(calendar=calendar), "2024-11-29 12:00", "2024-11-30 12:00")
    assert found == [(f"11-29 {friday}", "half_day"), ("11-29 16:00", "closed")]


def test_every_group_knows_its_library_calendar() -> None:
    for name in GROUPS:
        assert open_minutes(SessionRule(calendar=name), "2024-02-25 23:00", "2024-02-27 22:00") == {
            20240226: 1380, 20240227: 1380}


def test_exceptions_correct_the_calendar() -> None:
    rule = SessionRule(exceptions={"2025-01-09": "08:30", "2025-01-14": "closed", "2025-01-15": "16:00"})
    counts = open_minutes(rule, "2025-01-07 23:00", "2025-01-16 22:00")
    assert counts == {20250108: 1380, 20250109: 930, 20250110: 1380, 20250113: 1380, 20250115: 1380, 20250116: 1380}


def test_a_market_that_is_always_open_has_no_edge() -> None:
    rule = SessionRule("UTC", "00:00", "always")
    assert open_minutes(rule, "2024-03-01 00:00", "2024-03-04 00:00") == {20240301: 1440, 20240302: 1440, 20240303: 1440}


def test_nine_months_agree_with_the_hours_of_the_sample() -> None:
    """The sample's hours were written down on their own: 182 sessions, six half days and a holiday."""
    sessions = sample_calendar.first_sessions(1_000)
    rule = SessionRule()
    every = np.arange(sessions[0].opens, sessions[-1].closes, MINUTE)
    expected = np.zeros(len(every), dtype=bool)
    for one in sessions:
        expected[(one.opens - every[0]) // MINUTE : (one.closes - every[0]) // MINUTE] = True
    np.testing.assert_array_equal(trading_calendar(rule, every[0], every[-1]).is_open(every), expected)


@pytest.mark.parametrize(("name", "root", "calendar"), [("es", "ES", "cme_equity"), ("gc", "GC", "comex_metals")])
def test_no_real_bar_lies_outside_and_the_edges_are_where_trading_stops(
    shared_data: Path, name: str, root: str, calendar: str
) -> None:
    table, _ = read_bars(shared_data / f"dbn/derived-lean/{name}-2013-2020.ohlcv-1m.dbn.zst", root)
    ts = np.unique(nanoseconds(table["ts_event"]))
    hours = trading_calendar(SessionRule(calendar=calendar), ts[0], ts[-1])
    assert hours.is_open(ts).all()
    edges = hours.starts[(hours.starts > ns("2013-10-08")) & (hours.starts < ns("2013-10-11 21:00"))]
    assert np.isin(edges, np.concatenate([ts, ts + MINUTE])).all(), "each break begins after a bar or ends with one"
