"""Order flow: of the outrights in a file of books or trades by bar, and from all files of the bars of the series."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.features.book_flow import BookEvents, Trades, bar_flow
from kernels.features.order_flow import BarFlow
from loaders.flow_events import LEVELS, ContractEvents, EventScan
from loaders.layouts import MBP_10, TBBO, TRADES

SECOND = 1_000_000_000
TRADE_SOURCES = (TRADES, TBBO, MBP_10)  # trades are counted from the files of the first of these schemas that there is
Events = TypeVar("Events", BookEvents, Trades)
TRADED = ("bought", "sold", "trades")
BOOKED = tuple(one.name for one in fields(BarFlow) if one.name not in TRADED)


@dataclass(frozen=True)
class FileFlow:
    """Order flow of each outright in one file: `bars` has ts_event (start of the bar), contract and expiry, `flow` a row for
    each, `report` the file's schema and its count of records.
    """

    bars: pd.DataFrame
    flow: BarFlow
    report: dict[str, Any]


def file_flow(flow_file: Path, definition_files: Sequence[Path], root: str, bar_seconds: int) -> FileFlow:
    """Order flow of `root`'s outrights in one file of schema mbp-10, trades or tbbo, by bars of `bar_seconds`.

    The time of an event is ts_recv; a record that is late by it counts at the latest time before. A contract's bars reach
    from its first event to its last; the book before a file's first event is not known. Memory is that of the rows made, of
    one piece of the file and of the events of one bar.

    Raises DataError and DamagedFileError as the loaders.
    """
    scan = EventScan(flow_file, definition_files, root)
    found: dict[tuple[int, str], _Contract] = {}
    for events in scan:
        key = (events.expiry, events.contract)
        found.setdefault(key, _Contract(bar_seconds * SECOND)).add(events)
    names = sorted(found)
    made = [found[name].finish() for name in names]
    counts = [len(starts) for starts, _ in made]
    starts = np.concatenate([np.zeros(0, np.int64), *(starts for starts, _ in made)])
    bars = pd.DataFrame({
        "ts_event": pd.DatetimeIndex(starts.view("datetime64[ns]"), tz="UTC"),
        "contract": pd.Series(np.repeat([contract for _, contract in names], counts), dtype="str"),
        "expiry": np.repeat(np.array([expiry for expiry, _ in names], np.int32), counts),
    })
    return FileFlow(bars, joined([flow for _, flow in made]), {"schema": scan.schema, "records": scan.records})


def bar_order_flow(files: list[FileFlow], bars: pd.DataFrame) -> BarFlow:
    """Order flow of each bar of the series, from its own contract; without any book that of no bar at all.

    Trades are those of the files of the first of TRADE_SOURCES among the files, so none counts twice. A bar is not measured
    (no book, as `BarFlow` says) when its contract has no book at its end, when its records lie in two files, and when it has
    volume but no trade.
    """
    schemas = {file.report["schema"] for file in files}
    if MBP_10 not in schemas:
        return NO_FLOW
    source = next(schema for schema in TRADE_SOURCES if schema in schemas)
    flow, ts = unmeasured(len(bars)), nanoseconds(bars["ts_event"])
    booked, traded = np.zeros(len(bars), np.int64), np.zeros(len(bars), np.int64)
    for file in files:
        at, rows = _of_series(file.bars, bars, ts)
        for wanted, names, seen in ((MBP_10, BOOKED, booked), (source, TRADED, traded)):
            if file.report["schema"] == wanted:
                seen[at] += 1
                for name in names:
                    getattr(flow, name)[at] = np.asarray(getattr(file.flow, name))[rows]
    silent = (flow.trades == 0) & (bars["volume"].to_numpy() > 0)
    measured = flow.has_book & (booked == 1) & (traded < 2) & ~silent
    missing = unmeasured(len(bars))
    for one in fields(BarFlow):
        getattr(flow, one.name)[~measured] = getattr(missing, one.name)[~measured]
    return flow


def unmeasured(rows: int) -> BarFlow:
    """Order flow of bars without any book or trade."""
    sizes = {name: np.zeros((rows, LEVELS)) for name in ("imbalance", "depth", "bid_size", "ask_size")}
    prices = {name: np.full(rows, np.nan) for name in ("bid", "ask", "spread")}
    return BarFlow(**sizes, **prices, **{name: np.zeros(rows) for name in TRADED}, has_book=np.zeros(rows, np.bool_))


NO_FLOW = unmeasured(0)


def flow_rows(flow: BarFlow, rows: slice) -> BarFlow:
    """Order flow of some of the bars."""
    return BarFlow(**{one.name: getattr(flow, one.name)[rows] for one in fields(BarFlow)})


def joined(flows: Sequence[BarFlow]) -> BarFlow:
    """Order flow of the bars of all `flows`, one after the other."""
    each = [NO_FLOW, *flows]
    return BarFlow(**{one.name: np.concatenate([getattr(flow, one.name) for flow in each]) for one in fields(BarFlow)})


def nanoseconds(times: pd.Series) -> NDArray[np.int64]:
    """UTC nanoseconds int64."""
    values: NDArray[np.int64] = pd.DatetimeIndex(times).as_unit("ns").asi8
    return values


def _of_series(
    made: pd.DataFrame, bars: pd.DataFrame, ts: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which bars of the series have a row among those made, and the row of each: same start and same contract."""
    if not len(bars):
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    starts = nanoseconds(made["ts_event"])
    at = np.minimum(np.searchsorted(ts, starts), len(ts) - 1)
    same = (ts[at] == starts) & (bars["expiry"].to_numpy()[at] == made["expiry"].to_numpy())
    rows = np.flatnonzero(same)
    named = bars["contract"].to_numpy()[at[rows]] == made["contract"].to_numpy()[rows]
    return at[rows[named]], rows[named]


