"""Small generated markets for the training tests."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from kernels.execution import Costs, Execution, Instrument


@dataclass(frozen=True)
class Terms:
    """What every model is trained and judged with."""

    instrument: Instrument
    costs: Costs
    execution: Execution

    def all(self):
        return self.instrument, self.costs, self.execution


def bars_of(opened, close, roll_at=(), old_price=(), masked_at=()):
    """A bars table of minutes; `roll_at` rows begin a new contract after one priced `old_price`."""
    count = len(close)
    contract = np.zeros(count, dtype=np.int64)
    old = np.full(count, np.nan)
    for number, (row, price) in enumerate(zip(roll_at, old_price, strict=True)):
        contract[row:] = number + 1
        old[row] = price
    masked = np.zeros(count, dtype=bool)
    masked[list(masked_at)] = True
    return pd.DataFrame(
        {
            "ts_event": pd.date_range("2024-01-02T23:00", periods=count, freq="min", tz="UTC").astype(
                "datetime64[ns, UTC]"
            ),
            "session": (20240103 + np.arange(count) // 390).astype(np.int32),
            "contract": pd.Series([f"ES{'HMUZ'[one % 4]}4" for one in contract], dtype="str"),
            "open": np.asarray(opened, dtype=np.float64),
            "high": np.maximum(opened, close),
            "low": np.minimum(opened, close),
            "close": np.asarray(close, dtype=np.float64),
            "volume": np.full(count, 100, dtype=np.int64),
            "old_price": old,
            "masked": masked,
        }
    )


@pytest.fixture
def make_bars():
    return bars_of


@pytest.fixture
def es():
    """One ES contract, a tick of slippage and 2.10 dollars a side: 14.60 dollars."""
    return Terms(Instrument("ES", 0.25, 50.0), Costs(fee_per_contract=2.1, slippage_ticks=1), Execution())


@pytest.fixture
def free():
    """One unit of money a point, no costs."""
    return Terms(Instrument("X", 0.01, 1.0), Costs(), Execution())


@pytest.fixture
def rough_bars():
    """400 random bars with two rolls that jump and masked bars, one of them a roll."""
    generator = np.random.default_rng(4)
    close = 5000.0 + np.cumsum(generator.normal(0.0, 2.0, size=400))
    opened = close + generator.normal(0.0, 1.0, size=400)
    close[150:] += 60.0
    opened[150:] += 60.0
    close[300:] -= 45.0
    opened[300:] -= 45.0
    old = (opened[150] - 58.0, opened[300] + 47.0)
    return bars_of(opened, close, (150, 300), old, (7, 80, 81, 300, 350))


@dataclass(frozen=True)
class Reverting:
    """A market whose prices return to a mean, features that show it, and the deviation itself."""

    bars: pd.DataFrame
    features: np.ndarray
    deviation: np.ndarray


def reverting_market(seed, deviation_sd=0.001, fair_sd=0.00006, count=20_000):
    """Minutes of a fair random walk plus a deviation that returns within 30 minutes, on a quarter-point tick."""
    generator = np.random.default_rng(seed)
    decay = np.exp(-1 / 30)
    noise = generator.normal(0.0, deviation_sd * np.sqrt(1 - decay**2), size=count)
    deviation = np.zeros(count)
    for row in range(1, count):
        deviation[row] = decay * deviation[row - 1] + noise[row]
    level = np.cumsum(generator.normal(0.0, fair_sd, size=count)) + deviation
    close = np.round(5000.0 * np.exp(level) * 4) / 4
    opened = np.concatenate([[5000.0], close[:-1]])
    series = pd.Series(np.log(close))
    columns = {f"z_{n}": (series - series.rolling(n).mean()) / series.rolling(n).std() for n in (20, 60, 240)}
    columns |= {f"ret_{k}": series.diff(k) / (0.0003 * np.sqrt(k)) for k in (1, 5, 20)}
    columns["noise"] = pd.Series(generator.normal(size=count))
    features = pd.DataFrame(columns).to_numpy().astype(np.float32)
    return Reverting(bars_of(opened, close), features, deviation)


@pytest.fixture(scope="session")
def reverting():
    """20,000 minutes with a deviation of 10 basis points: a large edge."""
    return reverting_market(17)


@pytest.fixture
def without_edge():
    """Markets by seed whose prices are a random walk."""
    return lambda seed: reverting_market(seed, deviation_sd=0.0, fair_sd=0.00025)
