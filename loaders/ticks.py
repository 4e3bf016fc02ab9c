"""Trades, quotes and books of outrights from tick files, in the order of ts_recv, without the snapshots between days.

The time of a tick is ``ts_recv``, when Databento received it: files are sorted by it, ids are mapped by its UTC date,
and many records share one. ``ts_event``, the exchange's clock, may step back; never drop duplicates by either.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.filtering import KEPT, LARGEST, Judged, Tally, judge
from loaders.grammar import NO_TRADE, SNAPSHOT, UNDEFINED_PRICE
from loaders.instruments import Instruments
from loaders.layouts import MBP_10, QUOTE_SCHEMAS, TRADE_SCHEMAS
from loaders.records import DbnFile, Partition
from loaders.types import PRICE_SCALE, TIMESTAMP, UNDEF_PRICE, strings, table

F_SNAPSHOT, F_BAD_TS_RECV, F_MAYBE_BAD_BOOK = 32, 8, 4  # databento_dbn.RecordFlags
_LETTERS = ["", *map(chr, range(1, 256))]  # text of a one-byte field by its value
_NOT_A_TIME = np.iinfo(np.int64).min  # NaT

_TICK = {"ts_recv": TIMESTAMP, "ts_event": TIMESTAMP, "publisher_id": "int32", "instrument_id": "int64",
         "contract": "str", "expiry": "int32"}
_TRADE = {"price": "float64", "size": "int64", "side": "int8"}
_PLACE = {"flags": "int16", "sequence": "int64", "source_row": "int64"}
_LEVEL = {"bid_px": "float64", "ask_px": "float64", "bid_sz": "int64", "ask_sz": "int64", "bid_ct": "int64",
          "ask_ct": "int64"}


def _levels(count: int) -> dict[str, str]:
    return {f"{name}_{level:02}": dtype for level in range(count) for name, dtype in _LEVEL.items()}


@dataclass(frozen=True)
class TickForm:
    """A kind of tick table: the ``schemas`` it is read from, its ``columns``, and if only trades are wanted."""

    schemas: tuple[str, ...]
    columns: dict[str, str]
    only_trades: bool


TRADE_FORM = TickForm(TRADE_SCHEMAS, {**_TICK, **_TRADE, **_PLACE}, only_trades=True)
QUOTE_FORM = TickForm(QUOTE_SCHEMAS, {**_TICK, "action": "str", "depth": "int16", **_TRADE, **_PLACE, **_levels(1)},
                      only_trades=False)
BOOK_FORM = TickForm((MBP_10,), {**_TICK, "action": "str", "depth": "int16", **_TRADE, **_PLACE, **_levels(10)},
                     only_trades=False)


@dataclass
class OrderFacts:
    """What the kept rows of a file say about their order; counts, but ``newest``, the latest ts_recv (ns) so far.

    ``late``: ts_recv smaller than an earlier row's; ``equal``: the same as the row's before; ``event_after_received``:
    ts_event after ts_recv; the rest: rows with the flag F_BAD_TS_RECV or F_MAYBE_BAD_BOOK.
    """

    late: int = 0
    equal: int = 0
    event_after_received: int = 0
    bad_ts_recv: int = 0
    maybe_bad_book: int = 0
    newest: int = -1

    def follow(self, received: NDArray[np.int64], event: NDArray[np.int64], flags: NDArray[Any]) -> None:
        """Add the kept rows of the next chunk."""
        if not len(received):
            return
        times = np.concatenate([[self.newest], received])
        reached = np.maximum.accumulate(times)
        self.late += int((received < reached[:-1]).sum())
        self.equal += int((np.diff(times) == 0).sum())
        self.event_after_received += int((event > received).sum())
        self.bad_ts_recv += int(((flags & F_BAD_TS_RECV) != 0).sum())
        self.maybe_bad_book += int(((flags & F_MAYBE_BAD_BOOK) != 0).sum())
        self.newest = int(reached[-1])

    def counts(self) -> dict[str, int]:
        """The counts by name."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "newest"}


