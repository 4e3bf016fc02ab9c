"""The decompressed bytes of a DBN file, in bounded pieces, with every zstd frame checked for truncation and junk.

A stream decoder returns what it has when a compressed file ends early, without an error. So each frame is walked
first, block header by block header, and must be whole before a byte of it is used. What nobody can see without a
manifest: a raw file cut between two records, and a compressed file cut between two frames.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import zstandard

from loaders.errors import DataError, damaged

DBN_MAGIC = b"DBN"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE_TAIL = b"\x2a\x4d\x18"  # preceded by 0x50..0x5f
_HEADER_BYTES = 18  # the longest zstd frame header
_BUFFER_BYTES = 1 << 20
_UNKNOWN_SIZE = zstandard.CONTENTSIZE_UNKNOWN
NOT_DBN = "give a .dbn or .dbn.zst file as Databento delivers it"
_FOREIGN = (
    (b"\x1f\x8b", "gzip"), (b"PK\x03\x04", "zip"), (b"PAR1", "parquet"), (b"BZh", "bzip2"), (b"\xfd7zXZ", "xz"),
)


@dataclass(frozen=True)
class Frame:
    """One zstd frame: where it lies in the file, its decompressed size where it states it, and if it is skippable."""

    offset: int
    size: int
    content_size: int | None
    skippable: bool


def open_content(path: Path, start: int = 0, stop: int | None = None) -> io.BufferedReader:
    """Open a raw or zstd DBN file for reading its decompressed bytes.

    ``start`` and ``stop`` are bytes of the file, and in a zstd file ends of frames: what lies between them is read.

    Raises DataError for a missing path or a directory, DamagedFileError for an empty file or one that is neither raw
    DBN nor zstd; reading from the result raises DamagedFileError where a frame is damaged.
    """
    if not path.exists():
        raise DataError(f"{path}: no such file; check the path")
    if path.is_dir():
        raise DataError(f"{path}: is a directory where a DBN file was expected; give one of its files")
    try:
        file = path.open("rb")
    except OSError as error:
        raise DataError(f"{path}: cannot be opened ({error.strerror}); check its permissions") from None
    try:
        head = file.read(12)
        if _is_zstd(head):
            return io.BufferedReader(_Frames(file, path, start, stop), _BUFFER_BYTES)
        if head[:3] != DBN_MAGIC:
            raise damaged(path, describe_foreign(head), NOT_DBN)
        return io.BufferedReader(_RawRange(file, start, _end(file, stop)), _BUFFER_BYTES)
    except BaseException:
        file.close()
        raise


def is_zstd(path: Path) -> bool:
    """Whether the file at ``path`` begins with a zstd frame."""
    with path.open("rb") as file:
        return _is_zstd(file.read(12))


def describe_foreign(head: bytes) -> str:
    """What a file or stream that begins with ``head`` is, for an error message."""
    if not head:
        return "is empty (0 bytes)"
    if head[8:11] == b"DBZ":
        return "is a DBZ file, the format before DBN, which is not read"
    kind = next((name for magic, name in _FOREIGN if head.startswith(magic)), None)
    shown = f"starts with bytes {head[:4].hex(' ')}" + (f" ({kind})" if kind else "")
    return f"{shown}, not with DBN or zstd: no DBN file, or a fragment without its metadata"


def walk_frames(file: BinaryIO, path: Path, start: int = 0, stop: int | None = None) -> Iterator[Frame]:
    """Frames of a zstd file between two ends of frames, each checked to be whole before it is yielded.

    Moves the file position.

    Raises DamagedFileError with the byte offset for a frame that is cut short, for junk between or after frames, and
    for reserved block types.
    """
    end = _end(file, stop)
    offset = start
    while offset < end:
        file.seek(offset)
        head = file.read(_HEADER_BYTES)
        frame = _skippable(head, offset) if _is_skippable(head) else _data_frame(file, path, head, offset)
        if offset + frame.size > end:
            missing = offset + frame.size - end
            raise damaged(path, f"is truncated: the zstd frame at byte {offset} lacks its last {missing} bytes "
                                f"(file has {end})")
        yield frame
        offset += frame.size


def _is_zstd(head: bytes) -> bool:
    return head[:4] == _ZSTD_MAGIC or (_is_skippable(head) and head[8:11] != b"DBZ")


def _is_skippable(head: bytes) -> bool:
    return head[1:4] == _SKIPPABLE_TAIL and 0x50 <= head[0] <= 0x5F


def _skippable(head: bytes, offset: int) -> Frame:
    # With fewer than eight bytes left the size field is itself cut: any size then runs past the end of the file.
    size = int.from_bytes(head[4:8], "little") if len(head) >= 8 else 1
    return Frame(offset, 8 + size, None, skippable=True)


def _data_frame(file: BinaryIO, path: Path, head: bytes, offset: int) -> Frame:
    """Frame at ``offset`` by its block headers; its size may run past the end of the file (RFC 8878, section 3.1.1)."""
    if head[:4] != _ZSTD_MAGIC[: len(head[:4])]:
        raise damaged(path, f"has {head[:4].hex(' ')} at byte {offset} where a zstd frame should start: "
                            "junk after the data, or damage")
    try:
        parameters = zstandard.get_frame_parameters(head)
        position = offset + zstandard.frame_header_size(head)
    except zstandard.ZstdError as error:
        raise damaged(path, f"is truncated or damaged in the zstd frame header at byte {offset} ({error})") from error
    last = False
    while not last:
        file.seek(position)
        block = file.read(3)
        if len(block) < 3:
            raise damaged(path, f"is truncated: it ends at byte {position + len(block)}, "
                                f"inside the zstd frame that starts at byte {offset}")
        header = int.from_bytes(block, "little")
        last, kind, size = bool(header & 1), (header >> 1) & 3, header >> 3
        if kind == 3:
            raise damaged(path, f"has a reserved zstd block type at byte {position}")
        position += 3 + (1 if kind == 1 else size)
    position += 4 if parameters.has_checksum else 0
    known = None if parameters.content_size == _UNKNOWN_SIZE else parameters.content_size
    return Frame(offset, position - offset, known, skippable=False)


def _end(file: BinaryIO, stop: int | None) -> int:
    size = file.seek(0, io.SEEK_END)
    return size if stop is None else min(stop, size)


class _Span(io.RawIOBase):
    """Bytes [start, stop) of a file that someone else closes."""

    def __init__(self, file: BinaryIO, start: int, stop: int) -> None:
        self._file = file
        self._position = start
        self._stop = stop

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        wanted = memoryview(buffer)[: max(self._stop - self._position, 0)]
        self._file.seek(self._position)
        count = int(cast(io.BufferedReader, self._file).readinto(wanted))
        self._position += count
        return count


class _RawRange(_Span):
    """Bytes [start, stop) of a raw file, which is closed with it."""

    def close(self) -> None:
        self._file.close()
        super().close()


class _Frames(io.RawIOBase):
    """Decompressed bytes of all data frames of a file, one frame after the other."""

    def __init__(self, file: BinaryIO, path: Path, start: int, stop: int | None) -> None:
        self._file = file
        self._path = path
        self._frames = walk_frames(file, path, start, stop)
        self._frame: Frame | None = None
        self._produced = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while self._frame is not None or self._next_frame():
            try:
                count = int(self._stream.readinto(buffer))
            except zstandard.ZstdError as error:
                raise damaged(self._path, f"is corrupt in the zstd frame at byte {self._offset} ({error})") from error
            self._produced += count
            if count:
                return count
            self._finish_frame()
        return 0

    def close(self) -> None:
        self._file.close()
        super().close()

    @property
    def _offset(self) -> int:
        return self._frame.offset if self._frame else 0

    def _next_frame(self) -> bool:
        self._frame = next((frame for frame in self._frames if not frame.skippable), None)
        if self._frame is None:
            return False
        span = _Span(self._file, self._frame.offset, self._frame.offset + self._frame.size)
        self._stream = zstandard.ZstdDecompressor().stream_reader(cast(BinaryIO, span), read_size=_BUFFER_BYTES)
        self._produced = 0
        return True

    def _finish_frame(self) -> None:
        stated = self._frame.content_size if self._frame else None
        if stated is not None and stated != self._produced:
            raise damaged(self._path, f"states {stated} bytes in the zstd frame at byte {self._offset} "
                                      f"but holds {self._produced}")
        self._frame = None
