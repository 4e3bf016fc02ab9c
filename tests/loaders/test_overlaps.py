"""T17: the same records in files that overlap are refused by name; files that only lie side by side are read."""

import re
from pathlib import Path

import numpy as np
import pytest

from loaders.dbn import TimeBars, bars_from_trades, read_book, read_statistics, read_trades
from loaders.errors import DataError
from loaders.files import list_any_files
from loaders.repeats import refuse_repeats
from pipelines.config.configuration import load_settings
from pipelines.errors import RejectedDataError
from pipelines.flow import flow_graph
from tests.loaders.dbn_builder import write
from tests.loaders.statistics_builder import statistic, write_statistics
from tests.loaders.tick_builder import tick_head, ticks

SAID = r"b\.dbn\.zst: holds records of .*a\.dbn again, from 2024-03-04T15:00:00\.040000\+00:00 on, so its {} would count twice"


def pair(folder: Path, schema: str, first: slice = slice(0, 70), second: slice = slice(40, 100)) -> Path:
    """Of one hundred ticks, one contract each, two files."""
    rows = ticks(schema, 100)
    for name, part in (("a.dbn", first), ("b.dbn.zst", second)):
        write(folder / name, tick_head(schema), rows[part].tobytes())
    return folder


@pytest.mark.parametrize("schema", ["trades", "tbbo", "mbp-1", "mbp-10"])
def test_records_that_two_files_hold_are_refused_with_both_names_and_the_time(tmp_path: Path, schema: str) -> None:
    """T17: trades 0 to 69 and 40 to 99 are 130 of 100."""
    pair(tmp_path, schema)
    for read in (lambda: read_trades(tmp_path), lambda: bars_from_trades(tmp_path, rule=TimeBars("1h"))):
        with pytest.raises(DataError, match=SAID.format(schema)):
            read()


def test_the_flow_refuses_them_too_for_bars_and_for_order_flow(tmp_path: Path) -> None:
    """T17: load.bars_from_trades=1h, and mbp-10 files of which one begins before the other ends."""
    made = ("load.bars_from_trades=1h", "bar_seconds=3600")
    pair(tmp_path, "trades")
    with pytest.raises(RejectedDataError, match=SAID.format("trades")):
        flow_graph(load_settings([f"data={tmp_path}", *made]), ())
    pair(tmp_path, "mbp-10")
    write(tmp_path / "c.dbn", tick_head("trades"), ticks("trades", 5).tobytes())
    with pytest.raises(RejectedDataError, match=SAID.format("mbp-10")):
        flow_graph(load_settings([f"data={tmp_path}", *made, "features.include=[market,order_flow]"]), ())
    with pytest.raises(DataError, match=SAID.format("mbp-10")):
        read_book([tmp_path / "a.dbn", tmp_path / "b.dbn.zst"])


def test_files_that_follow_each_other_or_hold_other_records_are_read(tmp_path: Path) -> None:
    pair(tmp_path, "trades", slice(0, 40), slice(40, 100))
    assert read_trades(tmp_path)[1].outright == 100
    other = ticks("trades", 100)
    other["instrument_id"], other["size"] = 2, 3  # another contract at the same times, as a download split by symbol has it
    write(tmp_path / "c.dbn", tick_head("trades"), other.tobytes())
    bars, report = bars_from_trades(tmp_path, rule=TimeBars("1h"))
    assert report.records == 200 and bars.set_index("contract")["volume"].to_dict() == {"ESH4": 100, "ESM4": 300}


@pytest.mark.parametrize("where", [2, 40_000, 79_998])
def test_one_common_record_is_found_wherever_it_lies(tmp_path: Path, where: int) -> None:
    """Over several chunks of both files, with equal times that reach over their borders."""
    rows = ticks("trades", 80_000)
    rows["ts_recv"] = rows["ts_recv"][0] + np.arange(80_000) // 30_000
    write(tmp_path / "a.dbn", tick_head("trades"), rows[::2].tobytes())
    write(tmp_path / "b.dbn", tick_head("trades"), rows[1::2].tobytes())
    refuse_repeats(list_any_files(tmp_path))
    both = np.sort(np.append(rows[1::2], rows[where]), order=["ts_recv", "sequence"])
    write(tmp_path / "b.dbn", tick_head("trades"), both.tobytes())
    with pytest.raises(DataError, match=r"b\.dbn: holds records of .*a\.dbn again"):
        refuse_repeats(list_any_files(tmp_path))


def test_requests_that_do_not_overlap_are_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A year of files of a day each costs no more than their heads."""
    for day in (4, 5):
        rows = ticks("trades", 20, start=f"2024-03-0{day} 15:00")
        head = tick_head("trades", start=rows["ts_recv"][0] // 86_400_000_000_000 * 86_400_000_000_000,
                         end=(rows["ts_recv"][0] // 86_400_000_000_000 + 1) * 86_400_000_000_000)  # fmt: skip
        write(tmp_path / f"{day}.dbn", head, rows.tobytes())
    compared: list[int] = []
    monkeypatch.setattr("loaders.repeats._met", lambda one, other: compared.append(1))
    refuse_repeats(list_any_files(tmp_path))
    assert compared == []
    write(tmp_path / "5.dbn", tick_head("trades"), rows.tobytes())  # asked for at any time
    refuse_repeats(list_any_files(tmp_path))
    assert compared == [1]


def test_a_book_sent_again_at_the_start_of_a_file_is_no_repeat(tmp_path: Path) -> None:
    rows = ticks("mbp-10", 60)
    again = rows[29:30].copy()
    again["flags"] = 32 | 128
    write(tmp_path / "a.dbn", tick_head("mbp-10"), rows[:30].tobytes())
    write(tmp_path / "b.dbn", tick_head("mbp-10"), again.tobytes() + rows[30:].tobytes())
    _, report = read_book(tmp_path)
    assert report.outright == 60 and report.dropped == {"snapshot": 1}


def test_statistics_are_refused_too(tmp_path: Path) -> None:
    rows = [statistic(f"2024-03-05 14:{minute:02}", 101, 400 + minute) for minute in range(20)]
    write_statistics(tmp_path / "a.dbn", *rows[:12])
    write_statistics(tmp_path / "b.dbn", *rows[8:])
    with pytest.raises(DataError, match=re.escape("so its statistics would count twice")):
        read_statistics(tmp_path)
