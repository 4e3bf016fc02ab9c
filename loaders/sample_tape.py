"""Records of the sample data set in file order: by time, instruments interleaved in no fixed order within a minute."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loaders.layouts import record_layout
from loaders.sample_calendar import MinuteGrid
from loaders.sample_instruments import Instrument
from loaders.sample_trading import Rows

Record = np.ndarray[Any, Any]
PRICES = ("open", "high", "low", "close")
PUBLISHER = 1


@dataclass(frozen=True)
class Tape:
    """OHLCV records in file order, with the instrument and the minute of the grid that each belongs to."""

    records: Record
    instrument: NDArray[np.int64]
    minute: NDArray[np.int64]


def interleaved_tape(
    rows: Rows, grid: MinuteGrid, instruments: tuple[Instrument, ...], rng: np.random.Generator
) -> Tape:
    """Encode the rows as DBN records, sorted by time and shuffled within each minute."""
    order = np.lexsort((rng.random(rows.minute.size), rows.minute))
    instrument, minute = rows.instrument[order], rows.minute[order]
    layout = record_layout("ohlcv-1m", 3)
    records = np.zeros(order.size, dtype=layout.dtype)
    records["length"] = layout.dtype.itemsize // 4
    records["rtype"] = layout.rtype
    records["publisher_id"] = PUBLISHER
    records["instrument_id"] = np.array([one.instrument_id for one in instruments])[instrument]
    records["ts_event"] = grid.ts[minute]
    for column, name in enumerate(PRICES):
        records[name] = rows.prices[order, column]
    records["volume"] = rows.volume[order]
    return Tape(records, instrument, minute)
