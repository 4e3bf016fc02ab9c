"""What definitions say of a contract: tick, money a point, currency, exchange and last trading day, by date."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.definitions import contract_month
from loaders.records import open_dbn
from loaders.types import NS_PER_DAY, PRICE_SCALE, UNDEF_PRICE

_PRICES = ("min_price_increment", "min_price_increment_amount", "display_factor", "unit_of_measure_qty")
_TEXTS = ("raw_symbol", "currency", "exchange")
_COPIED = ("ts_recv", "expiration", "main_fraction", *_PRICES, *_TEXTS)
_FUTURE = b"F"
_NO_FRACTION = (0, 255)


def contract_facts(definition_files: Sequence[Path], root: str) -> pd.DataFrame:
    """Facts of the outright futures with the asset ``root``: a row a contract and change, with the first day that says so.

    Columns: contract, day (days since 1970), file, expiry (yyyymm, 0: not given), tick (float64 points), multiplier (float64
    money a point), currency, exchange (str), last (days since 1970 of the expiration), until (the last day that says so).
    NaN, '' and -1 stand for what is not given.

    Money a point is ``unit_of_measure_qty``; a hundredth of it where prices are a percentage of par or cents, which is where
    they are quoted in fractions (``main_fraction``) or where ``min_price_increment_amount`` says so.

    Raises DataError and DamagedFileError as ``open_dbn``.
    """
    tables = [_facts(chunk, path.name) for path in map(Path, definition_files) for chunk in _outrights(path, root)]
    if not tables:
        return _facts(np.zeros(0, dtype=_EMPTY), "")
    joined = pd.concat(tables, ignore_index=True).sort_values("day", kind="stable")
    said = [name for name in joined.columns if name not in ("day", "file", "until")]
    groups = joined.groupby(said, sort=False, dropna=False)
    changes = groups.agg({"day": "first", "file": "first", "until": "max"}).reset_index()
    return changes.sort_values(["day", "contract"], ignore_index=True)


_EMPTY = np.dtype([
    ("ts_recv", "u8"), ("expiration", "u8"), ("main_fraction", "u1"), *((name, "i8") for name in _PRICES),
    *((name, "S1") for name in _TEXTS), ("maturity_year", "u2"), ("maturity_month", "u1"),
])  # fmt: skip


def _outrights(path: Path, root: str) -> list[NDArray[Any]]:
    found = []
    for records in open_dbn(path).chunks():
        mine = records[(records["instrument_class"] == _FUTURE) & (records["asset"] == root.encode())]
        if len(mine):
            found.append(mine)
    return found


def _facts(records: NDArray[Any], file: str) -> pd.DataFrame:
    tick, amount, factor, quantity = (_given(records[name]) for name in _PRICES)
    fractions = ~np.isin(records["main_fraction"], _NO_FRACTION)
    with np.errstate(invalid="ignore", divide="ignore"):
        hundredth = fractions | np.isclose(amount / factor / tick, quantity / 100, rtol=1e-6, atol=0.0)
    expiration = records["expiration"].astype(np.uint64)
    known = (expiration > 0) & (expiration < np.uint64(1 << 63))
    day = (records["ts_recv"].astype(np.uint64) // np.uint64(NS_PER_DAY)).astype(np.int64)
    return pd.DataFrame({
        **{name: [text.decode("latin-1") for text in records[field].tolist()]
           for name, field in (("contract", "raw_symbol"), ("currency", "currency"), ("exchange", "exchange"))},
        "day": day, "until": day, "file": file, "expiry": contract_month(records), "tick": tick,
        "multiplier": np.where(hundredth, quantity / 100, quantity),
        "last": np.where(known, (expiration // np.uint64(NS_PER_DAY)).astype(np.int64), -1),
    })  # fmt: skip


def _given(values: NDArray[Any]) -> NDArray[np.float64]:
    """Fixed-point values as float64, NaN where they are undefined or nothing."""
    stated = (values > 0) & (values != UNDEF_PRICE)
    return np.where(stated, values / PRICE_SCALE, np.nan)
