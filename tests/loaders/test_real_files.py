"""Real Databento files and real minutes of ES and GC; what is shown here is also shown on generated data elsewhere."""

import random
import re
import warnings
from collections import Counter
from pathlib import Path

import databento
import numpy as np
import pandas as pd
import pytest

from loaders.continuous import continuous_bars
from loaders.dbn import read_bars, read_statistics, read_trades
from loaders.definitions import read_definitions
from loaders.errors import DamagedFileError, DataError
from loaders.files import describe
from loaders.layouts import BARS, STATISTICS, TICKS
from loaders.metadata import read_metadata
from loaders.outrights import outright_bars
from loaders.records import open_dbn
from loaders.roll import RollSettings, rolled_bars
from loaders.sessions import SessionRule
from loaders.venues import GRAMMARS
from tests.loaders.rolls import accepted
from validation.bar_rules import BarRules
from validation.sanitise import sanitise_rolled

CATALOG = "nautilus/historical_bars_catalog/databento"
MINUTES = f"{CATALOG}/futures_ohlcv-1m_2024-07-01T23-40_2024-07-02T00-10.dbn.zst"


@pytest.fixture(scope="module")
def real(shared_data: Path) -> Path:
    return shared_data / "dbn"


def client_frame(path: Path) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return databento.DBNStore.from_bytes(path.read_bytes()).to_df(price_type="fixed").reset_index()


@pytest.mark.parametrize(
    ("name", "root"), [("derived-lean/es-2013-2020.ohlcv-1m.dbn.zst", "ES"), (MINUTES, "ES"), (MINUTES, "NQ"),
                       ("derived-lean/gc-2013-2020.ohlcv-1m.dbn.zst", "GC"), ("dbn/test_data.ohlcv-1m.dbn", "ES"),
                       ("dbn/test_data.ohlcv-1s.v1.dbn.zst", "ES"), ("dbn/test_data.ohlcv-1h.v2.dbn.zst", "ES")],
)
def test_bars_equal_those_of_the_client(real: Path, name: str, root: str) -> None:
    ours, report = read_bars(real / name, root)
    theirs = client_frame(real / name)
    expected = theirs[theirs["symbol"].str.startswith(root)].reset_index(drop=True)
    assert report.records == len(theirs) == report.outright + sum(report.dropped.values())
    assert ours["contract"].tolist() == expected["symbol"].tolist()
    assert (ours["ts_event"] == expected["ts_event"]).all()
    for column in ("open", "high", "low", "close", "volume", "instrument_id"):
        np.testing.assert_array_equal(ours[column], expected[column].astype("int64"), err_msg=column)


def test_every_record_of_every_real_file_is_kept_or_dropped_for_a_reason(real: Path) -> None:
    counted = Counter()
    for path in sorted(real.rglob("*.dbn*")):
        try:
            described = describe(path)
        except DamagedFileError:
            continue  # fragments and other formats: test_every_file_that_is_no_plain_dbn_is_refused
        if described.kind not in (BARS, TICKS):
            continue
        read = read_bars if described.kind == BARS else read_statistics if described.schema == STATISTICS else read_trades
        several = "historical_bars" in str(path) or "options_catalog" in str(path)
        try:
            table, report = read(path, "ES" if several else None)
        except DataError as error:
            assert re.search("dataset OPRA.PILLAR .*put its definition files beside it|say which root to read", str(error))
            counted["named"] += 1
            continue
        assert report.records == len(databento.DBNStore.from_bytes(path.read_bytes()).to_ndarray())
        assert report.records == report.outright + sum(report.dropped.values())
        assert report.outright == len(table) and "outside_request" not in report.dropped
        counted[str(described.schema)] += 1
    assert counted["named"] == 12 and sum(counted.values()) - 12 == 81


@pytest.mark.parametrize(("root", "months", "tick"), [("ES", "HMUZ", 0.25), ("GC", "GJMQZ", 0.1)])
def test_real_minutes_add_up_from_the_file_to_the_series(real: Path, root: str, months: str, tick: float) -> None:
    loaded = outright_bars(real / f"derived-lean/{root.lower()}-2013-2020.ohlcv-1m.dbn.zst", [], root, 0)
    assert loaded.report["records"] == len(loaded.bars) + sum(loaded.report["dropped"].values())
    for rule in ("volume", "calendar", "months", "per_timestamp_volume"):
        result = rolled_bars([loaded], SessionRule(), RollSettings(rule=rule, months=months, expires="third_friday"))
        counts = result.report
        assert len(loaded.bars) == len(result.bars) + counts["not_followed"]
        assert len(result.bars) == counts["followed"] + counts["left"] + counts["next"]
        clean = sanitise_rolled(result.bars, BarRules(tick_size=tick))
        assert len(result.bars) == len(clean.accepted) + len(clean.quarantine)


