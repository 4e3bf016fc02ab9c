"""Records of one DBN file in bounded chunks, each record checked to be of the file's schema.

Databento's decoders take whatever bytes come as records of the expected type, so a second file appended to the first,
or a trade between bars, would become rows of noise. Here length and rtype of every record must be those of the
schema. Bit flips inside a record's values cannot be seen where the writer set no zstd checksum, nor that a raw file
was cut exactly between two records: the manifest of the download is the check for those.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loaders.errors import damaged
from loaders.frames import DBN_MAGIC, open_content
from loaders.metadata import DbnMetadata, read_metadata, take_metadata
from loaders.types import READABLE_SCHEMAS, RecordLayout, record_layout

CHUNK_RECORDS = 1 << 16
_OTHER_SCHEMA = f"give a file of one of the schemas {', '.join(READABLE_SCHEMAS)}"


@dataclass(frozen=True)
class DbnFile:
    """A DBN file whose metadata was read and accepted; its records are read anew by each call of ``chunks``."""

    path: Path
    metadata: DbnMetadata
    layout: RecordLayout

    def chunks(self, records: int = CHUNK_RECORDS) -> Iterator[NDArray[Any]]:
        """Structured arrays of 1 to ``records`` records in file order; nothing for a file without records.

        Raises DamagedFileError naming record and byte for a record of another length or rtype, and for a file that ends
        inside a record.
        """
        size = self.layout.dtype.itemsize
        with open_content(self.path) as stream:
            take_metadata(stream, self.path)
            first = 0
            while piece := stream.read(records * size):
                whole = len(piece) // size
                chunk = np.frombuffer(piece, dtype=self.layout.dtype, count=whole)
                self._check_records(chunk, first)
                first += whole
                if len(piece) % size:
                    self._refuse_tail(piece[whole * size:], first)
                yield chunk

    def _check_records(self, chunk: NDArray[Any], first: int) -> None:
        size = self.layout.dtype.itemsize
        foreign = (chunk["length"] != size // 4) | (chunk["rtype"] != self.layout.rtype)
        if foreign.any():
            at = int(np.argmax(foreign))
            self._refuse_record(chunk[at:at + 1].tobytes(), first + at)

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
