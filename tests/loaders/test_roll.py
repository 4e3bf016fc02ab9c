"""The followed contract is chosen once a session, from the session before, and never back."""

import pandas as pd
import pytest

from loaders.errors import DataError
from loaders.outrights import OutrightBars
from loaders.roll import RollSettings, rolled_bars
from loaders.sessions import SessionRule
from loaders.types import ROLLED_COLUMNS
from tests.loaders.rolls import day, followed, part, random_market, rolled, shuffled


def test_the_roll_follows_the_volume_of_the_session_before() -> None:
    result = rolled(part([
        *day("2024-03-04", ESH4=100, ESM4=10), *day("2024-03-05", ESH4=40, ESM4=60),
        *day("2024-03-06", ESH4=90, ESM4=20), *day("2024-03-07", ESH4=90, ESM4=20),
    ]))
    assert followed(result) == [(20240304, "ESH4"), (20240305, "ESH4"), (20240306, "ESM4"), (20240307, "ESM4")]
    assert result.schedule.to_numpy().tolist() == [
        [20240304, "ESH4", 202403, 0, 0, -1, -1, "first session"],
        [20240306, "ESM4", 202406, 120, 80, -1, -1, "volume"]]
    assert result.schedule_text == [
        "session,contract,expiry,volume,volume_left,open_interest,open_interest_left,reason",
        "20240304,ESH4,202403,0,0,-1,-1,first session", "20240306,ESM4,202406,120,80,-1,-1,volume"]
    assert result.report == {"outright": 16, "followed": 8, "left": 2, "next": 2, "not_followed": 4,
                             "sessions": 4, "rolls": 1}
    roles = result.bars.groupby(["session", "contract"])["role"].first().to_dict()
    assert roles == {(20240304, "ESH4"): "followed", (20240305, "ESH4"): "followed", (20240305, "ESM4"): "next",
                     (20240306, "ESH4"): "left", (20240306, "ESM4"): "followed", (20240307, "ESM4"): "followed"}


def test_the_rolled_table_has_the_agreed_columns() -> None:
    bars = rolled(part(day("2024-03-04", ESM4=1, ESH4=1))).bars
    assert {name: str(dtype) for name, dtype in bars.dtypes.items()} == ROLLED_COLUMNS
    assert isinstance(bars.index, pd.RangeIndex)
    assert bars["ts_event"].is_monotonic_increasing


def test_equal_volumes_stay_with_the_nearest_expiry() -> None:
    result = rolled(part([*day("2024-03-04", ESM4=50, ESH4=50), *day("2024-03-05", ESM4=50, ESH4=50, ESU4=50),
                          *day("2024-03-06", ESH4=1)]))
    assert [name for _, name in followed(result)] == ["ESH4"] * 3


def test_it_never_goes_back_nor_forward_past_an_earlier_leader() -> None:
    result = rolled(part([*day("2024-03-04", ESH4=1, ESM4=9), *day("2024-03-05", ESH4=99, ESM4=9, ESU4=10),
                          *day("2024-03-06", ESH4=99, ESM4=9, ESU4=10)]))
    assert [name for _, name in followed(result)] == ["ESH4", "ESM4", "ESM4"]


def test_a_session_runs_from_five_in_chicago() -> None:
    rows = [*day("2024-03-04", ESH4=1, ESM4=9),
            ("2024-03-04 22:59", "ESM4", 5051, 5), ("2024-03-04 22:59", "ESH4", 5001, 1),
            ("2024-03-04 23:00", "ESH4", 5002, 1), ("2024-03-04 23:00", "ESM4", 5052, 9)]
    bars = rolled(part(rows)).bars
    assert bars[bars["role"] == "followed"].groupby("contract")["ts_event"].max().dt.strftime("%H:%M").to_dict() == {
        "ESH4": "22:59", "ESM4": "23:00"}


def test_a_sunday_file_is_the_beginning_of_mondays_session() -> None:  # dbn.md §8.14
    friday = part(day("2024-03-08", ESH4=9, ESM4=1))
    sunday = part([("2024-03-10 22:00", "ESM4", 5050, 90), ("2024-03-10 22:01", "ESH4", 5000, 1)], ordinal=1)
    monday = part(day("2024-03-11", ESH4=9, ESM4=1), ordinal=2)
    tuesday = part(day("2024-03-12", ESH4=1, ESM4=1), ordinal=3)
    result = rolled(friday, sunday, monday, tuesday)
    assert followed(result) == [(20240308, "ESH4"), (20240311, "ESH4"), (20240312, "ESM4")]
    assert result.schedule[["volume", "volume_left"]].iloc[1].tolist() == [92, 19], "Sunday's and Monday's together"


def test_an_expired_contract_is_left_though_it_led_the_session_before() -> None:
    result = rolled(part([*day("2024-03-15", ESH4=100, ESM4=10, ESU4=20), *day("2024-03-18", ESM4=10, ESU4=1)]))
    assert result.schedule[["contract", "reason"]].to_numpy().tolist() == [
        ["ESH4", "first session"], ["ESU4", "expired"]]  # of the later ones, the one with the most volume before


def test_the_first_session_follows_the_nearest_listed_contract_of_the_cycle() -> None:
    listed = [("ESG4", 202402, 20240216), ("ESJ4", 202404, 20240419), ("ESH4", 202403, 20240315),
              ("ESM4", 202406, 20240621)]
    bars = part(day("2024-03-04", ESJ4=99, ESM4=50, ESH4=1), listed)
    assert followed(rolled(bars)) == [(20240304, "ESH4")]
    assert followed(rolled(bars, months="JM")) == [(20240304, "ESJ4")]
    later = part(day("2024-03-18", ESJ4=99, ESM4=50), listed)
    assert followed(rolled(later)) == [(20240318, "ESM4")]