_NO_SIZES = np.zeros((0, LEVELS))
NO_BOOK = BookEvents(np.zeros(0, np.int64), _NO_SIZES, _NO_SIZES, _NO_SIZES, _NO_SIZES)
NO_TRADES = Trades(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int8))


@dataclass
class _Contract:
    """The events of one contract that lie in no finished bar yet, behind the one before them, and the bars finished."""

    interval: int
    book: BookEvents = NO_BOOK
    trades: Trades = NO_TRADES
    newest: int | None = None
    start: int = 0
    made: list[tuple[NDArray[np.int64], BarFlow]] = field(default_factory=list)

    def add(self, events: ContractEvents) -> None:
        """Take the next events of the file, and finish the bars before the one that the last of them lies in."""
        ts = events.ts_recv
        if self.newest is None:
            self.start = int(ts[0]) // self.interval * self.interval
        ts = np.maximum.accumulate(ts if self.newest is None else np.maximum(ts, self.newest))
        self.newest = int(ts[-1])
        if events.book:
            self.book = _chained(self.book, BookEvents(ts, *events.book.values()))
        self.trades = _chained(self.trades, Trades(ts[events.traded], events.size, events.side))
        self._finish_before(self.newest // self.interval * self.interval)

    def finish(self) -> tuple[NDArray[np.int64], BarFlow]:
        """Starts of all bars up to the one of the last event, and their order flow."""
        if self.newest is not None:
            self._finish_before(self.newest + 1)
        starts = np.concatenate([np.zeros(0, np.int64), *(starts for starts, _ in self.made)])
        return starts, joined([flow for _, flow in self.made])

    def _finish_before(self, end: int) -> None:
        starts = np.arange(self.start, end, self.interval, dtype=np.int64)
        if not len(starts):
            return
        self.made.append((starts, bar_flow(starts, self.interval, self.book, self.trades)))
        self.start = int(starts[-1]) + self.interval
        standing = max(int(np.searchsorted(self.book.ts, self.start)) - 1, 0)
        self.book = _cut(self.book, standing)
        self.trades = _cut(self.trades, int(np.searchsorted(self.trades.ts, self.start)))


def _chained(before: Events, after: Events) -> Events:
    return replace(before, **{
        one.name: np.concatenate([getattr(before, one.name), getattr(after, one.name)]) for one in fields(before)
    })


def _cut(events: Events, first: int) -> Events:
    return replace(events, **{one.name: getattr(events, one.name)[first:] for one in fields(events)})
