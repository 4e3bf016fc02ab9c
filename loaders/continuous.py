"""The continuous series of the followed contracts: each at its own price, with forward-adjusted levels beside it."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.errors import DataError
from loaders.roll import FOLLOWED
from loaders.types import BAR_COLUMNS, PRICE_SCALE, nanoseconds, table

_PRICES = ("open", "high", "low", "close")


@dataclass(frozen=True, eq=False)
class _Quotes:
    """One contract's accepted rows of all roles in time order: int64 ns and fixed-point open and close."""

    ts: NDArray[np.int64]
    open: NDArray[np.int64]
    close: NDArray[np.int64]


def continuous_bars(accepted: pd.DataFrame) -> pd.DataFrame:
    """Table "bars" (BAR_COLUMNS) of ``accepted``, the rolled bars that passed layer 1, in any order, prices float64.

    One row a followed bar, sorted by ts_event, with its prices as they are. On the first bar of a new contract
    ``old_price`` is what the contract left could be closed at: its open in that minute if it traded, else its last
    close before; NaN on all other bars. ``adj_*`` are difference-adjusted forward: the first contract as it is, each
    later one plus a constant, summed over the rolls so far, so that a roll never changes an earlier value. A roll's
    constant is old close − new close at the last minute before it in which both traded, or old_price − new open where
    they never did.

    Raises DataError for two bars of one contract in the same minute.
    """
    fixed_point = accepted.assign(**{name: _fixed(accepted[name]) for name in _PRICES})
    ts = nanoseconds(accepted["ts_event"])
    rows = fixed_point.iloc[np.lexsort((accepted["expiry"].to_numpy(), ts))]
    bars = rows[(rows["role"] == FOLLOWED).to_numpy()]
    times, expiry = nanoseconds(bars["ts_event"]), bars["expiry"].to_numpy()
    _require_unique(bars, times)
    old_price = np.full(len(bars), np.nan)
    shift = np.zeros(len(bars), dtype=np.int64)
    for at in np.flatnonzero(np.diff(expiry)) + 1:
        old, new = _quotes(rows, expiry[at - 1], times[at]), _quotes(rows, expiry[at], times[at])
        price = _old_price(old, times[at])
        old_price[at] = price / PRICE_SCALE
        shift[at:] += _basis(old, new, times[at], price)
    fixed = {name: bars[name].to_numpy() for name in _PRICES}
    return table(BAR_COLUMNS, {
        "ts_event": times,
        "masked": np.zeros(len(bars), dtype=np.bool_),
        "old_price": old_price,
        **{name: bars[name].to_numpy() for name in ("session", "expiry", "volume")},
        "contract": bars["contract"].reset_index(drop=True),
        **{name: fixed[name] / PRICE_SCALE for name in _PRICES},
        **{f"adj_{name}": (fixed[name] + shift) / PRICE_SCALE for name in _PRICES},
    })


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


def _quotes(rows: pd.DataFrame, expiry: int, until: int) -> _Quotes:
    """Rows of contract ``expiry`` up to and including ``until`` (ns)."""
    chosen = rows[((rows["expiry"] == expiry) & (nanoseconds(rows["ts_event"]) <= until)).to_numpy()]
    return _Quotes(nanoseconds(chosen["ts_event"]), chosen["open"].to_numpy(), chosen["close"].to_numpy())


def _old_price(old: _Quotes, roll: int) -> int:
    return int(old.open[-1] if old.ts[-1] == roll else old.close[-1])


def _basis(old: _Quotes, new: _Quotes, roll: int, old_price: int) -> int:
    """Fixed-point level of the contract left above the new one (int64)."""
    _, at_old, at_new = np.intersect1d(old.ts[old.ts < roll], new.ts[new.ts < roll], return_indices=True)
    if not len(at_old):
        return old_price - int(new.open[-1])
    return int(old.close[at_old[-1]] - new.close[at_new[-1]])
