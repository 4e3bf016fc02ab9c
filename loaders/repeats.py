"""The same ticks twice: files of trades, quotes or books that begin with the same record.

A bar that comes twice is told by its time, and layer 1 keeps one. A tick is not: two equal trades in one nanosecond are real,
so a file that was copied, or lies there raw and compressed, would double every volume made of it.
"""

from collections.abc import Sequence

from loaders.errors import DamagedFileError, DataError
from loaders.files import DataFile
from loaders.records import open_dbn


def refuse_repeats(files: Sequence[DataFile]) -> None:
    """Raise DataError naming two of ``files`` of one schema whose first records are equal in every byte."""
    seen: dict[tuple[str | None, bytes], DataFile] = {}
    for file in files:
        first = _first_record(file)
        known = seen.setdefault((file.schema, first), file) if first else file
        if known is not file:
            raise DataError(f"{file.path}: begins with the same record as {known.path}, so its {file.schema} would count "
                            "twice; keep one of them")


def _first_record(file: DataFile) -> bytes:
    try:
        return next((chunk.tobytes() for chunk in open_dbn(file.path).chunks(records=1)), b"")
    except DamagedFileError:
        return b""  # whoever reads the file says what is wrong with it
