"""Layer 1's working tables: the records as the rules read them, and what becomes of each."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from validation.bar_rules import PRICES, Prices
from validation.ordering import lexical_order

REJECTING_RULES = (
    "non_finite", "undefined_price", "nonpositive_price", "high_below_low", "open_outside_range", "close_outside_range",
    "off_tick", "duplicate_row", "duplicate_key", "close_ratio",
)  # fmt: skip
RULES = ("", *REJECTING_RULES)
CLOSE = PRICES.index("close")


@dataclass(frozen=True)
class Records:
    """The columns that the rules read, in the order of the table; `contract` is the sort key of a contract."""

    ts: NDArray[np.int64]
    contract: NDArray[np.int64]
    publisher: NDArray[np.int64]
    prices: Prices
    volume: NDArray[np.int64]
    source_row: NDArray[np.int64]
    backwards: NDArray[np.bool_]
    labels: pd.Series


@dataclass(frozen=True)
class Judgement:
    """Verdict of each record: `rule` and `column` are numbers of RULES and PRICES.

    `rule` is 0 for an accepted record, `new_level` marks an accepted change of level; `value` and `limit` are written
    for records of either kind only.
    """

    rule: NDArray[np.int8]
    column: NDArray[np.int8]
    value: NDArray[np.float64]
    limit: NDArray[np.float64]
    new_level: NDArray[np.bool_]


def in_time(records: Records, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The chosen records by time, contract, publisher, place in the file."""
    at = np.flatnonzero(chosen)
    keys = (records.source_row, records.publisher, records.contract, records.ts)
    ordered: NDArray[np.int64] = at[lexical_order([key[at] for key in keys])]
    return ordered


def no_judgement(rows: int) -> Judgement:
    """Nothing judged yet; zeros, as the memory of zeros that nobody writes costs nothing."""
    codes, numbers = np.zeros((2, rows), np.int8), np.zeros((2, rows))
    return Judgement(codes[0], codes[1], numbers[0], numbers[1], np.zeros(rows, bool))


def reject(
    judgement: Judgement,
    at: NDArray[np.int64],
    rule: int | NDArray[np.signedinteger],
    value: NDArray[np.float64],
    limit: NDArray[np.float64],
    column: int | NDArray[np.int8] = CLOSE,
) -> None:
    """File records under a rule (its number), broken by the close where nothing else is said."""
    judgement.rule[at], judgement.column[at] = rule, column
    judgement.value[at], judgement.limit[at] = value, limit
