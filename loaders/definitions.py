"""Instrument definitions by id and UTC date: what the exchange itself says an instrument is."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loaders.errors import DataError
from loaders.grammar import OPTION, OTHER, OTHER_ROOT, OTHER_SPREAD, OUTRIGHT, SPREADS, Grammar
from loaders.layouts import DEFINITION
from loaders.records import open_dbn
from loaders.symbols import pack
from loaders.types import NS_PER_DAY

NO_DEFINITION = -1
_CLASS_KINDS = {"C": OPTION, "P": OPTION, "S": OTHER_SPREAD, "T": OTHER_SPREAD, "M": OTHER_SPREAD}
_NO_YEAR = 65_535  # DBN's "not given" for maturity_year
_FIELDS = ("instrument_id", "ts_recv", "instrument_class", "asset", "raw_symbol", "maturity_year", "maturity_month",
           "expiration")


@dataclass(frozen=True, eq=False)
class Definitions:
    """The last definition of each (id, UTC day of ts_recv), sorted by them; arrays of equal length.

    ``expiries`` int64 yyyymm (0 when not given), ``expiration_days`` int64 days since 1970 (-1 when not given).
    """

    keys: NDArray[np.int64]
    ids: NDArray[np.int64]
    days: NDArray[np.int64]
    classes: list[str]
    assets: list[str]
    symbols: list[str]
    expiries: NDArray[np.int64]
    expiration_days: NDArray[np.int64]

    def lookup(self, instrument_ids: NDArray[np.int64], days: NDArray[np.int64]) -> NDArray[np.int64]:
        """Row int64 [n] of the newest definition of each id on or before its day; NO_DEFINITION where there is none."""
        if not len(self.keys):
            return np.full(len(instrument_ids), NO_DEFINITION, dtype=np.int64)
        at = np.searchsorted(self.keys, pack(instrument_ids, days), side="right") - 1
        return np.where((at >= 0) & (self.ids[at] == instrument_ids), at, NO_DEFINITION)

    def kinds(self, root: str, grammar: Grammar | None) -> list[str]:
        """Kind of each row: an outright is class F with the asset ``root``; the grammar only names kinds of spreads."""
        return [
            _kind(instrument_class, asset, symbol, root, grammar)
            for instrument_class, asset, symbol in zip(self.classes, self.assets, self.symbols, strict=True)
        ]


def read_definitions(paths: Sequence[Path]) -> Definitions:
    """Definitions of all ``paths``, of any DBN version, whatever their order.

    Raises DataError for a file of another schema, and as ``open_dbn``.
    """
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in _FIELDS}
    for path in sorted(paths):
        file = open_dbn(path)
        if file.metadata.schema != DEFINITION:
            raise DataError(f"{path}: has schema {file.metadata.schema} where definitions were expected; "
                            "give files of schema definition")
        for chunk in file.chunks():
            for name in _FIELDS:
                columns[name].append(chunk[name])
    if not columns["instrument_id"]:
        return _of_rows({name: np.empty(0, dtype="S1" if name in _FIELDS[2:5] else "u8") for name in _FIELDS})
    return _of_rows({name: np.concatenate(parts) for name, parts in columns.items()})


def _of_rows(rows: dict[str, NDArray[Any]]) -> Definitions:
    ids = rows["instrument_id"].astype(np.int64)
    received = rows["ts_recv"].astype(np.uint64)
    days = (received // np.uint64(NS_PER_DAY)).astype(np.int64)
    order = np.lexsort((received, days, ids))
    _require_agreement(rows, ids[order], days[order], order)
    last = np.append((np.diff(ids[order]) != 0) | (np.diff(days[order]) != 0), True) if len(order) else order
    kept = order[last.astype(bool)]
    expiration = (rows["expiration"][kept].astype(np.uint64) // np.uint64(NS_PER_DAY)).astype(np.int64)
    defined = rows["expiration"][kept].astype(np.uint64) < np.uint64(1 << 63)
    return Definitions(
        keys=pack(ids[kept], days[kept]),
        ids=ids[kept],
        days=days[kept],
        classes=_texts(rows["instrument_class"][kept]),
        assets=_texts(rows["asset"][kept]),
        symbols=_texts(rows["raw_symbol"][kept]),
        expiries=contract_month({name: rows[name][kept] for name in ("maturity_year", "maturity_month")}),
        expiration_days=np.where(defined, expiration, -1),
    )


def _require_agreement(
    rows: dict[str, NDArray[Any]], ids: NDArray[np.int64], days: NDArray[np.int64], order: NDArray[np.intp]
) -> None:
    """Refuse two definitions of one symbol on one day that say different things: neither can be believed."""
    same = (np.diff(ids) == 0) & (np.diff(days) == 0)
    same &= rows["raw_symbol"][order][1:] == rows["raw_symbol"][order][:-1]
    for name in ("instrument_class", "asset", "maturity_year", "maturity_month"):
        values = rows[name][order]
        wrong = np.flatnonzero(same & (values[1:] != values[:-1]))
        if len(wrong):
            at = int(wrong[0])
            day = np.datetime64(int(days[at]), "D")
            symbol = rows["raw_symbol"][order][at].decode("latin-1")
            raise DataError(
                f"definitions of {symbol} (id {ids[at]}) on {day}: {name} is {values[at]!s} and {values[at + 1]!s}; remove the "
                "file that is wrong"
            )


def contract_month(rows: Any) -> NDArray[np.int64]:
    """Contract month yyyymm (int64 [n]) of definition records, 0 where it is not given or not a month."""
    year, month = rows["maturity_year"].astype(np.int64), rows["maturity_month"].astype(np.int64)
    given = (year != _NO_YEAR) & (year > 0) & (month >= 1) & (month <= 12)
    return np.where(given, year * 100 + month, 0)


def _texts(values: NDArray[Any]) -> list[str]:
    return [value.decode("latin-1") for value in values.tolist()]


def _kind(instrument_class: str, asset: str, symbol: str, root: str, grammar: Grammar | None) -> str:
    if instrument_class == "F":
        return OUTRIGHT if asset == root else OTHER_ROOT
    named = grammar.kind(symbol, root) if grammar else OTHER
    return named if named in SPREADS else _CLASS_KINDS.get(instrument_class, OTHER)
