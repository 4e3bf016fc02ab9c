"""Pieces of a file, read apart in any way, together are the file."""

import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import zstandard

from loaders.bar_making import TimeBars, VolumeBars
from loaders.dbn import scan_bars
from loaders.errors import DamagedFileError, DataError
from loaders.outrights import OutrightBars, join_partitions, outright_bars
from loaders.partitions import partitions
from loaders.records import open_dbn
from tests.loaders.dbn_builder import END, bar, frame, load, mapping, metadata, ns, write

HEAD = metadata([mapping("ESH4", ("2024-03-01", "2024-03-16", 1)), mapping("ESM4", ("2024-03-01", "2024-04-01", 2)),
                 mapping("ESH4-ESM4", ("2024-03-01", "2024-03-16", 3))])
COUNT = 5000


def records(seed: int = 2) -> np.ndarray[Any, Any]:
    """Minutes of three instruments over days, some out of order and some without a mapping."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(bar("2024-03-10 20:00", 1, 5000), COUNT)
    rows["ts_event"] = ns("2024-03-10 20:00") + np.arange(COUNT) // 3 * 60_000_000_000
    late = rng.choice(COUNT - 500, 40, replace=False) + 500
    rows["ts_event"][late] -= rng.integers(1, 400, 40).astype(np.uint64) * 60_000_000_000
    rows["instrument_id"] = rng.integers(1, 5, COUNT)
    rows["volume"] = rng.integers(1, 10**6, COUNT)
    return rows


def write_as(form: str, folder: Path) -> Path:
    body = records().tobytes()
    if form == "raw":
        return write(folder / "es.dbn", HEAD, body)
    path = folder / "es.dbn.zst"
    size = 56
    cuts = {"frame a day": [700 * size, 2100 * size, 2101 * size], "one frame": [], "uneven frames": [1000, 57_001]}
    if form == "unknown sizes":
        plain = zstandard.ZstdCompressor(write_content_size=False)
        path.write_bytes(frame(HEAD) + plain.compress(body[: 100 * size]) + plain.compress(body[100 * size :]))
        return path
    if form == "metadata with records":
        path.write_bytes(frame(HEAD + body[: 900 * size]) + frame(body[900 * size :]))
        return path
    edges = [0, *cuts[form], len(body)]
    return write(path, HEAD, *(body[a:b] for a, b in pairwise(edges)))


FORMS = {"raw": 5000, "frame a day": 4, "one frame": 1, "uneven frames": 1, "unknown sizes": 1,
         "metadata with records": 2}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1, 333, 1500, 10**6])
def test_the_parts_together_are_the_file(tmp_path: Path, form: str, size: int) -> None:  # dbn.md §8.7
    path = write_as(form, tmp_path)
    if size == 1 and form == "raw":
        size = 250
    pieces = partitions(path, size)
    whole = load(path)
    parts = [outright_bars(path, (), "ES", 0, pickle.loads(pickle.dumps(piece))) for piece in pieces]
    joined = join_partitions(parts)
    pd.testing.assert_frame_equal(joined.bars, whole.bars)
    pd.testing.assert_frame_equal(joined.listed, whole.listed)
    assert joined.report == whole.report
    assert whole.bars["backwards"].sum() > 10
    expected = 1 if size == 10**6 else {"raw": -(-COUNT // size)}.get(form, FORMS[form])
    assert size in (333, 1500) or len(pieces) == expected
    assert sum(piece.records or COUNT for piece in pieces) == COUNT


def test_parts_are_no_larger_than_the_frames_make_them(tmp_path: Path) -> None:
    pieces = partitions(write_as("frame a day", tmp_path), 600)
    assert [(piece.first, piece.records) for piece in pieces] == [(0, 700), (700, 1400), (2100, 2900)]
    assert all(type(value) in (str, int) for piece in pieces for value in vars(piece).values())


def test_scanning_gives_the_same_rows(tmp_path: Path) -> None:
    path = write_as("raw", tmp_path)
    scan = scan_bars(path, "ES")
    pd.testing.assert_frame_equal(pd.concat(list(scan), ignore_index=True), load(path).bars)
    assert scan.report.records == COUNT == scan.report.outright + sum(scan.report.dropped.values())


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_records_of_a_part_come_in_chunks_of_any_size(tmp_path: Path, chunk: int) -> None:
    path = write_as("frame a day", tmp_path)
    file, rows = open_dbn(path), records()
    for piece in partitions(path, 1):
        assert piece.records is not None
        read = np.concatenate(list(file.chunks(chunk, piece)))
        assert read.tobytes() == rows[piece.first : piece.first + piece.records].tobytes()


def test_an_empty_file_is_one_part_in_the_middle_of_others(tmp_path: Path) -> None:  # dbn.md §8.9
    for name in ("a.dbn", "a.dbn.zst"):
        path = write(tmp_path / name, HEAD)
        pieces = partitions(path)
        assert [(piece.first, piece.records) for piece in pieces] == [(0, 0)]
        assert len(outright_bars(path, (), "ES", 0, pieces[0]).bars) == 0


def test_a_file_that_changed_meanwhile_is_refused(tmp_path: Path) -> None:
    path = write_as("raw", tmp_path)
    pieces = partitions(path, 2000)
    path.write_bytes(path.read_bytes()[: -56 * 500])
    with pytest.raises(DamagedFileError, match=r"has 500 records from record 4000 on, where 1000 were found before"):
        outright_bars(path, (), "ES", 0, pieces[-1])


@pytest.mark.parametrize("form", ["raw", "frame a day"])
def test_damage_is_found_in_its_part_with_its_number_in_the_file(tmp_path: Path, form: str) -> None:
    rows = records()
    rows["rtype"][3000] = 32
    ending = "dbn" if form == "raw" else "dbn.zst"
    path = write(tmp_path / f"es.{ending}", HEAD, rows[:2500].tobytes(), rows[2500:].tobytes())
    first, second = partitions(path, 2500)
    assert outright_bars(path, (), "ES", 0, first).report["records"] == 2500
    with pytest.raises(DamagedFileError, match=r"record 3000 \(byte 168000 after the metadata\)"):
        outright_bars(path, (), "ES", 0, second)


def test_a_part_checks_the_whole_of_its_frames(tmp_path: Path) -> None:
    """The checksum lies behind a frame's last record: it is read even when all wanted records are there."""
    path = write_as("frame a day", tmp_path)
    whole = bytearray(path.read_bytes())
    pieces = partitions(path, 1)
    whole[pieces[1].stop - 1] ^= 1
    path.write_bytes(whole)
    with pytest.raises(DamagedFileError, match="is corrupt in the zstd frame"):
        outright_bars(path, (), "ES", 0, pieces[1])


