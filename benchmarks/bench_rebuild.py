"""Time from a new day's file to the finished feature set, on two years of minutes, against building all of it anew.

Writes 504 sessions of ES minutes as monthly DBN files and the next three sessions as a file each (random prices, four
contracts a year that roll, the next contract and a calendar spread beside the one followed), builds the feature set,
adds one file after the other and builds each time, then all files in an empty store. Wall and processor seconds by
node; a busy machine stretches the first. Usage: ``python benchmarks/bench_rebuild.py [sessions]`` (default 504).
"""

import os
import sys
import tempfile
import time
from datetime import date, timedelta
from datetime import time as clock
from itertools import pairwise
from pathlib import Path

import numpy as np

from loaders.layouts import record_layout
from loaders.sample_calendar import Session, exchange_ns, minute_grid
from loaders.sample_files import MonthFile, file_name, month_files, utc_date, write_bars
from loaders.sample_instruments import CALENDAR, OUTRIGHT, Instrument
from loaders.sample_tape import PUBLISHER, Tape
from pipelines.config.configuration import load_settings
from pipelines.execution.serial_runner import run_serial
from pipelines.flow import flow_graph
from pipelines.graphs.planning import plan
from pipelines.storage.store import Store

TICK = 250_000_000
FIRST = date(2023, 1, 3)
ADDED = 3
MONTHS = {"H": 3, "M": 6, "U": 9, "Z": 12}


def sessions(count: int) -> tuple[Session, ...]:
    days = [FIRST + timedelta(days=offset) for offset in range(2 * count)]
    days = [day for day in days if day.weekday() < 5][:count]
    return tuple(
        Session(day, exchange_ns(day - timedelta(days=1), clock(17)), exchange_ns(day, clock(16)), False) for day in days
    )


def instruments(years: int) -> tuple[Instrument, ...]:
    """Outrights by expiry, then one calendar spread of each with the next."""
    outrights, spreads = [], []
    listed = [(code, month, year) for year in range(2023, 2023 + years) for code, month in MONTHS.items()]
    for at, (code, month, year) in enumerate(listed):
        last = date(year, month, 15)
        symbol, expires = f"ES{code}{year % 10}", exchange_ns(last, clock(9))
        outrights.append(Instrument(symbol, 1000 + at, OUTRIGHT, TICK, ((at, 1),), date(2022, 6, 1), last, expires))
    for at, (near, far) in enumerate(pairwise(outrights)):
        name = f"{near.symbol}-{far.symbol}"
        spreads.append(Instrument(name, 9000 + at, CALENDAR, TICK, (), date(2022, 6, 1), near.last, near.expires))
    return (*outrights, *spreads)


def tape(count: int, every: tuple[Instrument, ...]) -> Tape:
    """The followed contract each minute, the next one each fourth and their spread each eighth."""
    draw = np.random.default_rng(7)
    grid = minute_grid(sessions(count))
    rolls = np.array([one.expires - 8 * 86_400_000_000_000 for one in every if one.kind == OUTRIGHT])
    opens = np.array([one.opens for one in grid.sessions])
    front = np.searchsorted(rolls, opens, side="right")[grid.session]
    level = 16_000 + np.cumsum(draw.integers(-6, 7, len(grid.ts)))
    outrights = sum(one.kind == OUTRIGHT for one in every)
    minute = np.concatenate([np.arange(len(level)), np.arange(0, len(level), 4), np.arange(0, len(level), 8)])
    shift = np.repeat([0, 1, outrights], [len(level), -(-len(level) // 4), -(-len(level) // 8)])
    order = np.argsort(minute, kind="stable")
    minute, which, spread = minute[order], (front[minute] + shift)[order], shift[order] == outrights
    layout = record_layout("ohlcv-1m", 3)
    records = np.zeros(len(minute), dtype=layout.dtype)
    records["length"], records["rtype"] = layout.dtype.itemsize // 4, layout.rtype
    records["publisher_id"], records["ts_event"] = PUBLISHER, grid.ts[minute]
    records["instrument_id"] = np.array([one.instrument_id for one in every])[which]
    close = np.where(spread, 200, level[minute] + 200 * np.where(spread, 0, which))
    opened = close + draw.integers(-3, 4, len(close))
    records["open"], records["close"] = opened * TICK, close * TICK
    records["high"], records["low"] = (np.maximum(opened, close) + 1) * TICK, (np.minimum(opened, close) - 1) * TICK
    records["volume"] = draw.integers(1, 500, len(close)) // np.where(which == front[minute], 1, 10) + 1
    return Tape(records, which, minute)


def build(data: Path, store: Path, label: str) -> dict[str, bytes]:
    """From files to the feature set; prints wall and processor seconds by node and returns the checksums it made."""
    begun, busy = time.perf_counter(), time.process_time()
    settings = load_settings([f"data={data}", f"store={store}"])
    graph = flow_graph(settings, ()).needed_for(["feature_set"])
    opened = Store.open(store)
    missing = [row.task for row in plan(graph, opened) if not row.cached]
    planned = time.perf_counter() - begun
    rows: dict[str, list[float]] = {}
    marks = [time.process_time()]

    def note(outcome):
        now = time.process_time()
        row = rows.setdefault(outcome.task.split("[")[0], [0, 0.0, 0.0])
        row[0], row[1], row[2] = row[0] + 1, row[1] + outcome.seconds, row[2] + now - marks[0]
        marks[0] = now

    run_serial(missing, opened, note)
    wall, processor = time.perf_counter() - begun, time.process_time() - busy
    print(f"\n{label}: {wall:.2f} s wall, {processor:.2f} s processor, load {os.getloadavg()[0]:.1f}")
    print(f"  files, keys and plan    {planned:6.2f} s wall")
    for name, (count, seconds, cpu) in rows.items():
        print(f"  {name:14} {count:4} ×  {seconds:6.2f} s wall  {cpu:6.2f} s processor")
    manifest = opened.manifest(graph["feature_set"].key)
    return {name: part["sha256"] for name, part in manifest["files"].items()}


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 504
    every = instruments(3)
    records = tape(count + ADDED, every)
    times = records.records["ts_event"]
    days = sessions(count + ADDED)[-ADDED:]
    edges = [*np.searchsorted(times, [day.opens for day in days]).tolist(), len(times)]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.mkdir()
        known = records.records[: edges[0]]
        write_bars(data, month_files(known, utc_date(int(times[0])), utc_date(int(known["ts_event"][-1]))), records, every)
        print(f"{edges[0]:,} records in {count} sessions, {len(list(data.iterdir()))} files; numpy {np.__version__}")
        build(data, Path(folder) / "store", "all of it, imports and compiling included")
        for day, (start, stop) in zip(days, pairwise(edges), strict=True):
            name = file_name(day.trade_date, day.trade_date, "ohlcv-1m")
            write_bars(data, [MonthFile(name, utc_date(day.opens), day.trade_date, start, stop)], records, every)
            added = build(data, Path(folder) / "store", f"one added day ({stop - start:,} records)")
        anew = build(data, Path(folder) / "again", "the same files in an empty store")
        assert added == anew, "the rebuilt feature set differs from the one built anew"
        print("\nrebuilt and built anew: equal on every file of the feature set")


if __name__ == "__main__":
    main()
