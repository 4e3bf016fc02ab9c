"""Which files of a data directory are read, in which order, and what each says of itself."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from loaders.batch import SUPPORT_FILES, check_promises, read_manifest
from loaders.errors import DataError
from loaders.layouts import BAR_SCHEMAS, BARS, DEFINITIONS, IGNORED, TICKS, file_kind
from loaders.metadata import read_metadata

_KINDS = (BARS, DEFINITIONS, TICKS, IGNORED)
_DBN_NAME = re.compile(r".+\.(dbn|dbn\.zst)", re.IGNORECASE)


@dataclass(frozen=True)
class DataFile:
    """One file of a data set, described by its metadata alone; ``start`` and ``end`` int64 ns UTC, end exclusive.

    ``kind`` is 'bars', 'definitions', 'ticks' (trades, quotes, books, statistics) or 'ignored'; ``reason`` says why a
    file is ignored and is empty for the others. ``checked``: manifest.json promised its size and hash, and it has them.
    """

    path: Path
    kind: str
    bytes: int
    schema: str | None = None
    dataset: str | None = None
    stype_in: str | None = None
    start: int = 0
    end: int | None = None
    symbols: tuple[str, ...] = ()
    reason: str = ""
    checked: bool = False


def describe(path: Path) -> DataFile:
    """Describe the DBN file at ``path`` without decoding a record.

    Raises DataError for a missing file, DamagedFileError for one that is no DBN or whose metadata cannot be read.
    """
    path = Path(path)
    metadata = read_metadata(path)
    kind = file_kind(metadata.schema)
    return DataFile(
        path=path,
        kind=kind,
        bytes=path.stat().st_size,
        schema=metadata.schema,
        dataset=metadata.dataset,
        stype_in=metadata.stype_in,
        start=metadata.start,
        end=metadata.end,
        symbols=metadata.symbols,
        reason="" if kind != IGNORED else f"schema {metadata.schema or 'mixed'} is not read",
    )


def list_data_files(directory: Path) -> list[DataFile]:
    """Files of ``directory`` (not of its subdirectories), or the one file it names; bars first, by start, then name.

    Names are compared with their numbers as numbers: part.2 comes before part.10. Files that are not named .dbn or
    .dbn.zst, and DBN files of other schemas, are listed last with kind 'ignored' and the reason. Where the directory
    has the manifest.json of a batch download, every DBN file in it must be there, whole.

    Raises DataError for a missing directory, one without bar files, bars of several intervals in it, and files that
    the manifest lists and are not there; DamagedFileError for a file that is named .dbn or .dbn.zst and is none, and
    for one that is not what the manifest promises.
    """
    files = list_any_files(directory)
    _require_bars(Path(directory), files)
    return files


def list_any_files(directory: Path) -> list[DataFile]:
    """As ``list_data_files``, but bars need not be among them."""
    directory = Path(directory)
    if not directory.exists():
        raise DataError(f"{directory}: no such directory; check the path, or write sample data there with "
                        f"`pipeline sample {directory}`")
    if directory.is_file():
        files = [describe(directory)]
    else:
        entries = _entries(directory)
        promises = read_manifest(directory)
        check_promises(directory, promises)
        files = [replace(_describe_entry(path), checked=path.name in promises) for path in entries]
    return sorted(files, key=lambda file: (_KINDS.index(file.kind), file.start, _natural(file.path.name)))


def _describe_entry(path: Path) -> DataFile:
    if _DBN_NAME.fullmatch(path.name):
        return describe(path)
    support = path.name in SUPPORT_FILES
    return DataFile(path, IGNORED, path.stat().st_size,
                    reason="support file of a batch download" if support else "not named .dbn or .dbn.zst")


def _entries(directory: Path) -> list[Path]:
    try:
        return [path for path in directory.iterdir() if path.is_file() or _leads_nowhere(path)]
    except OSError as error:
        raise DataError(f"{directory}: cannot be listed ({error.strerror}); check its permissions") from None


def _leads_nowhere(path: Path) -> bool:
    """Whether ``path`` is a link to a DBN file that is not there: left out, its records would be missing quietly."""
    if path.is_symlink() and not path.exists() and _DBN_NAME.fullmatch(path.name):
        raise DataError(f"{path}: is a link to {path.readlink()}, which is not there; mend or remove it")
    return False


def _require_bars(directory: Path, files: Sequence[DataFile]) -> None:
    schemas = sorted({file.schema for file in files if file.kind == BARS and file.schema})
    if not schemas:
        ignored = sum(file.kind == IGNORED for file in files)
        raise DataError(f"{directory}: holds no DBN file with bars ({len(files)} files, {ignored} of other kinds); "
                        f"put .dbn or .dbn.zst files of schema {', '.join(BAR_SCHEMAS)} there")
    if len(schemas) > 1:
        raise DataError(f"{directory}: holds bars of several intervals ({', '.join(schemas)}); "
                        "keep one interval in a directory")


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """Sort key in which runs of digits count as numbers."""
    return [(not digits, int(digits or 0), text) for digits, text in re.findall(r"([0-9]+)|([^0-9]+)", name)]
