"""What each record's instrument is: outright of the wanted root with its contract month, or why it is dropped.

By definition where one is at hand, by symbol and venue grammar otherwise; both by instrument id *and* UTC date.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.definitions import NO_DEFINITION, Definitions
from loaders.errors import DataError
from loaders.grammar import KINDS, OTHER, OUTRIGHT, UNMAPPED, ContractMonths, Grammar, contract_months
from loaders.metadata import DbnMetadata
from loaders.symbols import DAY_BITS, SymbolMap
from loaders.types import strings
from loaders.venues import GRAMMARS, left_alone

_OUTRIGHT = KINDS.index(OUTRIGHT)
_NO_ID = -1  # an id that no instrument has
_LISTED_COLUMNS = {"expiry": "int32", "contract": "str", "first": "int32", "last": "int32"}


@dataclass(frozen=True, eq=False)
class Instruments:
    """All instruments a file can hold, in rows: one a mapped symbol, then one a definition, then one for "unmapped".

    ``kinds`` int64 positions in KINDS; ``defined`` int64 yyyymm from definitions, 0 where the symbol has to tell;
    ``ids`` int64, every id that is known on some day, sorted. ``unfiltered`` says why all rows are kept, else None.
    """

    mapped: SymbolMap
    definitions: Definitions
    definition_codes: NDArray[np.int64]
    names: list[str]
    kinds: NDArray[np.int64]
    months: ContractMonths
    defined: NDArray[np.int64]
    grammar: Grammar | None
    ids: NDArray[np.int64]
    unfiltered: str | None

    def locate(
        self, ids: NDArray[np.int64], days: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Row int64 [n] and contract month int32 [n] of each instrument id on its UTC day (since 1970).

        Each (id, day) that can occur is resolved once where those are fewer than the records, as is usual.
        """
        known = len(self.ids)
        first = int(days.min()) if len(days) else 0
        span = int(days.max()) - first + 1 if len(days) else 0
        if not known or span * (known + 1) > len(ids):
            rows = self.resolve(ids, days)
            return rows, self.expiries(rows, days)
        all_days = np.repeat(np.arange(first, first + span), known + 1)
        grid = self.resolve(np.tile(np.append(self.ids, _NO_ID), span), all_days)
        at = np.searchsorted(self.ids, ids)
        at[self.ids.take(at, mode="clip") != ids] = known
        at += (days - first) * (known + 1)
        return grid.take(at), self.expiries(grid, all_days).take(at)

    def resolve(self, ids: NDArray[np.int64], days: NDArray[np.int64]) -> NDArray[np.int64]:
        """Row int64 [n] of each instrument id on its UTC day (since 1970).

        A definition of the day itself decides; an older one does while the id still has the symbol it defined.
        """
        code = self.mapped.lookup(ids, days)
        found = self.definitions.lookup(ids, days)
        if len(self.definitions.keys):
            same_day = self.definitions.days[found] == days
            same_name = (code >= 0) & (self.definition_codes[found] == code)
            usable = (found != NO_DEFINITION) & (same_day | same_name)
            code = np.where(usable, len(self.mapped.symbols) + found, code)
        return np.where(code < 0, len(self.names) - 1, code)

    def expiries(self, rows: NDArray[np.int64], days: NDArray[np.int64]) -> NDArray[np.int32]:
        """Contract month yyyymm int32 [n] of instrument ``rows`` on ``days``; 0 where neither source tells."""
        by_symbol = self.months.expiries(rows, days)
        return np.where(self.defined[rows] > 0, self.defined[rows], by_symbol).astype(np.int32)

    def listed(self) -> pd.DataFrame:
        """Each outright contract (expiry int32 yyyymm, contract) with the first and last UTC day (int32 yyyymmdd) of
        its listing, sorted by expiry.

        The last day is the definition's expiration where given, else the last day on which the metadata maps its
        symbol. Known in advance, so that a roll rule may use it.
        """
        mapped, definitions = self.mapped, self.definitions
        by_map = self._spans(mapped.codes, mapped.keys & ((1 << DAY_BITS) - 1), mapped.ends - 1)
        rows = len(mapped.symbols) + np.arange(len(definitions.days))
        by_definition = self._spans(rows, definitions.days, definitions.expiration_days)
        by_definition = by_definition[by_definition["last"] >= 0]
        by_map["last"] = by_map["last"].where(~by_map["expiry"].isin(by_definition["expiry"]), by_map["first"])
        return _listing(pd.concat([by_map, by_definition]))

    def _spans(self, rows: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]) -> pd.DataFrame:
        chosen = np.flatnonzero(self.kinds[rows] == _OUTRIGHT)
        return pd.DataFrame({
            "expiry": self.expiries(rows[chosen], first[chosen]),
            "contract": strings(self.names, rows[chosen]),
            "first": first[chosen],
            "last": last[chosen],
        })


