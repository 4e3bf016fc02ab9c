"""Books and trades of the outrights in a file as arrays, contract by contract, in pieces large enough to be worth a call."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loaders.definitions import read_definitions
from loaders.errors import DataError
from loaders.filtering import Tally
from loaders.instruments import instruments
from loaders.layouts import MBP_10, TRADE_SCHEMAS
from loaders.outrights import nothing_left
from loaders.records import open_dbn
from loaders.ticks import BOOK_FORM, TRADE_FORM, aggressor, judged_ticks, prices
from loaders.types import UNDEF_PRICE

PIECE_RECORDS = 1 << 15  # of mbp-10 12 MB
LEVELS = 10
_SIDES = {"bid_px": np.int64, "bid_sz": np.uint32, "ask_px": np.int64, "ask_sz": np.uint32}


@dataclass(frozen=True, eq=False)
class ContractEvents:
    """Kept events [n] of one contract in the order of the file.

    ``ts_recv`` int64 ns; ``book`` float64 [n, 10] by bid_px, bid_sz, ask_px, ask_sz (price NaN, size 0: not there), empty
    where the file has no books. Of the events that are trades [t]: ``traded`` their places in [n], ``size`` float64,
    ``side`` int8 (1 bought, -1 sold, 0 unknown).
    """

    expiry: int
    contract: str
    ts_recv: NDArray[np.int64]
    book: dict[str, NDArray[np.float64]]
    traded: NDArray[np.intp]
    size: NDArray[np.float64]
    side: NDArray[np.int8]


class EventScan:
    """ContractEvents of a file of schema mbp-10, tbbo, mbp-1 or trades, piece by piece; ``records`` counts what was read."""

    def __init__(self, path: Path, definition_files: Sequence[Path], root: str) -> None:
        self._file = open_dbn(path)
        self.schema = str(self._file.metadata.schema)
        if self.schema not in TRADE_SCHEMAS:
            raise DataError(f"{path}: has schema {self.schema}, which holds no trades; give a file of "
                            f"{', '.join(TRADE_SCHEMAS)}")
        self._root = root
        self._known = instruments(self._file.metadata, read_definitions(definition_files), root, path)
        numbers: dict[str, int] = {}  # an instrument may have several rows, such as one of the file and one of a definition
        self._names = np.array([numbers.setdefault(name, len(numbers)) for name in self._known.names], dtype=np.int64)
        self.records = 0

    def __iter__(self) -> Iterator[ContractEvents]:
        tally = Tally(self._known)
        form = BOOK_FORM if self.schema == MBP_10 else TRADE_FORM
        for records in self._file.chunks(PIECE_RECORDS):
            judged, keep = judged_ticks(records, self._known, tally, self._file, form)
            self.records += len(records)
            which, first, places = _contracts(self._names[judged.rows[keep]], judged.expiries[keep])
            for number, at in enumerate(first):
                mine = keep[places[which[number] : which[number + 1]]]
                row, expiry = int(judged.rows[keep[at]]), int(judged.expiries[keep[at]])
                yield _events(records[mine], judged.ts[mine], self._known.names[row], expiry, self.schema)
        if self.records and not tally.by_outright():
            raise nothing_left(self._file, self._root, self._known, tally)


def _contracts(
    names: NDArray[np.int64], expiries: NDArray[np.int32]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Bounds of each contract's run in ``places``, its first row, and the places of all rows, each contract's in order."""
    code = names * 1_000_000 + expiries
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.intp)
    return bounds, first, np.argsort(code, kind="stable")


def _events(
    records: NDArray[Any], ts: NDArray[np.int64], contract: str, expiry: int, schema: str
) -> ContractEvents:
    book = {name: _levels(records, name, np.dtype(dtype)) for name, dtype in _SIDES.items()} if schema == MBP_10 else {}
    traded = np.flatnonzero((records["action"] == b"T") & (records["price"] != UNDEF_PRICE))
    size, side = records["size"][traded].astype(np.float64), aggressor(records["side"][traded])
    return ContractEvents(expiry, contract, ts, book, traded, size, side)


def _levels(records: NDArray[Any], name: str, dtype: np.dtype[Any]) -> NDArray[np.float64]:
    """A field of all levels, float64 [n, LEVELS]; they lie equally far apart in a record."""
    offsets = [records.dtype.fields[f"{name}_{level:02}"][1] for level in range(LEVELS)]  # type: ignore[index]
    steps = (records.dtype.itemsize, offsets[1] - offsets[0])
    fixed = np.ndarray((len(records), LEVELS), dtype, records, offsets[0], steps)
    return prices(fixed) if dtype == np.int64 else fixed.astype(np.float64)
