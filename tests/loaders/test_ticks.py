"""Trades, quotes and books against Databento's own client, and what is dropped on the way."""

from pathlib import Path

import databento_dbn as dbn
import numpy as np
import pandas as pd
import pytest

from loaders.dbn import read_book, read_quotes, read_trades, scan_trades
from loaders.errors import DamagedFileError, DataError
from loaders.ticks import BOOK_FORM, QUOTE_FORM, TRADE_FORM
from tests.loaders.dbn_builder import POINT, mapping, metadata, ns, write
from tests.loaders.tick_builder import UNDEF_PRICE, client_frame, random_ticks, tick_head, ticks

READERS = {"trades": (read_trades, TRADE_FORM), "mbp-1": (read_quotes, QUOTE_FORM), "tbbo": (read_quotes, QUOTE_FORM),
           "mbp-10": (read_book, BOOK_FORM)}
SIDES = {"A": -1, "B": 1, "N": 0}


def expect_equal(ours: pd.DataFrame, theirs: pd.DataFrame, columns: dict[str, str]) -> None:
    assert {name: str(dtype) for name, dtype in ours.dtypes.items()} == columns
    assert ours["contract"].tolist() == theirs["symbol"].tolist()
    assert ours["side"].tolist() == theirs["side"].map(SIDES).tolist()
    for name in columns:
        if name in theirs and name != "side":
            expected = theirs[name].reset_index(drop=True)
            pd.testing.assert_series_equal(ours[name], expected, check_dtype=False, check_names=False)


@pytest.mark.parametrize("schema", READERS)
@pytest.mark.parametrize("ending", ["dbn", "dbn.zst"])
def test_rows_equal_the_clients(tmp_path: Path, schema: str, ending: str) -> None:  # dbn.md §8.12, §8.13
    read, form = READERS[schema]
    rows = random_ticks(schema, 4000, 3)
    path = write(tmp_path / f"a.{ending}", tick_head(schema), rows[:1500].tobytes(), rows[1500:].tobytes())
    theirs = client_frame(path)
    kept = theirs["symbol"].isin(["ESH4", "ESM4"]) & (theirs["flags"] & 32 == 0)
    if schema == "trades":
        kept &= theirs["price"].notna()
    ours, report = read(path)
    expect_equal(ours, theirs[kept], form.columns)
    assert report.records == 4000 == report.outright + sum(report.dropped.values())
    assert report.outright == len(ours) > 100
    futures = theirs["symbol"].isin(["ESH4", "ESM4"])
    assert report.dropped["snapshot"] == int((futures & (theirs["flags"] & 32 != 0)).sum())
    assert report.dropped["unmapped"] == int(theirs["symbol"].isna().sum())
    assert report.filter_report().symbols["option"] == ["ESH4 C5000"]


@pytest.mark.parametrize("schema", ["tbbo", "mbp-1", "mbp-10"])
def test_trades_sit_inside_quotes_and_books(tmp_path: Path, schema: str) -> None:
    path = write(tmp_path / "a.dbn.zst", tick_head(schema), random_ticks(schema, 3000, 5).tobytes())
    theirs = client_frame(path)
    theirs = theirs[theirs["symbol"].isin(["ESH4", "ESM4"]) & (theirs["flags"] & 32 == 0)]
    trades, report = read_trades(path)
    expect_equal(trades, theirs[(theirs["action"] == "T") & theirs["price"].notna()], TRADE_FORM.columns)
    assert report.dropped["no_trade"] == int((theirs["action"] != "T").sum())


def test_snapshot_rows_are_dropped_whatever_their_time(tmp_path: Path) -> None:  # dbn.md §8.12
    rows = ticks("mbp-1", 4, "2024-03-05 00:00")
    rows["flags"] = [168, 40, 128, 0]
    rows["ts_event"][:2] = ns("2024-03-01 22:00")
    rows["action"] = [b"R", b"A", b"A", b"T"]
    rows["price"][0] = UNDEF_PRICE
    quotes, report = read_quotes(write(tmp_path / "a.dbn", tick_head("mbp-1"), rows.tobytes()))
    assert (len(quotes), report.dropped) == (2, {"snapshot": 2})
    assert quotes["action"].tolist() == ["A", "T"]
    assert (quotes["ts_event"] >= pd.Timestamp("2024-03-04 23:59", tz="UTC")).all()


