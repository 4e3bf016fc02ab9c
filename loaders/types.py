"""Dtypes, column order and sentinels of the tables that the loaders hand on."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

UNDEF_PRICE = 2**63 - 1  # databento_dbn.UNDEF_PRICE: a price that is not there
PRICE_SCALE = 1_000_000_000  # fixed point: integer / PRICE_SCALE = price
NS_PER_DAY = 86_400_000_000_000
SOURCE_SHIFT = 40  # source_row = file ordinal << SOURCE_SHIFT | record index: room for 10^12 records a file

TIMESTAMP = "datetime64[ns, UTC]"
OUTRIGHT_COLUMNS = {
    "ts_event": TIMESTAMP, "publisher_id": "int32", "instrument_id": "int64", "contract": "str", "expiry": "int32",
    "open": "int64", "high": "int64", "low": "int64", "close": "int64", "volume": "int64",
    "source_row": "int64", "backwards": "bool",
}
ROLLED_COLUMNS = {**OUTRIGHT_COLUMNS, "session": "int32", "role": "str"}
BAR_COLUMNS = {
    "ts_event": TIMESTAMP, "session": "int32", "contract": "str", "expiry": "int32",
    "open": "float64", "high": "float64", "low": "float64", "close": "float64", "volume": "int64",
    "old_price": "float64", "adj_open": "float64", "adj_high": "float64", "adj_low": "float64",
    "adj_close": "float64", "masked": "bool", "filled": "bool",
}


def table(columns: dict[str, str], values: dict[str, Any]) -> pd.DataFrame:
    """DataFrame with exactly ``columns``, in their order and dtypes; timestamps are given as int64 ns (UTC).

    The columns are the given arrays themselves where their dtype is right, not copies: give arrays of your own.
    """
    data = {}
    for name, dtype in columns.items():
        value = values[name]
        data[name] = utc(value) if dtype == TIMESTAMP else pd.Series(value, dtype=dtype, copy=False)
    return pd.DataFrame(data, copy=False)


def utc(nanoseconds: NDArray[np.int64]) -> pd.Series:
    """Series of ``datetime64[ns, UTC]`` from int64 nanoseconds; the unit is stated, pandas would infer another."""
    return pd.Series(nanoseconds.view("datetime64[ns]"), copy=False).dt.tz_localize("UTC")


def nanoseconds(timestamps: pd.Series) -> NDArray[np.int64]:
    """int64 nanoseconds since 1970 (UTC) of a timestamp column, whatever unit it is stored in."""
    values: NDArray[np.int64] = pd.DatetimeIndex(timestamps).as_unit("ns").asi8
    return values


def strings(values: list[str], codes: NDArray[np.int64]) -> pd.Series:
    """``str`` column whose row i is ``values[codes[i]]``."""
    return pd.Series(pd.array(values, dtype="str").take(codes))
