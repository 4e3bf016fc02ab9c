"""The sample's files read with Databento's own reader: symbols, structure of the market, shares of the kinds."""

import json
import re
from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import databento
import numpy as np
import pandas as pd
import pytest
import zstandard

from loaders.sample import write_sample
from loaders.sample_calendar import first_sessions, minute_grid

OUTRIGHT = r"ES[HMUZ]\d"
PATTERNS = {
    "outright": OUTRIGHT,
    "calendar_spread": f"{OUTRIGHT}-{OUTRIGHT}",
    "butterfly": r"ES:BF [HMUZ]\d-[HMUZ]\d-[HMUZ]\d",
    "user_defined": r"UD:1V: [A-Z]{2} \d+",
}
CHICAGO = ZoneInfo("America/Chicago")

# databento warns about pandas 4 whenever it makes a table, and leaves its files open until they are collected.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample(tmp_path_factory.mktemp("files") / "sample", sessions=15).directory


@pytest.fixture(scope="module")
def truth(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "truth.json").read_text())
    return loaded


def read(path: Path) -> pd.DataFrame:
    return databento.DBNStore.from_file(path).to_df(price_type="fixed", pretty_ts=False).reset_index()


@pytest.fixture(scope="module")
def bars(folder: Path, truth: dict[str, Any]) -> pd.DataFrame:
    parts = [read(folder / one["name"]).assign(file=one["name"]) for one in truth["bar_files"]]
    table = pd.concat(parts, ignore_index=True)
    return table.assign(ts=table["ts_event"].astype("int64"), volume=table["volume"].astype("int64"))


@pytest.fixture(scope="module")
def sound(bars: pd.DataFrame, truth: dict[str, Any]) -> pd.DataFrame:
    """Records without the planted ones."""
    first = {one["name"]: bars.index[bars["file"] == one["name"]][0] for one in truth["bar_files"]}
    return bars.drop(index=[first[one["file"]] + one["record"] for one in truth["faults"]])


def kind_of(symbol: str) -> str:
    found = [kind for kind, pattern in PATTERNS.items() if re.fullmatch(pattern, symbol)]
    assert len(found) == 1, symbol
    return found[0]


def test_metadata_is_that_of_a_parent_download(folder: Path, truth: dict[str, Any]) -> None:
    for one in truth["bar_files"]:
        store = databento.DBNStore.from_file(folder / one["name"])
        first, last = re.findall(r"\d{8}", one["name"])
        assert (store.dataset, store.schema, store.metadata.version) == ("GLBX.MDP3", "ohlcv-1m", 3)
        assert (store.stype_in, store.stype_out, store.symbols) == ("parent", "instrument_id", ["ES.FUT"])
        assert store.start == pd.Timestamp(first, tz="UTC")
        assert store.end == pd.Timestamp(last, tz="UTC") + pd.Timedelta(days=1)


def test_every_record_is_mapped_and_counted_by_kind(bars: pd.DataFrame, truth: dict[str, Any]) -> None:
    assert bars["symbol"].notna().all()
    for one in truth["bar_files"]:
        kinds = bars.loc[bars["file"] == one["name"], "symbol"].map(kind_of).value_counts().to_dict()
        assert kinds == one["by_kind"]
        assert sum(kinds.values()) == one["records"]
    assert (bars["rtype"] == 33).all() and (bars["publisher_id"] == 1).all()


def test_mapping_ends_with_the_contract_and_an_id_is_used_twice(folder: Path, truth: dict[str, Any]) -> None:
    mappings = databento.DBNStore.from_file(folder / truth["bar_files"][1]["name"]).mappings
    assert mappings["ESH4"][0]["start_date"] == date(2024, 3, 1)
    assert mappings["ESH4"][0]["end_date"] == date(2024, 3, 16)
    first, second = mappings["UD:1V: VT 2893249"][0], mappings["UD:1V: VT 2901173"][0]
    assert first["symbol"] == second["symbol"] == "2893249"
    assert first["end_date"] == second["start_date"] == date(2024, 3, 6)


