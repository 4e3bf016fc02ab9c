"""Small DBN files for tests, made with databento_dbn as reference/dbn.md describes; independent of loaders.sample."""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import databento_dbn as dbn
import numpy as np
import pandas as pd
import zstandard

from loaders.outrights import OutrightBars, outright_bars

POINT = 1_000_000_000
MINUTE = 60_000_000_000
OHLCV = np.dtype(dbn.OHLCVMsg._dtypes)
BAR_BYTES = OHLCV.itemsize
START, END = "2000-01-01", "2100-01-01"


@dataclass(frozen=True)
class Interval:
    start_date: datetime.date
    end_date: datetime.date
    symbol: str


@dataclass(frozen=True)
class Mapping:
    raw_symbol: str
    intervals: list[Interval]


def ns(moment: str) -> int:
    return int(pd.Timestamp(moment, tz="UTC").as_unit("ns").value)


def mapping(symbol: str, *intervals: tuple[str, str, int | str]) -> Mapping:
    """``intervals``: (first date, end date exclusive, instrument id)."""
    date = datetime.date.fromisoformat
    return Mapping(symbol, [Interval(date(start), date(end), str(number)) for start, end, number in intervals])


def metadata(mappings: Iterable[Mapping] = (), **changes: Any) -> bytes:
    values = {
        "dataset": "GLBX.MDP3", "start": ns(START), "end": ns(END), "stype_in": dbn.SType.PARENT,
        "stype_out": dbn.SType.INSTRUMENT_ID, "schema": dbn.Schema.OHLCV_1M, "symbols": ["ES.FUT"],
        "mappings": list(mappings), "limit": None, "partial": [], "not_found": [], "ts_out": False, "version": 3,
    }
    encoded = dbn.Metadata(**(values | changes)).encode()
    assert isinstance(encoded, bytes)
    return encoded


def bar(moment: str | int, number: int, level: float, volume: int = 10, **changes: int) -> np.ndarray[Any, Any]:
    """One ohlcv-1m record of instrument ``number``; all four prices are ``level`` unless ``changes`` says otherwise."""
    record = np.zeros(1, dtype=OHLCV)
    price = round(level * POINT)
    values = {"length": BAR_BYTES // 4, "rtype": 33, "publisher_id": 1, "instrument_id": number,
              "ts_event": ns(moment) if isinstance(moment, str) else moment,
              "open": price, "high": price, "low": price, "close": price, "volume": volume}
    for name, value in (values | changes).items():
        record[name] = value
    return record


def bars(rows: Iterable[tuple[Any, ...]]) -> bytes:
    """Bytes of one ``bar`` a row."""
    return b"".join(bar(*row).tobytes() for row in rows)


def trade(moment: str, number: int) -> bytes:
    return bytes(dbn.TradeMsg(publisher_id=1, instrument_id=number, ts_event=ns(moment), price=POINT, size=1,
                              action=dbn.Action.TRADE, side=dbn.Side.ASK, depth=0, ts_recv=ns(moment)))


def frame(content: bytes) -> bytes:
    """One zstd frame with content size and checksum, as Databento's history has them."""
    return bytes(zstandard.ZstdCompressor(write_checksum=True).compress(content))


def write(path: Path, head: bytes, *parts: bytes) -> Path:
    """Write a .dbn file raw, or a .dbn.zst file with one frame for the metadata and one for each part."""
    pieces = (head, *parts)
    path.write_bytes(b"".join(map(frame, pieces)) if path.name.endswith(".zst") else b"".join(pieces))
    return path


_DEFINITION_DTYPES = {1: dbn.InstrumentDefMsgV1, 2: dbn.InstrumentDefMsgV2, 3: dbn.InstrumentDefMsg}


def definition(moment: str, number: int, symbol: str, asset: str, kind: str, version: int = 3, **changes: Any) -> bytes:
    """One definition record, received at ``moment``, of instrument class ``kind``; other fields undefined."""
    record = np.zeros(1, dtype=np.dtype(_DEFINITION_DTYPES[version]._dtypes))
    values = {"length": record.itemsize // 4, "rtype": 19, "publisher_id": 1, "instrument_id": number,
              "ts_event": ns(moment), "ts_recv": ns(moment), "raw_symbol": symbol, "asset": asset,
              "instrument_class": kind, "maturity_year": 65_535, "maturity_month": 255, "expiration": 2**64 - 1}
    for name, value in (values | changes).items():
        record[name] = value.encode() if isinstance(value, str) else value
    return record.tobytes()


def write_definitions(path: Path, *records: bytes, version: int = 3) -> Path:
    return write(path, metadata(schema=dbn.Schema.DEFINITION, version=version), b"".join(records))


def load(path: Path, root: str = "ES", definitions: Sequence[Path] = (), ordinal: int = 0) -> OutrightBars:
    return outright_bars(path, definitions, root, ordinal)