def tick_chunks(
    file: DbnFile,
    known: Instruments,
    tally: Tally,
    facts: OrderFacts,
    form: TickForm,
    source: int = 0,
    partition: Partition | None = None,
) -> Iterator[dict[str, NDArray[Any]]]:
    """Columns of the kept rows, one dict a chunk of ``file``: fixed-point prices, int64 ns, ``rows`` of ``known``.

    Dropped and counted: rows of a snapshot (flag F_SNAPSHOT), rows without ts_recv, what is no outright, and where only
    trades are wanted other actions and trades without a price. ``source``: source row of the file's first record.
    """
    source += partition.first if partition else 0
    copied = [name for name in form.columns if name in (file.layout.dtype.names or ())]
    for records in file.chunks(partition=partition):
        judged, keep = judged_ticks(records, known, tally, file, form)
        kept = {name: records[name][keep] for name in copied} | {
            "ts_recv": judged.ts[keep],
            "ts_event": times(records["ts_event"][keep]),
            "source_row": source + keep,
            "expiry": judged.expiries[keep],
            "rows": judged.rows[keep],
        }
        facts.follow(kept["ts_recv"], kept["ts_event"], kept["flags"])
        source += len(records)
        yield kept


def judged_ticks(
    records: NDArray[Any], known: Instruments, tally: Tally, file: DbnFile, form: TickForm
) -> tuple[Judged, NDArray[np.intp]]:
    """The verdicts on a chunk of ``file``, counted, and the places of the records that are kept."""
    judged = judge(records, known, file.layout.clock, file.metadata.span)
    judged.drop((records["flags"] & F_SNAPSHOT) != 0, SNAPSHOT)
    if form.only_trades:
        judged.drop(records["action"] != b"T", NO_TRADE)
        judged.drop(records["price"] == UNDEF_PRICE, UNDEFINED_PRICE)
    tally.count(judged)
    return judged, np.flatnonzero(judged.kinds == KEPT)


def tick_table(chunk: dict[str, NDArray[Any]], known: Instruments, form: TickForm) -> pd.DataFrame:
    """Table ``form.columns`` of a chunk: prices float64 (NaN where undefined), side +1 buyer, -1 seller, 0 unknown."""
    values: dict[str, Any] = {}
    for name, dtype in form.columns.items():
        if name == "contract":
            values[name] = strings(known.names, chunk["rows"])
        elif name == "side":
            values[name] = aggressor(chunk[name])
        elif name == "action":
            values[name] = strings(_LETTERS, chunk[name].view(np.uint8).astype(np.int64))
        else:
            values[name] = prices(chunk[name]) if dtype == "float64" else chunk[name]
    return table(form.columns, values)


def aggressor(side: NDArray[Any]) -> NDArray[np.int8]:
    """int8 of DBN's letters: 1 where the buyer was the aggressor, -1 where the seller was, 0 where neither is known."""
    letters = side.view(np.uint8) if side.flags.c_contiguous else side.copy().view(np.uint8)
    signs: NDArray[np.int8] = (letters == ord("B")).astype(np.int8) - (letters == ord("A")).astype(np.int8)
    return signs


def prices(fixed: NDArray[np.int64]) -> NDArray[np.float64]:
    """Prices float64 of fixed-point integers: the integer / 1e9, NaN where it is UNDEF_PRICE."""
    values: NDArray[np.float64] = fixed / PRICE_SCALE
    values[fixed == UNDEF_PRICE] = np.nan
    return values


def times(stamps: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Nanoseconds int64 of DBN's unsigned timestamps, with the integer of NaT where they are undefined."""
    values = np.where(stamps <= LARGEST, stamps, 0).astype(np.int64)
    values[stamps > LARGEST] = _NOT_A_TIME
    return values
