"""Which raw symbol an instrument id stood for on a UTC date, from the mappings in a file's metadata.

Ids are reused, within a month on real files, and mappings switch at 00:00 UTC, so the key is (id, date) and never the
id alone.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loaders.errors import DataError

UNMAPPED = -1
DAY_BITS = 20  # days since 1970 fit until the year 4840
_LAST_DAY = (1 << DAY_BITS) - 1


@dataclass(frozen=True)
class Interval:
    """``symbol`` is instrument ``instrument_id`` on UTC days [``start``, ``end``), counted from 1970-01-01."""

    instrument_id: int
    start: int
    end: int
    symbol: str


@dataclass(frozen=True, eq=False)
class SymbolMap:
    """Intervals sorted by (id, start day): ``keys`` and ``ends`` int64, ``codes`` int64 positions in ``symbols``."""

    symbols: tuple[str, ...]
    keys: NDArray[np.int64]
    ends: NDArray[np.int64]
    codes: NDArray[np.int64]

    def lookup(self, instrument_ids: NDArray[np.int64], days: NDArray[np.int64]) -> NDArray[np.int64]:
        """Codes int64 [n] of the symbols of ``instrument_ids`` on UTC ``days``; UNMAPPED where there is none.

        Where intervals of one id overlap the latest start wins, and the earlier one is not resumed after it: the rule
        of Databento's own client.
        """
        if not len(self.keys):
            return np.full(len(instrument_ids), UNMAPPED, dtype=np.int64)
        wanted = pack(instrument_ids, days)
        at = np.searchsorted(self.keys, wanted, side="right") - 1
        same_id = (at >= 0) & (self.keys[at] >> DAY_BITS == instrument_ids)
        return np.where(same_id & (days < self.ends[at]), self.codes[at], UNMAPPED)


def pack(instrument_ids: NDArray[np.int64], days: NDArray[np.int64]) -> NDArray[np.int64]:
    """One int64 key that sorts like (id, day); ids are below 2^32, days below 2^20."""
    return (instrument_ids << DAY_BITS) | days


def symbol_map(intervals: Iterable[Interval]) -> SymbolMap:
    """SymbolMap of ``intervals`` in any order, without those that cover no day (start == end).

    Raises DataError when one id starts to stand for two symbols on the same day: no rule could choose.
    """
    kept = sorted(
        {i for i in intervals if i.start < i.end}, key=lambda i: (i.instrument_id, i.start, i.symbol, i.end)
    )
    for one, other in itertools.pairwise(kept):
        if (one.instrument_id, one.start) == (other.instrument_id, other.start) and one.symbol != other.symbol:
            day = np.datetime64(one.start, "D")
            raise DataError(f"instrument id {one.instrument_id} is mapped to both {one.symbol} and {other.symbol} "
                            f"from {day}; the symbol mappings of this file cannot be used")
    symbols = sorted({i.symbol for i in kept})
    position = {symbol: code for code, symbol in enumerate(symbols)}
    ids = np.array([i.instrument_id for i in kept], dtype=np.int64)
    starts = np.clip(np.array([i.start for i in kept], dtype=np.int64), 0, _LAST_DAY)
    return SymbolMap(
        symbols=tuple(symbols),
        keys=pack(ids, starts),
        ends=np.array([i.end for i in kept], dtype=np.int64),
        codes=np.array([position[i.symbol] for i in kept], dtype=np.int64),
    )
