"""Generated bars for the tests of features: rolls, gaps, a clamped spike, minutes without volume."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

MINUTE = 60_000_000_000
MONDAY = 1_704_067_200_000_000_000  # 2024-01-01T00:00Z


def make_bars(rows: int, seed: int = 1, rolls: tuple[int, ...] = ()) -> pd.DataFrame:
    """Minute bars on a 0.25 tick, a daily break of an hour, a contract change before each row of `rolls`."""
    rng = np.random.default_rng(seed)
    contract = np.searchsorted(np.asarray(rolls), np.arange(rows), side="right")
    close = (20_000 + np.cumsum(rng.integers(-3, 4, rows)) + 160 * contract) * 0.25
    opened = np.concatenate([close[:1], close[:-1]]) + rng.integers(-1, 2, rows) * 0.25
    opened[list(rolls)] = close[list(rolls)]
    minutes = np.arange(rows) + 60 * (np.arange(rows) // 300)
    volume = rng.poisson(20, rows) * (rng.random(rows) > 0.05)
    return pd.DataFrame({
        "ts_event": pd.DatetimeIndex((MONDAY + minutes * MINUTE).astype("datetime64[ns]"), tz="UTC"),
        "session": (20_240_101 + np.arange(rows) // 300).astype(np.int32),
        "contract": pd.Series([f"ES{'HMUZ'[number]}4" for number in contract], dtype="str"),
        "expiry": (202_403 + 3 * contract).astype(np.int32),
        "open": opened,
        "high": np.maximum(opened, close) + rng.integers(0, 3, rows) * 0.25,
        "low": np.minimum(opened, close) - rng.integers(0, 3, rows) * 0.25,
        "close": close,
        "volume": volume.astype(np.int64),
        "masked": np.zeros(rows, bool),
    })


@pytest.fixture(scope="session")
def bars_of() -> Callable[..., pd.DataFrame]:
    """`bars_of(rows, seed=1, rolls=())`."""
    return make_bars
