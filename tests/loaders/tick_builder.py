"""Trades, quotes, books and statistics for tests, as arrays of databento_dbn's record layouts."""

import warnings
from pathlib import Path
from typing import Any

import databento
import databento_dbn as dbn
import numpy as np
import pandas as pd

from tests.loaders.dbn_builder import POINT, mapping, metadata, ns

UNDEF_PRICE = 2**63 - 1
SYMBOLS = ("ESH4", "ESM4", "ESH4-ESM4", "ESH4 C5000")
_MESSAGES = {"trades": (dbn.TradeMsg, 0), "mbp-1": (dbn.MBP1Msg, 1), "tbbo": (dbn.MBP1Msg, 1),
             "mbp-10": (dbn.MBP10Msg, 10)}
MARCH = ("2024-03-01", "2024-04-01")


def ticks(schema: str, count: int, start: str = "2024-03-04 15:00", step: int = 1_000_000) -> np.ndarray[Any, Any]:
    """``count`` trades of instrument 1 at 5000, one contract each, ``step`` ns apart; all other fields zero."""
    message, rtype = _MESSAGES[schema]
    rows = np.zeros(count, dtype=np.dtype(message._dtypes))
    rows["length"], rows["rtype"], rows["publisher_id"], rows["instrument_id"] = rows.itemsize // 4, rtype, 1, 1
    rows["ts_recv"] = ns(start) + np.arange(count) * step
    rows["ts_event"] = rows["ts_recv"] - 200_000
    rows["price"], rows["size"], rows["action"], rows["side"] = 5000 * POINT, 1, b"T", b"A"
    rows["sequence"] = np.arange(count)
    return rows


def random_ticks(schema: str, count: int, seed: int) -> np.ndarray[Any, Any]:
    """Ticks of ids 1 to 5 (the last one is not mapped) with equal times, snapshots, and undefined prices."""
    rng = np.random.default_rng(seed)
    rows = ticks(schema, count)
    rows["ts_recv"] = ns("2024-03-04 15:00") + np.sort(rng.integers(0, count // 2, count)) * 7_000_000
    rows["ts_event"] = rows["ts_recv"] - rng.integers(-1000, 10**6, count).astype(np.uint64)
    rows["instrument_id"] = rng.integers(1, 6, count)
    rows["price"] = rng.integers(-20_000, 20_000, count) * (POINT // 4)
    rows["size"] = rng.integers(0, 50, count)
    rows["action"] = rng.choice([b"T"] if schema == "trades" else [b"T", b"A", b"C", b"M", b"R"], count)
    rows["side"] = rng.choice([b"A", b"B", b"N"], count)
    rows["flags"] = rng.choice([0, 128, 130, 168, 40, 8, 4], count)
    for name in rows.dtype.names or ():
        if name[3:5] == "px":
            rows[name] = np.where(rng.random(count) < 0.1, UNDEF_PRICE, rng.integers(-9, 9, count) * POINT)
        elif name[4:6] in ("sz", "ct") or name[3:5] in ("sz", "ct"):
            rows[name] = rng.integers(0, 2**32, count)
    rows["price"][rng.random(count) < 0.05] = UNDEF_PRICE
    return rows


def tick_head(schema: str, symbols: tuple[str, ...] = SYMBOLS, **changes: Any) -> bytes:
    schemas = {str(one): one for one in dbn.Schema.variants()}
    return metadata([mapping(s, (*MARCH, i + 1)) for i, s in enumerate(symbols)], schema=schemas[schema], **changes)


def client_frame(path: Path) -> pd.DataFrame:
    """The file as Databento's client decodes and maps it; its use of pandas warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return databento.DBNStore.from_bytes(path.read_bytes()).to_df().reset_index()
