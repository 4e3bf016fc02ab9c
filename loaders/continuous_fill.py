"""Open minutes without a trade, filled on request: the last close with volume 0, marked so that nothing executes there."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.errors import DataError
from loaders.sessions import SessionRule, trade_dates
from loaders.sessions_calendar import trading_calendar
from loaders.types import nanoseconds, utc

MINUTE = 60_000_000_000
_PRICES = ("open", "high", "low")


def filled_forward(bars: pd.DataFrame, session: SessionRule) -> pd.DataFrame:
    """``bars`` (BAR_COLUMNS, minute bars) with a row for each open minute between two bars of one contract.

    A filled row has the close before it as all its prices, levels alike, volume 0, and is ``filled`` and ``masked``: no
    order fills on it. Minutes between the last bar of a contract and the first of the next stay empty, as do minutes in
    which the calendar is closed. A row depends on bars before it only.

    Raises DataError for bars that do not start on whole minutes.
    """
    ts = nanoseconds(bars["ts_event"])
    if len(ts) < 2:
        return bars
    odd = np.flatnonzero(ts % MINUTE)
    if len(odd):
        raise DataError(f"bar {bars['ts_event'].iloc[odd[0]].isoformat()}: does not start on a whole minute; "
                        "session.fill forward needs minute bars, use fill none")
    minutes, source = _open_minutes_between(ts, bars["expiry"].to_numpy(), session)
    added = bars.iloc[source].reset_index(drop=True)
    added["ts_event"] = utc(minutes)
    added["session"] = trade_dates(minutes, session)
    added["volume"] = np.int64(0)
    added["old_price"] = np.nan
    added["masked"] = added["filled"] = True
    for prefix in ("", "adj_"):
        for name in _PRICES:
            added[prefix + name] = added[prefix + "close"]
    joined = pd.concat([bars, added], ignore_index=True)
    return joined.iloc[np.argsort(nanoseconds(joined["ts_event"]), kind="stable")].reset_index(drop=True)


def _open_minutes_between(
    ts: NDArray[np.int64], expiry: NDArray[np.int32], session: SessionRule
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Open minutes (ns UTC [m]) without a bar inside a contract, and the row of the bar before each (int64 [m])."""
    missing = np.where(np.diff(expiry) == 0, np.diff(ts) // MINUTE - 1, 0)
    source = np.repeat(np.arange(len(missing)), missing)
    within = np.arange(len(source)) - np.repeat(np.cumsum(missing) - missing, missing)
    minutes = ts[source] + (within + 1) * MINUTE
    is_open = trading_calendar(session, int(ts[0]), int(ts[-1])).is_open(minutes)
    return minutes[is_open], source[is_open]
