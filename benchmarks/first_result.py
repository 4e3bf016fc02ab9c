"""A first result in a process of its own: imports, trace, compilation or cache, 100 combinations × 8,760 bars, 4 metrics.

``python first_result.py CACHE BEGUN`` prints the seconds since BEGUN (``time.time()`` of whoever started the process).
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import pandas as pd

from kernels.execution import Instrument
from kernels.expressions import col, hold, param, where
from kernels.indicators import sma
from kernels.strategy import Strategy
from kernels.sweep import sweep

BARS = 8_760
GRID = {"fast": [5, 10, 15, 20, 25], "band": [0.0, 0.25, 0.5, 0.75], "slow": [60, 80, 100, 120, 140]}


def main() -> None:
    close = 5000 + 0.25 * np.cumsum(np.random.default_rng(7).integers(-6, 7, BARS))
    opened = np.concatenate([[5000.0], close[:-1]])
    times = pd.date_range("2024-01-02", periods=BARS, freq="h", tz="UTC").as_unit("ns")
    bars = pd.DataFrame({"ts_event": times, "open": opened, "close": close})
    fast, slow, band = sma(col("close"), param("fast")), sma(col("close"), param("slow")), param("band")
    strategy = Strategy("sma_band", where(fast > slow + band, 1.0, where(fast < slow - band, -1.0, hold())))
    result = sweep(
        strategy, bars, grid=GRID, instrument=Instrument("ES", 0.25, 50.0, fee_per_contract=2.1), returns="bar",
        metrics=["total_return", "sharpe", "max_drawdown", "trades"], executor="cpu", cache=Path(sys.argv[1]),
    )  # fmt: skip
    best = result.best("sharpe")
    assert len(result.table) == 100 and best["trades"] > 0
    print(time.time() - float(sys.argv[2]))


if __name__ == "__main__":
    main()
