"""Every zstd frame is whole before a byte of it is used; pieces are bounded."""

import random
from pathlib import Path

import pytest
import zstandard

from loaders.errors import DamagedFileError, DataError
from loaders.frames import open_content, walk_frames
from tests.loaders.dbn_builder import frame

SKIPPABLE = b"\x5a\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"abcde"
CONTENT = b"DBN" + random.Random(1).randbytes(300_000)


def read(path: Path) -> bytes:
    with open_content(path) as stream:
        return stream.read()


def test_raw_and_framed_content_are_the_same_bytes(tmp_path: Path) -> None:
    raw, framed = tmp_path / "a.dbn", tmp_path / "a.dbn.zst"
    raw.write_bytes(CONTENT)
    framed.write_bytes(frame(CONTENT[:8]) + SKIPPABLE + frame(CONTENT[8:]) + frame(b""))
    assert read(raw) == read(framed) == CONTENT


def test_frames_without_size_or_checksum_and_with_run_length_blocks_are_walked(tmp_path: Path) -> None:
    plain = zstandard.ZstdCompressor(write_checksum=False, write_content_size=False).compress(CONTENT)
    runs = frame(b"DBN" + b"\0" * 1_000_000)
    path = tmp_path / "a.dbn.zst"
    path.write_bytes(plain + SKIPPABLE + runs)
    with path.open("rb") as file:
        frames = list(walk_frames(file, path))
    assert [(f.offset, f.size) for f in frames] == [
        (0, len(plain)), (len(plain), len(SKIPPABLE)), (len(plain) + len(SKIPPABLE), len(runs))
    ]
    assert [(f.content_size, f.skippable) for f in frames] == [(None, False), (None, True), (1_000_003, False)]


def test_every_cut_inside_a_frame_is_refused(tmp_path: Path) -> None:
    first, second = frame(b"DBN" + b"x" * 40), frame(random.Random(2).randbytes(200))
    whole = first + SKIPPABLE + second
    ends = {len(first), len(first) + len(SKIPPABLE), len(whole)}  # a cut between frames leaves a well-formed file
    path = tmp_path / "cut.dbn.zst"
    for length in range(4, len(whole)):
        path.write_bytes(whole[:length])
        if length in ends:
            assert read(path)
        else:
            with pytest.raises(DamagedFileError, match=r"cut\.dbn\.zst: .*(truncated|junk).*download it again"):
                read(path)


@pytest.mark.parametrize("junk", [b"\n", b"DBN\x03junk", b"\0" * 30, b"\x28\xb5\x2f\x00"])
def test_junk_after_the_last_frame_is_refused(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / "junk.dbn.zst"
    path.write_bytes(frame(CONTENT) + junk)
    with pytest.raises(DamagedFileError, match=f"at byte {len(frame(CONTENT))} where a zstd frame should start"):
        read(path)


def test_a_flipped_bit_in_a_frame_is_refused(tmp_path: Path) -> None:
    whole = bytearray(frame(CONTENT))
    whole[len(whole) // 2] ^= 4
    path = tmp_path / "flip.dbn.zst"
    path.write_bytes(whole)
    with pytest.raises(DamagedFileError, match="corrupt in the zstd frame at byte 0"):
        read(path)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "is empty"), (b"ts,open\n1,2\n", "no DBN file"), (b"\x1f\x8b\x08\x00abcdefgh", "gzip"),
        (b"PAR1abcdefgh", "parquet"), (b"\x51\x2a\x4d\x18\x10\0\0\0DBZ\x01abc", "DBZ"),
    ],
)
def test_foreign_files_are_named_for_what_they_are(tmp_path: Path, content: bytes, found: str) -> None:
    path = tmp_path / "foreign.dbn"
    path.write_bytes(content)
    with pytest.raises(DamagedFileError, match=found):
        open_content(path)


def test_missing_file_and_directory_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.dbn: no such file"):
        open_content(tmp_path / "gone.dbn")
    with pytest.raises(DataError, match="is a directory"):
        open_content(tmp_path)