def test_a_month_outside_the_cycle_is_never_followed() -> None:
    listed = [("ESH4", 202403, 20240315), ("ESJ4", 202404, 20240419), ("ESM4", 202406, 20240621)]
    rows = [*day("2024-03-04", ESH4=5, ESJ4=99, ESM4=9), *day("2024-03-05", ESH4=5, ESJ4=99, ESM4=9)]
    assert [name for _, name in followed(rolled(part(rows, listed)))] == ["ESH4", "ESM4"]
    assert [name for _, name in followed(rolled(part(rows, listed), months="HJM"))] == ["ESH4", "ESJ4"]


def test_repeated_rows_do_not_add_volume() -> None:
    again = [("2024-03-04 15:00", "ESM4", 5050, 60)] * 3 + [("2024-03-04 15:00", "ESM4", 5051, 7)]
    result = rolled(part([*day("2024-03-04", ESH4=50), *again, *day("2024-03-05", ESH4=1, ESM4=1)]))
    assert result.report["rolls"] == 0, "60 of ESM4 counted once are fewer than 100 of ESH4"
    assert result.report["outright"] == 10 == sum(
        result.report[role] for role in ("followed", "left", "next", "not_followed"))


@pytest.mark.parametrize("seed", range(4))
def test_row_order_and_split_over_files_do_not_matter(seed: int) -> None:  # dbn.md §8.7
    market = random_market(seed)
    whole = rolled(market)
    cut = len(market.bars) // 3
    pieces = [OutrightBars(market.bars.iloc[rows].reset_index(drop=True), market.listed, {})
              for rows in (slice(cut, None), slice(0, cut))]
    for other in (rolled(shuffled(market, seed)), rolled(*pieces)):
        pd.testing.assert_frame_equal(other.bars.drop(columns="source_row"), whole.bars.drop(columns="source_row"))
        pd.testing.assert_frame_equal(other.schedule, whole.schedule)
        assert other.report == whole.report


@pytest.mark.parametrize("seed", range(4))
def test_every_choice_agrees_with_a_plain_loop_over_sessions(seed: int) -> None:
    market = random_market(seed)
    result = rolled(market)
    table = market.bars.assign(session=market.bars["ts_event"].dt.strftime("%Y%m%d").astype("int32"))
    total, largest, count = (
        table.pivot_table(index="session", columns="expiry", values="volume", aggfunc=how, fill_value=0)
        for how in ("sum", "max", "count")
    )
    intraday = count.max(axis=1) >= 10  # there the largest bar of each contract is left out
    volume = total - largest.mul(intraday.astype(int), axis=0)
    expected, current = {}, 202403
    for before, session in zip([None, *volume.index], volume.index, strict=False):
        if before is not None:
            leader = max(volume.columns, key=lambda expiry: (volume.loc[before, expiry], -expiry))
            current = max(current, leader) if volume.loc[before, leader] > 0 else current
        if session > 20240315 and current == 202403:
            current = max((202406, 202409), key=lambda expiry: (volume.loc[before, expiry], -expiry))
        expected[session] = current
    bars = result.bars[result.bars["role"] == "followed"]
    assert dict(bars.groupby("session")["expiry"].first()) == expected


@pytest.mark.parametrize("seed", range(4))
def test_the_future_does_not_change_what_was_followed(seed: int) -> None:
    market = random_market(seed)
    whole = rolled(market).bars
    whole = whole[whole["role"] == "followed"]
    for cut in pd.to_datetime(["2024-02-26 15:03", "2024-03-08 15:05", "2024-03-18 15:01"], utc=True):
        past = market.bars[market.bars["ts_event"] <= cut].reset_index(drop=True)
        bars = rolled(OutrightBars(past, market.listed, {})).bars
        pd.testing.assert_frame_equal(bars[bars["role"] == "followed"].reset_index(drop=True),
                                      whole[whole["ts_event"] <= cut].reset_index(drop=True))


def test_no_bars_no_cycle_and_bad_settings_are_refused() -> None:
    with pytest.raises(DataError, match="no outright bars in 0 files"):
        rolled_bars([], SessionRule(), RollSettings())
    with pytest.raises(DataError, match=r"no contract of months FG among expiries \[202403, 202406, 202409\]"):
        rolled(part(day("2024-03-04", ESH4=1)), months="FG")
    with pytest.raises(ValueError, match=r"roll\.months 'HA' must be codes out of FGHJKMNQUVXZ"):
        RollSettings(months="HA")
    with pytest.raises(ValueError, match=r"roll\.rule 'calender' is not known; known are volume"):
        RollSettings(rule="calender")


@pytest.mark.parametrize("impossible", [False, True])
def test_one_record_with_an_absurd_volume_cannot_decide_a_roll(impossible: bool) -> None:
    rows = [
        (f"2024-03-0{date} 15:{minute:02}", contract, level, volume)
        for date in (4, 5, 6, 7)
        for minute in range(12)
        for contract, level, volume in (("ESH4", 5000.0, 100), ("ESM4", 5050.0, 10))
    ]
    poisoned = part([*rows, ("2024-03-05 15:30", "ESM4", 5050.0, 10**18)])
    if impossible:  # 40 such bars, each with its high below its low
        more = [(f"2024-03-05 16:{minute:02}", "ESM4", 5050.0, 10**6) for minute in range(40)]
        poisoned = part([*rows, *more])
        poisoned.bars["high"] = poisoned.bars["high"] - 10**9 * (poisoned.bars["volume"] == 10**6)
    assert followed(rolled(poisoned)) == [(20240300 + date, "ESH4") for date in (4, 5, 6, 7)]
