"""Node: the outright bars of one root in one bar file or a part of it, everything else counted by kind and dropped."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.columns import Columns, expected_records
from loaders.definitions import read_definitions
from loaders.errors import DataError
from loaders.filtering import KEPT, LARGEST, SHOWN, Tally, filter_report, judge, merge_filter_reports
from loaders.grammar import OUTSIDE_REQUEST, UNDEFINED_VOLUME
from loaders.instruments import Instruments, instruments, merge_listings
from loaders.layouts import BAR_SCHEMAS
from loaders.records import DbnFile, Partition, open_dbn
from loaders.stated_gaps import gap_facts, gap_sentences
from loaders.types import OUTRIGHT_COLUMNS, SOURCE_SHIFT, nanoseconds, strings, table

_COPIED = ("open", "high", "low", "close", "volume", "publisher_id")
# What is kept of an outright's record: its columns, time as int64 ns, and in place of the contract its row of Instruments.
_KEPT = {name: dtype for name, dtype in OUTRIGHT_COLUMNS.items() if name != "contract"} | {
    "ts_event": "int64", "rows": "int32"}


@dataclass(frozen=True)
class OutrightBars:
    """Outright bars of one file in file order, its listed contracts, and the count of what was dropped.

    ``bars``: OUTRIGHT_COLUMNS. ``listed``: expiry, contract, first, last (yyyymmdd). ``report``: JSON values, where
    ``records == outright + sum(dropped.values())``.
    """

    bars: pd.DataFrame
    listed: pd.DataFrame
    report: dict[str, Any]


def outright_bars(
    bars_file: Path, definition_files: Sequence[Path], root: str, ordinal: int, partition: Partition | None = None
) -> OutrightBars:
    """Outright bars of ``root`` in ``bars_file``, which is number ``ordinal`` of the data set, or in a part of it.

    Memory is that of the bars kept; with ``partition`` (loaders.partitions) it has a bound whatever the file's size,
    and ``join_partitions`` makes of the parts what the whole file gives.

    Raises DamagedFileError for a damaged or foreign file, DataError when it has records but none is an outright of
    ``root``, or when nothing tells outrights from spreads in its dataset.
    """
    file = open_bars(Path(bars_file))
    known = instruments(file.metadata, read_definitions(definition_files), root, file.path)
    tally = Tally(known)
    progress = Progress((ordinal << SOURCE_SHIFT) + (partition.first if partition else 0))
    kept = Columns(_KEPT, expected_records(file, partition))
    for chunk in outright_chunks(file, known, tally, progress, partition):
        kept.append(chunk)
    bars = _table(kept.values(), known)
    report = _report(file, root, tally, bars, progress)
    if partition is None and report["records"] and not len(bars):
        raise nothing_left(file, root, known, tally)
    return OutrightBars(bars, known.listed(), report)


def open_bars(path: Path) -> DbnFile:
    """DbnFile of bars; raises DataError for another schema, and as ``open_dbn``."""
    file = open_dbn(path)
    if file.metadata.schema not in BAR_SCHEMAS:
        raise DataError(f"{path}: has schema {file.metadata.schema} where bars were expected; "
                        f"give a file of {', '.join(BAR_SCHEMAS)}")
    return file


@dataclass
class Progress:
    """How far a file has been read: the next record's source row and the latest ts_event kept so far (-1: none)."""

    source: int
    newest: int = -1


def outright_chunks(
    file: DbnFile, known: Instruments, tally: Tally, progress: Progress, partition: Partition | None = None
) -> Iterator[dict[str, NDArray[Any]]]:
    """Columns of the outright bars, one dict a chunk of ``file``; ``tally`` and ``progress`` follow the reading.

    ``rows`` are positions in ``known.names``; the others are as in OUTRIGHT_COLUMNS. Memory does not grow with the
    file.
    """
    for records in file.chunks(partition=partition):
        judged = judge(records, known, "ts_event", file.metadata.span)
        judged.drop(records["volume"] > LARGEST, UNDEFINED_VOLUME)
        tally.count(judged)
        keep = np.flatnonzero(judged.kinds == KEPT)
        ts = judged.ts[keep]
        reached = np.maximum.accumulate(np.concatenate([[progress.newest], ts]))
        kept: dict[str, NDArray[Any]] = {name: records[name][keep] for name in _COPIED}
        yield kept | {
            "ts_event": ts,
            "instrument_id": judged.ids[keep],
            "source_row": progress.source + keep,
            "backwards": ts < reached[:-1],
            "expiry": judged.expiries[keep],
            "rows": judged.rows[keep],
        }
        progress.source += len(records)
        progress.newest = int(reached[-1])


