"""Records of one DBN file in bounded chunks, each record checked to be of the file's schema.

Databento's decoders take whatever bytes come as records of the expected type, so a second file appended to the first,
or a trade between bars, would become rows of noise. Here length and rtype of every record must be those of the
schema. Bit flips inside a record's values cannot be seen where the writer set no zstd checksum, nor that a raw file
was cut exactly between two records: the manifest of the download is the check for those.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loaders.errors import damaged
from loaders.frames import DBN_MAGIC, open_content
from loaders.layouts import READABLE_SCHEMAS, RecordLayout, record_layout
from loaders.metadata import DbnMetadata, read_metadata

CHUNK_BYTES = 1 << 20  # fits a core's cache, so that a pass over one field of the records costs little
_OTHER_SCHEMA = f"give a file of one of the schemas {', '.join(READABLE_SCHEMAS)}"


@dataclass(frozen=True)
class Partition:
    """Records [``first``, ``first + records``) of the file ``path``: text and integers only, to be sent anywhere.

    They lie in the file's bytes [``start``, ``stop``), after the first ``skip`` decompressed bytes of them. ``records``
    is None where a frame does not state its size.
    """

    path: str
    first: int
    records: int | None
    start: int
    stop: int
    skip: int


@dataclass(frozen=True)
class DbnFile:
    """A DBN file whose metadata was read and accepted; its records are read anew by each call of ``chunks``."""

    path: Path
    metadata: DbnMetadata
    layout: RecordLayout

    def chunks(self, records: int | None = None, partition: Partition | None = None) -> Iterator[NDArray[Any]]:
        """Structured arrays of 1 to ``records`` records in file order; nothing for a file without records.

        With ``partition`` only its records. By default a chunk has CHUNK_BYTES.

        Raises DamagedFileError naming record and byte for a record of another length or rtype, for a file that ends
        inside a record, and for one that is not as it was when it was cut into partitions.
        """
        size = self.layout.dtype.itemsize
        limit = records or max(CHUNK_BYTES // size, 1)
        first = partition.first if partition else 0
        with self._open(partition) as stream:
            while True:
                chunk = np.empty(limit, dtype=self.layout.dtype)
                whole, tail = divmod(_fill(stream, chunk), size)
                self._check_records(chunk[:whole], first)
                first += whole
                if tail:
                    self._refuse_tail(chunk[whole : whole + 1].tobytes()[:tail], first)
                if whole:
                    yield chunk[:whole]
                if whole < limit:
                    break
        if partition and partition.records is not None and first != partition.first + partition.records:
            raise damaged(self.path, f"has {first - partition.first} records from record {partition.first} on, where "
                                     f"{partition.records} were found before: it was changed meanwhile", "start again")

    def _open(self, partition: Partition | None) -> BufferedReader:
        """Content at the first wanted record; the metadata before it was decoded once and is not again."""
        if partition is None:
            stream, head_bytes = open_content(self.path), self.metadata.head_bytes
        else:
            stream, head_bytes = open_content(self.path, partition.start, partition.stop), partition.skip
        stream.read(head_bytes)
        return stream

    def _check_records(self, chunk: NDArray[Any], first: int) -> None:
        size = self.layout.dtype.itemsize
        foreign = (chunk["length"] != size // 4) | (chunk["rtype"] != self.layout.rtype)
        if foreign.any():
            at = int(np.argmax(foreign))
            self._refuse_record(chunk[at : at + 1].tobytes(), first + at)

    def _refuse_record(self, record: bytes, index: int) -> None:
        size = self.layout.dtype.itemsize
        where = f"record {index} (byte {index * size} after the metadata)"
        if record[:3] == DBN_MAGIC:
            raise damaged(self.path, f"has a second DBN file appended at {where}", "split it, or " + _AGAIN)
        raise damaged(
            self.path,
            f"{where} has length {4 * record[0]} and rtype {record[1]}, but every record of schema "
            f"{self.metadata.schema} has length {size} and rtype {self.layout.rtype}: mixed schemas, or damage",
        )

    def _refuse_tail(self, tail: bytes, index: int) -> None:
        size = self.layout.dtype.itemsize
        if tail[:2] != bytes((size // 4, self.layout.rtype))[: len(tail)]:
            self._refuse_record(tail.ljust(2, b"\0"), index)
        raise damaged(self.path, f"is truncated: it ends inside record {index}, after {len(tail)} of {size} bytes")


_AGAIN = "download both again, each to its own file"


def _fill(stream: BufferedReader, chunk: NDArray[Any]) -> int:
    """Read into ``chunk`` until it is full or the stream ends: number of bytes read."""
    buffer = memoryview(chunk.view(np.uint8).data)
    filled = 0
    while filled < len(buffer) and (count := stream.readinto(buffer[filled:])):
        filled += count
    return filled


def open_dbn(path: Path) -> DbnFile:
    """DbnFile of ``path`` after reading its metadata only.

    Raises DamagedFileError or DataError for what is no DBN file, for mixed or unreadable schemas, and for records with
    gateway send times (ts_out), whose layout differs.
    """
    metadata = read_metadata(path)
    if metadata.schema is None:
        raise damaged(path, "holds mixed schemas, as a live session records them", _OTHER_SCHEMA)
    if metadata.schema not in READABLE_SCHEMAS:
        raise damaged(path, f"has schema {metadata.schema}, which is not read", _OTHER_SCHEMA)
    if metadata.ts_out:
        raise damaged(path, "has ts_out set: each record carries 8 more bytes", "request the data without ts_out")
    return DbnFile(path, metadata, record_layout(metadata.schema, metadata.version))
