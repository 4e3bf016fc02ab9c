"""Order flow of a file of ten-level books: records a second, beside reading the same file with `to_df`.

Usage: python benchmarks/bench_order_flow.py [records]
"""

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import databento
import databento_dbn as dbn
import numpy as np

from pipelines.steps.order_flow import file_flow

POINT, QUARTER = 1_000_000_000, 250_000_000
START = 1_709_632_800_000_000_000  # 2024-03-05 10:00 UTC


class Interval:
    """The month in which an id is that of a symbol."""

    def __init__(self, number: int) -> None:
        """Make the interval of id `number`."""
        from datetime import date

        self.start_date, self.end_date, self.symbol = date(2024, 3, 1), date(2024, 4, 1), str(number)


class Mapping:
    """A symbol with its id."""

    def __init__(self, symbol: str, number: int) -> None:
        """Map `symbol` to id `number`."""
        self.raw_symbol, self.intervals = symbol, [Interval(number)]


def write_books(path: Path, count: int) -> None:
    """Six hours of books of two outrights and a spread, one event in twenty a trade."""
    draw = np.random.default_rng(1)
    rows = np.zeros(count, np.dtype(dbn.MBP10Msg._dtypes))
    rows["length"], rows["rtype"], rows["publisher_id"] = rows.itemsize // 4, 10, 1
    rows["ts_recv"] = START + np.sort(draw.integers(0, 6 * 3600 * 10**9, count))
    rows["ts_event"], rows["price"], rows["size"] = rows["ts_recv"] - 1000, 5000 * POINT, 3
    rows["instrument_id"] = draw.choice([1, 2, 3], count, p=[0.8, 0.1, 0.1])
    rows["action"] = draw.choice([b"A", b"C", b"M", b"T"], count, p=[0.45, 0.45, 0.05, 0.05])
    rows["side"] = draw.choice([b"A", b"B", b"N"], count)
    best = 20_000 + np.cumsum(draw.integers(-1, 2, count) * (draw.random(count) < 0.02))
    for level in range(10):
        rows[f"bid_px_{level:02}"], rows[f"ask_px_{level:02}"] = (best - level) * QUARTER, (best + 1 + level) * QUARTER
        for side in ("bid", "ask"):
            rows[f"{side}_sz_{level:02}"] = draw.integers(1, 200, count)
    mappings = [Mapping(name, at + 1) for at, name in enumerate(("ESH4", "ESM4", "ESH4-ESM4"))]
    head = dbn.Metadata(dataset="GLBX.MDP3", start=START, end=START + 86_400 * 10**9, stype_in=dbn.SType.PARENT,
                        stype_out=dbn.SType.INSTRUMENT_ID, schema=dbn.Schema.MBP_10, symbols=["ES.FUT"], mappings=mappings,
                        limit=None, partial=[], not_found=[], ts_out=False, version=3).encode()
    path.write_bytes(head + rows.tobytes())


def cpu_seconds(work: Callable[[], object], rounds: int = 3) -> float:
    """CPU seconds of the best of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        begun = time.process_time()
        work()
        best = min(best, time.process_time() - begun)
    return best


def main() -> None:
    """Print a line a way."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the client's use of pandas warns
        path = Path(folder) / "book.dbn"
        write_books(path, count)
        ours = cpu_seconds(lambda: file_flow(path, (), "ES", 60))
        theirs = cpu_seconds(lambda: databento.DBNStore.from_file(path).to_df(), 1)
    print(f"{count:,} records of mbp-10, {count * 368 / 1e6:,.0f} MB")
    print(f"file_flow, to bars of 60 s  {ours:6.2f} s  {count / ours / 1e6:5.2f} M records/s")
    print(f"to_df, reading alone        {theirs:6.2f} s  {count / theirs / 1e6:5.2f} M records/s")


if __name__ == "__main__":
    main()
