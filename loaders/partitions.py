"""Where a DBN file can be cut so that its pieces are read apart: between zstd frames, at any record of a raw file."""

import sys
from io import SEEK_END
from pathlib import Path

from loaders.frames import is_zstd, walk_frames
from loaders.records import DbnFile, Partition, open_dbn

PARTITION_RECORDS = 1 << 20  # of 56-byte bars: 59 MB decoded, about 90 MB as a table


def partitions(path: Path | str, records: int = PARTITION_RECORDS) -> list[Partition]:
    """Cut the DBN file at ``path`` into pieces of at least ``records`` records, in file order; at least one piece.

    A raw file is cut at any record, a zstd file before frames that begin with one: its pieces are as small as its
    frames allow, and a file of one frame, or whose frames do not state their size, is one piece. Nothing is
    decompressed but the metadata.

    Raises DamagedFileError as ``open_dbn``, and for a damaged frame.
    """
    file = open_dbn(Path(path))
    return _pieces(file, _cuts(file, records), records)


def count_records(file: DbnFile) -> int | None:
    """Number of records of ``file`` by its size or its frames' headers; None where those do not state it."""
    return _cuts(file, sys.maxsize)[-1][1]


# A cut is (byte of the file, index of the record that begins there); the last one is the end, with None if unknown.
_Cut = tuple[int, int | None]


def _cuts(file: DbnFile, records: int) -> list[_Cut]:
    return _frame_cuts(file) if is_zstd(file.path) else _raw_cuts(file, records)


def _raw_cuts(file: DbnFile, records: int) -> list[_Cut]:
    head, size = file.metadata.head_bytes, file.layout.dtype.itemsize
    total = file.path.stat().st_size
    whole = (total - head) // size
    return [*((head + at * size, at) for at in range(records, whole, records)), (total, whole)]


def _frame_cuts(file: DbnFile) -> list[_Cut]:
    head, size = file.metadata.head_bytes, file.layout.dtype.itemsize
    cuts: list[_Cut] = []
    content: int | None = 0
    with file.path.open("rb") as stream:
        for frame in walk_frames(stream, file.path):
            if content is not None and content > head and (content - head) % size == 0:
                cuts.append((frame.offset, (content - head) // size))
            if content is not None and not frame.skippable:
                content = None if frame.content_size is None else content + frame.content_size
        end = stream.seek(0, SEEK_END)
    return [*cuts, (end, None if content is None else max(content - head, 0) // size)]


def _pieces(file: DbnFile, cuts: list[_Cut], records: int) -> list[Partition]:
    end, total = cuts[-1]
    begins: list[tuple[int, int]] = [(0, 0)]
    for offset, index in cuts[:-1]:
        if index is not None and index >= begins[-1][1] + records and index != total:
            begins.append((offset, index))
    ends: list[_Cut] = [*begins[1:], (end, total)]
    return [
        Partition(
            path=str(file.path), first=first, records=None if after is None else after - first, start=start, stop=stop,
            skip=0 if first else file.metadata.head_bytes,
        )
        for (start, first), (stop, after) in zip(begins, ends, strict=True)
    ]
