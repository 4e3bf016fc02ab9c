"""The same ticks twice: files of trades, quotes, books or statistics that hold the same records.

A bar that comes twice is told by its time, and layer 1 keeps one. A tick is not: two equal trades in one nanosecond are real,
so a file that was copied, lies there raw and compressed, or overlaps another would double every volume made of it.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.errors import DamagedFileError, DataError
from loaders.files import DataFile
from loaders.metadata import read_metadata
from loaders.records import DbnFile, open_dbn
from loaders.symbols import DAY_BITS
from loaders.ticks import F_SNAPSHOT

_TOLD_APART_BY = ("publisher_id", "instrument_id", "ts_recv", "ts_event", "sequence", "stat_type")


def refuse_repeats(files: Sequence[DataFile]) -> None:
    """Raise DataError naming two of ``files`` of one schema that hold a record in common.

    Files are read to the end only where they were requested for overlapping times and for a common instrument.
    """
    seen: dict[tuple[str | None, bytes], DataFile] = {}
    for file in files:
        first = _first_record(file)
        known = seen.setdefault((file.schema, first), file) if first else file
        if known is not file:
            raise DataError(f"{file.path}: begins with the same record as {known.path}, so its {file.schema} would count "
                            "twice; keep one of them")
    for one, other in _doubtful(files):
        moment = _common_moment(one, other)
        if moment is not None:
            time = pd.Timestamp(moment, tz="UTC").isoformat()
            raise DataError(f"{other.path}: holds records of {one.path} again, from {time} on, so its {other.schema} would "
                            "count twice; download files that do not overlap, or keep one of them")


def _first_record(file: DataFile) -> bytes:
    try:
        return next((chunk.tobytes() for chunk in open_dbn(file.path).chunks(records=1)), b"")
    except DamagedFileError:
        return b""  # whoever reads the file says what is wrong with it


def _doubtful(files: Sequence[DataFile]) -> Iterator[tuple[DataFile, DataFile]]:
    """Pairs of one schema whose requests overlap in time and may have named a common instrument."""
    ids: dict[DataFile, set[int]] = {}
    for _, group in itertools.groupby(sorted(files, key=lambda file: str(file.schema)), lambda file: file.schema):
        open_ones: list[DataFile] = []
        for file in sorted(group, key=lambda file: file.start):
            open_ones = [one for one in open_ones if one.end is None or one.end > file.start]
            for one in open_ones:
                mine, theirs = (ids.setdefault(each, _ids(each)) for each in (file, one))
                if not mine or not theirs or mine & theirs:
                    yield one, file
            open_ones.append(file)


def _ids(file: DataFile) -> set[int]:
    return set((read_metadata(file.path).mappings.keys >> DAY_BITS).tolist())


def _common_moment(one: DataFile, other: DataFile) -> int | None:
    """Time of a record that both files hold, int64 ns UTC; None where there is none, or where a file is damaged."""
    try:
        return _met(_Window(open_dbn(one.path)), _Window(open_dbn(other.path)))
    except DamagedFileError:
        return None


class _Window:
    """The records of a file that its partner may still hold, in the order of their time; memory is that of some chunks."""

    def __init__(self, file: DbnFile) -> None:
        self._chunks = file.chunks()
        self._names = [name for name in _TOLD_APART_BY if name in (file.layout.dtype.names or ())]
        self._flagged = "flags" in (file.layout.dtype.names or ())
        self.keys = pd.DataFrame({name: np.zeros(0, np.uint64) for name in self._names})
        self.ts = np.zeros(0, np.uint64)

    @property
    def newest(self) -> int:
        """The latest time read so far."""
        return int(self.ts[-1]) if len(self.ts) else -1

    def more(self) -> bool:
        """Read the next chunk; False at the end of the file."""
        records: NDArray[Any] | None = next(self._chunks, None)
        if records is None:
            return False
        if self._flagged:  # a book as it stood before, sent again, is not the record it repeats
            records = records[(records["flags"] & F_SNAPSHOT) == 0]
        read = pd.DataFrame({name: records[name].astype(np.uint64) for name in self._names})
        reached = np.maximum.accumulate(np.append(np.uint64(max(self.newest, 0)), records["ts_recv"].astype(np.uint64)))[1:]
        self.keys, self.ts = pd.concat([self.keys, read], ignore_index=True), np.append(self.ts, reached)
        return True

    def drop_before(self, moment: int) -> None:
        """Forget records before a time."""
        first = int(np.searchsorted(self.ts, np.uint64(max(moment, 0))))
        self.keys, self.ts = self.keys.iloc[first:].reset_index(drop=True), self.ts[first:]


def _met(one: _Window, other: _Window) -> int | None:
    while True:
        for window in (one, other):
            while not len(window.ts):
                if not window.more():
                    return None
        if one.ts[0] <= other.ts[-1] and other.ts[0] <= one.ts[-1]:
            common = one.keys.merge(other.keys.drop_duplicates(), how="inner")
            if len(common):
                return int(common["ts_recv"].min())
        behind, ahead = (one, other) if one.newest <= other.newest else (other, one)
        reached = behind.newest
        one.drop_before(reached)
        other.drop_before(reached)
        if not behind.more() and (ahead.newest > reached or not ahead.more()):
            return None