def test_a_root_that_is_nowhere_is_an_error_when_the_parts_are_joined(tmp_path: Path) -> None:
    path = write_as("raw", tmp_path)
    parts = [outright_bars(path, (), "CL", 0, piece) for piece in partitions(path, 2500)]
    with pytest.raises(DataError, match=r"none of its 5000 records is an outright of root 'CL'; dropped: "):
        join_partitions(parts)


def test_the_order_of_rows_inside_a_moment_decides_nothing(tmp_path: Path) -> None:  # dbn.md §8.7
    rows = np.sort(records(), order=["ts_event", "instrument_id", "volume"])
    noise = np.random.default_rng(5).random(COUNT)
    shuffled = rows[np.lexsort((noise, rows["ts_event"]))]
    keys = ["ts_event", "expiry", "volume"]
    tables = []
    for name, body in (("a.dbn", rows), ("b.dbn", shuffled)):
        loaded: OutrightBars = load(write(tmp_path / name, HEAD, body.tobytes()))
        tables.append(loaded.bars.sort_values(keys, ignore_index=True).drop(columns="source_row"))
    pd.testing.assert_frame_equal(tables[1], tables[0])


def test_every_argument_of_a_task_can_be_pickled(tmp_path: Path) -> None:  # dbn.md §8.15
    path = write_as("raw", tmp_path)
    arguments = [partitions(path), load(path), TimeBars("5m"), VolumeBars(10), open_dbn(path).metadata, END]
    for argument in arguments:
        again = pickle.loads(pickle.dumps(argument))
        assert type(again) is type(argument)
