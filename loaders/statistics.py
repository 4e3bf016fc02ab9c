"""The exchange's statistics of outrights (settlement, open interest, volume …) at the time each became known."""

from collections.abc import Iterator
from typing import Any

import databento_dbn
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.filtering import KEPT, Tally, judge
from loaders.instruments import Instruments
from loaders.records import DbnFile
from loaders.ticks import prices, times
from loaders.types import TIMESTAMP, strings, table

STATISTIC_COLUMNS = {
    "ts_recv": TIMESTAMP, "ts_event": TIMESTAMP, "ts_ref": TIMESTAMP, "publisher_id": "int32",
    "instrument_id": "int64", "contract": "str", "expiry": "int32", "statistic": "str", "price": "float64",
    "quantity": "float64", "update_action": "int8", "stat_flags": "int16", "sequence": "int64", "source_row": "int64",
}
_TYPES = {int(one.value): one.name.lower() for one in databento_dbn.StatType.variants()}


def statistic_tables(file: DbnFile, known: Instruments, tally: Tally, source: int = 0) -> Iterator[pd.DataFrame]:
    """Tables STATISTIC_COLUMNS of the outrights of ``known``, one a chunk, in file order.

    ``ts_recv`` is when a value became known, ``ts_ref`` (NaT where not given) the time it is about. ``statistic`` is
    databento's StatType in lower case, as in ``open_interest``. Price and quantity are NaN where not given; a quantity
    is exact up to 2^53. A value may be corrected by a later row, or deleted by one of ``update_action`` 2.
    """
    for records in file.chunks():
        judged = judge(records, known, file.layout.clock, file.metadata.span)
        tally.count(judged)
        keep = np.flatnonzero(judged.kinds == KEPT)
        kept, rows = records[keep], judged.rows[keep]
        yield table(STATISTIC_COLUMNS, {
            **{name: kept[name] for name in ("publisher_id", "instrument_id", "update_action", "stat_flags",
                                             "sequence")},
            **{name: times(kept[name]) for name in ("ts_recv", "ts_event", "ts_ref")},
            "contract": strings(known.names, rows),
            "expiry": judged.expiries[keep],
            "statistic": _names(kept["stat_type"]),
            "price": prices(kept["price"]),
            "quantity": _quantities(kept["quantity"]),
            "source_row": source + keep,
        })
        source += len(records)


def _names(types: NDArray[Any]) -> pd.Series:
    seen, codes = np.unique(types, return_inverse=True)
    return strings([_TYPES.get(int(number), f"type_{number}") for number in seen], codes)


def _quantities(quantity: NDArray[Any]) -> NDArray[np.float64]:
    """Quantities as float64; the largest integer of the field (32 bits in DBN 1 and 2) means "not given"."""
    values = quantity.astype(np.float64)
    values[quantity == np.iinfo(quantity.dtype).max] = np.nan
    return values
