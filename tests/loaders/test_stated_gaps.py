"""T24: what a source says of its own gaps is told with the data, in sentences that name file, number and symbol."""

import json
from pathlib import Path
from typing import Any

import databento_dbn as dbn
import pytest

from loaders.dbn import TimeBars, bars_from_trades, partitions, read_bars, read_trades
from loaders.outrights import join_partitions, outright_bars
from loaders.stated_gaps import few_lines, file_gaps, stated_gaps
from tests.loaders.dbn_builder import MINUTE, bars, definition, mapping, metadata, ns, write
from tests.loaders.tick_builder import tick_head, ticks

MAPPED = ("2024-03-01", "2024-03-16", 1)
REQUEST: dict[str, Any] = {"start": ns("2024-03-01"), "end": ns("2024-03-16")}


def file_of(path: Path, records: int = 1000, mapped: tuple[Any, ...] = MAPPED, **changes: Any) -> Path:
    """Minutes of ESH4 from 2024-03-04 on, requested until 2024-03-16."""
    rows = bars((ns("2024-03-04") + at * MINUTE, 1, 5000.0, 1) for at in range(records))
    return write(path, metadata([mapping("ESH4", mapped)], **{**REQUEST, **changes}), rows)


def test_a_limit_that_was_reached_is_said_and_one_that_was_not_is_silent(tmp_path: Path) -> None:
    """T24 a and c: 1,000 records of a request limited to 1,000; 1,000 of 5,000."""
    _, report = read_bars(file_of(tmp_path / "a.dbn", limit=1000))
    assert report.files[0]["limit"] == report.files[0]["records"] == 1000
    assert report.files[0]["gaps"] == [
        "a.dbn: holds as many records as its request was limited to, 1,000; what came after is missing"]
    for name, changes in (("c.dbn", {"limit": 5000}), ("d.dbn.zst", {})):
        assert read_bars(file_of(tmp_path / name, **changes))[1].files[0]["gaps"] == []
        assert file_gaps(tmp_path / name) == []


def test_a_file_in_pieces_reaches_its_limit_as_a_whole(tmp_path: Path) -> None:
    path = file_of(tmp_path / "a.dbn", limit=1000)
    parts = [outright_bars(path, (), "ES", 0, piece) for piece in partitions(path, 300)]
    assert len(parts) == 4 and not any(part.report["gaps"] for part in parts)
    assert join_partitions(parts).report == outright_bars(path, (), "ES", 0).report
    assert len(join_partitions(parts).report["gaps"]) == 1


def test_symbols_that_the_source_did_not_find_are_named(tmp_path: Path) -> None:
    """T24 b: not_found and partial."""
    changes = {"not_found": ["ESM4"], "partial": ["ESH4"], "symbols": ["ESH4", "ESM4"]}
    _, report = read_bars(file_of(tmp_path / "b.dbn", **changes), "ES")
    assert (report.files[0]["not_found"], report.files[0]["partial"]) == (["ESM4"], ["ESH4"])
    assert report.files[0]["gaps"] == ["b.dbn: not found by the source: ESM4", "b.dbn: found for a part of the time only: ESH4"]


@pytest.mark.parametrize(("mapped", "said"), [
    (("2024-03-01", "2024-03-06", 1), "2024-03-06/2024-03-15"),
    (("2024-03-04", "2024-03-16", 1), "2024-03-01/2024-03-03"),
    (("2024-03-01", "2024-03-15", 1), "2024-03-15"),
])  # fmt: skip
def test_days_without_any_symbol_are_named(tmp_path: Path, mapped: tuple[Any, ...], said: str) -> None:
    path = file_of(tmp_path / "e.dbn", 10, mapped)
    assert file_gaps(path) == [f"e.dbn: asked for, but without any symbol on {said}"]


def test_contracts_that_take_turns_leave_no_day_out(tmp_path: Path) -> None:
    names = [mapping("ESH4", ("2024-03-01", "2024-03-08", 1)), mapping("ESM4", ("2024-03-07", "2024-03-16", 2))]
    rows = bars([("2024-03-04 15:00", 1, 5000.0, 1)])
    assert file_gaps(write(tmp_path / "f.dbn", metadata(names, **REQUEST), rows)) == []
    part = metadata(names, start=ns("2024-03-01 13:00"), end=ns("2024-03-15 21:30"))
    assert file_gaps(write(tmp_path / "g.dbn", part, rows)) == [], "a day asked for in part is mapped as a whole"
    gap = [mapping("ESH4", ("2024-03-01", "2024-03-08", 1)), mapping("ESM4", ("2024-03-10", "2024-03-16", 2))]
    assert "2024-03-08/2024-03-09" in file_gaps(write(tmp_path / "h.dbn", metadata(gap, **REQUEST), rows))[0]


def test_files_of_every_group_and_the_conditions_of_a_download_are_asked(tmp_path: Path) -> None:
    trades = write(tmp_path / "t.dbn", tick_head("trades", not_found=["ESU4"], **REQUEST), ticks("trades", 20).tobytes())
    limited = write(tmp_path / "d.dbn", metadata(limit=1, schema=dbn.Schema.DEFINITION),
                    definition("2024-03-05", 1, "ESH4", "ES", "F"))  # fmt: skip
    (tmp_path / "condition.json").write_text(json.dumps([
        {"date": "2024-03-05", "condition": "degraded"}, {"date": "2024-03-06", "condition": "available"}]))
    reports = [bars_from_trades(trades, "ES")[1].files[0], {}]  # the second is of bars that a flow of the user's own made
    found = stated_gaps(reports, [trades], [], [limited], [tmp_path / "condition.json"]).lines
    assert found == [
        "t.dbn: not found by the source: ESU4",
        "d.dbn: holds as many records as its request was limited to, 1; what came after is missing",
        "condition.json: not every day is available in full: 2024-03-05 degraded"]
    for report in (read_trades(trades, "ES")[1], bars_from_trades(trades, "ES", TimeBars("1m"))[1]):
        assert "t.dbn: not found by the source: ESU4" in report.files[0]["gaps"]
    assert few_lines(["a"] * 10) == ["a"] * 8 + ["and 2 more that the source says of its gaps: see the data report"]

