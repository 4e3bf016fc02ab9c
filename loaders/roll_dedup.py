"""The obvious dedup, by name and for comparison only: in each minute the contract that traded most in it.

On a real roll day it flips between contracts 122 times, and each flip is their price difference taken for a return.
Volumes of a minute are known only when it is over, so it also looks ahead.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.roll_market import Market
from loaders.roll_open_interest import UNKNOWN
from loaders.roll_rules import FIRST_SESSION
from loaders.roll_settings import PER_TIMESTAMP_VOLUME
from loaders.types import nanoseconds


def busiest_of_each_minute(
    market: Market, bars: pd.DataFrame, dates: NDArray[np.int32]
) -> tuple[NDArray[np.bool_], pd.DataFrame]:
    """Rows of the busiest contract of their minute, bool [n], and its schedule: a row a flip, volumes of that minute.

    Only contracts of the cycle count; of equal volumes the nearest expiry, so that the order of rows does not matter.
    """
    ts, volume = nanoseconds(bars["ts_event"]), bars["volume"].to_numpy()
    contract = np.searchsorted(market.expiries, bars["expiry"].to_numpy())
    rows = np.flatnonzero(market.cycle[contract])
    rows = rows[np.lexsort((contract[rows], -volume[rows], ts[rows]))]
    rows = rows[np.concatenate([[True], np.diff(ts[rows]) != 0])] if len(rows) else rows
    minute = np.searchsorted(ts[rows], ts)
    found = np.minimum(minute, len(rows) - 1)
    chosen = (ts[rows][found] == ts) & (contract[rows][found] == contract)
    flips = rows[np.concatenate([[True], np.diff(contract[rows]) != 0])]
    left = np.concatenate([contract[flips][:1], contract[flips][:-1]])
    traded = pd.Series(volume, index=pd.MultiIndex.from_arrays([ts, contract])).groupby(level=[0, 1]).max()
    volume_left = traded.reindex(pd.MultiIndex.from_arrays([ts[flips], left]), fill_value=0).to_numpy()
    schedule = pd.DataFrame({
        "session": dates[flips],
        "contract": pd.array([market.names[at] for at in contract[flips]], dtype="str"),
        "expiry": market.expiries[contract[flips]].astype(np.int32),
        "volume": np.where(np.arange(len(flips)) > 0, volume[flips], 0),
        "volume_left": np.where(np.arange(len(flips)) > 0, volume_left, 0),
        "open_interest": np.full(len(flips), UNKNOWN),
        "open_interest_left": np.full(len(flips), UNKNOWN),
        "reason": pd.array([FIRST_SESSION, *[PER_TIMESTAMP_VOLUME] * (len(flips) - 1)], dtype="str"),
    })
    return chosen, schedule
