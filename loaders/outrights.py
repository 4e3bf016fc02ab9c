"""Node: the outright bars of one root in one bar file, everything else counted by kind and dropped."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.definitions import read_definitions
from loaders.errors import DataError
from loaders.grammar import KINDS, OUTRIGHT, UNDEFINED_TIMESTAMP, UNDEFINED_VOLUME, UNMAPPED
from loaders.instruments import Instruments, instruments
from loaders.records import DbnFile, open_dbn
from loaders.types import BAR_RTYPES, NS_PER_DAY, OUTRIGHT_COLUMNS, SOURCE_SHIFT, nanoseconds, strings, table

_OUTRIGHT = KINDS.index(OUTRIGHT)
_UNMAPPED = KINDS.index(UNMAPPED)
_UNDEFINED_TIMESTAMP = KINDS.index(UNDEFINED_TIMESTAMP)
_UNDEFINED_VOLUME = KINDS.index(UNDEFINED_VOLUME)
_LARGEST = np.uint64(2**63 - 1)  # above it DBN's unsigned 64-bit fields mean "undefined" or are damage
_SHOWN = 10  # symbols or ids named in a report or message


@dataclass(frozen=True)
class OutrightBars:
    """Outright bars of one file in file order, its listed contracts, and the count of what was dropped.

    ``bars``: OUTRIGHT_COLUMNS. ``listed``: expiry, contract, first, last (yyyymmdd). ``report``: JSON values, where
    ``records == outright + sum(dropped.values())``.
    """

    bars: pd.DataFrame
    listed: pd.DataFrame
    report: dict[str, Any]


@dataclass(frozen=True, eq=False)
class _Chunk:
    """One chunk judged: records by kind [KINDS] and by instrument row, ids without a symbol, the outright columns."""

    by_kind: NDArray[np.int64]
    by_row: NDArray[np.int64]
    unmapped: NDArray[np.int64]
    kept: dict[str, NDArray[Any]]
    newest: int


def outright_bars(bars_file: Path, definition_files: Sequence[Path], root: str, ordinal: int) -> OutrightBars:
    """Outright bars of ``root`` in ``bars_file``, which is number ``ordinal`` of the data set.

    Raises DamagedFileError for a damaged or foreign file, DataError when it has records but none is an outright of
    ``root``, or when nothing tells outrights from spreads in its dataset.
    """
    file = open_dbn(Path(bars_file))
    if file.metadata.schema not in BAR_RTYPES:
        raise DataError(f"{bars_file}: has schema {file.metadata.schema} where bars were expected; "
                        f"give a file of {', '.join(BAR_RTYPES)}")
    known = instruments(file.metadata, read_definitions(definition_files), root, file.path)
    chunks: list[_Chunk] = []
    first, newest = 0, -1
    for records in file.chunks():
        chunks.append(_judge(records, known, (ordinal << SOURCE_SHIFT) + first, newest))
        first, newest = first + len(records), chunks[-1].newest
    bars = _table(chunks, known)
    report = _report(file, root, known, chunks, bars)
    if first and not len(bars):
        raise _nothing_left(file.path, root, known, chunks)
    return OutrightBars(bars, known.listed(), report)


def _judge(records: NDArray[Any], known: Instruments, source: int, newest: int) -> _Chunk:
    """Verdicts on ``records``, whose first has source row ``source``; ``newest`` is the latest ts_event before them."""
    timed = records["ts_event"] <= _LARGEST
    ts = np.where(timed, records["ts_event"], 0).astype(np.int64)
    ids = records["instrument_id"].astype(np.int64)
    rows = known.resolve(ids, ts // NS_PER_DAY)
    kinds = np.where(timed, known.kinds[rows], _UNDEFINED_TIMESTAMP)
    kinds[(kinds == _OUTRIGHT) & (records["volume"] > _LARGEST)] = _UNDEFINED_VOLUME
    reached = np.maximum.accumulate(np.concatenate([[newest], ts]))
    keep = kinds == _OUTRIGHT
    kept: dict[str, NDArray[Any]] = {
        name: records[name][keep] for name in ("open", "high", "low", "close", "volume", "publisher_id")
    }
    kept |= {
        "ts_event": ts[keep],
        "instrument_id": ids[keep],
        "source_row": source + np.flatnonzero(keep),
        "backwards": (ts < reached[:-1])[keep],
        "expiry": known.expiries(rows[keep], ts[keep] // NS_PER_DAY),
        "rows": rows[keep],
    }
    return _Chunk(
        by_kind=np.bincount(kinds, minlength=len(KINDS)),
        by_row=np.bincount(rows, minlength=len(known.names)),
        unmapped=np.unique(ids[kinds == _UNMAPPED]),
        kept=kept,
        newest=int(reached[-1]),
    )


def _table(chunks: list[_Chunk], known: Instruments) -> pd.DataFrame:
    if not chunks:
        return table(OUTRIGHT_COLUMNS, {name: np.empty(0, np.int64) for name in OUTRIGHT_COLUMNS})
    columns = {name: np.concatenate([chunk.kept[name] for chunk in chunks]) for name in chunks[0].kept}
    if (columns["expiry"] == 0).any():
        name = known.names[columns["rows"][np.argmax(columns["expiry"] == 0)]]
        raise DataError(f"outright {name}: neither its definition nor its symbol tells the contract month; "
                        "its definition file lacks maturity_year and maturity_month")
    return table(OUTRIGHT_COLUMNS, {**columns, "contract": strings(known.names, columns["rows"])})


def _report(file: DbnFile, root: str, known: Instruments, chunks: list[_Chunk], bars: pd.DataFrame) -> dict[str, Any]:
    counts = sum((chunk.by_kind for chunk in chunks), np.zeros(len(KINDS), np.int64))
    definitions = slice(len(known.mapped.symbols), len(known.names) - 1)
    unmapped = np.unique(np.concatenate([np.empty(0, np.int64), *(chunk.unmapped for chunk in chunks)]))
    return {
        "file": file.path.name,
        "dataset": file.metadata.dataset,
        "schema": file.metadata.schema,
        "root": root,
        "records": int(counts.sum()),
        "outright": int(counts[_OUTRIGHT]),
        "dropped": {kind: int(n) for kind, n in zip(KINDS, counts, strict=True) if n and kind != OUTRIGHT},
        "by_definition": sum(int(chunk.by_row[definitions].sum()) for chunk in chunks),
        "unmapped_ids": unmapped[:_SHOWN].tolist(),
        "contracts": sorted(set(bars["contract"])),
        "first": _iso(nanoseconds(bars["ts_event"]).min()) if len(bars) else None,
        "last": _iso(nanoseconds(bars["ts_event"]).max()) if len(bars) else None,
        "requested": [_iso(file.metadata.start), _iso(file.metadata.end)],
    }


def _nothing_left(path: Path, root: str, known: Instruments, chunks: list[_Chunk]) -> DataError:
    by_row = np.sum([chunk.by_row for chunk in chunks], axis=0)
    seen = sorted({known.names[row] for row in np.flatnonzero(by_row)})
    roots = sorted({found for name in seen if known.grammar and (found := known.grammar.root(name))})
    return DataError(
        f"{path}: none of its {by_row.sum()} records is an outright of root {root!r}; "
        f"outright roots seen: {', '.join(roots) or 'none'}; symbols seen: {', '.join(seen[:_SHOWN])}; "
        "check root, or leave this file out"
    )


def _iso(moment: int | None) -> str | None:
    """UTC nanoseconds as text; None for what is not given or not a time."""
    return None if moment is None or moment > int(_LARGEST) else pd.Timestamp(moment, tz="UTC").isoformat()
