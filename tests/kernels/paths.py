"""Short accounts by hand: bars of a minute from lists, and a sweep of one combination over them."""

import numpy as np
import pandas as pd

from kernels.execution import Instrument
from kernels.expressions import col
from kernels.strategy import Strategy
from kernels.sweep import sweep

FREE = Instrument("X", tick_size=0.25, multiplier=1.0)


def minutes(opened, close, target, **columns) -> pd.DataFrame:
    """Bars of a minute whose high and low are their open and close where they are not given."""
    prices = {name: np.array(values, dtype=float) for name, values in (("open", opened), ("close", close))}
    high, low = np.maximum(*prices.values()), np.minimum(*prices.values())
    times = pd.date_range("2024-01-02", periods=len(close), freq="min", tz="UTC").as_unit("ns")
    given = {"high": high, "low": low, "target": np.array(target, dtype=float), **columns}
    return pd.DataFrame({"ts_event": times, **prices, **given})


def run(bars: pd.DataFrame, strategy: Strategy | None = None, **options):
    given = {"executor": "numpy", "returns": "bar", **options}
    return sweep(strategy or Strategy("t", col("target")), bars, **given)


def decimals(digits: int, start: int, steps: list[int]) -> np.ndarray:
    """A walk of whole steps of 10^-digits, each price the float64 nearest to its decimal."""
    return (start + np.cumsum(steps)) / 10**digits
