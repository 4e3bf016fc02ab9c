"""Layers 1 to 5 and 42 features on a million bars against plain pandas: `python benchmarks/bench_features.py [BARS]`.

Each side runs in a process of its own, so that its peak of resident memory is its own; the best of five is taken. Both
begin with the same table of rolled bars in fixed-point prices and end with normalised float32 features.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

ROUNDS = 5
MINUTE, START, POINT = 60_000_000_000, 1_704_067_200_000_000_000, 1_000_000_000


def rolled_bars(rows: int) -> pd.DataFrame:
    """Rolled bars of four contracts on a 0.25 tick, with a broken bar in a thousand."""
    rng = np.random.default_rng(7)
    close = np.rint(20_000 + np.cumsum(rng.integers(-2, 3, rows))).astype(np.int64) * POINT // 4
    opened = np.append(close[:1], close[:-1])
    high = np.maximum(opened, close) + rng.integers(0, 3, rows) * POINT // 4
    low = np.minimum(opened, close) - rng.integers(0, 3, rows) * POINT // 4
    broken = rng.choice(rows, rows // 1000, replace=False)
    high[broken] = low[broken] - POINT
    expiry = np.repeat([202403, 202406, 202409, 202412], -(-rows // 4))[:rows].astype(np.int32)
    return pd.DataFrame({
        "ts_event": pd.DatetimeIndex((START + np.arange(rows) * MINUTE).astype("datetime64[ns]"), tz="UTC"),
        "publisher_id": np.ones(rows, np.int32), "instrument_id": expiry.astype(np.int64),
        "contract": pd.Series(np.char.add("ES", expiry.astype(str)), dtype="str"), "expiry": expiry,
        "open": opened, "high": high, "low": low, "close": close,
        "volume": rng.poisson(50, rows).astype(np.int64), "source_row": np.arange(rows, dtype=np.int64),
        "backwards": np.zeros(rows, bool), "session": np.full(rows, 20240315, np.int32),
        "role": pd.Series(["followed"] * rows, dtype="str"),
    })  # fmt: skip


def walkfold(rolled: pd.DataFrame, train: slice) -> dict[str, float]:
    """The nodes' functions, one after another; the time of each."""
    from kernels.features.market import market_features
    from kernels.features.returns import log_returns
    from kernels.features.table import WARM_UP, feature_names
    from kernels.features.validity import valid_rows
    from validation.bar_rules import BarRules
    from validation.features import bound_features
    from validation.gate import gate_features
    from validation.normalise import fit_normaliser, normalise
    from validation.returns import clamp_returns
    from validation.sanitise import sanitise_rolled

    clock = Clock()
    bars = clock.timed("layer 1", lambda: sanitise_rolled(rolled, BarRules(tick_size=0.25)).accepted)
    returns, _, _ = clock.timed("layer 2", lambda: clamp_returns(bars, log_returns(bars)))
    matrix = clock.timed("42 features", lambda: market_features(bars, returns, "America/Chicago"))
    ts, names = bars["ts_event"].to_numpy("datetime64[ns]").astype(np.int64), feature_names()
    bounded, _ = clock.timed("layer 3", lambda: bound_features(matrix, names, ts, in_place=True))
    valid = clock.timed("valid rows", lambda: valid_rows(bars, returns, WARM_UP))
    fitted = clock.timed("layer 4", lambda: fit_normaliser(bounded, (train.start, train.stop), valid))
    z, _ = clock.timed("layer 4", lambda: normalise(bounded, fitted, names=names, ts=ts, valid=valid))
    clock.timed("layer 5", lambda: gate_features(z, valid))
    return clock.seconds


def plain(rolled: pd.DataFrame, train: slice) -> dict[str, float]:
    """The same in plain pandas."""
    import plain_pandas

    clock = Clock()
    bars, _ = clock.timed("layer 1", lambda: plain_pandas.sanitise(rolled))
    matrix, _ = clock.timed("layer 2 and 42 features", lambda: plain_pandas.features(bars))
    clock.timed("layers 3 to 5", lambda: plain_pandas.normalised(matrix, train))
    return clock.seconds


class Clock:
    """Seconds by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def timed(self, name: str, work: Callable[[], object]) -> object:
        start = time.process_time()
        result = work()
        self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - start
        return result


def measure(side: str, rows: int) -> None:
    """Run one side and print its best round as JSON."""
    rolled, train = rolled_bars(rows), slice(254, rows // 2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rounds = [{"walkfold": walkfold, "plain": plain}[side](rolled, train) for _ in range(ROUNDS)]
    best = min(rounds, key=lambda seconds: sum(seconds.values()))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": best, "total": sum(best.values()), "peak_mb": peak / 1024, "input_mb": before / 1024}))


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    found = {}
    for side in ("walkfold", "plain"):
        command = [sys.executable, __file__, str(rows), side]
        found[side] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        print(f"{side}: {found[side]['total']:.2f} s, peak {found[side]['peak_mb']:.0f} MB "
              f"(of it {found[side]['input_mb']:.0f} MB before the work)")  # fmt: skip
        for name, seconds in found[side]["seconds"].items():
            print(f"  {name:24} {seconds:6.2f} s")
    print(f"{rows:,} bars: {found['plain']['total'] / found['walkfold']['total']:.1f} times plain pandas")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        measure(sys.argv[2], int(sys.argv[1]))
    else:
        main()
