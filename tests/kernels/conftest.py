"""Bars, an account written as a cash ledger, and comparison on bits for the tests of programs and sweeps."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from kernels.execution import Costs, Instrument
from kernels.program_cache import default_cache


@pytest.fixture(scope="session")
def program_cache() -> Path:
    """The folder of compiled programs that all tests share (tests/conftest.py), so that each text is compiled once."""
    return default_cache()


@pytest.fixture(scope="session")
def shim_folder(program_cache: Path) -> Path:
    """The folder of CUDA texts compiled for this processor (tests/kernels/host_shim.py), beside the programs."""
    folder = program_cache.parent / "shim"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def contract() -> Instrument:
    return Instrument("TEST", tick_size=0.25, multiplier=50.0, fee_per_contract=2.1)


@pytest.fixture(scope="session")
def same_bits() -> Callable[[object, object], bool]:
    """Whether two float64 arrays are equal on bits, NaN and signs of zero included."""

    def compare(a: object, b: object) -> bool:
        left, right = (np.ascontiguousarray(x, dtype=np.float64).view(np.int64) for x in (a, b))
        return left.shape == right.shape and bool(np.all(left == right))

    return compare


@pytest.fixture(scope="session")
def random_bars() -> Callable[..., pd.DataFrame]:
    return make_bars


@pytest.fixture(scope="session")
def ledger() -> Callable[..., SimpleNamespace]:
    return cash_ledger


@pytest.fixture(scope="session")
def path_bars() -> Callable[..., pd.DataFrame]:
    return bars_of_path


def bars_of_path(
    opened: list[float],
    close: list[float],
    target: list[float],
    old_price: list[float] | None = None,
    masked: list[int] | None = None,
) -> pd.DataFrame:
    """A table of bars from short lists; a contract ends where an old price is given."""
    count = len(opened)
    old = np.full(count, np.nan) if old_price is None else np.array(old_price, dtype=float)
    return pd.DataFrame(
        {
            "ts_event": pd.date_range("2024-03-01", periods=count, freq="min", tz="UTC").as_unit("ns"),
            "open": np.array(opened, dtype=float),
            "close": np.array(close, dtype=float),
            "target": np.array(target, dtype=float),
            "old_price": old,
            "contract": pd.Series([f"C{n}" for n in np.cumsum(~np.isnan(old))], dtype="str"),
            "masked": np.zeros(count, dtype=bool) if masked is None else np.array(masked, dtype=bool),
        }
    )


def make_bars(
    seed: int, bars: int = 300, session_bars: int = 40, rolls: int = 0, masks: int = 0, gaps: int = 0
) -> pd.DataFrame:
    """A seeded random walk on a 0.25 tick: sessions on weekdays, rolls, masked bars, NaN in the adjusted columns."""
    draw = np.random.default_rng(seed)
    close = 4000.0 + 0.25 * np.cumsum(draw.integers(-8, 9, bars))
    opened = np.concatenate([[4000.0], close[:-1]]) + 0.25 * draw.integers(-4, 5, bars)
    old_price, basis, contract = np.full(bars, np.nan), np.zeros(bars), np.zeros(bars, dtype=int)
    for roll in np.sort(draw.choice(np.arange(2, bars), rolls, replace=False)):
        step = 0.25 * draw.integers(-100, 101)
        old_price[roll] = opened[roll] + basis[roll]
        basis[roll:] += step
        contract[roll:] += 1
    masked = np.zeros(bars, dtype=bool)
    masked[draw.choice(bars, masks, replace=False)] = True
    session = np.arange(bars) // session_bars
    dates = np.busday_offset("2024-01-02", session, roll="forward")
    frame = pd.DataFrame(
        {
            "ts_event": pd.date_range("2024-01-02", periods=bars, freq="min", tz="UTC").as_unit("ns"),
            "session": np.array([int(str(date).replace("-", "")) for date in dates], dtype=np.int32),
            "contract": pd.Series([f"C{number}" for number in contract], dtype="str"),
            "open": opened + basis,
            "close": close + basis,
            "old_price": old_price,
            "masked": masked,
            "adj_close": close,
            "adj_high": np.maximum(opened, close) + 0.25,
            "adj_low": np.minimum(opened, close) - 0.25,
            "target": draw.choice([-1.0, -0.5, 0.0, 0.5, 1.0, np.nan], bars),
        }
    )
    for column in ("adj_close", "adj_high", "adj_low"):
        frame.loc[draw.choice(bars, gaps, replace=False), column] = np.nan
    return frame


def cash_ledger(
    bars: pd.DataFrame,
    decided: np.ndarray,
    instrument: Instrument,
    costs: Costs,
    capital: float,
    contracts: int = 1,
    first: int = 0,
) -> SimpleNamespace:
    """The account kept as cash and a position, fill by fill: an oracle that shares nothing with the portfolio step.

    ``decided[t]`` is the target at the close of bar t; the account is flat at bar ``first``. Returns equity and position
    [bars from first], the cash flows of closed round trips, and the fees, slippage and notional traded.
    """
    cash, position, pending, mark = capital, 0, None, 0.0
    flow, trips, fees, slippage, notional, solvent = 0.0, [], 0.0, 0.0, 0.0, True
    fills = 0
    equity, positions = [], []
    prices = bars[["open", "close", "old_price", "masked"]].itertuples(index=False)
    for bar, (opened, close, old, masked) in enumerate(prices):
        if pending is None and not np.isnan(old):
            pending = old
        if bar > first and not masked:
            target = decided[bar - 1]
            want = int(np.trunc(target * contracts)) if solvent else 0
            legs = [(want - position, opened)]
            fills += want != position and pending is None
            fills += (pending is not None) * ((position != 0) + (want != 0))
            if pending is not None:
                legs = [(-position, pending), (want, opened)]
            elif position * want < 0:
                legs = [(-position, opened), (want, opened)]
            for quantity, price in legs:
                value = abs(quantity) * abs(price) * instrument.multiplier
                fee = (
                    abs(quantity) * (instrument.fee_per_contract + costs.fee_per_contract) + value * costs.fee_bps / 1e4
                )
                slip = abs(quantity) * costs.slippage_ticks * instrument.tick_size * instrument.multiplier
                slip += value * costs.slippage_bps / 1e4
                paid = -quantity * price * instrument.multiplier - fee - slip
                cash, flow = cash + paid, flow + paid
                fees, slippage, notional = fees + fee, slippage + slip, notional + value
                closes_trip = position != 0 and position * want <= 0
                if closes_trip and quantity == -position:
                    trips.append(flow)
                    flow = 0.0
                    position = 0
                    if len(legs) == 1:
                        break
            position = want
        if not masked:
            pending, mark = None, close
        worth = cash + position * mark * instrument.multiplier
        solvent = solvent and worth > 0
        if bar >= first:
            equity.append(worth)
            positions.append(position)
    return SimpleNamespace(
        equity=np.array(equity),
        position=np.array(positions, dtype=float),
        trips=np.array(trips),
        fees=fees,
        slippage=slippage,
        notional=notional,
        fills=fills,
    )
