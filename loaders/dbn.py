"""Public door: bars, trades, quotes, books, statistics and definitions of outrights, with every record's fate counted.

``read_*`` give one table and a LoadReport, ``scan_*`` the same rows in bounded pieces for files that do not fit into
memory. All take a file, a directory (such as a batch download), or several of them.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from loaders.bar_making import TimeBars, VolumeBars
from loaders.definition_tables import read_definition_table
from loaders.filtering import FilterReport, Tally
from loaders.instruments import Instruments
from loaders.layouts import BAR_SCHEMAS, STATISTICS, TRADE_SCHEMAS
from loaders.outrights import Progress, outright_bars, outright_chunks, outright_table
from loaders.partitions import partitions
from loaders.records import DbnFile, Partition, open_dbn
from loaders.scan import LoadReport, PathOrPaths, Scan, find_source, whole
from loaders.statistics import STATISTIC_COLUMNS, statistic_tables
from loaders.ticks import BOOK_FORM, QUOTE_FORM, TRADE_FORM, OrderFacts, TickForm, tick_chunks, tick_table
from loaders.trade_bars import trade_bars
from loaders.types import table

__all__ = [
    "DbnFile", "FilterReport", "LoadReport", "Partition", "Scan", "TimeBars", "VolumeBars", "bars_from_trades",
    "open_dbn", "partitions", "read_bars", "read_book", "read_definitions", "read_quotes", "read_statistics",
    "read_trades", "scan_bars", "scan_book", "scan_quotes", "scan_statistics", "scan_trades",
]
_PIECE_CHUNKS = 8  # chunks of records put into one table


def read_bars(path: PathOrPaths, root: str | None = None) -> tuple[pd.DataFrame, LoadReport]:
    """Outright bars (loaders.types.OUTRIGHT_COLUMNS) of ``path``, in file order.

    Prices are fixed-point integers, price = value / 1e9, with UNDEF_PRICE kept: validation.sanitise judges them.
    Without ``root`` it is the one the files were requested for. Definition files in the directory decide what an
    outright is.

    Raises DataError when the root is not clear or a file holds no outright of it, DamagedFileError for a damaged file.
    """
    source = find_source(path, root, BAR_SCHEMAS)
    parts = [
        outright_bars(file.path, source.definitions, source.root, ordinal) for ordinal, file in enumerate(source.wanted)
    ]
    bars = parts[0].bars if len(parts) == 1 else pd.concat([part.bars for part in parts], ignore_index=True)
    return bars, source.report([part.report for part in parts])


def scan_bars(path: PathOrPaths, root: str | None = None) -> Scan:
    """The rows of ``read_bars`` in pieces; memory does not grow with the files."""
    return Scan(find_source(path, root, BAR_SCHEMAS), _bar_tables)


def read_trades(path: PathOrPaths, root: str | None = None) -> tuple[pd.DataFrame, LoadReport]:
    """Trades (loaders.ticks.TRADE_FORM) of outrights from files of schema trades, tbbo, mbp-1 or mbp-10.

    Ordered by ts_recv as in the file; prices float64; ``side`` is the aggressor: 1 bought, -1 sold, 0 unknown. Rows of
    snapshots and actions that are no trade are dropped and counted; ``order`` in each file's report has the facts on
    its order. Raises as ``read_bars``.
    """
    return _read_ticks(path, root, TRADE_FORM)


def scan_trades(path: PathOrPaths, root: str | None = None) -> Scan:
    """The rows of ``read_trades`` in pieces."""
    return _scan_ticks(path, root, TRADE_FORM)


def read_quotes(path: PathOrPaths, root: str | None = None) -> tuple[pd.DataFrame, LoadReport]:
    """Best bid and offer after each event (loaders.ticks.QUOTE_FORM) of outrights, from files of mbp-1 or tbbo.

    A side that is empty has price NaN and size 0. Rows of snapshots are dropped and counted. Raises as ``read_bars``.
    """
    return _read_ticks(path, root, QUOTE_FORM)


def scan_quotes(path: PathOrPaths, root: str | None = None) -> Scan:
    """The rows of ``read_quotes`` in pieces."""
    return _scan_ticks(path, root, QUOTE_FORM)


def read_book(path: PathOrPaths, root: str | None = None) -> tuple[pd.DataFrame, LoadReport]:
    """Ten levels of the book after each event (loaders.ticks.BOOK_FORM) of outrights, from files of mbp-10.

    A level that is not there has price NaN and size 0. Rows of snapshots are dropped and counted. Raises as
    ``read_bars``.
    """
    return _read_ticks(path, root, BOOK_FORM)


def scan_book(path: PathOrPaths, root: str | None = None) -> Scan:
    """The rows of ``read_book`` in pieces."""
    return _scan_ticks(path, root, BOOK_FORM)


def read_statistics(path: PathOrPaths, root: str | None = None) -> tuple[pd.DataFrame, LoadReport]:
    """Statistics (loaders.statistics.STATISTIC_COLUMNS) of outrights, each at ``ts_recv``, when it became known."""
    scan = scan_statistics(path, root)
    return whole(scan, STATISTIC_COLUMNS, _empty(STATISTIC_COLUMNS))


def scan_statistics(path: PathOrPaths, root: str | None = None) -> Scan:
    """The rows of ``read_statistics`` in pieces."""
    return Scan(find_source(path, root, (STATISTICS,)), _statistic_tables)


def read_definitions(path: PathOrPaths, root: str | None = None) -> pd.DataFrame:
    """Definitions (loaders.definition_tables.DEFINITION_COLUMNS) of all instruments, or of those with asset ``root``.

    Sentinels of prices, times and contract months come as NaN, NaT and 0. Raises DataError without such a file.
    """
    return read_definition_table(path, root)


def bars_from_trades(
    path: PathOrPaths, root: str | None = None, rule: TimeBars | VolumeBars | None = None
) -> tuple[pd.DataFrame, LoadReport]:
    """Bars made from the trades at ``path``, one minute long unless ``rule`` says otherwise: as ``read_bars``.

    See loaders.trade_bars.trade_bars.
    """
    source = find_source(path, root, TRADE_SCHEMAS)
    made = trade_bars([file.path for file in source.wanted], source.definitions, source.root, rule or TimeBars())
    return made.bars, source.report([made.report])


def _read_ticks(path: PathOrPaths, root: str | None, form: TickForm) -> tuple[pd.DataFrame, LoadReport]:
    return whole(_scan_ticks(path, root, form), form.columns, _empty(form.columns))


def _empty(columns: dict[str, str]) -> pd.DataFrame:
    return table(columns, {name: np.empty(0, np.int64) for name in columns})


def _scan_ticks(path: PathOrPaths, root: str | None, form: TickForm) -> Scan:
    def tables(
        file: DbnFile, known: Instruments, tally: Tally, source: int, report: dict[str, Any]
    ) -> Iterator[pd.DataFrame]:
        facts = OrderFacts()
        for chunk in tick_chunks(file, known, tally, facts, form, source):
            yield tick_table(chunk, known, form)
        report["order"] = facts.counts()

    return Scan(find_source(path, root, form.schemas), tables)


def _bar_tables(
    file: DbnFile, known: Instruments, tally: Tally, source: int, report: dict[str, Any]
) -> Iterator[pd.DataFrame]:
    held = []
    for chunk in outright_chunks(file, known, tally, Progress(source)):
        held.append(chunk)
        if len(held) == _PIECE_CHUNKS:
            yield outright_table(held, known)
            held = []
    if held:
        yield outright_table(held, known)


def _statistic_tables(
    file: DbnFile, known: Instruments, tally: Tally, source: int, report: dict[str, Any]
) -> Iterator[pd.DataFrame]:
    yield from statistic_tables(file, known, tally, source)
