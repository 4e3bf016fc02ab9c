"""Bars made from trades: by pandas, by hand, and independent of how the trades are cut and ordered."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from loaders.bar_making import TimeBars, VolumeBars
from loaders.dbn import bars_from_trades, read_trades
from loaders.errors import DataError
from loaders.trade_bars import trade_bars
from loaders.types import OUTRIGHT_COLUMNS
from tests.loaders.dbn_builder import POINT, definition, ns, write, write_definitions
from tests.loaders.tick_builder import random_ticks, tick_head, ticks

VALUES = ["ts_event", "contract", "expiry", "open", "high", "low", "close", "volume"]


def trades_of(path: Path, seed: int = 1, count: int = 3000) -> np.ndarray[Any, Any]:
    rows = random_ticks("trades", count, seed)
    write(path, tick_head("trades"), rows.tobytes())
    return rows


@pytest.mark.parametrize(("interval", "frequency"), [("1s", "1s"), ("1m", "1min"), ("7s", "7s"), ("1h", "1h")])
def test_time_bars_equal_those_of_pandas(tmp_path: Path, interval: str, frequency: str) -> None:
    path = tmp_path / "t.dbn.zst"
    trades_of(path)
    bars, report = bars_from_trades(path, rule=TimeBars(interval))
    trades, _ = read_trades(path)
    trades["bucket"] = trades["ts_recv"].dt.floor(frequency)
    groups = trades.groupby(["bucket", "expiry"])
    expected = groups.agg(open=("price", "first"), high=("price", "max"), low=("price", "min"),
                          close=("price", "last"), volume=("size", "sum"), first=("source_row", "first")).reset_index()
    assert {name: str(dtype) for name, dtype in bars.dtypes.items()} == OUTRIGHT_COLUMNS
    assert (bars["ts_event"] == expected["bucket"]).all() and (bars["expiry"] == expected["expiry"]).all()
    for name in ("open", "high", "low", "close"):
        np.testing.assert_array_equal(bars[name] / POINT, expected[name])
    np.testing.assert_array_equal(bars["volume"], expected["volume"])
    np.testing.assert_array_equal(bars["source_row"], expected["first"])
    assert report.records == 3000 == report.outright + sum(report.dropped.values())
    assert (report.outright, report.dropped["merged_into_bars"]) == (len(bars), len(trades) - len(bars))


def test_a_bar_is_stamped_at_its_start_and_no_trade_is_no_bar(tmp_path: Path) -> None:
    rows = ticks("trades", 4)
    rows["ts_recv"] = [ns(f"2024-03-04 {t}") for t in ("15:00:00", "15:00:59.999999999", "15:03", "15:03:01")]
    rows["price"] = np.array([5000, 5001, 4990, 4995]) * POINT
    rows["size"] = [1, 2, 3, 4]
    bars, _ = bars_from_trades(write(tmp_path / "t.dbn", tick_head("trades"), rows.tobytes()))
    assert bars["ts_event"].dt.strftime("%H:%M:%S.%f").tolist() == ["15:00:00.000000", "15:03:00.000000"]
    assert (bars[["open", "high", "low", "close"]] // POINT).to_numpy().tolist() == [
        [5000, 5001, 5000, 5001], [4990, 4995, 4990, 4995]]
    assert bars["volume"].tolist() == [3, 7]


def test_sequence_orders_trades_of_one_moment_and_late_trades_join_their_bar(tmp_path: Path) -> None:
    rows = ticks("trades", 5)
    rows["ts_recv"] = ns("2024-03-04 15:00") + np.array([0, 0, 0, 60, 1]) * 10**9
    rows["sequence"] = [7, 5, 6, 8, 9]
    rows["price"] = np.array([3, 1, 2, 9, 4]) * POINT
    bars, _ = bars_from_trades(write(tmp_path / "t.dbn", tick_head("trades"), rows.tobytes()))
    assert (bars[["open", "close"]] // POINT).to_numpy().tolist() == [[1, 4], [9, 9]]


@pytest.mark.parametrize("rule", [TimeBars("1s"), TimeBars("1m"), VolumeBars(300)])
def test_bars_do_not_depend_on_files_or_on_the_order_inside_a_moment(
    tmp_path: Path, rule: TimeBars | VolumeBars
) -> None:
    rows = trades_of(tmp_path / "whole.dbn.zst", 4, 30_000)
    whole, _ = bars_from_trades(tmp_path / "whole.dbn.zst", rule=rule)
    parts = tmp_path / "parts"
    parts.mkdir()
    for i, piece in enumerate(np.split(rows, [1, 700, 701, 20_000])):
        write(parts / f"{i}.dbn", tick_head("trades"), piece.tobytes())
    split, report = bars_from_trades(parts, rule=rule)
    pd.testing.assert_frame_equal(split[VALUES], whole[VALUES])
    assert report.records == 30_000 == report.outright + sum(report.dropped.values())
    noise = np.random.default_rng(8).random(len(rows))
    shuffled = rows[np.lexsort((noise, rows["ts_recv"]))]
    write(tmp_path / "shuffled.dbn", tick_head("trades"), shuffled.tobytes())
    other, _ = bars_from_trades(tmp_path / "shuffled.dbn", rule=rule)
    pd.testing.assert_frame_equal(other[VALUES], whole[VALUES])


def test_volume_bars_by_hand(tmp_path: Path) -> None:
    rows = ticks("trades", 8)
    seconds = np.array([0, 1, 2, 2, 3, 4, 5, 6])
    rows["ts_recv"] = ns("2024-03-04 15:00") + seconds * 10**9
    rows["size"] = [4, 3, 5, 9, 10, 2, 3, 4]
    rows["price"] = np.arange(1, 9) * POINT
    path = write(tmp_path / "t.dbn", tick_head("trades"), rows.tobytes())
    bars, report = bars_from_trades(path, rule=VolumeBars(10))
    # 4+3+5 reaches ten in second 2, whose other trade goes with it; the trade of ten is a bar; 2+3 do not reach ten
    # without the last 4, which still leaves nine: unfinished.
    assert bars["volume"].tolist() == [21, 10]
    assert (bars[["open", "high", "low", "close"]] // POINT).to_numpy().tolist() == [[1, 4, 1, 4], [5, 5, 5, 5]]
    assert bars["ts_event"].dt.second.tolist() == [0, 3]
    assert report.dropped == {"merged_into_bars": 3, "unfinished_bar": 3}
    assert report.records == 8 == report.outright + sum(report.dropped.values())


def test_volume_bars_hold_whole_moments_and_at_least_their_volume(tmp_path: Path) -> None:
    path = tmp_path / "t.dbn.zst"
    trades_of(path, 6, 20_000)
    bars, _ = bars_from_trades(path, rule=VolumeBars(500))
    assert (bars["volume"] >= 500).all() and len(bars) > 100
    assert not bars.duplicated(["expiry", "ts_event"]).any()
    trades, _ = read_trades(path)
    for expiry, group in trades.groupby("expiry"):
        mine = bars[bars["expiry"] == expiry]
        until = group["source_row"].searchsorted(mine["source_row"])
        np.testing.assert_array_equal(np.diff([*group["size"].cumsum().shift(fill_value=0).to_numpy()[until]]),
                                      mine["volume"].to_numpy()[:-1])


def test_definitions_decide_and_the_root_must_be_there(tmp_path: Path) -> None:
    rows = ticks("trades", 3)
    rows["instrument_id"] = [1, 2, 1]
    path = write(tmp_path / "t.dbn", tick_head("trades"), rows.tobytes())
    defined = write_definitions(tmp_path / "d.dbn", definition("2024-03-04", 2, "ESM4", "ES", "S"),
                                definition("2024-03-04", 1, "ESH4", "ES", "F"))
    made = trade_bars([path], [defined], "ES", TimeBars())
    assert made.bars["contract"].tolist() == ["ESH4"]
    assert made.report["dropped"] == {"other_spread": 1, "merged_into_bars": 1}
    with pytest.raises(DataError, match="none of 3 records is a trade of an outright of root 'CL'"):
        trade_bars([path], [], "CL", TimeBars())
    with pytest.raises(DataError, match="which holds no trades"):
        trade_bars([defined], [], "ES", TimeBars())


@pytest.mark.parametrize("interval", ["0m", "m", "1.5m", "1 m", "1w", "-1m"])
def test_odd_intervals_are_refused(interval: str) -> None:
    with pytest.raises(ValueError, match="is not a number and one of s, m, h, d"):
        TimeBars(interval)


def test_a_volume_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="volume 0 of a bar must be at least 1"):
        VolumeBars(0)
