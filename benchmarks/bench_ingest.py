"""Ingest of one large ohlcv file: ours against databento's to_df, symbol mapping included, seconds and peak memory.

    python benchmarks/bench_ingest.py [--records 5000000] [--repeat 3]

Writes a parent-symbol file of one-second bars (a fifth of them calendar spreads) raw and as .dbn.zst with a frame a day
to a temporary directory. Every row is a process of its own, so that the peak is its own; it includes imports.
"""

import argparse
import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import metadata as packages
from pathlib import Path

import databento_dbn as dbn
import numpy as np
import zstandard

SYMBOLS = ("ESH4", "ESM4", "ESU4", "ESZ4", "ESH4-ESM4")
SECOND = 1_000_000_000
DAY_SECONDS = 86_400
START = 1_704_067_200 * SECOND  # 2024-01-01
WAYS = ("outright_bars", "scan_bars", "outright_bars by partition", "to_df")


@dataclass(frozen=True)
class Interval:
    start_date: datetime.date
    end_date: datetime.date
    symbol: str


@dataclass(frozen=True)
class Mapping:
    raw_symbol: str
    intervals: list[Interval]


def write_file(path: Path, records: int) -> None:
    """Random-walk bars of SYMBOLS, one of each a second, in one zstd frame a UTC day or raw."""
    rng = np.random.default_rng(7)
    seconds = -(-records // len(SYMBOLS))
    end = datetime.date(2024, 1, 1) + datetime.timedelta(days=seconds // DAY_SECONDS + 1)
    mappings = [
        Mapping(name, [Interval(datetime.date(2024, 1, 1), end, str(1000 + 7 * i))]) for i, name in enumerate(SYMBOLS)
    ]
    head = dbn.Metadata(
        dataset="GLBX.MDP3", start=START, end=START + (seconds + 1) * SECOND, stype_in=dbn.SType.PARENT,
        stype_out=dbn.SType.INSTRUMENT_ID, schema=dbn.Schema.OHLCV_1S, symbols=["ES.FUT"], mappings=mappings,
        limit=None, partial=[], not_found=[], ts_out=False, version=3,
    ).encode()
    compress = path.suffix == ".zst"
    frames = zstandard.ZstdCompressor(level=3, write_checksum=True)
    level = 5000.0 * np.ones(len(SYMBOLS))
    with path.open("wb") as out:
        out.write(frames.compress(head) if compress else head)
        for first in range(0, seconds, DAY_SECONDS):
            count = min(DAY_SECONDS, seconds - first)
            day = _day(rng, level, first, count)[: records - first * len(SYMBOLS)]
            out.write(frames.compress(day.tobytes()) if compress else day.tobytes())


def _day(rng: np.random.Generator, level: np.ndarray, first: int, count: int) -> np.ndarray:
    ticks = np.cumsum(rng.integers(-2, 3, (count, len(SYMBOLS))), axis=0)
    close = np.rint(level * 4).astype(np.int64) + ticks
    level[:] = close[-1] / 4
    day = np.zeros((count, len(SYMBOLS)), dtype=np.dtype(dbn.OHLCVMsg._dtypes))
    day["length"], day["rtype"], day["publisher_id"] = 14, 32, 1
    day["instrument_id"] = 1000 + 7 * np.arange(len(SYMBOLS))
    day["ts_event"] = (START + (first + np.arange(count)) * SECOND)[:, None]
    quarter = SECOND // 4
    day["close"] = close * quarter
    day["open"] = (close + rng.integers(-1, 2, close.shape)) * quarter
    day["high"] = np.maximum(day["open"], day["close"]) + rng.integers(0, 3, close.shape) * quarter
    day["low"] = np.minimum(day["open"], day["close"]) - rng.integers(0, 3, close.shape) * quarter
    day["volume"] = rng.integers(1, 500, close.shape)
    return day.reshape(-1)


def measure(way: str, path: Path) -> dict[str, float]:
    """Seconds by the clock and of one core, peak resident megabytes and kept rows of one way, in this process."""
    read = _READERS[way]
    read(path, True)  # imports and first calls
    started, on_cpu = time.perf_counter(), time.process_time()
    rows = read(path, False)
    seconds, on_cpu = time.perf_counter() - started, time.process_time() - on_cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": seconds, "cpu": on_cpu, "peak_mb": peak, "rows": rows}


def _whole(path: Path, warm_up: bool) -> int:
    from loaders.outrights import outright_bars

    return 0 if warm_up else len(outright_bars(path, (), "ES", 0).bars)


def _scan(path: Path, warm_up: bool) -> int:
    from loaders.dbn import scan_bars

    return 0 if warm_up else sum(len(table) for table in scan_bars(path, "ES"))


def _parts(path: Path, warm_up: bool) -> int:
    from loaders.outrights import outright_bars
    from loaders.partitions import partitions

    return 0 if warm_up else sum(len(outright_bars(path, (), "ES", 0, part).bars) for part in partitions(path))


def _to_df(path: Path, warm_up: bool) -> int:
    import warnings

    warnings.simplefilter("ignore")
    import databento

    if warm_up:
        return 0
    frame = databento.DBNStore.from_file(path).to_df()
    return int(frame["symbol"].isin(SYMBOLS[:-1]).sum())


_READERS = {"outright_bars": _whole, "scan_bars": _scan, "outright_bars by partition": _parts, "to_df": _to_df}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each of our ways; the best counts (to_df: one)")
    parser.add_argument("--one", nargs=2, metavar=("WAY", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one[0], Path(options.one[1]))))
        return
    names = ("numpy", "pandas", "databento", "databento-dbn", "zstandard")
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
          + ", ".join(f"{name} {packages.version(name)}" for name in names))
    with tempfile.TemporaryDirectory() as folder:
        for name in ("bars.ohlcv-1s.dbn", "bars.ohlcv-1s.dbn.zst"):
            path = Path(folder) / name
            write_file(path, options.records)
            print(f"\n{name}: {options.records:,} records, {path.stat().st_size / 1e6:.0f} MB")
            compare(path, options.repeat)


def compare(path: Path, repeat: int) -> None:
    """Print a row for each way of reading ``path``."""
    best = {}
    for way in WAYS:
        runs = [_run(way, path) for _ in range(1 if way == "to_df" else repeat)]
        best[way] = min(runs, key=lambda run: run["seconds"])
    print(f"{'way':28} {'seconds':>8} {'core s':>7} {'peak MB':>8} {'rows kept':>10} {'to_df / it':>10} {'core':>7}")
    for way, run in best.items():
        ratio, cores = (best["to_df"][kind] / run[kind] for kind in ("seconds", "cpu"))
        print(f"{way:28} {run['seconds']:8.2f} {run['cpu']:7.2f} {run['peak_mb']:8.0f} {run['rows']:10,} "
              f"{ratio:9.1f}x {cores:6.1f}x")


def _run(way: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-W", "ignore", __file__, "--one", way, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return dict(json.loads(answer.stdout))


if __name__ == "__main__":
    main()
