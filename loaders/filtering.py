"""The fate of every record of a file: kept as an outright, or dropped for a kind that is counted."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loaders.grammar import KINDS, OUTRIGHT, OUTSIDE_REQUEST, UNDEFINED_TIMESTAMP, UNMAPPED
from loaders.instruments import Instruments
from loaders.types import NS_PER_DAY

KEPT = KINDS.index(OUTRIGHT)
LARGEST = np.uint64(2**63 - 1)  # above it DBN's unsigned 64-bit fields mean "undefined" or are damage
SHOWN = 10  # symbols or ids named in a report or message
_UNMAPPED = KINDS.index(UNMAPPED)
_UNDEFINED_TIMESTAMP = KINDS.index(UNDEFINED_TIMESTAMP)


@dataclass(frozen=True)
class FilterReport:
    """Counts of records: ``records == kept + sum(dropped.values())``, ``dropped`` by kind (grammar.KINDS).

    ``symbols`` names a few symbols of each kind that was dropped for what it is, ``by_definition`` counts records whose
    instrument a definition decided, ``unfiltered`` is the reason why all symbols were kept (None: they were filtered).
    """

    records: int
    kept: int
    dropped: dict[str, int]
    symbols: dict[str, list[str]]
    unmapped_ids: list[int]
    by_definition: int
    unfiltered: str | None

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON values, as in the report of an artefact: there ``kept`` is called ``outright``."""
        values = asdict(self)
        return {"records": values.pop("records"), "outright": values.pop("kept"), **values}


def filter_report(report: dict[str, Any]) -> FilterReport:
    """FilterReport from the report of an artefact."""
    names = [name for name in FilterReport.__dataclass_fields__ if name != "kept"]
    return FilterReport(kept=report["outright"], **{name: report[name] for name in names})


def merge_filter_reports(reports: Sequence[FilterReport]) -> FilterReport:
    """Sum of ``reports`` of several files or partitions; no reports are a report of nothing."""
    kinds = [kind for kind in KINDS if any(kind in report.dropped for report in reports)]
    named = [kind for kind in KINDS if any(kind in report.symbols for report in reports)]
    return FilterReport(
        records=sum(report.records for report in reports),
        kept=sum(report.kept for report in reports),
        dropped={kind: sum(report.dropped.get(kind, 0) for report in reports) for kind in kinds},
        symbols={kind: _few(name for one in reports for name in one.symbols.get(kind, ())) for kind in named},
        unmapped_ids=sorted({number for report in reports for number in report.unmapped_ids})[:SHOWN],
        by_definition=sum(report.by_definition for report in reports),
        unfiltered=next((report.unfiltered for report in reports if report.unfiltered), None),
    )


@dataclass(frozen=True, eq=False)
class Judged:
    """A chunk's records judged by instrument, arrays of one length.

    Time int64 ns (0 where undefined), id, row of Instruments, contract month int32 yyyymm (0: none), kind.

    ``kinds`` may still be changed by whoever knows more than the instrument, until it is counted.
    """

    ts: NDArray[np.int64]
    ids: NDArray[np.int64]
    rows: NDArray[np.int64]
    expiries: NDArray[np.int32]
    kinds: NDArray[np.int64]

    def drop(self, wrong: NDArray[np.bool_], kind: str) -> None:
        """Give the kept records among ``wrong`` the dropped ``kind``."""
        self.kinds[wrong & (self.kinds == KEPT)] = KINDS.index(kind)


def judge(records: NDArray[Any], known: Instruments, clock: str, span: tuple[int, int]) -> Judged:
    """Kind of each of ``records`` by its id and the UTC day of its field ``clock``.

    A time outside of ``span`` (DbnMetadata.span) is damage: such a record is dropped, so that it opens no session in
    another year and makes no other record late.
    """
    stamps = records[clock]
    timed = stamps <= LARGEST
    ts = np.where(timed, stamps, 0).astype(np.int64)
    ids = records["instrument_id"].astype(np.int64)
    rows, expiries = known.locate(ids, ts // NS_PER_DAY)
    judged = Judged(ts, ids, rows, expiries, np.where(timed, known.kinds[rows], _UNDEFINED_TIMESTAMP))
    judged.drop((ts < span[0]) | (ts > span[1]), OUTSIDE_REQUEST)
    return judged


class Tally:
    """Counts of the records of a file while its chunks stream by."""

    def __init__(self, known: Instruments) -> None:
        self._known = known
        self._by_kind = np.zeros(len(KINDS), np.int64)
        self.by_row = np.zeros(len(known.names), np.int64)
        self._unmapped = np.empty(0, np.int64)

    def count(self, judged: Judged) -> None:
        """Add the verdicts on one chunk."""
        self._by_kind += np.bincount(judged.kinds, minlength=len(KINDS))
        self.by_row += np.bincount(judged.rows, minlength=len(self.by_row))
        strangers = judged.ids[judged.kinds == _UNMAPPED]
        if len(strangers):
            self._unmapped = np.union1d(self._unmapped, strangers)[:SHOWN]

    def by_outright(self) -> int:
        """Number of records of outrights, whether kept or dropped for their content."""
        return int(self.by_row[self._known.kinds == KEPT].sum())

    def report(self) -> FilterReport:
        """The counts so far."""
        known = self._known
        seen = np.flatnonzero(self.by_row)
        dropped = {kind: int(n) for kind, n in zip(KINDS, self._by_kind, strict=True) if n and kind != OUTRIGHT}
        kinds = {row: KINDS[known.kinds[row]] for row in seen.tolist()}
        symbols = {
            kind: _few(known.names[row] for row in kinds if kinds[row] == kind)
            for kind in KINDS if kind in dropped and kind != UNMAPPED and kind in kinds.values()
        }
        return FilterReport(
            records=int(self._by_kind.sum()),
            kept=int(self._by_kind[KEPT]),
            dropped=dropped,
            symbols=symbols,
            unmapped_ids=self._unmapped.tolist(),
            by_definition=int(self.by_row[len(known.mapped.symbols) : -1].sum()),
            unfiltered=known.unfiltered,
        )


def _few(names: Any) -> list[str]:
    return sorted(set(names))[:SHOWN]
