"""Columns that grow while a file streams by, each in one piece of memory from the start."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from loaders.partitions import count_records
from loaders.records import DbnFile, Partition

_FIRST = 1 << 12
_DENSEST = 16  # a compressed byte is taken to hold no more than this many, whatever a frame's header says


class Columns:
    """Arrays of one length, appended to chunk by chunk; memory that was reserved and not yet used costs nothing."""

    def __init__(self, dtypes: dict[str, str], capacity: int) -> None:
        self._length = 0
        self._arrays: dict[str, NDArray[Any]] = {name: np.empty(capacity, dtype) for name, dtype in dtypes.items()}

    def append(self, chunk: dict[str, NDArray[Any]]) -> None:
        """Add the rows of ``chunk``, which has every column; values are cast to the column's dtype."""
        end = self._length + len(next(iter(chunk.values())))
        for name, array in self._arrays.items():
            if end > len(array):
                larger = np.empty(max(2 * len(array), end, _FIRST), array.dtype)
                larger[: self._length] = array[: self._length]
                self._arrays[name] = array = larger
            array[self._length : end] = chunk[name]
        self._length = end

    def values(self) -> dict[str, NDArray[Any]]:
        """The columns as far as they are filled."""
        return {name: array[: self._length] for name, array in self._arrays.items()}


def expected_records(file: DbnFile, partition: Partition | None) -> int:
    """Number of records to make room for: what the file or the partition says, within what its bytes can hold."""
    stated = count_records(file) if partition is None else partition.records
    bytes_there = file.path.stat().st_size if partition is None else partition.stop - partition.start
    return min(stated or 0, _DENSEST * bytes_there // file.layout.dtype.itemsize)
