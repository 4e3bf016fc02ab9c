"""Speed of sweeps on the CPU: bar-steps a second and compile time of the strategies that ship.

A bar-step is one combination advanced by one bar. The wall time runs from ``sweep()`` to the table, rows included;
compiling is told apart. The rate a core-second counts processor time and so survives a busy machine. Usage:
``python benchmarks/sweep_cpu.py [bars] [threads]`` (default 250,000 bars, 2 threads).
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from kernels.execution import Costs, Instrument
from kernels.strategies import STRATEGIES
from kernels.sweep import sweep

GRIDS = {
    "ema_cross": {"fast": list(range(2, 22)), "slow": list(range(25, 200, 5))},
    "zscore_reversion": {
        "window": list(range(10, 500, 25)),
        "entry": [1.0, 1.5, 2.0, 2.5, 3.0],
        "exit": [-0.5, *np.arange(0, 0.9, 0.15)],
    },
    "donchian_breakout": {"window": list(range(10, 710))},
}
MINUTES_PER_SESSION = 1380


def walk(bars: int) -> pd.DataFrame:
    """A seeded random walk on a tick of 0.25, with sessions of 23 hours."""
    draw = np.random.default_rng(7)
    close = 5000 + 0.25 * np.cumsum(draw.integers(-6, 7, bars))
    opened = np.concatenate([[5000.0], close[:-1]])
    dates = np.busday_offset("2024-01-02", np.arange(bars) // MINUTES_PER_SESSION, roll="forward")
    labels = pd.DatetimeIndex(dates).strftime("%Y%m%d").astype(np.int32)
    times = pd.date_range("2024-01-02", periods=bars, freq="min", tz="UTC").as_unit("ns")
    high, low = np.maximum(opened, close) + 0.25, np.minimum(opened, close) - 0.25
    prices = {"open": opened, "high": high, "low": low, "close": close}
    adjusted = {f"adj_{name}": column for name, column in prices.items()}
    return pd.DataFrame({"ts_event": times, "session": labels, **prices, **adjusted})


def main() -> None:
    bars = int(sys.argv[1]) if len(sys.argv) > 1 else 250_000
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    table = walk(bars)
    contract = Instrument("ES", tick_size=0.25, multiplier=50.0, fee_per_contract=2.1)
    print(f"{bars:,} bars, {threads} threads, all metrics, returns by session")
    with tempfile.TemporaryDirectory() as cache:
        for name, grid in GRIDS.items():
            for attempt in ("cold", "warm", "warm"):
                begun, busy = time.perf_counter(), time.process_time()
                result = sweep(
                    STRATEGIES[name](),
                    table,
                    instrument=contract,
                    grid=grid,
                    costs=Costs(slippage_ticks=1),
                    executor="cpu",
                    threads=threads,
                    cache=Path(cache),
                )
                wall, seconds = time.perf_counter() - begun, result.profile["seconds"]
                steps, core = result.profile["bar_steps"] / 1e6, time.process_time() - busy - seconds["compile"]
                rate = steps / (wall - seconds["compile"])
                print(
                    f"{name:18} {attempt}: {len(result.table):5,} combinations  "
                    f"{rate:6.1f} M bar-steps/s  {steps / core:6.1f} M a core-second  "
                    f"wall {wall:6.2f} s  compile {seconds['compile']:5.2f} s  programs {seconds['run']:5.2f} s  "
                    f"rest {seconds['rest']:5.2f} s"
                )


if __name__ == "__main__":
    main()
