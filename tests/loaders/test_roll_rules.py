"""Each roll rule: what it chooses, that it never goes back, and that the future changes nothing."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from loaders.continuous import continuous_bars
from loaders.errors import DataError
from loaders.outrights import OutrightBars
from loaders.roll import RollSettings
from loaders.roll_expiry import expiry_days, month_days
from loaders.roll_settings import ADJUSTMENTS
from loaders.sessions import SessionRule
from tests.loaders.rolls import accepted, day, followed, known, part, random_market, rolled, shuffled

THREE = {"ESH4": 9, "ESM4": 5, "ESU4": 1}
# Every session's values arrive at 14:00 UTC of the next day, so that a cut in time cuts them too.
INTEREST = known(*(
    (f"{after} 14:00", about, expiry, quantity, True)
    for at, (about, after) in enumerate(zip(
        pd.bdate_range("2024-02-23", "2024-03-21").strftime("%Y-%m-%d"),
        pd.bdate_range("2024-02-26", "2024-03-22").strftime("%Y-%m-%d"), strict=True))
    for expiry, quantity in ((202403, 1000 - 60 * at), (202406, 40 * at), (202409, 3 * at))
))  # fmt: skip
RULES: dict[str, dict[str, Any]] = {
    "volume": {},
    "open_interest": {"values": INTEREST},
    "calendar": {"expires": "third_friday", "days_before": 8},
    "months": {"months_before": 0, "month_day": 12},
    "per_timestamp_volume": {},
}


def days(first: str, last: str) -> list[Any]:
    return [row for date in pd.bdate_range(first, last).strftime("%Y-%m-%d") for row in day(date, **THREE)]


def switches(result: Any) -> list[tuple[int, str, str]]:
    table = result.schedule
    return list(zip(table["session"], table["contract"], table["reason"], strict=True))


def dates(*moments: str) -> list[int]:
    return np.array(moments, dtype="datetime64[D]").astype(np.int64).tolist()


def test_calendar_leaves_so_many_days_before_the_expiry() -> None:
    market = part(days("2024-03-04", "2024-03-15"))
    result = rolled(market, rule="calendar", expires="third_friday", days_before=8)
    assert switches(result) == [(20240304, "ESH4", "first session"), (20240307, "ESM4", "calendar")]
    by_listing = rolled(market, rule="calendar", days_before=4)  # ESH4 is listed until 2024-03-15
    assert switches(by_listing)[1:] == [(20240311, "ESM4", "calendar")]
    assert switches(rolled(market, rule="calendar", days_before=0))[1:] == [(20240315, "ESM4", "calendar")]


def test_calendar_begins_with_the_contract_it_would_follow_and_skips_months_outside_the_cycle() -> None:
    listed = [("ESH4", 202403, 20240315), ("ESJ4", 202404, 20240419), ("ESM4", 202406, 20240621)]
    market = part([*day("2024-03-12", ESH4=9, ESJ4=9, ESM4=1), *day("2024-03-13", ESH4=9, ESJ4=9, ESM4=1)], listed)
    settings = {"rule": "calendar", "expires": "third_friday", "days_before": 8}
    assert followed(rolled(market, **settings)) == [(20240312, "ESM4"), (20240313, "ESM4")]
    assert followed(rolled(market, months="HJM", **settings)) == [(20240312, "ESJ4"), (20240313, "ESJ4")]


def test_an_end_of_listing_that_is_the_end_of_the_download_is_no_expiry() -> None:
    listed = [("ESH4", 202403, 20240315), ("ESM4", 202406, 20240315)]
    market = part(days("2024-03-11", "2024-03-15"), [*listed, ("ESU4", 202409, 20240315)])
    assert [name for _, name in followed(rolled(market, rule="calendar", days_before=8))] == ["ESH4"] * 5


def test_months_leave_on_a_day_of_a_month_before_their_own() -> None:
    market = part(days("2024-02-26", "2024-03-08"))
    assert switches(rolled(market, rule="months", months_before=0, month_day=5)) == [
        (20240226, "ESH4", "first session"), (20240305, "ESM4", "months")]
    assert followed(rolled(market, rule="months"))[0] == (20240226, "ESM4"), "February 1 has passed: ESH4 is left"


def test_expiries_are_those_of_the_exchange() -> None:
    third_friday = expiry_days(np.array([201312, 202403, 202406], dtype=np.int32), "third_friday")
    assert third_friday.tolist() == dates("2013-12-20", "2024-03-15", "2024-06-21")
    crude = expiry_days(np.array([202005, 202403, 202407], dtype=np.int32), "before_the_25th")
    assert crude.tolist() == dates("2020-04-21", "2024-02-20", "2024-06-20")
    gold = np.array([201312, 202412], dtype=np.int32)
    assert expiry_days(gold, "third_last_weekday").tolist() == dates("2013-12-27", "2024-12-27")
    assert expiry_days(gold, "first_notice").tolist() == dates("2013-11-29", "2024-11-29")
    assert expiry_days(np.array([202409], dtype=np.int32), "eighth_last_weekday").tolist() == dates("2024-09-19")
    assert month_days(np.array([202401, 202412], dtype=np.int32), 1, 15).tolist() == dates("2023-12-15", "2024-11-15")


@pytest.mark.parametrize(("rule", "month", "last"), [
    ("before_the_25th", 202112, "2021-11-19"),  # the 25th is Thanksgiving: four business days before it
    ("before_the_25th", 202502, "2025-01-21"),  # Martin Luther King's day is the 20th, the 25th a Saturday
    ("before_the_25th", 202401, "2023-12-19"),  # the 25th is Christmas
    ("first_notice", 202106, "2021-05-28"),  # Memorial Day is the last weekday
    ("first_notice", 202404, "2024-03-28"),  # Good Friday is
    ("first_notice", 202201, "2021-12-31"),  # New Year's Day on a Saturday closes no Friday
    ("third_friday", 202606, "2026-06-18"),  # Juneteenth
    ("third_friday", 202706, "2027-06-17"),  # Juneteenth, kept on a Friday
    ("third_friday", 200803, "2008-03-20"),  # Good Friday
    ("third_last_weekday", 202405, "2024-05-29"),  # Memorial Day is the 27th: behind these three
    ("eighth_last_weekday", 202412, "2024-12-19"),  # seven business days before the 31st, Christmas left out
])  # fmt: skip
def test_expiries_do_not_count_the_holidays_of_the_exchange(rule: str, month: int, last: str) -> None:
    """T25 and dates the exchange announced: the last trading day or first notice of real contracts."""
    calendars = ["nymex_energy", "comex_metals", "cme_equity", "cme_rates"]
    found = [expiry_days(np.array([month], dtype=np.int32), rule, SessionRule(calendar=name)).tolist() for name in calendars]
    assert found == [dates(last)] * 4, "all groups of the exchange have the same business days"


def test_a_contract_is_left_before_the_holiday_that_moves_its_last_day() -> None:
    """T25: two days before 2026-06-18, not before the Friday, the session follows the next contract."""
    listed = [("ESM6", 202606, 20260618), ("ESU6", 202609, 20260918)]
    market = part([*day("2026-06-15", ESM6=9, ESU6=1), *day("2026-06-16", ESM6=9, ESU6=1)], listed)
    result = rolled(market, rule="calendar", expires="third_friday", days_before=2)
    assert switches(result)[1:] == [(20260616, "ESU6", "calendar")]


def test_days_of_the_users_own_are_holidays_too_and_always_open_has_no_others() -> None:
    month = np.array([202606], dtype=np.int32)
    rule = SessionRule(calendar="always", exceptions={"2026-06-18": "closed", "2026-06-17": "12:00"})
    assert expiry_days(month, "third_friday", rule).tolist() == dates("2026-06-19")
    closed = SessionRule(exceptions={"2026-06-18": "closed", "2026-06-17": "12:00"})
    assert expiry_days(month, "third_friday", closed).tolist() == dates("2026-06-17")


def test_open_interest_counts_from_its_arrival_not_from_the_day_it_is_about() -> None:
    market = part(days("2024-03-04", "2024-03-08"))
    before = ("2024-03-04 02:00", "2024-03-01", 202403, 900, True), ("2024-03-04 02:00", "2024-03-01", 202406, 100, True)
    # Sessions turn at 23:00 UTC. What is about the 4th arrives on the 5th, a second too late for the session of the 6th.
    late = [(f"2024-03-05 {at}", "2024-03-04", expiry, quantity, True)
            for expiry, quantity, at in ((202403, 400, "23:00:00"), (202406, 600, "23:00:01"))]
    result = rolled(market, rule="open_interest", values=known(*before, *late))
    assert switches(result)[1:] == [(20240307, "ESM4", "open_interest")]
    assert result.schedule[["open_interest", "open_interest_left"]].to_numpy().tolist() == [[-1, -1], [600, 400]]
    early = [(arrival.replace("23:00:0", "22:59:5"), *rest) for arrival, *rest in late]
    assert switches(rolled(market, rule="open_interest", values=known(*before, *early)))[1:] == [
        (20240306, "ESM4", "open_interest")]


@pytest.mark.parametrize(("arrival", "session"), [("2024-03-10 20:00", 20240311), ("2024-03-10 22:30", 20240312)])
def test_fridays_open_interest_comes_on_sunday(arrival: str, session: int) -> None:
    market = part(days("2024-03-07", "2024-03-13"))
    values = known(("2024-03-07 02:00", "2024-03-06", 202403, 900, True), ("2024-03-07 02:00", "2024-03-06", 202406, 1, True),
                   (arrival, "2024-03-08", 202403, 400, False), (arrival, "2024-03-08", 202406, 600, False))
    assert switches(rolled(market, rule="open_interest", values=values))[1:] == [(session, "ESM4", "open_interest")]


def test_final_open_interest_replaces_the_preliminary_and_not_the_other_way_round() -> None:
    market = part(days("2024-03-04", "2024-03-08"))
    first = [("2024-03-05 02:00", "2024-03-04", 202403, 500, False), ("2024-03-05 02:00", "2024-03-04", 202406, 510, False)]
    final = [("2024-03-05 15:00", "2024-03-04", 202403, 520, True), ("2024-03-05 15:00", "2024-03-04", 202406, 505, True)]
    assert switches(rolled(market, rule="open_interest", values=known(*first, *final)))[1:] == []
    again = [("2024-03-05 16:00", *row[1:]) for row in first]
    assert switches(rolled(market, rule="open_interest", values=known(*first, *final, *again)))[1:] == []
    old = [("2024-03-05 16:00", "2024-03-01", 202403, 1, True)]
    assert switches(rolled(market, rule="open_interest", values=known(*first, *final, *old)))[1:] == [], "older news"
    assert switches(rolled(market, rule="open_interest", values=known(*first)))[1:] == [(20240306, "ESM4", "open_interest")]


def test_an_unknown_open_interest_of_the_contract_followed_is_no_reason_to_roll() -> None:
    market = part(days("2024-03-04", "2024-03-15"))
    values = known(("2024-03-04 12:00", "2024-03-01", 202406, 900, True))
    assert [name for _, name in followed(rolled(market, rule="open_interest", values=values))] == ["ESH4"] * 10
    withdrawn = known(("2024-03-04 12:00", "2024-03-01", 202406, 900, True),
                      ("2024-03-04 12:00", "2024-03-01", 202403, 9, True), ("2024-03-04 13:00", "2024-03-01", 202406, -1, True))
    assert [name for _, name in followed(rolled(market, rule="open_interest", values=withdrawn))] == ["ESH4"] * 10


def test_open_interest_without_any_is_refused() -> None:
    with pytest.raises(DataError, match=r"roll\.rule open_interest: no open interest of the root was found; put files"):
        rolled(part(days("2024-03-04", "2024-03-05")), rule="open_interest")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(2))
def test_no_rule_goes_back_and_order_of_rows_does_not_matter(rule: str, seed: int) -> None:  # dbn.md §8.7
    market = random_market(seed)
    whole = rolled(market, rule=rule, **RULES[rule])
    other = rolled(shuffled(market, seed), rule=rule, **RULES[rule])
    pd.testing.assert_frame_equal(other.bars.drop(columns="source_row"), whole.bars.drop(columns="source_row"))
    pd.testing.assert_frame_equal(other.schedule, whole.schedule)
    assert len(whole.schedule) > 1, "a market in which nothing rolls shows nothing"
    if rule != "per_timestamp_volume":
        assert whole.schedule["expiry"].is_monotonic_increasing
        assert whole.schedule["session"].is_unique


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("adjustment", ADJUSTMENTS)
def test_the_future_changes_no_row_of_the_series(rule: str, adjustment: str) -> None:
    market = random_market(5)
    settings = dict(RULES[rule])
    whole = continuous_bars(accepted(rolled(market, rule=rule, **settings).bars), adjustment)
    for text in ("2024-02-26 15:03", "2024-03-07 15:05", "2024-03-11 15:00", "2024-03-12 15:11", "2024-03-19 15:01"):
        cut = pd.Timestamp(text, tz="UTC")
        past = market.bars[market.bars["ts_event"] <= cut].reset_index(drop=True)
        if "values" in settings:
            settings["values"] = INTEREST[INTEREST["ts_recv"] <= cut]
        bars = accepted(rolled(OutrightBars(past, market.listed, {}), rule=rule, **settings).bars)
        expected = whole[whole["ts_event"] <= cut]
        pd.testing.assert_frame_equal(continuous_bars(bars, adjustment), expected)


def test_following_what_has_no_bars_is_refused() -> None:
    with pytest.raises(DataError, match=r"roll\.rule calendar follows ESM4, of which the data has no bar; check roll\.months"):
        rolled(part(day("2024-03-14", ESH4=9)), rule="calendar", expires="third_friday")


def test_bad_settings_name_field_value_and_remedy() -> None:
    with pytest.raises(ValueError, match=r"roll\.adjustment 'back_ratio' rewrites the past .*chart_bars"):
        RollSettings(adjustment="back_ratio")
    with pytest.raises(ValueError, match=r"roll\.adjustment 'diff' is not known; known are none, difference, ratio"):
        RollSettings(adjustment="diff")
    with pytest.raises(ValueError, match=r"roll\.expires 'friday' is not known; known are listing, third_friday"):
        RollSettings(expires="friday")
    with pytest.raises(ValueError, match=r"roll\.days_before is -1, must be 0 to 365"):
        RollSettings(days_before=-1)
    with pytest.raises(ValueError, match=r"roll\.month_day is 31, must be 1 to 28"):
        RollSettings(month_day=31)
    with pytest.raises(ValueError, match="give one"):
        RollSettings(rule="per_timestamp_volume", schedule="rolls.csv")
