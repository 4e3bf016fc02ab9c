"""Layer 1, row by row: rules that one bar breaks by itself, whatever stands before it."""

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.compiled import compiled

PRICE_SCALE = 1_000_000_000  # fixed point: integer / PRICE_SCALE is the price
UNDEF_PRICE = 2**63 - 1  # Databento's "no price"
NON_FINITE = -(2**63)  # stands for a NaN, an infinity or a number beyond fixed point in a table that came with floats
PRICES = ("open", "high", "low", "close")

Prices = dict[str, NDArray[np.int64]]
Breach = tuple[NDArray[np.bool_], str, NDArray[np.int64] | int | None]


@dataclass(frozen=True)
class BarRules:
    """What a legal bar of one instrument looks like.

    tick_size: smallest price step, a multiple of 1e-9; the default puts every fixed-point price on the grid.
    allow_nonpositive: prices at or below zero are real (power, CL in April 2020).
    min_ratio, max_ratio: bounds of close / last accepted close of the same contract.
    accept_after: after that many rejected closes in a row that agree with each other, the next one that agrees with
        them is accepted as the new level, so that one bad first bar does not lock out a file.
    ratio_floor: closes below it count as this much in the ratio, so that small and negative prices are judged by how far
        they are from it; 0 compares prices above zero only.
    """

    tick_size: float = 1e-9
    allow_nonpositive: bool = False
    min_ratio: float = 0.5
    max_ratio: float = 2.0
    accept_after: int = 3
    ratio_floor: float = 0.0

    def __post_init__(self) -> None:
        ticks = self.tick_size * PRICE_SCALE
        if not 1 <= ticks < UNDEF_PRICE or abs(ticks - round(ticks)) > 1e-6 * ticks:
            raise ValueError(f"tick_size {self.tick_size} is no positive multiple of 1e-9; give the exchange's tick")
        if not 0 < self.min_ratio < 1:
            raise ValueError(f"min_ratio {self.min_ratio} is outside (0, 1); 0.5 lets a close halve in one bar")
        if not 1 < self.max_ratio < float("inf"):
            raise ValueError(f"max_ratio {self.max_ratio} is not a number above 1; 2.0 lets a close double in one bar")
        if not 0 <= self.ratio_floor < float("inf"):
            raise ValueError(f"ratio_floor {self.ratio_floor} is no price at or above 0; 0 compares all positive closes")
        if self.accept_after < 1:
            raise ValueError(f"accept_after {self.accept_after} < 1; give the number of agreeing rejects, e.g. 3")

    @property
    def tick(self) -> int:
        """The tick in fixed point."""
        return round(self.tick_size * PRICE_SCALE)


@dataclass(frozen=True)
class RowVerdicts:
    """The rows `at` that break a rule, rising: the first `rule` each breaks; `value` and `limit` as prices, NaN for none."""

    at: NDArray[np.int64]
    rule: NDArray[np.str_]
    column: NDArray[np.str_]
    value: NDArray[np.float64]
    limit: NDArray[np.float64]


def row_verdicts(prices: Prices, rules: BarRules) -> RowVerdicts:
    """Judge every bar by the rules of ROW_RULES, in their order; a row is filed under the first rule it breaks.

    Args:
        prices: int64 [n] fixed point under "open", "high", "low", "close"; UNDEF_PRICE and NON_FINITE as they come.
        rules: the instrument's rules.
    """
    columns = [np.ascontiguousarray(prices[name]) for name in PRICES]
    at = np.flatnonzero(_suspects(*columns, rules.tick, rules.allow_nonpositive))
    prices = {name: prices[name][at] for name in PRICES}
    rows = len(at)
    verdicts = RowVerdicts(
        at, np.full(rows, "", "<U24"), np.full(rows, "", "<U8"), np.full(rows, np.nan), np.full(rows, np.nan)
    )
    free = np.ones(rows, bool)
    for rule, breaches in ROW_RULES.items():
        for broken, column, limit in breaches(prices, rules):
            hit = np.flatnonzero(broken & free)
            free[hit] = False
            verdicts.rule[hit] = rule
            verdicts.column[hit] = column
            verdicts.value[hit] = price_floats(prices[column][hit])
            if limit is not None:
                verdicts.limit[hit] = np.broadcast_to(np.asarray(limit, np.int64), rows)[hit] / PRICE_SCALE
    return RowVerdicts(at[~free], *(part[~free] for part in astuple(verdicts)[1:]))


