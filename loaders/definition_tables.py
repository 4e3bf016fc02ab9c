"""Definitions as a table for people: what each instrument is, when it trades, and how its prices are quoted."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.definitions import contract_month
from loaders.errors import DataError
from loaders.files import list_any_files
from loaders.layouts import DEFINITIONS
from loaders.records import DbnFile, open_dbn
from loaders.ticks import prices, times
from loaders.types import TIMESTAMP, table

_TIMES = ("ts_recv", "ts_event", "activation", "expiration")
_PRICES = ("min_price_increment", "min_price_increment_amount", "unit_of_measure_qty", "high_limit_price",
           "low_limit_price")
_TEXTS = ("asset", "exchange", "currency", "instrument_class", "security_type", "cfi", "security_update_action")
DEFINITION_COLUMNS = {
    **dict.fromkeys(_TIMES, TIMESTAMP), "instrument_id": "int64", "contract": "str", "expiry": "int32",
    **dict.fromkeys(_TEXTS, "str"), **dict.fromkeys(_PRICES, "float64"),
}


def read_definition_table(path: Path | str | Sequence[Path | str], root: str | None) -> pd.DataFrame:
    """Table DEFINITION_COLUMNS of the definition files at ``path``, in the order of their data; all updates are kept.

    ``expiry`` is yyyymm, 0 where not given; with ``root`` only instruments of that asset.
    """
    places = [Path(path)] if isinstance(path, Path | str) else [Path(one) for one in path]
    listed = [file for place in places for file in list_any_files(place) if file.kind == DEFINITIONS]
    if not listed:
        raise DataError(f"{', '.join(map(str, places))}: holds no DBN file of schema definition; check the path")
    tables = [piece for file in listed for piece in _tables(open_dbn(file.path), root)]
    empty = table(DEFINITION_COLUMNS, {name: np.empty(0, np.int64) for name in DEFINITION_COLUMNS})
    return pd.concat(tables, ignore_index=True) if tables else empty


def _tables(file: DbnFile, root: str | None) -> list[pd.DataFrame]:
    pieces = []
    for records in file.chunks():
        kept = records if root is None else records[records["asset"] == root.encode()]
        if len(kept):
            pieces.append(_table(kept))
    return pieces


def _table(records: NDArray[Any]) -> pd.DataFrame:
    return table(DEFINITION_COLUMNS, {
        **{name: times(records[name]) for name in _TIMES},
        **{name: prices(records[name]) for name in _PRICES},
        **{name: _texts(records[name]) for name in _TEXTS},
        "instrument_id": records["instrument_id"],
        "contract": _texts(records["raw_symbol"]),
        "expiry": contract_month(records),
    })


def _texts(values: NDArray[Any]) -> Any:
    return pd.array([value.decode("latin-1") for value in values.tolist()], dtype="str")
