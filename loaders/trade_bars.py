"""Node: bars of outrights made from trades, by time like the exchange's own, or by volume."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.bar_making import Columns, TimeBars, VolumeBars, maker_of, no_trades
from loaders.definitions import Definitions, read_definitions
from loaders.errors import DataError
from loaders.filtering import Tally
from loaders.grammar import MERGED, UNFINISHED
from loaders.instruments import instruments, merge_listings
from loaders.layouts import TRADE_SCHEMAS
from loaders.outrights import OutrightBars, file_facts, iso, join_reports, with_gaps
from loaders.records import open_dbn
from loaders.ticks import TRADE_FORM, OrderFacts, tick_chunks
from loaders.types import OUTRIGHT_COLUMNS, SOURCE_SHIFT, strings, table

__all__ = ["TimeBars", "VolumeBars", "trade_bars"]


@dataclass(frozen=True, eq=False)
class _Read:
    """What is left of a file after its trades went to the maker of bars."""

    report: dict[str, Any]
    listed: pd.DataFrame
    newest: int


def trade_bars(
    trade_files: Sequence[Path], definition_files: Sequence[Path], root: str, rule: TimeBars | VolumeBars
) -> OutrightBars:
    """Bars of ``root``'s outrights from the trades in ``trade_files`` (trades, tbbo, mbp-1 or mbp-10), given in order.

    A bar's ts_event is its start: of the interval, counted from 1970-01-01 UTC, or the ts_recv of the first trade of a
    volume bar. Trades are put in order by ts_recv, sequence and place; no trade, no bar. Bars go on from file to file.
    In the report ``records == outright + sum(dropped.values())``, where ``outright`` counts bars and dropped
    ``merged_into_bars`` the trades beyond the first of each bar. Rows are sorted by time, expiry and publisher;
    ``source_row`` is that of a bar's first trade.

    Raises DataError when there are records but no trade of an outright of ``root``, DamagedFileError for damage.
    """
    if not trade_files:
        raise DataError("no files of trades given; give at least one")
    definitions = read_definitions(definition_files)
    maker = maker_of(rule)
    codes: dict[str, int] = {}
    reads = [
        _feed(Path(path), definitions, root, ordinal, maker, codes) for ordinal, path in enumerate(trade_files)
    ]
    bars = maker.finish()
    report = _report([read.report for read in reads], bars, maker.unfinished, max(read.newest for read in reads))
    if report["records"] and not report["trades"]:
        raise DataError(f"{trade_files[0]} and {len(trade_files) - 1} more: none of {report['records']} records is a "
                        f"trade of an outright of root {root!r}; dropped: {report['dropped']}; check root")
    return OutrightBars(_table(bars, list(codes)), merge_listings([read.listed for read in reads]), report)


def _feed(
    path: Path, definitions: Definitions, root: str, ordinal: int, maker: Any, codes: dict[str, int]
) -> _Read:
    """Give the maker all trades of one file; ``codes`` numbers contract names over all files."""
    file = open_dbn(path)
    if file.metadata.schema not in TRADE_SCHEMAS:
        raise DataError(f"{path}: has schema {file.metadata.schema}, which holds no trades; give a file of "
                        f"{', '.join(TRADE_SCHEMAS)}")
    known = instruments(file.metadata, definitions, root, path)
    code_of_row = np.array([codes.setdefault(name, len(codes)) for name in known.names], dtype=np.int64)
    tally, facts = Tally(known), OrderFacts()
    for chunk in tick_chunks(file, known, tally, facts, TRADE_FORM, ordinal << SOURCE_SHIFT):
        maker.add(_trades(chunk, code_of_row))
    report = with_gaps(file_facts(file, root) | tally.report().as_dict())
    return _Read(report | {"trades": report["outright"], "order": facts.counts()}, known.listed(), facts.newest)


def _trades(chunk: dict[str, NDArray[Any]], code_of_row: NDArray[np.int64]) -> Columns:
    names = {"expiry": "expiry", "publisher": "publisher_id", "instrument": "instrument_id", "price": "price",
             "size": "size", "ts": "ts_recv", "sequence": "sequence", "source": "source_row"}
    columns = {name: chunk[column].astype(np.int64) for name, column in names.items()}
    return no_trades() | columns | {"code": code_of_row[chunk["rows"]]}


def _report(reports: list[dict[str, Any]], bars: Columns, unfinished: int, newest: int) -> dict[str, Any]:
    made, ts = len(bars["ts"]), bars["ts"]
    facts: dict[str, Any] = {"contracts": [], "first": None, "last": None, "newest": newest}
    joined = join_reports([report | facts for report in reports])
    merged = joined["outright"] - unfinished - made
    dropped = joined["dropped"] | {kind: n for kind, n in ((MERGED, merged), (UNFINISHED, unfinished)) if n}
    order = {name: sum(report["order"][name] for report in reports) for name in reports[0]["order"]}
    return joined | {
        "outright": made,
        "trades": joined["outright"],
        "dropped": dropped,
        "order": order,
        "files": [report["file"] for report in reports],
        "gaps": [line for report in reports for line in report["gaps"]],
        "first": iso(int(ts.min())) if made else None,
        "last": iso(int(ts.max())) if made else None,
    }


def _table(bars: Columns, names: list[str]) -> pd.DataFrame:
    order = np.lexsort((bars["source"], bars["publisher"], bars["expiry"], bars["ts"]))
    given = {name: bars[column][order] for name, column in (
        ("ts_event", "ts"), ("publisher_id", "publisher"), ("instrument_id", "instrument"), ("expiry", "expiry"),
        ("open", "open"), ("high", "high"), ("low", "low"), ("close", "close"), ("volume", "size"),
        ("source_row", "source"),
    )}
    return table(OUTRIGHT_COLUMNS, {
        **given,
        "contract": strings(names, bars["code"][order]),
        "backwards": np.zeros(len(order), dtype=np.bool_),
    })
