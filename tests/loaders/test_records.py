"""Records come whole and of one schema, or not at all."""

import gzip
import pickle
import random
from pathlib import Path

import databento_dbn as dbn
import numpy as np
import pytest

from loaders.errors import DamagedFileError, DataError
from loaders.metadata import read_metadata
from loaders.records import open_dbn
from tests.loaders.dbn_builder import BAR_BYTES, MINUTE, bar, bars, frame, mapping, metadata, ns, trade, write


def count(path: Path, records: int = 1000) -> int:
    return sum(len(chunk) for chunk in open_dbn(path).chunks(records))


@pytest.fixture(params=["raw", "zst"])
def any_path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / ("es.dbn" if request.param == "raw" else "es.dbn.zst")


@pytest.mark.parametrize("size", [1, 7, 50, 1000])
def test_chunks_of_any_size_hold_the_same_records(any_path: Path, head: bytes, body: bytes, size: int) -> None:
    file = open_dbn(write(any_path, head, body))
    chunks = list(file.chunks(size))
    assert np.concatenate(chunks).tobytes() == body
    assert max(map(len, chunks)) == min(size, 50)
    assert [len(chunk) for chunk in file.chunks(size)] == [len(chunk) for chunk in chunks], "a file can be read again"


def test_records_may_cross_frames(path: Path, head: bytes, body: bytes) -> None:
    path.write_bytes(frame(head + body[:100]) + frame(body[100:1000]) + frame(body[1000:]))
    assert count(path) == 50


def test_a_second_frame_is_read_too(path: Path) -> None:  # case C12
    start = ns("2026-01-02 14:30")
    one, two = (bars((start + i * MINUTE, 5602, 5199.75) for i in part) for part in (range(100), range(100, 200)))
    path.write_bytes(frame(metadata(start=start, symbols=["ESH6"]) + one) + frame(two))
    assert count(path) == 200


def test_an_empty_day_has_no_chunks(any_path: Path, head: bytes) -> None:  # case C13
    assert list(open_dbn(write(any_path, head)).chunks(1000)) == []


def test_two_files_in_one_are_refused(any_path: Path, head: bytes, body: bytes) -> None:  # dbn.md §8.2
    one = write(any_path, head, body).read_bytes()
    any_path.write_bytes(one + one)
    with pytest.raises(DamagedFileError, match=r"second DBN file appended at record 50 \(byte 2800"):
        count(any_path)


def test_an_empty_day_with_another_day_appended_is_refused(any_path: Path, head: bytes, body: bytes) -> None:
    any_path.write_bytes(write(any_path, head).read_bytes() + write(any_path, head, body).read_bytes())
    with pytest.raises(DamagedFileError, match="second DBN file appended at record 0"):
        count(any_path)


def test_one_second_bars_in_a_one_minute_file_are_refused(any_path: Path, head: bytes) -> None:  # case C18
    records = [bar(ns("2024-03-04 15:00") + i * MINUTE, 101, 5100, rtype=33 - i % 2).tobytes() for i in range(10)]
    with pytest.raises(DamagedFileError, match=r"record 1 \(byte 56.*rtype 32.*ohlcv-1m has length 56 and rtype 33"):
        count(write(any_path, head, b"".join(records)))


@pytest.mark.parametrize("at", [0, 20, 50])
@pytest.mark.parametrize("size", [1, 16, 1000])
def test_a_trade_between_bars_is_refused(any_path: Path, head: bytes, body: bytes, at: int, size: int) -> None:
    mixed = body[: at * BAR_BYTES] + trade("2024-03-04 15:20", 101) + body[at * BAR_BYTES:]
    with pytest.raises(DamagedFileError, match=f"record {at} .*length 48 and rtype 0"):
        count(write(any_path, head, mixed), size)


def test_a_file_that_ends_inside_a_record_is_refused(any_path: Path, head: bytes, body: bytes) -> None:
    for missing in range(1, BAR_BYTES):
        with pytest.raises(DamagedFileError, match=f"ends inside record 49, after {BAR_BYTES - missing} of 56 bytes"):
            count(write(any_path, head, body[:-missing]))