@compiled
def _suspects(
    opened: NDArray[np.int64], high: NDArray[np.int64], low: NDArray[np.int64], close: NDArray[np.int64],
    tick: int, allow_nonpositive: bool,
) -> NDArray[np.bool_]:  # fmt: skip
    """Rows that may break a rule, all that do among them: one pass, so that the rules look at few rows."""
    suspect = np.empty(len(opened), np.bool_)
    share, floor = 1.0 / tick, NON_FINITE if allow_nonpositive else 0
    for i in range(len(opened)):
        o, h, lowest, c = opened[i], high[i], low[i], close[i]
        top, bottom = max(max(o, h), max(lowest, c)), min(min(o, h), min(lowest, c))
        found = (bottom <= floor) | (top == UNDEF_PRICE) | (top != h) | (bottom != lowest)
        if tick > 1:
            # A multiple is never taken for none unless it is too large for a float: the rules decide.
            rest = o - np.int64(np.rint(o * share)) * tick
            rest |= h - np.int64(np.rint(h * share)) * tick
            rest |= lowest - np.int64(np.rint(lowest * share)) * tick
            rest |= c - np.int64(np.rint(c * share)) * tick
            found |= rest != 0
        suspect[i] = found
    return suspect


def price_floats(fixed: NDArray[np.int64]) -> NDArray[np.float64]:
    """Prices as floats: integer / 1e9 (correctly rounded; a product with 1e-9 is not), NaN for sentinels."""
    floats: NDArray[np.float64] = fixed / PRICE_SCALE
    floats[(fixed == UNDEF_PRICE) | (fixed == NON_FINITE)] = np.nan
    return floats


def _non_finite(prices: Prices, rules: BarRules) -> Iterator[Breach]:
    for column in PRICES:
        yield prices[column] == NON_FINITE, column, None


def _undefined(prices: Prices, rules: BarRules) -> Iterator[Breach]:
    for column in PRICES:
        yield prices[column] == UNDEF_PRICE, column, None


def _nonpositive(prices: Prices, rules: BarRules) -> Iterator[Breach]:
    if not rules.allow_nonpositive:
        for column in PRICES:
            yield prices[column] <= 0, column, 0


def _high_below_low(prices: Prices, rules: BarRules) -> Iterator[Breach]:
    yield prices["high"] < prices["low"], "high", prices["low"]


def _outside(column: str) -> Callable[[Prices, BarRules], Iterator[Breach]]:
    def breaches(prices: Prices, rules: BarRules) -> Iterator[Breach]:
        yield prices[column] > prices["high"], column, prices["high"]
        yield prices[column] < prices["low"], column, prices["low"]

    return breaches


def _off_tick(prices: Prices, rules: BarRules) -> Iterator[Breach]:
    if rules.tick > 1:
        for column in PRICES:
            yield prices[column] % rules.tick != 0, column, rules.tick


# The order decides under which rule a row with several faults is filed: the most basic fault first.
ROW_RULES: dict[str, Callable[[Prices, BarRules], Iterator[Breach]]] = {
    "non_finite": _non_finite,
    "undefined_price": _undefined,
    "nonpositive_price": _nonpositive,
    "high_below_low": _high_below_low,
    "open_outside_range": _outside("open"),
    "close_outside_range": _outside("close"),
    "off_tick": _off_tick,
}
