"""Every minute without a bar has one reason, the right one, and filling is only done when asked."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kernels.execution import Instrument
from kernels.strategies import positions
from kernels.sweep import sweep
from loaders.continuous import continuous_bars
from loaders.errors import DataError
from loaders.files import list_data_files
from loaders.gaps import REASONS, explain_gaps
from loaders.gaps_report import gap_report
from loaders.outrights import OutrightBars, outright_bars
from loaders.roll import RollSettings, rolled_bars
from loaders.sample import write_sample
from loaders.sessions import SessionRule, session_minutes
from loaders.sessions_calendar import trading_calendar
from loaders.types import BAR_COLUMNS, nanoseconds, utc
from tests.loaders.dbn_builder import MINUTE, ns
from tests.loaders.rolls import accepted, part, rolled
from validation.schemas import check_table

FORWARD = SessionRule(fill="forward")
Holes = list[tuple[str, str]]


def open_bars(first: str, last: str, holes: Holes = (), contract: str = "ESH4", volume: int = 9) -> pd.DataFrame:  # type: ignore[assignment]
    """A bar in every open minute from ``first`` to ``last`` (UTC, exclusive) but those in ``holes``."""
    ts = np.arange(ns(first), ns(last), MINUTE)
    ts = ts[trading_calendar(SessionRule(), ts[0], ts[-1]).is_open(ts)]
    for begin, end in holes:
        ts = ts[(ts < ns(begin)) | (ts >= ns(end))]
    return pd.DataFrame({"ts_event": utc(ts), "contract": contract, "volume": np.int64(volume)})


def explained(bars: pd.DataFrame) -> list[tuple[str, str, int, str]]:
    ts = nanoseconds(bars["ts_event"])
    table = explain_gaps(bars, trading_calendar(SessionRule(), ts.min(), ts.max()))
    assert (table["minutes"] * MINUTE == (nanoseconds(table["end"]) - nanoseconds(table["start"]))).all()
    times = (table[name].dt.strftime("%m-%d %H:%M") for name in ("start", "end"))
    return list(zip(*times, table["minutes"], table["reason"], strict=True))


def test_closed_hours_are_named_by_the_calendar() -> None:
    bars = open_bars("2024-11-26 20:00", "2024-12-02 20:00")
    assert explained(bars) == [
        ("11-26 22:00", "11-26 23:00", 60, "maintenance"), ("11-27 22:00", "11-27 23:00", 60, "maintenance"),
        ("11-28 18:00", "11-28 22:00", 240, "half_day"), ("11-28 22:00", "11-28 23:00", 60, "maintenance"),
        ("11-29 18:15", "11-29 22:00", 225, "half_day"), ("11-29 22:00", "12-01 23:00", 2940, "closed")]
    assert [row[2:] for row in explained(open_bars("2024-12-24 12:00", "2024-12-26 12:00"))] == [
        (225, "half_day"), (60, "maintenance"), (1380, "holiday"), (60, "maintenance")]


def test_a_steady_contract_does_not_fall_silent_for_minutes() -> None:
    holes = [("2024-03-05 10:00", "2024-03-05 10:02"), ("2024-03-05 12:00", "2024-03-05 12:03")]
    assert explained(open_bars("2024-03-05 00:00", "2024-03-05 20:00", holes)) == [
        ("03-05 10:00", "03-05 10:02", 2, "no_trade"), ("03-05 12:00", "03-05 12:03", 3, "missing")]


def test_a_loss_across_a_break_is_one_loss_with_the_break_cut_out() -> None:
    bars = open_bars("2024-03-05 00:00", "2024-03-07 00:00", [("2024-03-05 21:00", "2024-03-06 10:00")])
    assert explained(bars) == [
        ("03-05 21:00", "03-05 22:00", 60, "missing"), ("03-05 22:00", "03-05 23:00", 60, "maintenance"),
        ("03-05 23:00", "03-06 10:00", 660, "missing"), ("03-06 22:00", "03-06 23:00", 60, "maintenance")]


def test_a_quiet_contract_just_does_not_trade() -> None:
    bars = open_bars("2024-03-05 00:00", "2024-03-05 20:00").iloc[::7]
    assert {reason for *_, reason in explained(bars)} == {"no_trade"}


def thin_market(seed: int, lost: Holes = ()) -> pd.DataFrame:  # type: ignore[assignment]
    """Thirty sessions: a bar in all but 1 in 1,000 minutes of the day, in 97 % of those from 17:00 to 23:00 in Chicago."""
    bars = open_bars("2024-03-04 23:00", "2024-04-15 21:00", lost)
    hour = bars["ts_event"].dt.tz_convert("America/Chicago").dt.hour
    chance = np.where(hour >= 17, 0.97, 0.999)
    return bars[np.random.default_rng(seed).random(len(bars)) < chance].reset_index(drop=True)


@pytest.mark.parametrize("seed", range(3))
def test_quiet_minutes_of_thin_hours_are_no_loss(seed: int) -> None:
    found = pd.Series([reason for *_, minutes, reason, in explained(thin_market(seed)) if minutes < 60])
    assert found.value_counts().to_dict().keys() == {"no_trade"}
    assert len(found) > 200


@pytest.mark.parametrize("seed", range(3))
def test_what_is_lost_is_found_in_busy_and_in_thin_hours(seed: int) -> None:
    lost = [("2024-03-12 15:00", "2024-03-12 15:05"), ("2024-03-20 01:00", "2024-03-20 01:08"),
            ("2024-03-27 00:30", "2024-03-27 01:30"), ("2024-04-03 10:00", "2024-04-04 10:00")]
    gaps = explained(thin_market(seed, lost))
    missing = [(start, end) for start, end, _, reason in gaps if reason == "missing"]
    assert len(missing) == 5, "the day's loss is cut by the break"
    for (begin, finish), (start, end) in zip(lost[:3], missing, strict=False):
        assert start <= begin[5:] and finish[5:] <= end


def test_two_losses_side_by_side_do_not_hide_each_other() -> None:
    holes = [("2024-03-05 10:00", "2024-03-05 11:00"), ("2024-03-05 11:06", "2024-03-05 12:00")]
    assert [row[2:] for row in explained(open_bars("2024-03-05 00:00", "2024-03-05 20:00", holes))] == [
        (60, "missing"), (54, "missing")]


def test_near_the_ends_of_the_data_nothing_is_called_missing() -> None:
    holes = [("2024-03-05 10:20", "2024-03-05 10:30")]
    assert explained(open_bars("2024-03-05 10:00", "2024-03-05 20:00", holes))[0][3] == "no_trade"


@pytest.mark.parametrize("seed", range(3))
def test_each_minute_has_one_reason_in_any_order_of_bars(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bars = pd.concat([
        open_bars("2024-11-27 10:00", "2024-12-03 10:00", contract=name, volume=volume).sample(frac=share, random_state=seed)
        for name, volume, share in (("ESZ4", 9, 0.97), ("ESH5", 3, 0.4))
    ], ignore_index=True)  # fmt: skip
    odd = pd.DataFrame({"ts_event": utc(np.array([ns("2024-11-30 12:00")])), "contract": "ESZ4", "volume": np.int64(1)})
    bars = pd.concat([bars, odd]).iloc[rng.permutation(len(bars) + 1)]
    calendar = trading_calendar(SessionRule(), ns("2024-11-27"), ns("2024-12-04"))
    table = explain_gaps(bars, calendar)
    assert set(table["reason"]) <= set(REASONS)
    for contract, rows in bars.groupby("contract"):
        ts = np.sort(nanoseconds(rows["ts_event"]))
        absent = np.setdiff1d(np.arange(ts[0], ts[-1], MINUTE), ts)
        gaps = table[table["contract"] == contract]
        spans = [np.arange(a, b, MINUTE) for a, b in zip(nanoseconds(gaps["start"]), nanoseconds(gaps["end"]), strict=True)]
        np.testing.assert_array_equal(np.concatenate(spans), absent)
        in_hours = np.concatenate([np.full(len(span), reason in ("no_trade", "missing"))
                                   for span, reason in zip(spans, gaps["reason"], strict=True)])
        np.testing.assert_array_equal(in_hours, calendar.is_open(absent))


def test_the_same_symbol_ten_years_later_is_another_contract() -> None:
    old = open_bars("2013-12-02 10:00", "2013-12-02 12:00").assign(expiry=np.int32(201403))
    new = open_bars("2023-12-04 10:00", "2023-12-04 12:00").assign(expiry=np.int32(202403))
    assert explained(pd.concat([old, new])) == []


def test_hour_bars_cover_their_hour_and_no_gap_is_an_empty_table() -> None:
    bars = open_bars("2024-03-05 00:00", "2024-03-06 10:00").iloc[::60]
    calendar = trading_calendar(SessionRule(), ns("2024-03-05"), ns("2024-03-07"))
    table = explain_gaps(bars, calendar, bar_minutes=60)
    assert table[["minutes", "reason"]].to_numpy().tolist() == [[60, "maintenance"]]
    nothing = explain_gaps(bars.iloc[:1], calendar)
    assert nothing.dtypes.equals(table.dtypes)
    assert nothing.empty


def market() -> OutrightBars:
    """Three sessions of ESH4, then ESM4; in the second, an hour of ESH4 is missing and a minute is quiet."""
    holes = [("2024-03-05 15:00", "2024-03-05 16:00"), ("2024-03-05 12:00", "2024-03-05 12:01")]
    near = open_bars("2024-03-03 23:00", "2024-03-06 23:00", holes)
    far = open_bars("2024-03-03 23:00", "2024-03-07 02:00", contract="ESM4", volume=1)
    far.loc[far["ts_event"] >= pd.Timestamp("2024-03-05 23:00", tz="UTC"), "volume"] = 99
    rows = [(str(ts.tz_localize(None)), contract, 5000.0 + 50 * (contract == "ESM4"), volume)
            for table in (near, far) for ts, contract, volume in table.itertuples(index=False)]
    return part(rows)


def test_coverage_accounts_for_every_open_minute_of_every_session() -> None:
    bars = market()
    reports = [{"schema": "ohlcv-1m"}]
    result = gap_report(reports, rolled(bars), SessionRule())
    assert result.coverage.to_numpy().tolist() == [
        [20240304, "ESH4", 1380, 1380, 0, 0, 0], [20240305, "ESH4", 1380, 1319, 1, 60, 0],
        [20240306, "ESH4", 1380, 1380, 0, 0, 0], [20240307, "ESM4", 180, 180, 0, 0, 0]]
    assert result.report == {
        "minutes": {"closed": 0, "holiday": 0, "half_day": 0, "maintenance": 180, "no_trade": 1, "missing": 60},
        "bars": 4259, "outside": 0, "sessions": 4}
    assert result.gaps["contract"].tolist() == ["ESH4"] * 5


def test_a_trade_outside_the_hours_is_counted_and_kept() -> None:
    rows = [("2024-03-04 21:58", "ESH4", 5000.0, 1), ("2024-03-04 22:30", "ESH4", 5001.0, 1),
            ("2024-03-04 23:01", "ESH4", 5002.0, 1)]
    result = gap_report([{"schema": "ohlcv-1m"}], rolled(part(rows)), SessionRule())
    assert result.coverage.drop(columns="contract").to_numpy().tolist() == [
        [20240304, 2, 2, 1, 0, 1], [20240305, 2, 1, 1, 0, 0]]
    assert len(continuous_bars(accepted(rolled(part(rows)).bars), session=SessionRule())) == 3


def test_real_sessions_are_covered_as_they_were_traded(shared_data: Path) -> None:
    loaded = outright_bars(shared_data / "dbn/derived-lean/es-2013-2020.ohlcv-1m.dbn.zst", [], "ES", 0)
    result = rolled_bars([loaded], SessionRule(), RollSettings(months="HMUZ"))
    coverage = gap_report([loaded.report], result, SessionRule()).coverage.set_index("session")
    assert coverage["outside"].sum() == 0
    assert coverage.loc[20200106].to_dict() == {
        "contract": "ESH0", "open": 1365, "bars": 1365, "no_trade": 0, "missing": 0, "outside": 0}
    week = coverage.loc[20131007:20131011]
    assert (week["open"] == 1380).all()
    assert (week["missing"] == 0).all()
    assert (week["no_trade"] > 0).all()
    assert coverage.loc[20131021, "missing"] == 1380, "a day that the file does not hold"
    assert (coverage["open"] == coverage["bars"] - coverage["outside"] + coverage["no_trade"] + coverage["missing"]).all()


ROWS = [
    ("2024-03-04 21:57", "ESH4", 5000.0, 5), ("2024-03-04 21:57", "ESM4", 5050.0, 99),
    ("2024-03-04 21:59", "ESH4", 5002.0, 5), ("2024-03-04 23:02", "ESM4", 5055.0, 5), ("2024-03-04 23:05", "ESM4", 5056.0, 5),
    ("2024-03-05 22:00", "ESM4", 5060.0, 5), ("2024-03-05 23:01", "ESM4", 5061.0, 5),
]


def test_filling_carries_the_close_marks_the_row_and_fills_open_minutes_only() -> None:
    rows_in = accepted(rolled(part(ROWS)).bars)
    assert not continuous_bars(rows_in, session=SessionRule())["filled"].any(), "not unless asked"
    bars = continuous_bars(rows_in, session=FORWARD)
    check_table(bars, "bars")
    assert {name: str(dtype) for name, dtype in bars.dtypes.items()} == BAR_COLUMNS
    head = bars.head(7)
    assert head["ts_event"].dt.strftime("%H:%M").tolist() == ["21:57", "21:58", "21:59", "23:02", "23:03", "23:04", "23:05"]
    assert head["filled"].tolist() == [False, True, False, False, True, True, False]
    assert head["close"].tolist() == [5000, 5000, 5002, 5055, 5055, 5055, 5056]
    assert head["adj_low"].tolist() == [5000, 5000, 5002, 5005, 5005, 5005, 5006]
    assert head["volume"].tolist() == [5, 0, 5, 5, 0, 0, 5]
    assert head["old_price"].notna().tolist() == [False] * 3 + [True] + [False] * 3
    assert head["session"].tolist() == [20240304] * 3 + [20240305] * 4
    assert (bars["masked"] == bars["filled"]).all()
    filled = nanoseconds(bars.loc[bars["filled"], "ts_event"])
    assert (session_minutes(filled, FORWARD) < 1380).all(), "nothing in the break"
    assert len(bars) == 3 + 1378 + 1 + 2, "21:57-21:59; 23:02 to the close; the bar outside the hours; 23:00 and 23:01"
    kept = bars[~bars["filled"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(kept, continuous_bars(rows_in))


def test_filled_rows_do_not_depend_on_the_future() -> None:
    whole = continuous_bars(accepted(rolled(part(ROWS)).bars), session=FORWARD)
    for count in range(3, len(ROWS) + 1):
        bars = continuous_bars(accepted(rolled(part(ROWS[:count])).bars), session=FORWARD)
        pd.testing.assert_frame_equal(bars, whole.iloc[: len(bars)])


def test_no_order_fills_on_a_filled_bar() -> None:
    rows = [("2024-03-04 15:00", "ESH4", 5000.0, 5), ("2024-03-04 15:01", "ESH4", 5001.0, 5),
            ("2024-03-04 15:05", "ESH4", 5009.0, 5), ("2024-03-04 15:06", "ESH4", 5010.0, 5)]
    bars = continuous_bars(accepted(rolled(part(rows)).bars), session=FORWARD)
    assert bars["filled"].tolist() == [False, False, True, True, True, False, False]
    bars["target"] = [0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    trace = sweep(positions(), bars, instrument=Instrument("ES", 0.25, 1.0), capital=10_000.0, executor="numpy").trace(0)
    assert trace["position"].tolist() == [0, 0, 0, 0, 0, 1, 1], "decided at 15:01, filled at the next trade"
    assert trace["profit"].tolist() == [0, 0, 0, 0, 0, 0, 1]


def test_filling_needs_minute_bars() -> None:
    rows = [("2024-03-04 15:00:01", "ESH4", 5000.0, 5), ("2024-03-04 15:00:05", "ESH4", 5001.0, 5)]
    with pytest.raises(DataError, match=r"bar 2024-03-04T15:00:01\+00:00: does not start on a whole minute"):
        continuous_bars(accepted(rolled(part(rows)).bars), session=FORWARD)


def test_the_sample_loses_nothing_and_what_is_taken_out_of_it_is_missing(tmp_path: Path) -> None:
    write_sample(tmp_path, sessions=15)
    bars = [file.path for file in list_data_files(tmp_path) if file.kind == "bars"]
    parts = [outright_bars(path, (), "ES", at) for at, path in enumerate(bars)]
    whole = rolled_bars(parts, SessionRule(), RollSettings(months="HMUZ"))
    report = gap_report([part.report for part in parts], whole, SessionRule()).report["minutes"]
    assert (report["missing"], report["no_trade"] > 20) == (0, True), "thin evenings have minutes without a trade"
    ts = nanoseconds(whole.bars["ts_event"])
    lost = np.zeros(len(ts), dtype=bool)
    for begin, minutes in (("2024-03-05 02:00", 10), ("2024-03-06 15:00", 6), ("2024-03-07 04:00", 60)):
        lost |= (ts >= ns(begin)) & (ts < ns(begin) + minutes * MINUTE)
    cut = replace(whole, bars=whole.bars[~lost].reset_index(drop=True))
    assert gap_report([part.report for part in parts], cut, SessionRule()).report["minutes"]["missing"] in range(76, 79)


def test_a_calendar_that_ends_before_the_bars_is_refused() -> None:
    bars = open_bars("2024-03-05 00:00", "2024-03-26 00:00").iloc[::60]
    calendar = trading_calendar(SessionRule(), ns("2024-03-05"), ns("2024-03-06"))
    with pytest.raises(ValueError, match=r"the calendar covers 2024-02-.* to 2024-03-1.*, the bars 2024-03-05T.* to 2024-03"):
        explain_gaps(bars, calendar)