def test_junk_after_the_records_is_refused(any_path: Path, head: bytes, body: bytes) -> None:
    with pytest.raises(DamagedFileError, match="record 50"):
        count(write(any_path, head, body + b"\n"))


def test_a_compressed_file_cut_at_a_record_boundary_is_refused(path: Path, head: bytes) -> None:  # dbn.md §8.1
    noise = random.Random(3)
    body = bars((ns("2024-03-04") + i * MINUTE, 101, noise.random() * 1e4, noise.randrange(10**6)) for i in range(2000))
    write(path, head, body)
    whole = path.read_bytes()
    first = len(frame(head))
    for length in [*noise.sample(range(first + 1, len(whole)), 60), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(DamagedFileError, match="truncated"):
            count(path)


def test_what_only_a_manifest_can_show_is_read_as_it_is(any_path: Path, head: bytes, body: bytes) -> None:
    """A raw file cut between records, and a zst file cut between frames, is a well-formed shorter file."""
    write(any_path, head, body[: 25 * BAR_BYTES])
    assert count(any_path) == 25


@pytest.mark.parametrize("cut", [1, 7, 8, 60, -1])
def test_cut_metadata_is_refused(any_path: Path, head: bytes, cut: int) -> None:
    with pytest.raises(DamagedFileError, match=r"truncated|no DBN file"):
        read_metadata(write(any_path, head[:cut]))


def test_mutated_metadata_is_read_or_refused_by_name(tmp_path: Path, head: bytes) -> None:
    noise = random.Random(5)
    path = tmp_path / "mutated.dbn"
    refused = 0
    for _ in range(300):
        mutant = bytearray(head)
        for _ in range(noise.randrange(1, 4)):
            mutant[noise.randrange(len(mutant))] = noise.randrange(256)
        path.write_bytes(mutant)
        try:
            read_metadata(path)
        except DataError as error:
            refused += 1
            assert "mutated.dbn" in str(error)
    assert refused > 100


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"ts_out": True}, "ts_out"),
        ({"schema": None, "stype_in": None}, "mixed schemas"),
        ({"schema": dbn.Schema.MBO}, "schema mbo, which is not read"),
    ],
)
def test_foreign_schemas_are_refused(any_path: Path, change: dict[str, object], found: str) -> None:
    with pytest.raises(DamagedFileError, match=found):
        open_dbn(write(any_path, metadata(**change)))


@pytest.mark.parametrize("version", [0, 4, 255])
def test_unknown_versions_are_refused(any_path: Path, head: bytes, version: int) -> None:
    with pytest.raises(DamagedFileError, match=f"DBN version {version}"):
        open_dbn(write(any_path, head[:3] + bytes([version]) + head[4:]))


def test_text_gzip_and_an_empty_file_are_refused(tmp_path: Path, head: bytes, body: bytes) -> None:  # case C13
    for content, found in ((b"open,high\n", "no DBN file"), (gzip.compress(head + body), "gzip"), (b"", "empty")):
        path = tmp_path / "day.dbn.zst"
        path.write_bytes(content)
        with pytest.raises(DamagedFileError, match=found):
            open_dbn(path)


def test_a_file_description_can_be_sent_to_another_process(path: Path, head: bytes, body: bytes) -> None:
    file = pickle.loads(pickle.dumps(open_dbn(write(path, head, body))))  # dbn.md §8.15
    assert sum(len(chunk) for chunk in file.chunks()) == 50
    assert file.metadata.mappings.symbols == ("ESH4",)


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(DamagedFileError("a.dbn: is truncated")))
    assert (type(error), str(error)) == (DamagedFileError, "a.dbn: is truncated")


def test_mappings_do_not_depend_on_their_order(path: Path) -> None:
    several = [mapping(f"ES{m}4", ("2024-03-01", "2024-03-16", 10 + i)) for i, m in enumerate("HMUZ")]
    one = read_metadata(write(path, metadata(several))).mappings
    other = read_metadata(write(path, metadata(several[::-1]))).mappings
    assert one.symbols == other.symbols == ("ESH4", "ESM4", "ESU4", "ESZ4")
    np.testing.assert_array_equal(one.keys, other.keys)
    np.testing.assert_array_equal(one.codes, other.codes)
