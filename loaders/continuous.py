"""Node: the continuous series of the followed contracts, each at its own price, with forward-adjusted levels beside it."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.continuous_fill import filled_forward
from loaders.continuous_rolls import PRICES, Series, series_of
from loaders.errors import DataError
from loaders.roll_settings import ADJUSTMENTS, require_adjustment
from loaders.sessions import SessionRule
from loaders.types import BAR_COLUMNS, PRICE_SCALE, table


def continuous_bars(
    accepted: pd.DataFrame, adjustment: str = "difference", session: SessionRule | None = None
) -> pd.DataFrame:
    """Table "bars" (BAR_COLUMNS) of ``accepted``, the rolled bars that passed layer 1, in any order, prices float64.

    One row a followed bar, sorted by ts_event, with its prices as they are. On the first bar of a new contract
    ``old_price`` is what the contract left could be closed at: its open in that minute if it traded, else its last
    close before; NaN on all other bars. ``adj_*`` are levels for signals, adjusted forward: the first contract as it is,
    each later one plus a constant ('difference') or times a factor ('ratio'), added up over the rolls so far, so that a
    roll never changes an earlier value; with 'none' they are the prices. A roll's step is from the new to the old close at
    the last minute before it in which both traded, or from the new open to old_price where they never did.

    With ``session.fill`` 'forward', open minutes without a bar inside a contract are filled (loaders.continuous_fill).

    Raises DataError for two bars of one contract in the same minute, and for a ratio of prices that are not positive.
    """
    require_adjustment(adjustment, ADJUSTMENTS)
    series = series_of(accepted)
    old_price = np.full(len(series.bars), np.nan)
    old_price[series.rolls.row] = series.rolls.old_price / PRICE_SCALE
    adjusted = _ADJUSTED[adjustment](series)
    bars = table(BAR_COLUMNS, {
        "ts_event": series.times,
        "masked": np.zeros(len(series.bars), dtype=np.bool_),
        "filled": np.zeros(len(series.bars), dtype=np.bool_),
        "old_price": old_price,
        **{name: series.bars[name].to_numpy() for name in ("session", "expiry", "volume")},
        "contract": series.bars["contract"],
        **{name: series.prices[name] / PRICE_SCALE for name in PRICES},
        **{f"adj_{name}": adjusted[name] for name in PRICES},
    })
    return filled_forward(bars, session) if session is not None and session.fill == "forward" else bars


def shifts(series: Series) -> NDArray[np.int64]:
    """Fixed-point constant of each bar (int64 [n]) that joins its contract to the first one's levels."""
    shift = np.zeros(len(series.bars), dtype=np.int64)
    shift[series.rolls.row] = series.rolls.old_level - series.rolls.new_level
    return np.cumsum(shift)


def factors(series: Series) -> NDArray[np.float64]:
    """Factor of each bar (float64 [n]) that joins its contract to the first one's levels.

    Raises DataError where a level is not positive: a ratio of such prices means nothing.
    """
    rolls = series.rolls
    wrong = np.flatnonzero((rolls.old_level <= 0) | (rolls.new_level <= 0))
    if len(wrong):
        bar = series.bars.iloc[rolls.row[wrong[0]]]
        raise DataError(
            f"roll to {bar['contract']} at {bar['ts_event'].isoformat()}: levels {rolls.old_level[wrong[0]] / PRICE_SCALE:g} "
            f"and {rolls.new_level[wrong[0]] / PRICE_SCALE:g} have no ratio; use roll.adjustment difference"
        )
    factor = np.ones(len(series.bars))
    factor[rolls.row] = rolls.old_level / rolls.new_level
    return np.asarray(np.cumprod(factor), dtype=np.float64)


def _unadjusted(series: Series) -> dict[str, NDArray[np.float64]]:
    return {name: series.prices[name] / PRICE_SCALE for name in PRICES}


def _by_difference(series: Series) -> dict[str, NDArray[np.float64]]:
    shift = shifts(series)
    return {name: (series.prices[name] + shift) / PRICE_SCALE for name in PRICES}


def _by_ratio(series: Series) -> dict[str, NDArray[np.float64]]:
    factor = factors(series)
    return {name: series.prices[name] / PRICE_SCALE * factor for name in PRICES}


_ADJUSTED = {"none": _unadjusted, "difference": _by_difference, "ratio": _by_ratio}
