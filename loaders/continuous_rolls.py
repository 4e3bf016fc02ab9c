"""The rolls of a continuous series: what the contract left could be closed at, and how far apart both contracts were."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.errors import DataError
from loaders.ordering import order_by, taken
from loaders.roll import FOLLOWED
from loaders.types import PRICE_SCALE, nanoseconds

PRICES = ("open", "high", "low", "close")


@dataclass(frozen=True, eq=False)
class Rolls:
    """Rolls [R] of a series, in time order, prices fixed-point int64.

    ``row``: number of the first bar of the new contract; ``old_price``: what the contract left could be closed at;
    ``old_level`` and ``new_level``: a price of either contract at the same time, the last before the roll.
    """

    row: NDArray[np.int64]
    old_price: NDArray[np.int64]
    old_level: NDArray[np.int64]
    new_level: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Series:
    """The followed bars of a series in time order, with ``prices`` as fixed-point int64, and its rolls."""

    bars: pd.DataFrame
    times: NDArray[np.int64]
    prices: dict[str, NDArray[np.int64]]
    rolls: Rolls


@dataclass(frozen=True, eq=False)
class _Quotes:
    """One contract's accepted rows of all roles in time order: int64 ns and fixed-point open and close."""

    ts: NDArray[np.int64]
    open: NDArray[np.int64]
    close: NDArray[np.int64]


def series_of(accepted: pd.DataFrame) -> Series:
    """Series of ``accepted``, the rolled bars that passed layer 1, in any order, prices float64.

    A roll's ``old_price`` is the open of the contract left in that minute if it traded, else its last close before. Its
    levels are both closes of the last minute before the roll in which both contracts traded, or ``old_price`` and the new
    contract's open where they never did.

    Raises DataError for two bars of one contract in the same minute.
    """
    ts = nanoseconds(accepted["ts_event"])
    rows = taken(accepted, order_by(ts, accepted["expiry"].to_numpy()))
    bars = rows[(rows["role"] == FOLLOWED).to_numpy()].reset_index(drop=True)
    times, expiry = nanoseconds(bars["ts_event"]), bars["expiry"].to_numpy()
    _require_unique(bars, times)
    quotes = _quotes(rows)
    changes = np.flatnonzero(np.diff(expiry)) + 1
    found = [_roll(quotes[expiry[at - 1]], quotes[expiry[at]], times[at]) for at in changes]
    old_price, old_level, new_level = np.array(found, dtype=np.int64).reshape(-1, 3).T
    prices = {name: _fixed(bars[name]) for name in PRICES}
    return Series(bars, times, prices, Rolls(changes, old_price, old_level, new_level))


def _fixed(prices: pd.Series) -> NDArray[np.int64]:
    """Fixed-point integers of accepted prices, so that adjusted levels add up exactly.

    The integer comes back unchanged: float64 keeps integer / 1e9 to within half a unit up to 2.25 million.
    """
    fixed: NDArray[np.int64] = np.rint(prices.to_numpy(dtype=np.float64) * PRICE_SCALE).astype(np.int64)
    return fixed


def _require_unique(bars: pd.DataFrame, times: NDArray[np.int64]) -> None:
    repeated = np.flatnonzero(np.diff(times) == 0)
    if len(repeated):
        one, other = bars.iloc[repeated[0]], bars.iloc[repeated[0] + 1]
        raise DataError(
            f"bar {one['ts_event'].isoformat()} {one['contract']}: two accepted bars of one contract in one minute "
            f"(publishers {one['publisher_id']} and {other['publisher_id']}); keep one publisher's bars"
        )


def _quotes(rows: pd.DataFrame) -> dict[int, _Quotes]:
    """Quotes of each contract of ``rows``, which are in time order."""
    expiry = rows["expiry"].to_numpy()
    columns = nanoseconds(rows["ts_event"]), _fixed(rows["open"]), _fixed(rows["close"])
    by_contract = np.argsort(expiry, kind="stable")
    found, begins = np.unique(expiry[by_contract], return_index=True)
    pieces = np.split(by_contract, begins[1:])
    return {
        int(contract): _Quotes(*(column[piece] for column in columns))
        for contract, piece in zip(found, pieces, strict=False)
    }


def _roll(old: _Quotes, new: _Quotes, moment: int) -> tuple[int, int, int]:
    """old_price, old_level and new_level of a roll whose first bar of ``new`` begins at ``moment``."""
    last_old = int(np.searchsorted(old.ts, moment, side="right")) - 1
    old_price = int(old.open[last_old] if old.ts[last_old] == moment else old.close[last_old])
    at_old, at_new = _last_common(old.ts, new.ts, moment)
    if at_old < 0:
        return old_price, old_price, int(new.open[np.searchsorted(new.ts, moment)])
    return old_price, int(old.close[at_old]), int(new.close[at_new])


def _last_common(one: NDArray[np.int64], other: NDArray[np.int64], before: int) -> tuple[int, int]:
    """Places of the last time in both sorted arrays that is ``before`` the moment; -1, -1 where there is none."""
    at, there = int(np.searchsorted(one, before)) - 1, int(np.searchsorted(other, before)) - 1
    while at >= 0 and there >= 0 and one[at] != other[there]:
        if one[at] > other[there]:
            at = int(np.searchsorted(one, other[there], side="right")) - 1
        else:
            there = int(np.searchsorted(other, one[at], side="right")) - 1
    return (at, there) if at >= 0 and there >= 0 else (-1, -1)