def test_es_and_nq_minutes_by_definition_and_by_symbol(real: Path) -> None:
    for definitions in ([], [real / CATALOG / "futures_definition.dbn.zst"]):
        loaded = outright_bars(real / MINUTES, definitions, "ES", 0)
        assert (loaded.report["records"], loaded.report["outright"]) == (60, 30)
        assert loaded.report["dropped"] == {"other_root": 30}
        assert (loaded.bars["expiry"] == 202409).all()
    assert loaded.listed.to_numpy().tolist() == [[202409, "ESU4", 20240701, 20240920]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("definition-glbx-es-futspread.dbn.zst", {"outright": 21, "calendar_spread": 20}),
        ("definition-glbx-es-opt.dbn.zst", {"user_defined": 9350, "option": 1944}),
    ],
)
def test_symbols_of_a_real_month(real: Path, name: str, expected: dict[str, int]) -> None:
    symbols = read_metadata(real / "nautilus" / name).mappings.symbols
    assert Counter(GRAMMARS["GLBX.MDP3"].kind(symbol, "ES") for symbol in symbols) == expected


def test_no_us_equity_option_is_an_outright(real: Path) -> None:
    symbols = read_metadata(real / "nautilus/definition-opra.dbn.zst").mappings.symbols
    kinds = Counter(GRAMMARS["GLBX.MDP3"].kind(symbol, "SPY") for symbol in symbols)
    assert (len(symbols), kinds["outright"], kinds["other_root"]) == (13492, 0, 0)


def test_definitions_of_versions_1_and_3_go_together(real: Path) -> None:
    files = [real / "nautilus/definition-glbx-es-fut.dbn.zst", real / "nautilus/definition-glbx-es-futspread.dbn.zst",
             *sorted(real.glob("nautilus-crate/test_data.definition.*.dbn.zst"))]
    definitions = read_definitions(files)
    kinds = dict(zip(definitions.symbols, definitions.kinds("ES", GRAMMARS["GLBX.MDP3"]), strict=True))
    assert kinds == {
        "ESM3": "outright", "ESU6": "outright", "ESH5-ESM5": "calendar_spread", "ESM4-ESU4": "calendar_spread",
        "ESU6-ESM7": "calendar_spread", "ESU6 C9600": "option", "ESU6 P6575": "option",
        "UD:2E: SG 2500275": "user_defined", "UD:T$:CFO 2632896": "user_defined",
    }
    assert dict(zip(definitions.symbols, definitions.expiries, strict=True))["ESU6"] == 202609


def test_the_same_bars_in_every_version_and_form(real: Path) -> None:
    names = ("test_data.ohlcv-1m.dbn", *(f"test_data.ohlcv-1m.v{version}.dbn.zst" for version in (1, 2, 3)))
    tables = [read_bars(real / "dbn" / name)[0] for name in names]
    assert len(tables[0]) == 2
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])


def test_no_return_of_real_es_minutes_is_caused_by_the_roll(real: Path) -> None:  # dbn.md §8.6
    loaded = outright_bars(real / "derived-lean/es-2013-2020.ohlcv-1m.dbn.zst", [], "ES", 0)
    result = rolled_bars([loaded], SessionRule(), RollSettings(months="HMUZ"))
    assert result.schedule[["session", "contract", "reason"]].to_numpy().tolist() == [
        [20131007, "ESZ3", "first session"], [20131219, "ESH4", "volume"], [20200106, "ESH0", "expired"]]
    counts = result.report
    assert counts["outright"] == 23948 == sum(counts[r] for r in ("followed", "left", "next", "not_followed"))
    bars = continuous_bars(accepted(result.bars))
    for date in ("2013-12-18", "2013-12-20"):
        day = bars[bars["ts_event"].dt.strftime("%Y-%m-%d") == date]
        switched = day["contract"].ne(day["contract"].shift()).to_numpy()[1:]
        returns = np.diff(np.log(day["adj_close"]))
        assert switched.sum() <= 1
        assert (np.abs(returns[switched]) < 25e-4).all()
    roll = bars.iloc[np.flatnonzero(bars["old_price"].notna())[0]]
    assert abs(roll["old_price"] - roll["open"] - 6.25) < 1  # the spread of these contracts that month was -6.25


