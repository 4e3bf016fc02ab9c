"""Speed of sweeps on the CPU: the reference beside hand-written parallel numba loops and two libraries, the strategies
that ship, and the first result of a fresh process.

The reference is design's: fast and slow average with a band, long above, short below, else held; 1,000 combinations,
4 metrics, returns a bar; once as it is and once with a stop and a target. Wall time runs from ``sweep()`` to the table,
rows included, compilation excluded; the loop's from the bars to its metrics. Both are timed in turn, several times, and
the best of each is shown. raptorbt and vectorbt run fewer combinations of it in an interpreter of their own, since the
project does not depend on them (``benchmarks/sma_band_peers.py`` says what they can express).
"""

import argparse
import json
import os
import platform
import subprocess
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
WITH_STOPS = {
    "fast": REFERENCE["fast"], "band": [0.5 * n for n in range(5)], "slow": REFERENCE["slow"], "stop": [0.0015, 0.003],
}  # fmt: skip
"""The target is twice as far as the stop."""
FEW = {"fast": [10, 30], "band": [0.0, 0.5, 1.0, 1.5, 2.0], "slow": [100, 200]}
"""What the libraries run: 20 combinations, with stops 40."""
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


def sma_band(*, stops: bool = False) -> Strategy:
    """Long where the fast average is above the slow one by more than the band, short below, else held."""
    fast, slow, band = sma(col("close"), param("fast")), sma(col("close"), param("slow")), param("band")
    target = where(fast > slow + band, 1.0, where(fast < slow - band, -1.0, hold()))
    if stops:
        return Strategy("sma_band_stops", target, stop_loss=param("stop"), take_profit=2.0 * param("stop"))
    return Strategy("sma_band", target)


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


def reference(table: pd.DataFrame, grid: dict[str, Any], threads: int, cache: Path) -> None:
    """The reference strategy, swept and looped in turn; both must agree."""
    options: dict[str, Any] = {
        "instrument": CONTRACT, "grid": grid, "capital": CAPITAL, "metrics": FOUR, "returns": "bar",
        "executor": "cpu", "threads": threads, "cache": cache,
    }  # fmt: skip
    strategy = sma_band(stops="stop" in grid)
    numba.set_num_threads(threads)
    first = sweep(strategy, table, **options)  # compiles
    year = first.profile["periods_per_year"]

    def loop() -> dict[str, np.ndarray]:
        terms = (CONTRACT.multiplier, CONTRACT.fee_per_contract, CONTRACT.tick_size)
        return by_loop(table, grid, first.start, CAPITAL, *terms, year)

    for name, values in loop().items():
        np.testing.assert_allclose(values, first.table[name], rtol=1e-6, atol=1e-9, err_msg=name)
    steps = first.profile["bar_steps"]
    swept, looped = [], []
    for _ in range(REPEATS):
        swept.append(_seconds(lambda: sweep(strategy, table, **options)))
        looped.append(_seconds(loop))
    print(
        f"{strategy.name}, {len(first.table):,} combinations, {', '.join(FOUR)}; returns a bar; best of {REPEATS}, in turn; "
        f"{first.table['trades'].mean():.0f} trades on average"
    )
    for name, taken in (("walkfold, sweep() to table", swept), ("numba loop by hand, parallel", looped)):
        walls, cores = zip(*taken, strict=True)
        print(
            f"  {name:30} {steps / min(walls) / 1e6:8.0f} M bar-steps/s  {steps / min(cores) / 1e6:6.0f} M a core-second  "
            f"{min(walls) * 1e3:.0f} to {max(walls) * 1e3:.0f} ms"
        )
    print(f"  compiled once, not counted     {first.profile['seconds']['compile']:8.2f} s")


def peers(table: pd.DataFrame, python: str | None, folder: Path) -> None:
    """raptorbt and vectorbt on few of the combinations."""
    prices = {name: table[name].to_numpy() for name in ("open", "high", "low", "close")}
    np.savez(folder / "bars.npz", ts=table["ts_event"].to_numpy(dtype="datetime64[ns]").astype(np.int64), **prices)
    print("libraries on the same bars, from signals to metrics; best of 3")
    for library in ("raptorbt", "vectorbt"):
        for label, stops in (("", {}), (" with stops", {"stop": WITH_STOPS["stop"]})):
            (folder / "grid.json").write_text(json.dumps({**FEW, **stops}))
            script = Path(__file__).parent / "sma_band_peers.py"
            command = [python or sys.executable, script, library, folder / "bars.npz", folder / "grid.json"]
            found = subprocess.run(command, capture_output=True, text=True)
            if found.returncode and f"No module named '{library}'" in found.stderr:
                print(f"  {library:30} not installed: give --peers an interpreter that has it")
                break
            found.check_returncode()
            said = json.loads(found.stdout)
            rate = said["combinations"] * len(table) / said["seconds"] / 1e6
            name = f"{library} {said['version']}{label}"
            print(f"  {name:30} {rate:8.1f} M bar-steps/s  {said['combinations']} combinations, {said['seconds']:.2f} s")


def first_results(folder: Path) -> None:
    """Fresh processes with an empty and with a filled cache, from their start to the result."""
    print("first result in a fresh process: 100 combinations × 8,760 bars, 4 metrics, from its start to the best row")
    script, taken = Path(__file__).parent / "first_result.py", []
    for attempt in range(REPEATS):
        for _ in ("cold", "cached"):
            command = [sys.executable, script, folder / f"first {attempt}", repr(time.time())]
            taken.append(float(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    for label, seconds in (("cold", taken[::2]), ("from cache", taken[1::2])):
        print(f"  {label:30} {min(seconds):8.2f} s  (to {max(seconds):.2f} s in {REPEATS} tries)")


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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bars", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter that has raptorbt and vectorbt")
    given = parser.parse_args()
    table = walk(given.bars)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f} at the start; python {platform.python_version()}, "
        f"numpy {np.__version__}, numba {numba.__version__}; {given.bars:,} bars, {given.threads} threads"
    )
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        reference(table, REFERENCE, given.threads, cache)
        reference(table, WITH_STOPS, given.threads, cache)
        peers(table, given.peers, cache)
        shipped(table, given.threads, cache)
        first_results(cache)
    if hasattr(os, "getloadavg"):
        print(f"load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
