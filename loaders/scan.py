"""Streams of tables out of the files of a data set, in bounded pieces, with the count of all records."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from loaders.batch import read_conditions
from loaders.definitions import Definitions, read_definitions
from loaders.errors import DataError
from loaders.files import DataFile, list_any_files
from loaders.filtering import SHOWN, FilterReport, Tally, filter_report, merge_filter_reports
from loaders.instruments import Instruments, instruments
from loaders.layouts import DEFINITIONS, IGNORED, TICKS
from loaders.outrights import file_facts, nothing_left, with_gaps
from loaders.records import DbnFile, open_dbn
from loaders.repeats import refuse_repeats
from loaders.types import SOURCE_SHIFT
from loaders.venues import GRAMMARS, left_alone

PathOrPaths = Path | str | Sequence[Path | str]


@dataclass(frozen=True)
class LoadReport:
    """Where the records went: ``records == outright + sum(dropped.values())``; ``files``: the same for each file.

    ``outright`` counts rows kept; a file's ``gaps`` are sentences on what its source says is missing. ``ignored``: files not
    read. ``conditions``: dates that condition.json calls other than available. ``checked``: files whose size and SHA-256 are
    those of manifest.json.
    """

    root: str
    records: int
    outright: int
    dropped: dict[str, int]
    files: tuple[dict[str, Any], ...]
    ignored: tuple[str, ...]
    conditions: dict[str, str]
    checked: tuple[str, ...]

    def filter_report(self) -> FilterReport:
        """The counts of all files together, with symbols by kind."""
        return merge_filter_reports([filter_report(report) for report in self.files])


@dataclass(frozen=True)
class Source:
    """The files of one reading: those with the wanted records in order, definitions, and what else lies there."""

    root: str
    wanted: tuple[DataFile, ...]
    definitions: tuple[Path, ...]
    ignored: tuple[str, ...]
    conditions: dict[str, str]
    checked: tuple[str, ...]

    def report(self, files: Sequence[dict[str, Any]]) -> LoadReport:
        """LoadReport out of the reports of the files read."""
        kinds = sorted({kind for report in files for kind in report["dropped"]})
        return LoadReport(
            root=self.root,
            records=sum(report["records"] for report in files),
            outright=sum(report["outright"] for report in files),
            dropped={kind: sum(report["dropped"].get(kind, 0) for report in files) for kind in kinds},
            files=tuple(files),
            ignored=self.ignored,
            conditions=self.conditions,
            checked=self.checked,
        )


def find_source(path: PathOrPaths, root: str | None, schemas: Sequence[str]) -> Source:
    """Files of ``schemas`` at ``path``: a file, a directory, or several of them, each in the order of its data.

    Raises DataError for none, for bars of several intervals, for the same ticks twice, and when no ``root`` is given and the
    files were requested for several or for all symbols.
    """
    places = [Path(path)] if isinstance(path, Path | str) else [Path(one) for one in path]
    listed = [file for place in places for file in list_any_files(place)]
    wanted = [file for file in listed if file.schema in schemas]
    found = sorted({file.schema for file in listed if file.schema})
    where = ", ".join(map(str, places)) or "no path"
    if not wanted:
        unread = [f"{file.path.name}: {file.reason}" for file in listed if file.kind == IGNORED][:SHOWN]
        raise DataError(f"{where}: holds no DBN file of schema {', '.join(schemas)} ({len(listed)} files, schemas: "
                        f"{', '.join(found) or 'none'}{''.join(f'; {text}' for text in unread)}); check the path")
    kinds = {file.schema for file in wanted}
    if len(kinds) > 1:
        raise DataError(f"{where}: holds several schemas with the same rows ({', '.join(sorted(map(str, kinds)))}); "
                        "give the files of one")
    if wanted[0].kind == TICKS:
        refuse_repeats(wanted)
    folders = [place for place in places if place.is_dir()]
    return Source(
        root=root or _requested_root(where, wanted),
        wanted=tuple(wanted),
        definitions=tuple(file.path for file in listed if file.kind == DEFINITIONS),
        ignored=tuple(file.path.name for file in listed if file.kind == IGNORED),
        conditions={date: text for folder in folders for date, text in read_conditions(folder).items()},
        checked=tuple(file.path.name for file in listed if file.checked),
    )


def _requested_root(where: str, files: Sequence[DataFile]) -> str:
    """The single root of the symbols that ``files`` were requested with: ES of ES.FUT, or of ESH4 and ESM4.

    Empty where no rule on symbols applies.
    """
    if all(left_alone(file.dataset or "", file.stype_in) for file in files):
        return ""
    roots = set()
    for file in files:
        grammar = GRAMMARS.get(file.dataset or "")
        for symbol in file.symbols:
            parent, _, kind = symbol.partition(".")
            root = parent if kind == "FUT" else grammar.root(symbol) if grammar else None
            roots.add(root or symbol)
    if len(roots) != 1:
        raise DataError(f"{where}: files were requested for {', '.join(sorted(roots)) or 'all symbols'}; "
                        "say which root to read, as in root='ES'")
    return roots.pop()


# Tables of one file: its records, instruments, the tally to keep, the source row of its first record, its report.
FileTables = Callable[[DbnFile, Instruments, Tally, int, dict[str, Any]], Iterator[pd.DataFrame]]


class Scan:
    """Tables of a data set, piece by piece; ``report`` counts what has been read so far, all of it at the end."""

    def __init__(self, source: Source, tables: FileTables) -> None:
        self._source = source
        self._tables = tables
        self._files: list[dict[str, Any]] = []

    @property
    def report(self) -> LoadReport:
        """LoadReport of the files that have been read to their end."""
        return self._source.report(self._files)

    def __iter__(self) -> Iterator[pd.DataFrame]:
        self._files = []
        definitions = read_definitions(self._source.definitions)
        for ordinal, described in enumerate(self._source.wanted):
            yield from self._one(described.path, ordinal, definitions)

    def _one(self, path: Path, ordinal: int, definitions: Definitions) -> Iterator[pd.DataFrame]:
        file = open_dbn(path)
        known = instruments(file.metadata, definitions, self._source.root, path)
        tally = Tally(known)
        facts = file_facts(file, self._source.root)
        yield from self._tables(file, known, tally, ordinal << SOURCE_SHIFT, facts)
        report = tally.report()
        if report.records and not tally.by_outright():
            raise nothing_left(file, self._source.root, known, tally)
        self._files.append(with_gaps(facts | report.as_dict()))


def whole(scan: Scan, columns: dict[str, str], empty: pd.DataFrame) -> tuple[pd.DataFrame, LoadReport]:
    """All tables of ``scan`` in one, and the report."""
    tables = [piece for piece in scan if len(piece)]
    joined = pd.concat(tables, ignore_index=True) if tables else empty
    return joined[list(columns)], scan.report
