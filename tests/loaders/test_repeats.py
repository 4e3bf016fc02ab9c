"""Ticks that would count twice, and files that would be left out quietly, are refused by name."""

from pathlib import Path

import pytest

from loaders.dbn import bars_from_trades, read_bars, read_trades
from loaders.errors import DataError
from loaders.files import list_any_files
from loaders.repeats import refuse_repeats
from tests.loaders.dbn_builder import bars, mapping, metadata, write
from tests.loaders.tick_builder import MARCH, tick_head, ticks

HEAD = metadata([mapping("ESH4", (*MARCH, 1))])
ROWS = bars([("2024-03-05 10:00", 1, 5000.0, 1), ("2024-03-05 10:01", 1, 5001.0, 2)])


@pytest.mark.parametrize("name", ["b.dbn", "a.dbn.zst"])  # a copy; the same file raw and compressed
def test_trades_that_lie_there_twice_are_refused(tmp_path: Path, name: str) -> None:
    rows = ticks("trades", 20)
    write(tmp_path / "a.dbn", tick_head("trades"), rows.tobytes())
    assert bars_from_trades(tmp_path)[0]["volume"].sum() == 20
    write(tmp_path / name, tick_head("trades"), rows.tobytes())
    with pytest.raises(DataError, match=r"begins with the same record as .*, so its trades would count twice; keep one"):
        bars_from_trades(tmp_path)
    with pytest.raises(DataError, match="count twice"):
        read_trades(tmp_path)


def test_other_ticks_empty_and_damaged_files_are_let_through(tmp_path: Path) -> None:
    write(tmp_path / "a.dbn", tick_head("trades"), ticks("trades", 3).tobytes())
    write(tmp_path / "b.dbn", tick_head("trades"), ticks("trades", 3, start="2024-03-05 15:00").tobytes())
    for name in ("c.dbn", "d.dbn"):
        write(tmp_path / name, tick_head("trades"), b"")
    assert read_trades(tmp_path)[1].records == 6
    broken = write(tmp_path / "e.dbn", tick_head("trades"), ticks("trades", 1).tobytes()[:-5])
    refuse_repeats(list_any_files(tmp_path))
    with pytest.raises(DataError, match=rf"{broken.name}: is truncated"):
        read_trades(tmp_path)


def test_bars_that_lie_there_twice_are_left_to_layer_1(tmp_path: Path) -> None:
    for name in ("a.dbn", "a.dbn.zst"):
        write(tmp_path / name, HEAD, ROWS)
    table, report = read_bars(tmp_path)
    assert len(table) == report.records == 4


def test_a_link_to_nowhere_is_named_not_left_out(tmp_path: Path) -> None:
    write(tmp_path / "a.dbn", HEAD, ROWS)
    (tmp_path / "notes.txt").symlink_to(tmp_path / "gone.txt")
    assert read_bars(tmp_path)[1].records == 2
    (tmp_path / "b.dbn.zst").symlink_to(tmp_path / "gone.dbn.zst")
    with pytest.raises(DataError, match=r"b\.dbn\.zst: is a link to .*gone\.dbn\.zst, which is not there; mend or remove it"):
        read_bars(tmp_path)
    (tmp_path / "b.dbn.zst").unlink()
    folder = tmp_path / "linked"
    folder.mkdir()
    (folder / "données 日本.dbn").symlink_to(tmp_path / "a.dbn")
    assert read_bars(folder)[1].records == 2


def test_what_may_not_be_opened_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.dbn", HEAD, ROWS)

    def refuse(self: Path, *args: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"a\.dbn: cannot be opened \(Permission denied\); check its permissions"):
        read_bars(path, "ES")
    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(DataError, match=r"cannot be listed \(Permission denied\); check its permissions"):
        read_bars(tmp_path, "ES")


def test_files_that_are_not_read_are_named_with_the_reason_where_nothing_is_left(tmp_path: Path) -> None:
    write(tmp_path / "a.dbn", HEAD, ROWS).rename(tmp_path / "download")
    with pytest.raises(DataError, match=r"\(1 files, schemas: none; download: not named \.dbn or \.dbn\.zst\); check the path"):
        read_bars(tmp_path)
