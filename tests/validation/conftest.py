"""Generated rolled bars for the tests of validation: fixed-point prices on ticks, a contract a column value."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

MINUTE = 60_000_000_000
OPENING = 1_710_495_060_000_000_000  # 2024-03-15T09:31Z
SCALE = 1_000_000_000
PRICES = ["open", "high", "low", "close"]


def make_rolled(closes, expiry: int = 202403, tick: float = 0.25, start: int = 0) -> pd.DataFrame:
    """Legal rolled bars, one a minute, with the given closes; each opens at the last close."""
    close = np.rint(np.asarray(closes, float) / tick).astype(np.int64) * round(tick * SCALE)
    opened = np.append(close[:1], close[:-1])
    rows = len(close)
    name = f"ES{'FGHJKMNQUVXZ'[expiry % 100 - 1]}{expiry // 100 % 10}"
    return pd.DataFrame({
        "ts_event": pd.DatetimeIndex((OPENING + (start + np.arange(rows)) * MINUTE).astype("datetime64[ns]"), tz="UTC"),
        "publisher_id": np.ones(rows, np.int32),
        "instrument_id": np.full(rows, expiry, np.int64),
        "contract": pd.Series([name] * rows, dtype="str"),
        "expiry": np.full(rows, expiry, np.int32),
        "open": opened,
        "high": np.maximum(opened, close) + round(tick * SCALE),
        "low": np.minimum(opened, close) - round(tick * SCALE),
        "close": close,
        "volume": np.arange(rows, dtype=np.int64) + 10,
        "source_row": np.arange(rows, dtype=np.int64) + start + 1000 * (expiry - 202400),
        "backwards": np.zeros(rows, bool),
        "session": np.full(rows, 20240315, np.int32),
        "role": pd.Series(["followed"] * rows, dtype="str"),
    })


def make_bars(closes, tick: float = 0.25) -> pd.DataFrame:
    """A legal "bars" table of one contract with the given closes."""
    rolled = make_rolled(closes, tick=tick)
    bars = rolled[["ts_event", "session", "contract", "expiry"]].copy()
    for name in PRICES:
        bars[name] = rolled[name] / SCALE
    bars["volume"] = rolled["volume"]
    bars["old_price"] = np.nan
    for name in PRICES:
        bars[f"adj_{name}"] = bars[name]
    return bars.assign(masked=False, filled=False)


@pytest.fixture(scope="session")
def rolled_of() -> Callable[..., pd.DataFrame]:
    """`rolled_of(closes, expiry=202403, tick=0.25, start=0)`."""
    return make_rolled


@pytest.fixture(scope="session")
def bars_of() -> Callable[..., pd.DataFrame]:
    """`bars_of(closes, tick=0.25)`."""
    return make_bars
