"""Events for order flow are the rows of read_book and read_trades, contract by contract, whatever the size of a piece."""

from pathlib import Path

import databento_dbn as dbn
import numpy as np
import pandas as pd
import pytest

import loaders.flow_events
from loaders.dbn import read_book, read_trades
from loaders.errors import DataError
from loaders.flow_events import EventScan
from loaders.types import nanoseconds
from tests.loaders.dbn_builder import bars, mapping, metadata, write
from tests.loaders.tick_builder import MARCH, random_ticks, tick_head

SIDES = ("bid_px", "bid_sz", "ask_px", "ask_sz")


def gathered(path: Path, root: str = "ES") -> dict[str, dict[str, np.ndarray]]:
    """All events by contract: times, levels [n, 40], and of the trades times, sizes and sides."""
    found: dict[str, list[dict[str, np.ndarray]]] = {}
    for one in EventScan(path, (), root):
        levels = np.hstack([one.book[side] for side in SIDES]) if one.book else np.zeros((len(one.ts_recv), 0))
        traded = {"traded": one.ts_recv[one.traded], "size": one.size, "side": one.side}
        found.setdefault(f"{one.contract} {one.expiry}", []).append({"ts": one.ts_recv, "levels": levels, **traded})
    return {name: {key: np.concatenate([part[key] for part in parts]) for key in parts[0]} for name, parts in found.items()}


@pytest.mark.parametrize(("schema", "piece"), [("mbp-10", 7), ("mbp-10", 1 << 15), ("trades", 100), ("tbbo", 1 << 15)])
def test_events_are_the_rows_of_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: str, piece: int
) -> None:
    monkeypatch.setattr(loaders.flow_events, "PIECE_RECORDS", piece)
    path = write(tmp_path / "f.dbn.zst", tick_head(schema), random_ticks(schema, 900, 5).tobytes())
    found = gathered(path)
    rows = (read_book if schema == "mbp-10" else read_trades)(path)[0]
    real = ((rows["action"] == "T") & rows["price"].notna()) if schema == "mbp-10" else pd.Series(True, index=rows.index)
    assert list(found) and set(found) == set(rows["contract"] + " " + rows["expiry"].astype(str))
    for (contract, expiry), mine in rows.groupby(["contract", "expiry"]):
        events, trades = found[f"{contract} {expiry}"], mine[real[mine.index]]
        np.testing.assert_array_equal(events["ts"], nanoseconds(mine["ts_recv"]))
        np.testing.assert_array_equal(events["traded"], nanoseconds(trades["ts_recv"]))
        np.testing.assert_array_equal(events["size"], trades["size"])
        np.testing.assert_array_equal(events["side"], trades["side"])
        if schema == "mbp-10":
            names = [f"{side}_{level:02}" for side in SIDES for level in range(10)]
            np.testing.assert_array_equal(events["levels"], mine[names].to_numpy(np.float64))


def test_one_contract_under_two_ids_keeps_the_order_of_the_file(tmp_path: Path) -> None:
    rows = random_ticks("trades", 60, 2)
    rows["instrument_id"] = np.arange(60) % 2 + 1
    rows["flags"], rows["price"] = 0, 5000 * 10**9
    head = metadata([mapping("ESH4", (*MARCH, 1), (*MARCH, 2))], schema=dbn.Schema.TRADES)
    found = gathered(write(tmp_path / "f.dbn", head, rows.tobytes()))
    assert list(found) == ["ESH4 202403"]
    assert found["ESH4 202403"]["size"].tolist() == rows["size"].tolist()


def test_what_holds_no_trades_and_what_holds_none_of_the_root_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "bars.dbn", metadata([mapping("ESH4", (*MARCH, 1))]), bars([("2024-03-05 10:00", 1, 5000.0, 1)]))
    with pytest.raises(DataError, match=r"bars\.dbn: has schema ohlcv-1m, which holds no trades; give a file of trades, tbbo"):
        EventScan(path, (), "ES")
    path = write(tmp_path / "f.dbn", tick_head("mbp-10"), random_ticks("mbp-10", 9, 1).tobytes())
    with pytest.raises(DataError, match=r"f\.dbn: none of its 9 records is an outright of root 'CL'"):
        list(EventScan(path, (), "CL"))
