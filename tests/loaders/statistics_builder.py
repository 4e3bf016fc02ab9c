"""Small statistics files for tests, made with databento_dbn's layouts."""

from pathlib import Path
from typing import Any

import databento_dbn as dbn
import numpy as np

from tests.loaders.dbn_builder import mapping, metadata, ns, write

HEAD = [mapping("ESH4", ("2024-03-01", "2024-03-16", 101)), mapping("ESM4", ("2024-03-01", "2024-04-01", 102)),
        mapping("ESH4-ESM4", ("2024-03-01", "2024-03-16", 103))]
_RECORDS = {1: dbn.StatMsgV1, 2: dbn.StatMsgV1, 3: dbn.StatMsg}
OPEN_INTEREST = 9


def statistic(moment: str, number: int, quantity: int, version: int = 3, **changes: Any) -> bytes:
    record = np.zeros(1, dtype=np.dtype(_RECORDS[version]._dtypes))
    values = {"length": record.itemsize // 4, "rtype": 24, "publisher_id": 1, "instrument_id": number,
              "ts_event": ns(moment), "ts_recv": ns(moment), "ts_ref": 2**64 - 1, "price": dbn.UNDEF_PRICE,
              "quantity": quantity, "stat_type": OPEN_INTEREST, "update_action": 1, "stat_flags": 255}
    for name, value in (values | changes).items():
        record[name] = value
    return record.tobytes()


def write_statistics(path: Path, *records: bytes, version: int = 3) -> Path:
    return write(path, metadata(HEAD, schema=dbn.Schema.STATISTICS, version=version), b"".join(records))