def _listing(spans: pd.DataFrame) -> pd.DataFrame:
    """One row an expiry of ``spans`` whose first and last are days since 1970."""
    merged = spans[spans["expiry"] > 0].groupby("expiry", sort=True)
    listing = merged.agg({"contract": "min", "first": "min", "last": "max"}).reset_index()
    for column in ("first", "last"):
        listing[column] = yyyymmdd(listing[column].to_numpy(np.int64))
    return listing.astype(_LISTED_COLUMNS)


def merge_listings(listings: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """One listing of several files' listings: the earliest first and the latest last day of each expiry."""
    together = pd.concat(listings).groupby("expiry", sort=True)
    return together.agg({"contract": "min", "first": "min", "last": "max"}).reset_index()


def instruments(metadata: DbnMetadata, definitions: Definitions, root: str, path: Path) -> Instruments:
    """Instruments of a file with ``metadata``, judged for outrights of exactly ``root``.

    Where no rule on symbols applies (``venues.left_alone``) every instrument counts as an outright, unmapped ids too.

    Raises DataError where neither a grammar of the dataset nor definitions can tell what an outright is.
    """
    grammar, unfiltered = GRAMMARS.get(metadata.dataset), left_alone(metadata.dataset, metadata.stype_in)
    if grammar is None and unfiltered is None and not len(definitions.keys):
        raise DataError(f"{path}: no rule is known for the symbols of dataset {metadata.dataset} (known: "
                        f"{', '.join(sorted(GRAMMARS))}); put its definition files beside it")
    mapped = list(metadata.mappings.symbols)
    position = {symbol: code for code, symbol in enumerate(mapped)}
    names = [*mapped, *definitions.symbols, UNMAPPED]
    kinds = [grammar.kind(symbol, root) if grammar else OTHER for symbol in mapped]
    kinds += [*definitions.kinds(root, grammar), UNMAPPED]
    if unfiltered:
        kinds = [OUTRIGHT] * len(kinds)
    months = contract_months(names, grammar)
    return Instruments(
        mapped=metadata.mappings,
        definitions=definitions,
        definition_codes=np.array([position.get(symbol, -2) for symbol in definitions.symbols], dtype=np.int64),
        names=names,
        kinds=np.array([KINDS.index(kind) for kind in kinds], dtype=np.int64),
        months=months,
        defined=_defined_months(months, np.concatenate([np.zeros(len(mapped), np.int64), definitions.expiries, [0]])),
        grammar=grammar,
        ids=np.union1d(metadata.mappings.keys >> DAY_BITS, definitions.ids),
        unfiltered=unfiltered,
    )


def _defined_months(months: ContractMonths, maturity: NDArray[np.int64]) -> NDArray[np.int64]:
    """Contract months yyyymm of instruments with ``maturity`` (yyyymm, 0: not given) in their definitions.

    A definition of ICE gives the month in which trading ends: that of BRN April is February. So where the symbol has a
    month it counts, in the year next to the maturity.
    """
    given = np.flatnonzero(maturity > 0)
    dates = (maturity[given] // 100 * 12 + maturity[given] % 100 - 1 - 1970 * 12).astype("datetime64[M]")
    by_symbol = months.expiries(given, dates.astype("datetime64[D]").astype(np.int64))
    defined = maturity.copy()
    defined[given] = np.where(by_symbol > 0, by_symbol, maturity[given])
    return defined


def yyyymmdd(days: NDArray[np.int64]) -> NDArray[np.int32]:
    """Calendar dates as int32 yyyymmdd of ``days`` since 1970 (int64)."""
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    years = months.astype("datetime64[Y]")
    day = (dates - months).astype(np.int64) + 1
    month = (months - years).astype(np.int64) + 1
    year = years.astype(np.int64) + 1970
    return np.asarray(year * 10_000 + month * 100 + day, dtype=np.int32)
