"""Which files are read, in which order, and what is said of the others."""

from pathlib import Path

import databento_dbn as dbn
import pytest

from loaders.errors import DamagedFileError, DataError
from loaders.files import describe, list_data_files
from tests.loaders.dbn_builder import (
    END,
    START,
    bars,
    definition,
    frame,
    mapping,
    metadata,
    ns,
    write,
    write_definitions,
)


def one_bar(path: Path, start: str = START, **changes: object) -> Path:
    head = metadata([mapping("ESH4", ("2024-03-01", "2024-03-16", 1))], start=ns(start), **changes)
    return write(path, head, bars([("2024-03-04 12:00", 1, 5000)]))


def test_a_file_is_described_without_its_records(path: Path) -> None:
    one_bar(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])  # damage in the records is found when they are read
    described = describe(path)
    assert (described.kind, described.schema, described.dataset, described.stype_in) == (
        "bars", "ohlcv-1m", "GLBX.MDP3", "parent")
    assert (described.start, described.end, described.symbols) == (ns(START), ns(END), ("ES.FUT",))
    assert described.bytes == len(whole) - 10


def test_numbers_in_names_are_numbers(tmp_path: Path) -> None:  # case C05
    for i in (11, 2, 0, 10, 1, 9):
        one_bar(tmp_path / f"part.{i}.dbn.zst")
    one_bar(tmp_path / "part.².dbn")
    names = [file.path.name for file in list_data_files(tmp_path)]
    assert names == [*(f"part.{i}.dbn.zst" for i in (0, 1, 2, 9, 10, 11)), "part.².dbn"]


def test_files_are_ordered_by_their_start_before_their_name(tmp_path: Path) -> None:
    one_bar(tmp_path / "a.dbn", "2024-03-20")
    one_bar(tmp_path / "b.dbn.zst", "2024-03-10")
    one_bar(tmp_path / "2024.dbn", "2024-03-20")
    assert [file.path.name for file in list_data_files(tmp_path)] == ["b.dbn.zst", "2024.dbn", "a.dbn"]


def test_bars_definitions_and_the_rest_are_told_apart(tmp_path: Path) -> None:
    one_bar(tmp_path / "z.dbn.zst")
    write_definitions(tmp_path / "a.dbn.zst", definition("2024-03-04", 1, "ESH4", "ES", "F"))
    one_bar(tmp_path / "trades.dbn", schema=dbn.Schema.TRADES)
    one_bar(tmp_path / "mbo.dbn", start="2024-04-01", schema=dbn.Schema.MBO)
    (tmp_path / "manifest.json").write_text("{}")
    (tmp_path / "notes.txt").write_text("bought in March")
    (tmp_path / "folder").mkdir()
    files = list_data_files(tmp_path)
    assert [(file.path.name, file.kind, file.reason) for file in files] == [
        ("z.dbn.zst", "bars", ""), ("a.dbn.zst", "definitions", ""),
        ("trades.dbn", "ticks", ""),
        ("manifest.json", "ignored", "support file of a batch download"),
        ("notes.txt", "ignored", "not named .dbn or .dbn.zst"), ("mbo.dbn", "ignored", "schema mbo is not read"),
    ]


def test_one_file_may_be_named_itself(path: Path) -> None:
    assert [file.path for file in list_data_files(one_bar(path))] == [path]


def test_missing_and_empty_directories_are_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere: no such directory; .*pipeline sample"):
        list_data_files(tmp_path / "nowhere")
    (tmp_path / "readme.txt").write_text("no data")
    with pytest.raises(DataError, match=r"holds no DBN file with bars \(1 files, 1 of other kinds\); put \.dbn"):
        list_data_files(tmp_path)
    with pytest.raises(DamagedFileError, match=r"readme\.txt: starts with bytes 6e 6f 20 64, not with DBN"):
        list_data_files(tmp_path / "readme.txt")


def test_a_broken_file_is_not_ignored(tmp_path: Path) -> None:
    one_bar(tmp_path / "good.dbn.zst")
    (tmp_path / "bad.dbn.zst").write_bytes(frame(b"something else"))
    with pytest.raises(DamagedFileError, match=r"bad\.dbn\.zst: content starts with"):
        list_data_files(tmp_path)


def test_bars_of_two_intervals_are_refused(tmp_path: Path) -> None:
    one_bar(tmp_path / "a.dbn.zst")
    one_bar(tmp_path / "b.dbn.zst", schema=dbn.Schema.OHLCV_1S)
    with pytest.raises(DataError, match=r"several intervals \(ohlcv-1m, ohlcv-1s\)"):
        list_data_files(tmp_path)
