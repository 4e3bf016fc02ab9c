"""Node: open interest of outright contracts from statistics files, each value with the moment it became known.

The exchange publishes open interest a day late and in two steps (preliminary, final), Friday's on Sunday. A value that is
looked up by the date it is *about* is a look-ahead; here it counts from its arrival, ts_recv, on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.definitions import read_definitions
from loaders.errors import DataError
from loaders.filtering import Tally
from loaders.instruments import instruments
from loaders.layouts import STATISTICS
from loaders.records import open_dbn
from loaders.statistics import statistic_tables
from loaders.types import NS_PER_DAY, TIMESTAMP, nanoseconds, table

UNKNOWN = -1
OPEN_INTEREST_COLUMNS = {
    "ts_recv": TIMESTAMP, "reference": "int32", "expiry": "int32", "quantity": "int64", "final": "bool",
}
_OPEN_INTEREST, _DELETE = "open_interest", 2
_FINAL, _NO_FLAGS = 1, 255


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
    report = dict.fromkeys(("files", "records", "open_interest", "other_statistics", "other_instruments", "undefined"), 0)
    parts = []
    for path in sorted(statistics_files):
        file = open_dbn(Path(path))
        if file.metadata.schema != STATISTICS:
            raise DataError(f"{path}: has schema {file.metadata.schema} where statistics were expected; "
                            "give files of schema statistics")
        known = instruments(file.metadata, definitions, root, file.path)
        tally = Tally(known)
        for rows in statistic_tables(file, known, tally):
            about = rows["statistic"] == _OPEN_INTEREST
            defined = (rows["quantity"] >= 0) | (rows["update_action"] == _DELETE)
            parts.append(_columns(rows[about & defined]))
            report["open_interest"] += int((about & defined).sum())
            report["other_statistics"] += int((~about).sum())
            report["undefined"] += int((about & ~defined).sum())
        counted = tally.report()
        report["files"] += 1
        report["records"] += counted.records
        report["other_instruments"] += sum(counted.dropped.values())
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


def _columns(rows: pd.DataFrame) -> dict[str, NDArray[Any]]:
    received, withdrawn = nanoseconds(rows["ts_recv"]), (rows["update_action"] == _DELETE).to_numpy()
    stated, flags = rows["ts_ref"].notna().to_numpy(), rows["stat_flags"].to_numpy()
    return {
        "ts_recv": received,
        "reference": np.where(stated, nanoseconds(rows["ts_ref"]), received) // NS_PER_DAY,
        "expiry": rows["expiry"].to_numpy(),
        "quantity": np.where(withdrawn, UNKNOWN, rows["quantity"].fillna(UNKNOWN)).astype(np.int64),
        "final": withdrawn | ((flags != _NO_FLAGS) & ((flags & _FINAL) != 0)),
    }


def _sorted(parts: list[dict[str, NDArray[Any]]]) -> pd.DataFrame:
    empty = {name: np.empty(0, dtype=np.int64) for name in OPEN_INTEREST_COLUMNS}
    joined = {name: np.concatenate([empty[name], *(part[name] for part in parts)]) for name in empty}
    order = np.lexsort((joined["quantity"], joined["final"], joined["reference"], joined["expiry"], joined["ts_recv"]))
    return table(OPEN_INTEREST_COLUMNS, {name: column[order] for name, column in joined.items()})


NO_OPEN_INTEREST = OpenInterest(_sorted([]), {})
