"""Node: open interest of outright contracts from statistics files, each value with the moment it became known.

The exchange publishes open interest a day late and in two steps (preliminary, final), Friday's on Sunday. A value that is
looked up by the date it is *about* is a look-ahead; here it counts from its arrival, ts_recv, on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import databento_dbn
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.definitions import read_definitions
from loaders.errors import DataError
from loaders.grammar import KINDS, OUTRIGHT
from loaders.instruments import instruments
from loaders.metadata import read_metadata
from loaders.records import DbnFile
from loaders.types import NS_PER_DAY, TIMESTAMP, RecordLayout, nanoseconds, table

STATISTICS = "statistics"
UNKNOWN = -1
OPEN_INTEREST_COLUMNS = {
    "ts_recv": TIMESTAMP, "reference": "int32", "expiry": "int32", "quantity": "int64", "final": "bool",
}
_RTYPE, _OPEN_INTEREST, _DELETE = 24, 9, 2
_FINAL, _NO_FLAGS = 1, 255
_LATEST = np.uint64(2**63 - 1)  # above it a time is undefined
_LAYOUTS = {
    1: np.dtype(databento_dbn.StatMsgV1._dtypes), 2: np.dtype(databento_dbn.StatMsgV1._dtypes),
    3: np.dtype(databento_dbn.StatMsg._dtypes),
}


@dataclass(frozen=True)
class OpenInterest:
    """``values``: OPEN_INTEREST_COLUMNS, sorted by arrival; ``reference`` is the day they are about, in days since
    1970, ``quantity`` contracts, UNKNOWN where a value was withdrawn. ``report``: counts by fate.
    """

    values: pd.DataFrame
    report: dict[str, Any]


def open_interest(statistics_files: Sequence[Path], definition_files: Sequence[Path], root: str) -> OpenInterest:
    """Open interest of the outrights of ``root`` in ``statistics_files``, whatever their order; empty without files.

    Raises DataError for a file of another schema, and as loaders.outrights for symbols that no rule knows;
    DamagedFileError for a damaged file.
    """
    definitions = read_definitions(definition_files)
    report = {"files": len(statistics_files), "records": 0, "open_interest": 0, "other_statistics": 0,
              "other_instruments": 0, "undefined": 0}
    parts: list[dict[str, NDArray[Any]]] = []
    for path in sorted(statistics_files):
        file = _open(Path(path))
        known = instruments(file.metadata, definitions, root, file.path)
        for records in file.chunks():
            about = records["stat_type"] == _OPEN_INTEREST
            defined = (records["ts_recv"] <= _LATEST) & (
                (records["quantity"] != np.iinfo(records["quantity"].dtype).max) | (records["update_action"] == _DELETE)
            ) & (records["quantity"] >= 0)  # fmt: skip
            chosen = records[about & defined]
            received = chosen["ts_recv"].astype(np.int64)
            rows = known.resolve(chosen["instrument_id"].astype(np.int64), received // NS_PER_DAY)
            outright = known.kinds[rows] == KINDS.index(OUTRIGHT)
            expiry = known.expiries(rows, received // NS_PER_DAY)
            parts.append(_columns(chosen[outright], expiry[outright]))
            report["records"] += len(records)
            report["other_statistics"] += int((~about).sum())
            report["undefined"] += int((about & ~defined).sum())
            report["other_instruments"] += int((~outright).sum())
            report["open_interest"] += int(outright.sum())
    return OpenInterest(_sorted(parts), report)


def known_open_interest(
    values: pd.DataFrame, moments: NDArray[np.int64], expiries: NDArray[np.int32]
) -> NDArray[np.int64]:
    """What was known before each of ``moments`` (ns UTC [M], rising) of each contract: int64 [M, C], else UNKNOWN.

    Of a contract's values that had arrived, those about the latest day count; of these the final one, else the last
    to arrive.
    """
    known = np.full((len(moments), len(expiries)), UNKNOWN, dtype=np.int64)
    arrival = nanoseconds(values["ts_recv"])
    for column, expiry in enumerate(expiries):
        rows = values[(values["expiry"] == expiry).to_numpy()]
        rank = list(zip(rows["reference"].tolist(), rows["final"].tolist(), strict=True))
        best = np.empty(len(rows), dtype=np.int64)
        for at in range(len(rows)):
            best[at] = at if at == 0 or rank[at] >= rank[best[at - 1]] else best[at - 1]
        arrived = np.searchsorted(arrival[(values["expiry"] == expiry).to_numpy()], moments, side="left") - 1
        quantity = rows["quantity"].to_numpy()
        seen = arrived >= 0
        known[seen, column] = quantity[best[arrived[seen]]]
    return known


def _open(path: Path) -> DbnFile:
    metadata = read_metadata(path)
    if metadata.schema != STATISTICS:
        raise DataError(f"{path}: has schema {metadata.schema} where statistics were expected; "
                        "give files of schema statistics")
    return DbnFile(path, metadata, RecordLayout(_LAYOUTS[metadata.version], _RTYPE))


def _columns(records: NDArray[Any], expiry: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    received = records["ts_recv"].astype(np.int64)
    stated = records["ts_ref"] <= _LATEST
    withdrawn = records["update_action"] == _DELETE
    flags = records["stat_flags"]
    return {
        "ts_recv": received,
        "reference": np.where(stated, np.where(stated, records["ts_ref"], 0).astype(np.int64), received) // NS_PER_DAY,
        "expiry": expiry,
        "quantity": np.where(withdrawn, UNKNOWN, records["quantity"].astype(np.int64)),
        "final": withdrawn | ((flags != _NO_FLAGS) & ((flags & _FINAL) != 0)),
    }


def _sorted(parts: list[dict[str, NDArray[Any]]]) -> pd.DataFrame:
    empty = {name: np.empty(0, dtype=np.int64) for name in OPEN_INTEREST_COLUMNS}
    joined = {name: np.concatenate([empty[name], *(part[name] for part in parts)]) for name in empty}
    order = np.lexsort((joined["quantity"], joined["final"], joined["reference"], joined["expiry"], joined["ts_recv"]))
    return table(OPEN_INTEREST_COLUMNS, {name: column[order] for name, column in joined.items()})


NO_OPEN_INTEREST = OpenInterest(_sorted([]), {})
