"""What a raw symbol is, by the naming rules of its venue, and which contract month an outright's symbol means.

Used where no definition of the instrument is at hand. "Contains a hyphen" would not do: butterflies, condors, strips,
bundles and user-defined spreads have none, and trade-at-settlement roots look like outrights of a longer root.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

OUTRIGHT = "outright"
OTHER_ROOT = "other_root"
CALENDAR_SPREAD = "calendar_spread"
BUTTERFLY = "butterfly"
USER_DEFINED = "user_defined"
OTHER_SPREAD = "other_spread"  # condors, double flies, bundles, strips, cracks, inter-commodity
OPTION = "option"
OTHER = "other"
UNMAPPED = "unmapped"
UNDEFINED_TIMESTAMP = "undefined_timestamp"
OUTSIDE_REQUEST = "outside_request"  # a time more than a day away from what the file was requested for
UNDEFINED_VOLUME = "undefined_volume"
UNDEFINED_PRICE = "undefined_price"  # of a trade; a bar or quote without one is kept
SNAPSHOT = "snapshot"  # a book as it stood before the file began, resent at the start of a day
NO_TRADE = "no_trade"  # an order book's change where trades are wanted
MERGED = "merged_into_bars"  # trades beyond the first of the bar made from them
UNFINISHED = "unfinished_bar"  # trades after the last whole volume bar
KINDS = (OUTRIGHT, OTHER_ROOT, CALENDAR_SPREAD, BUTTERFLY, USER_DEFINED, OTHER_SPREAD, OPTION, OTHER, UNMAPPED,
         UNDEFINED_TIMESTAMP, OUTSIDE_REQUEST, UNDEFINED_VOLUME, UNDEFINED_PRICE, SNAPSHOT, NO_TRADE, MERGED, UNFINISHED)
SPREADS = (CALENDAR_SPREAD, BUTTERFLY, USER_DEFINED, OTHER_SPREAD)

MONTH_CODES = "FGHJKMNQUVXZ"
_GRACE_MONTHS = 1  # a contract month that ended less than this before the record is not taken for the next decade's


@dataclass(frozen=True)
class Grammar:
    """Symbol rules of a venue: ``outright`` has groups root, month and year; ``others`` are tried before it.

    ``month`` is a month code or two digits; ``year`` one digit, two (from 2000) or four.
    """

    outright: re.Pattern[str]
    others: tuple[tuple[str, re.Pattern[str]], ...]

    def kind(self, symbol: str, root: str) -> str:
        """Kind of ``symbol`` (one of KINDS) when outrights of exactly ``root`` are wanted."""
        for kind, pattern in self.others:
            if pattern.fullmatch(symbol):
                return kind
        match = self.outright.fullmatch(symbol)
        if match is None:
            return OTHER
        return OUTRIGHT if match["root"] == root else OTHER_ROOT

    def root(self, symbol: str) -> str | None:
        """Root of an outright's ``symbol``, None for everything else."""
        match = self.outright.fullmatch(symbol)
        return match["root"] if match else None


@dataclass(frozen=True, eq=False)
class ContractMonths:
    """Month 1..12, year digits and their number for each symbol; 0 where the symbol is no outright. int64 arrays."""

    month: NDArray[np.int64]
    year: NDArray[np.int64]
    digits: NDArray[np.int64]

    def expiries(self, codes: NDArray[np.int64], days: NDArray[np.int64]) -> NDArray[np.int32]:
        """Contract month yyyymm (int32 [n]) of symbols ``codes`` seen on UTC ``days`` (since 1970); 0 for no outright.

        A one-digit year is the first of its decade cycle whose contract month is not over on that day; ESH4 is March
        2014 in 2013 and March 2024 in 2023. Two digits are years from 2000, four are the year.
        """
        month, year, digits = self.month[codes], self.year[codes], self.digits[codes]
        seen = days.view("datetime64[D]").astype("datetime64[M]").astype(np.int64) + 1970 * 12 - _GRACE_MONTHS
        decade_year = seen // 12 + (year - seen // 12) % 10
        decade_year += np.where(decade_year * 12 + month - 1 < seen, 10, 0)
        full = np.select([digits == 1, digits == 2], [decade_year, 2000 + year], year)
        return np.where(month > 0, full * 100 + month, 0).astype(np.int32)


def contract_months(symbols: Sequence[str], grammar: Grammar | None) -> ContractMonths:
    """ContractMonths of ``symbols``, in their order; all zero without a grammar."""
    rows = np.zeros((len(symbols), 3), dtype=np.int64)
    for row, symbol in zip(rows, symbols, strict=True):
        match = grammar.outright.fullmatch(symbol) if grammar else None
        if match:
            month = match["month"]
            number = int(month) if month.isdigit() else MONTH_CODES.index(month) + 1
            row[:] = number, int(match["year"]), len(match["year"])
    return ContractMonths(rows[:, 0], rows[:, 1], rows[:, 2])
