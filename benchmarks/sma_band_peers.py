"""The reference strategy on raptorbt and vectorbt, run by an interpreter of its own that has them installed.

``python sma_band_peers.py (raptorbt|vectorbt) bars.npz grid.json`` prints one JSON object: ``version``, ``seconds`` (from
signals to metrics, averages included, the best of three runs after one to warm up), ``combinations``. Both fill at the
next open. vectorbt reverses; raptorbt's arrays hold one side, so it runs the long half alone. Neither can hold a stopped
position's block until the target changes, so with stops they enter again at the next entry signal.
"""

import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

REPEATS = 3
FEE, UNITS, CAPITAL = 2.1, 50.0, 1_000_000.0


def signals(bars: Any, grid: Any) -> list[tuple[np.ndarray, np.ndarray, float | None]]:
    """(fast > slow + band, fast < slow - band, stop or None) of each combination: [bars] each."""
    rows = {name: {n: average(bars["close"], n) for n in grid[name]} for name in ("fast", "slow")}
    found = []
    for fast, band, slow, stop in itertools.product(grid["fast"], grid["band"], grid["slow"], grid.get("stop", [None])):
        gap = rows["fast"][fast] - rows["slow"][slow]
        found.append((gap > band, gap < -band, stop))
    return found


def average(close: np.ndarray, window: int) -> np.ndarray:
    sums = np.cumsum(close)
    sums[window:] = sums[window:] - sums[:-window]
    averages = sums / window
    averages[: window - 1] = np.nan
    return averages


def on_raptorbt(bars: Any, grid: Any) -> list[float]:
    """Its batch over all cores; a configuration a distance."""
    import raptorbt

    items = []
    for place, (long, short, stop) in enumerate(signals(bars, grid)):
        config = raptorbt.BacktestConfig(initial_capital=CAPITAL, fees=0.0001, fill_timing="next_bar_open")
        if stop is not None:
            config.set_fixed_stop(stop)
            config.set_fixed_target(2.0 * stop)
        items.append(raptorbt.BatchSingleItem(str(place), long, short, config=config))
    prices = [bars[name] for name in ("open", "high", "low", "close")]
    found = raptorbt.batch_single_backtest(bars["ts"], *prices, np.ones(len(bars["close"])), items)
    return [result.metrics.total_return_pct for _, result in found]


def on_vectorbt(bars: Any, grid: Any) -> list[float]:
    """All combinations as columns of one portfolio; signals of a bar fill at the next one's open."""
    import pandas as pd
    import vectorbt

    long, short, stops = zip(*signals(bars, grid), strict=True)
    index = pd.DatetimeIndex(bars["ts"])
    enter, leave = (pd.DataFrame(np.stack(side, axis=1), index=index).shift(1, fill_value=False) for side in (long, short))
    prices = {name: pd.Series(bars[name], index=index) for name in ("open", "high", "low", "close")}
    options: dict[str, Any] = {"sl_stop": np.array(stops), "tp_stop": 2.0 * np.array(stops)} if stops[0] else {}
    account = vectorbt.Portfolio.from_signals(
        prices["close"], entries=enter, short_entries=leave, price=prices["open"], size=UNITS, size_type="amount",
        fixed_fees=FEE, init_cash=CAPITAL, upon_opposite_entry="reverse", freq="1min",
        open=prices["open"], high=prices["high"], low=prices["low"], **options,
    )  # fmt: skip
    total = account.total_return()
    account.sharpe_ratio(), account.max_drawdown(), account.trades.count()
    return total.tolist()


RUN: dict[str, Callable[[Any, Any], list[float]]] = {"raptorbt": on_raptorbt, "vectorbt": on_vectorbt}


def main() -> None:
    name, bars, grid = sys.argv[1], dict(np.load(sys.argv[2])), json.loads(Path(sys.argv[3]).read_text())
    from importlib.metadata import version

    first = RUN[name](bars, grid)  # compiles where something is compiled
    seconds = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        RUN[name](bars, grid)
        seconds.append(time.perf_counter() - begun)
    print(json.dumps({"version": version(name), "seconds": min(seconds), "combinations": len(first)}))


if __name__ == "__main__":
    main()