def outright_table(chunks: list[dict[str, NDArray[Any]]], known: Instruments) -> pd.DataFrame:
    """Table OUTRIGHT_COLUMNS of some ``chunks`` of one file.

    Raises DataError for an outright whose contract month neither its definition nor its symbol tells.
    """
    kept = Columns(_KEPT, sum(len(chunk["rows"]) for chunk in chunks))
    for chunk in chunks:
        kept.append(chunk)
    return _table(kept.values(), known)


def _table(columns: dict[str, NDArray[Any]], known: Instruments) -> pd.DataFrame:
    rows = columns["rows"]
    if known.unfiltered is None and (columns["expiry"] == 0).any():
        name = known.names[rows[np.argmax(columns["expiry"] == 0)]]
        raise DataError(f"outright {name}: neither its definition nor its symbol tells the contract month; "
                        "its definition file lacks maturity_year and maturity_month")
    return table(OUTRIGHT_COLUMNS, {**columns, "contract": strings(known.names, rows)})


def join_partitions(parts: Sequence[OutrightBars]) -> OutrightBars:
    """What ``outright_bars`` gives for a whole file, from its results for all partitions of that file in order.

    Raises DataError when the file has records but none is an outright of the root.
    """
    newest = -1
    tables = []
    for part in parts:
        late = nanoseconds(part.bars["ts_event"]) < newest
        tables.append(part.bars.assign(backwards=part.bars["backwards"].to_numpy() | late))
        newest = max(newest, part.report["newest"])
    bars = pd.concat(tables, ignore_index=True)
    report = with_gaps(join_reports([part.report for part in parts]))
    if report["records"] and not len(bars):
        raise DataError(f"{report['file']}: none of its {report['records']} records is an outright of root "
                        f"{report['root']!r}; dropped: {report['dropped']}; check root, or leave this file out")
    return OutrightBars(bars, merge_listings([part.listed for part in parts]), report)


def join_reports(reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Report of a file from the reports of its partitions."""
    firsts = [report["first"] for report in reports if report["first"]]
    lasts = [report["last"] for report in reports if report["last"]]
    return reports[0] | merge_filter_reports([filter_report(report) for report in reports]).as_dict() | {
        "contracts": sorted({name for report in reports for name in report["contracts"]}),
        "first": min(firsts, default=None),
        "last": max(lasts, default=None),
        "newest": max(report["newest"] for report in reports),
    }


def _report(file: DbnFile, root: str, tally: Tally, bars: pd.DataFrame, progress: Progress) -> dict[str, Any]:
    return with_gaps(file_facts(file, root) | tally.report().as_dict()) | {
        "contracts": sorted(bars["contract"].unique()),
        "first": iso(nanoseconds(bars["ts_event"]).min()) if len(bars) else None,
        "last": iso(nanoseconds(bars["ts_event"]).max()) if len(bars) else None,
        "newest": progress.newest,
    }


def file_facts(file: DbnFile, root: str) -> dict[str, Any]:
    """What a report says of a file without reading its records."""
    return {
        "file": file.path.name,
        "dataset": file.metadata.dataset,
        "schema": file.metadata.schema,
        "root": root,
        "requested": [iso(file.metadata.start), iso(file.metadata.end)],
        **gap_facts(file.metadata),
    }


def with_gaps(report: dict[str, Any]) -> dict[str, Any]:
    """A file's report with ``gaps``: sentences on what the source says is missing, now that its records are counted."""
    return report | {"gaps": gap_sentences(report["file"], report, report["records"])}


def nothing_left(file: DbnFile, root: str, known: Instruments, tally: Tally) -> DataError:
    """Error for a file with records but none of ``root``: what is in it instead."""
    report = tally.report()
    seen = sorted({known.names[row] for row in np.flatnonzero(tally.by_row)})
    roots = sorted({found for name in seen if known.grammar and (found := known.grammar.root(name))})
    hints = ""
    if OUTSIDE_REQUEST in report.dropped:
        hints += (f"it was requested for {iso(file.metadata.start)} to {iso(file.metadata.end)}, and a time more than a day "
                  "outside of that is damage; ")
    if report.unmapped_ids:
        hints += (f"ids {', '.join(map(str, report.unmapped_ids))} have no symbol in the file and no definition on their "
                  "dates: a definition counts on the dates that its file has; ")
    return DataError(
        f"{file.path}: none of its {report.records} records is an outright of root {root!r}; "
        f"outright roots seen: {', '.join(roots) or 'none'}; symbols seen: {', '.join(seen[:SHOWN])}; dropped: "
        f"{report.dropped}; {hints}check root, or leave this file out"
    )


def iso(moment: int | None) -> str | None:
    """UTC nanoseconds as text; None for what is not given or not a time."""
    return None if moment is None or moment > int(LARGEST) else pd.Timestamp(moment, tz="UTC").isoformat()
