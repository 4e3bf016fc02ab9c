"""Speed of sweeps on the CPU: the reference beside a hand-written parallel numba loop, and the strategies that ship.

The reference is design's: fast and slow average with a band, long above, short below, else held; 1,000 combinations,
4 metrics, returns a bar. Wall time runs from ``sweep()`` to the table, rows included, compilation excluded; the loop's
from the bars to its metrics. Both are timed in turn, several times, and the best of each is shown. Usage:
``python benchmarks/bench_sweep_cpu.py [bars] [threads]`` (default 100,000 bars, 2 threads).
"""

import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.sma_band_by_loop import by_loop
from kernels.execution import Costs, Instrument
from kernels.expressions import col, hold, param, where
from kernels.indicators import sma
from kernels.strategies import STRATEGIES
from kernels.strategy import Strategy
from kernels.sweep import sweep

CONTRACT = Instrument("ES", tick_size=0.25, multiplier=50.0, fee_per_contract=2.1)
CAPITAL = 1_000_000.0
FOUR = ("total_return", "sharpe", "max_drawdown", "trades")
REFERENCE = {"fast": list(range(5, 55, 5)), "band": [0.25 * n for n in range(10)], "slow": list(range(60, 260, 20))}
SHIPPED = {
    "ema_cross": {"fast": list(range(2, 22)), "slow": list(range(25, 200, 5))},
    "zscore_reversion": {
        "window": list(range(10, 500, 25)),
        "entry": [1.0, 1.5, 2.0, 2.5, 3.0],
        "exit": [-0.5, *np.arange(0, 0.9, 0.15)],
    },
    "donchian_breakout": {"window": list(range(10, 710))},
}
MINUTES_PER_SESSION = 1380
REPEATS = 5


def sma_band() -> Strategy:
    """Long where the fast average is above the slow one by more than the band, short below, else held."""
    fast, slow, band = sma(col("close"), param("fast")), sma(col("close"), param("slow")), param("band")
    return Strategy("sma_band", where(fast > slow + band, 1.0, where(fast < slow - band, -1.0, hold())))


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


def reference(table: pd.DataFrame, threads: int, cache: Path) -> None:
    """The reference strategy, swept and looped in turn; both must agree."""
    options: dict[str, Any] = {
        "instrument": CONTRACT, "grid": REFERENCE, "capital": CAPITAL, "metrics": FOUR, "returns": "bar",
        "executor": "cpu", "threads": threads, "cache": cache,
    }  # fmt: skip
    strategy = sma_band()
    numba.set_num_threads(threads)
    first = sweep(strategy, table, **options)  # compiles
    year = first.profile["periods_per_year"]

    def loop() -> dict[str, np.ndarray]:
        return by_loop(table, REFERENCE, first.start, CAPITAL, CONTRACT.multiplier, CONTRACT.fee_per_contract, year)

    for name, values in loop().items():
        np.testing.assert_allclose(values, first.table[name], rtol=1e-6, atol=1e-9, err_msg=name)
    steps = first.profile["bar_steps"]
    swept, looped = [], []
    for _ in range(REPEATS):
        swept.append(_seconds(lambda: sweep(strategy, table, **options)))
        looped.append(_seconds(loop))
    print(f"sma_band, {len(first.table):,} combinations, {', '.join(FOUR)}; returns a bar; best of {REPEATS}, in turn")
    for name, taken in (("walkfold, sweep() to table", swept), ("numba loop by hand, parallel", looped)):
        walls, cores = zip(*taken, strict=True)
        print(
            f"  {name:30} {steps / min(walls) / 1e6:8.0f} M bar-steps/s  {steps / min(cores) / 1e6:6.0f} M a core-second  "
            f"{min(walls) * 1e3:.0f} to {max(walls) * 1e3:.0f} ms"
        )
    print(f"  compiled once, not counted     {first.profile['seconds']['compile']:8.2f} s")


def _seconds(run: Callable[[], Any]) -> tuple[float, float]:
    """Wall seconds, and seconds of all cores together, which a busy machine changes less."""
    begun, busy = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - begun, time.process_time() - busy


def shipped(table: pd.DataFrame, threads: int, cache: Path) -> None:
    """The strategies that ship, all metrics, returns by session."""
    print("strategies that ship, all metrics, returns by session")
    for name, grid in SHIPPED.items():
        for attempt in ("cold", "warm"):
            begun, busy = time.perf_counter(), time.process_time()
            result = sweep(
                STRATEGIES[name](), table, instrument=CONTRACT, grid=grid, costs=Costs(slippage_ticks=1),
                executor="cpu", threads=threads, cache=cache,
            )  # fmt: skip
            wall, busy = time.perf_counter() - begun, time.process_time() - busy
            compiling, steps = result.profile["seconds"]["compile"], result.profile["bar_steps"] / 1e6
            core = f"{steps / busy:6.1f} M a core-second" if attempt == "warm" else f"compile {compiling:5.2f} s"
            print(
                f"  {name:18} {attempt}: {len(result.table):5,} combinations  "
                f"{steps / (wall - compiling):6.1f} M bar-steps/s  {core}  wall {wall:6.2f} s"
            )


def main() -> None:
    bars = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    threads = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    table = walk(bars)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f} at the start; python {platform.python_version()}, "
        f"numpy {np.__version__}, numba {numba.__version__}; {bars:,} bars, {threads} threads"
    )
    with tempfile.TemporaryDirectory() as cache:
        reference(table, threads, Path(cache))
        shipped(table, threads, Path(cache))


if __name__ == "__main__":
    main()