def test_levels_that_are_not_there_are_nan(tmp_path: Path) -> None:  # dbn.md §8.13
    rows = ticks("mbp-10", 2)
    for level in range(10):
        rows[f"bid_px_{level:02}"] = (4999 - level) * POINT if level < 3 else UNDEF_PRICE
        rows[f"ask_px_{level:02}"] = UNDEF_PRICE
    book, _ = read_book(write(tmp_path / "a.dbn.zst", tick_head("mbp-10"), rows.tobytes()))
    assert book.loc[0, ["bid_px_00", "bid_px_02"]].tolist() == [4999.0, 4997.0]
    assert book[[f"ask_px_{level:02}" for level in range(10)]].isna().all().all()
    assert book[[f"bid_px_{level:02}" for level in range(3, 10)]].isna().all().all()
    assert not (book.select_dtypes("float64") > 1e6).any().any()


def test_the_facts_on_order_are_counted(tmp_path: Path) -> None:
    rows = ticks("trades", 6)
    rows["ts_recv"] = ns("2024-03-04 15:00") + np.array([0, 5, 5, 3, 9, 9])
    rows["ts_event"] = rows["ts_recv"] - np.array([1, 1, 1, 1, 1, 0], dtype=np.uint64)
    rows["ts_event"][4] += 3
    rows["flags"] = [8, 8, 0, 4, 12, 0]
    trades, report = read_trades(write(tmp_path / "a.dbn", tick_head("trades"), rows.tobytes()))
    assert report.files[0]["order"] == {
        "late": 1, "equal": 2, "event_after_received": 1, "bad_ts_recv": 3, "maybe_bad_book": 2}
    assert trades["source_row"].tolist() == list(range(6)), "the order of the file is kept"


def test_nanoseconds_survive_and_undefined_times_do_not_become_1969(tmp_path: Path) -> None:  # cases C08, C09
    rows = ticks("trades", 3)
    stamps = [1767364200011617669, 1767364200011617672]
    rows["ts_recv"] = [*stamps, 2**64 - 1]
    rows["ts_event"] = [stamps[0], 2**64 - 1, stamps[0]]
    head = metadata([mapping("ESH6", ("2026-01-01", "2026-02-01", 1))], schema=dbn.Schema.TRADES)
    path = write(tmp_path / "a.dbn", head, rows.tobytes())
    trades, report = read_trades(path)
    assert trades["ts_recv"].astype("int64").tolist() == stamps
    assert trades["ts_event"].isna().tolist() == [False, True]
    assert report.dropped == {"undefined_timestamp": 1}


def test_pieces_are_the_rows_of_the_whole(tmp_path: Path) -> None:
    rows = random_ticks("trades", 50_000, 9)
    path = write(tmp_path / "a.dbn.zst", tick_head("trades"), rows.tobytes())
    scan = scan_trades(path)
    pieces = list(scan)
    whole, report = read_trades(path)
    assert len(pieces) > 1
    pd.testing.assert_frame_equal(pd.concat(pieces, ignore_index=True), whole)
    assert scan.report == report


def test_an_empty_day_has_the_same_columns(tmp_path: Path) -> None:  # case C13
    for schema, (read, form) in READERS.items():
        table, report = read(write(tmp_path / f"{schema}.dbn.zst", tick_head(schema)))
        assert {name: str(dtype) for name, dtype in table.dtypes.items()} == form.columns
        assert (len(table), report.records) == (0, 0)


def test_foreign_records_and_schemas_are_refused(tmp_path: Path) -> None:
    rows = ticks("trades", 5)
    rows["rtype"][3] = 1
    with pytest.raises(DamagedFileError, match="record 3"):
        read_trades(write(tmp_path / "a.dbn", tick_head("trades"), rows.tobytes()))
    with pytest.raises(DataError, match=r"holds no DBN file of schema mbp-10 \(1 files, schemas: trades\)"):
        read_book(tmp_path / "a.dbn")
    write(tmp_path / "b.dbn", tick_head("tbbo"), ticks("tbbo", 5).tobytes())
    write(tmp_path / "a.dbn", tick_head("trades"), ticks("trades", 5).tobytes())
    with pytest.raises(DataError, match=r"several schemas with the same rows \(tbbo, trades\)"):
        read_trades(tmp_path)
    assert len(read_trades([tmp_path / "a.dbn"])[0]) == 5