def test_definitions_name_every_instrument(folder: Path, truth: dict[str, Any], bars: pd.DataFrame) -> None:
    table = read(folder / truth["definitions"]["name"])
    assert len(table) == truth["definitions"]["records"]
    assert set(bars["symbol"]) <= set(table["raw_symbol"])
    assert (table["asset"] == "ES").all()
    outright = table["raw_symbol"].map(kind_of) == "outright"
    assert (table.loc[outright, "instrument_class"] == "F").all()
    assert set(table.loc[~outright, "instrument_class"]) == {"S", "T"}
    assert set(table.loc[outright, "min_price_increment"]) == {250_000_000}
    assert set(table.loc[~outright, "min_price_increment"]) == {50_000_000}
    day = table["ts_recv"].astype("int64") // 86_400_000_000_000
    assert not table.assign(day=day).duplicated(["instrument_id", "day"]).any()
    keys = pd.MultiIndex.from_arrays([table["instrument_id"], day])
    used = pd.MultiIndex.from_arrays([bars["instrument_id"], bars["ts"] // 86_400_000_000_000])
    place = keys.get_indexer(used)
    assert (place >= 0).all()
    assert (table["raw_symbol"].to_numpy()[place] == bars["symbol"].to_numpy()).all()


def test_frames_are_metadata_then_one_a_day(folder: Path, truth: dict[str, Any], bars: pd.DataFrame) -> None:
    for one in truth["bar_files"]:
        data = (folder / one["name"]).read_bytes()
        sizes = []
        while data:
            header = zstandard.get_frame_parameters(data)
            assert header.has_checksum
            decoder = zstandard.ZstdDecompressor().decompressobj()
            assert len(decoder.decompress(data)) == header.content_size
            sizes.append(header.content_size)
            data = decoder.unused_data
        day = bars.loc[bars["file"] == one["name"], "ts"] // 86_400_000_000_000
        assert [size // 56 for size in sizes[1:]] == day.value_counts(sort=False).sort_index().tolist()


def test_sorted_but_interleaved(sound: pd.DataFrame) -> None:
    assert (np.diff(sound["ts"]) >= 0).all()
    first_of_minute = sound.drop_duplicates("ts")["symbol"].map(kind_of)
    shares = first_of_minute.value_counts(normalize=True)
    assert 0.1 < shares["calendar_spread"] < 0.4


def test_shares_prices_and_ticks_of_spreads(sound: pd.DataFrame) -> None:
    kinds = sound["symbol"].map(kind_of)
    assert 0.20 <= (kinds == "calendar_spread").mean() <= 0.25
    assert (kinds == "butterfly").sum() > 50 and (kinds == "user_defined").sum() > 50
    calendars = sound[kinds == "calendar_spread"]
    assert calendars["low"].min() >= 47_000_000_000 and calendars["high"].max() <= 220_000_000_000
    tick = np.where(kinds == "outright", 250_000_000, 50_000_000)
    for column in ("open", "high", "low", "close"):
        assert (sound[column] % tick == 0).all()
        assert (sound["low"] <= sound[column]).all() and (sound[column] <= sound["high"]).all()
    assert (sound["volume"] > 0).all()
    assert not sound.duplicated(["instrument_id", "ts"]).any()


def test_calendar_costs_what_its_legs_do(sound: pd.DataFrame) -> None:
    close = sound.pivot(index="ts", columns="symbol", values="close") / 1e9
    off = (close["ESH4-ESM4"] - (close["ESM4"] - close["ESH4"])).dropna()
    assert off.size > 500
    assert off.abs().median() < 0.75 and abs(off.mean()) < 0.1


def test_calendar_is_sometimes_the_busiest_at_the_roll(sound: pd.DataFrame) -> None:
    local = pd.to_datetime(sound["ts"], utc=True).dt.tz_convert(CHICAGO)
    night = sound[(local.dt.date == date(2024, 3, 11)) & (local.dt.hour.isin([20, 21, 22, 23]))]
    volume = night.pivot(index="ts", columns="symbol", values="volume").fillna(0)
    assert (volume["ESH4-ESM4"] > volume[["ESH4", "ESM4"]].max(axis=1)).mean() > 0.2


def test_roll_follows_the_volume_of_the_session_before(bars: pd.DataFrame, truth: dict[str, Any]) -> None:
    local = pd.to_datetime(bars["ts"], utc=True).dt.tz_convert(CHICAGO)
    trade_date = (local + pd.Timedelta(hours=7)).dt.strftime("%Y%m%d").astype(int)
    outright = bars["symbol"].map(kind_of) == "outright"
    volume = bars[outright].assign(session=trade_date).pivot_table("volume", "session", "symbol", "sum")
    leader = volume[["ESH4", "ESM4", "ESU4", "ESZ4", "ESH5"]].idxmax(axis=1).shift().fillna("ESH4")
    assert leader.to_dict() == {one["session"]: one["contract"] for one in truth["schedule"]}
    assert truth["rolls"] == [{"session": 20240312, "from": "ESH4", "to": "ESM4"}]


def test_market_is_closed_when_it_should_be(sound: pd.DataFrame) -> None:
    local = pd.to_datetime(sound["ts"], utc=True).dt.tz_convert(CHICAGO)
    assert not (local.dt.hour == 16).any()
    assert not (local.dt.dayofweek == 5).any()
    assert not ((local.dt.dayofweek == 6) & (local.dt.hour < 17)).any()
    assert not ((local.dt.dayofweek == 4) & (local.dt.hour >= 16)).any()
    front = sound[sound["symbol"].isin(["ESH4", "ESM4"])]
    utc = pd.to_datetime(front["ts"], utc=True)
    sundays = front.assign(day=utc.dt.strftime("%Y%m%d"), hour=utc.dt.hour)[utc.dt.dayofweek == 6]
    # Chicago changed its clocks on 2024-03-10: the week opens at 23:00 UTC before, at 22:00 from then on.
    assert sundays.groupby("day")["hour"].min().to_dict() == {"20240225": 23, "20240303": 23, "20240310": 22}


def test_calendar_has_a_holiday_half_days_and_both_clock_changes() -> None:
    sessions = first_sessions(189)
    by_date = {one.trade_date: one for one in sessions}
    assert date(2024, 3, 29) not in by_date and sessions[-1].trade_date == date(2024, 11, 15)
    halves = {one.trade_date: (one.closes - one.opens) // 60_000_000_000 for one in sessions if one.half_day}
    assert halves == {
        date(2024, 5, 27): 1140, date(2024, 6, 19): 1140, date(2024, 7, 3): 1155, date(2024, 7, 4): 1140,
        date(2024, 9, 2): 1140,
    }  # fmt: skip
    assert pd.Timestamp(by_date[date(2024, 11, 1)].opens, tz="UTC").hour == 22
    assert pd.Timestamp(by_date[date(2024, 11, 4)].opens, tz="UTC").hour == 23
    # 184 full sessions of 1,380 minutes and the half days above.
    assert minute_grid(sessions).ts.size == 184 * 1380 + 4 * 1140 + 1155


def test_day_files_hold_the_records_of_the_month_files(folder: Path, tmp_path: Path) -> None:
    daily = write_sample(tmp_path / "daily", sessions=15, daily=True).directory

    def records(place: Path) -> pd.DataFrame:
        paths = sorted(place.glob("*.ohlcv-1m.dbn.zst"))
        return pd.concat([read(path) for path in paths], ignore_index=True).drop(columns="symbol")

    pd.testing.assert_frame_equal(records(daily), records(folder))
    names = [path.name for path in sorted(daily.glob("*.ohlcv-1m.dbn.zst"))]
    assert len(names) == 20 and names[1] == "glbx-mdp3-20240226-20240226.ohlcv-1m.dbn.zst"
    for path in daily.glob("*.ohlcv-1m.dbn.zst"):
        times = pd.to_datetime(read(path)["ts_event"], unit="ns", utc=True)
        assert {f"{moment:%Y%m%d}" for moment in times} <= {path.name.split("-")[2]}
