"""read_bars, the public door, against Databento's own client on generated files."""

import warnings
from pathlib import Path

import databento
import numpy as np
import pandas as pd
import pytest

from loaders.dbn import read_bars
from loaders.errors import DamagedFileError, DataError
from tests.loaders.dbn_builder import bar, bars, definition, mapping, metadata, ns, write, write_definitions

SYMBOLS = ("ESH4", "ESM4", "ESH4-ESM4", "UD:1V: VT 1")


def client_frame(path: Path) -> pd.DataFrame:
    """The file as Databento's client decodes and maps it; its use of pandas warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return databento.DBNStore.from_bytes(path.read_bytes()).to_df(price_type="fixed").reset_index()


def random_file(path: Path, seed: int, start: str = "2024-03-04") -> Path:
    rng = np.random.default_rng(seed)
    n = 3000
    rows = np.repeat(bar(start, 1, 0), n)
    rows["ts_event"] += (rng.integers(0, 1440, n) * 60_000_000_000).astype(np.uint64)
    rows["instrument_id"] = rng.integers(1, len(SYMBOLS) + 2, n)  # the last one is not mapped
    for name in ("open", "high", "low", "close"):
        rows[name] = rng.integers(-(2**40), 2**45, n)
    rows["volume"] = rng.integers(0, 10**6, n)
    head = metadata([mapping(symbol, ("2024-03-01", "2024-04-01", i + 1)) for i, symbol in enumerate(SYMBOLS)])
    return write(path, head, rows[:1000].tobytes(), rows[1000:].tobytes())


@pytest.mark.parametrize("name", ["es.dbn", "es.dbn.zst"])
def test_generated_bars_equal_the_clients(tmp_path: Path, name: str) -> None:
    path = random_file(tmp_path / name, 1)
    ours, report = read_bars(path)
    theirs = client_frame(path)
    expected = theirs[theirs["symbol"].isin(["ESH4", "ESM4"])].reset_index(drop=True)
    assert (report.root, report.records, report.outright) == ("ES", 3000, len(expected))
    assert report.dropped == {
        "calendar_spread": int((theirs["symbol"] == "ESH4-ESM4").sum()),
        "unmapped": int(theirs["symbol"].isna().sum()),
        "user_defined": int((theirs["symbol"] == "UD:1V: VT 1").sum()),
    }
    assert ours["contract"].tolist() == expected["symbol"].tolist()
    assert (ours["ts_event"] == expected["ts_event"]).all()
    for column in ("open", "high", "low", "close", "volume", "instrument_id", "publisher_id"):
        np.testing.assert_array_equal(ours[column], expected[column].astype("int64"), err_msg=column)


def test_a_directory_is_read_in_order_with_its_definitions(tmp_path: Path) -> None:
    head = metadata([mapping("ESH4", ("2024-03-01", "2024-03-16", 1)),
                     mapping("ESU4", ("2024-03-01", "2024-04-01", 2))])
    for day in (10, 9):
        rows = bars([(f"2024-03-{day:02} 23:00", 1, 5000 + day), (f"2024-03-{day:02} 23:00", 2, 7)])
        write(tmp_path / f"es-{day}.dbn.zst", head, rows)
    write_definitions(tmp_path / "def.dbn.zst", definition("2024-03-09", 1, "ESH4", "ES", "F"),
                      definition("2024-03-09", 2, "ESU4", "ES", "S"))
    (tmp_path / "condition.json").write_text("[]")
    table, report = read_bars(tmp_path)
    assert (table["close"] // 10**9).tolist() == [5009, 5010]
    assert (table["source_row"] // 2**40).tolist() == [0, 1]
    assert (report.records, report.outright, report.dropped) == (4, 2, {"other_spread": 2})
    assert [file["file"] for file in report.files] == ["es-9.dbn.zst", "es-10.dbn.zst"]
    assert report.ignored == ("condition.json",)


def test_the_root_comes_from_the_request_or_must_be_said(path: Path, tmp_path: Path) -> None:
    rows = bars([("2024-03-04 12:00", 1, 5000), ("2024-03-04 12:00", 2, 18000)])
    mappings = [mapping("ESH4", ("2024-03-01", "2024-04-01", 1)), mapping("NQH4", ("2024-03-01", "2024-04-01", 2))]
    write(path, metadata(mappings, symbols=["ESH4", "ESM4"]), rows)
    assert read_bars(path)[1].root == "ES"
    write(path, metadata(mappings, symbols=["ESH4", "NQH4"]), rows)
    with pytest.raises(DataError, match="requested for ES, NQ; say which root"):
        read_bars(path)
    table, report = read_bars(str(path), root="NQ")
    assert (table["contract"].tolist(), report.dropped) == (["NQH4"], {"other_root": 1})
    write(path, metadata(mappings, symbols=[]), rows)
    with pytest.raises(DataError, match="requested for all symbols"):
        read_bars(path)


def test_one_damaged_file_spoils_the_directory(tmp_path: Path) -> None:
    random_file(tmp_path / "a.dbn.zst", 1)
    bad = random_file(tmp_path / "b.dbn.zst", 2)
    bad.write_bytes(bad.read_bytes()[:-1])
    with pytest.raises(DamagedFileError, match=r"b\.dbn\.zst: is truncated: .* lacks its last 1 bytes"):
        read_bars(tmp_path)


def test_the_split_over_files_does_not_change_the_bars(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows = np.repeat(bar("2024-03-04", 1, 5000), 400)
    rows["ts_event"] = ns("2024-03-04") + np.sort(rng.integers(0, 1000, 400)) * 60_000_000_000
    rows["instrument_id"] = rng.integers(1, 3, 400)
    head = metadata([mapping("ESH4", ("2024-03-01", "2024-04-01", 1)),
                     mapping("ESM4", ("2024-03-01", "2024-04-01", 2))])
    whole, _ = read_bars(write(tmp_path / "whole.dbn.zst", head, rows.tobytes()))
    parts = tmp_path / "parts"
    parts.mkdir()
    for i, piece in enumerate(np.split(rows, [3, 4, 250])):
        write(parts / f"{i}.dbn.zst", head, piece.tobytes())
    split, _ = read_bars(parts)
    pd.testing.assert_frame_equal(split.drop(columns="source_row"), whole.drop(columns="source_row"))