def test_the_per_minute_choice_by_volume_would_flip_122_times(real: Path) -> None:
    """What the roll replaces, on the same file: the check that this day is a hard one."""
    table, _ = read_bars(real / "derived-lean/es-2013-2020.ohlcv-1m.dbn.zst")
    day = table[table["ts_event"].dt.strftime("%Y-%m-%d") == "2013-12-18"]
    chosen = day.sort_values(["ts_event", "volume", "expiry"], ascending=[True, False, True])
    chosen = chosen.drop_duplicates("ts_event")
    assert int(chosen["contract"].ne(chosen["contract"].shift()).sum()) - 1 == 122


def test_real_gold_minutes_roll(real: Path) -> None:
    loaded = outright_bars(real / "derived-lean/gc-2013-2020.ohlcv-1m.dbn.zst", [], "GC", 0)
    result = rolled_bars([loaded], SessionRule(), RollSettings(months="GJMQVZ"))
    bars = continuous_bars(accepted(result.bars))
    assert bars["ts_event"].is_unique
    assert result.schedule["contract"].iloc[0] == "GCV3"
    assert result.schedule["contract"].iloc[1] == "GCZ3", "the nearest month is listed but does not lead"
    assert bars["old_price"].notna().sum() == len(result.schedule) - 1
    assert set(bars["session"]) == {*range(20131007, 20131012), 20200106, 20200107}


def test_every_file_that_is_no_plain_dbn_is_refused(real: Path) -> None:
    strange = sorted([*real.glob("dbn/*.dbz"), *real.glob("dbn/*.frag*")])
    assert len(strange) == 17
    for path in strange:
        with pytest.raises(DamagedFileError, match=r"DBZ file|a fragment without its metadata"):
            open_dbn(path)


def test_a_live_recording_and_other_schemas_are_refused(real: Path) -> None:
    with pytest.raises(DamagedFileError, match="mixed schemas"):
        open_dbn(real / "databento-python/LIVE/test_data.live.dbn.zst")
    with pytest.raises(DamagedFileError, match="schema mbo, which is not read"):
        open_dbn(real / "databento-python/GLBX.MDP3/test_data.mbo.dbn.zst")
    with pytest.raises(DataError, match=r"dataset OPRA\.PILLAR"):
        read_bars(real / "databento-python/OPRA.PILLAR/test_data.ohlcv-1m.dbn.zst", "AAPL")


def test_a_real_empty_day_is_read(real: Path) -> None:
    table, report = read_bars(real / "dbn/test_data.ohlcv-1d.v3.dbn.zst")
    assert (len(table), report.records, report.root) == (0, 0, "ES")


@pytest.mark.parametrize("name", [MINUTES, "databento-python/GLBX.MDP3/test_data.ohlcv-1m.dbn.zst"])
def test_every_cut_of_a_real_file_is_refused_but_between_frames(real: Path, tmp_path: Path, name: str) -> None:
    whole = (real / name).read_bytes()
    path = tmp_path / "cut.dbn.zst"
    read = []
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        try:
            read_bars(path, "ES")
        except DamagedFileError:
            continue
        read.append(length)
    assert len(read) == (1 if name == MINUTES else 0)  # between the metadata's frame and the records': an empty day


def test_changed_bytes_of_a_real_file_never_lose_a_row(real: Path, tmp_path: Path) -> None:
    """Its frames carry checksums: every change is the right rows or an error."""
    whole = (real / MINUTES).read_bytes()
    expected, _ = read_bars(real / MINUTES, "ES")
    noise = random.Random(11)
    path = tmp_path / "changed.dbn.zst"
    for _ in range(300):
        mutant = bytearray(whole)
        mutant[noise.randrange(len(mutant))] ^= 1 << noise.randrange(8)
        path.write_bytes(mutant)
        try:
            table, _ = read_bars(path, "ES")
        except DataError:
            continue
        pd.testing.assert_frame_equal(table, expected)
