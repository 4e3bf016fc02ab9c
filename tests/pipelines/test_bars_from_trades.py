"""Bars made from trades instead of read: through the nodes to the feature set, equal to a loop over the trades."""

import databento_dbn as dbn
import numpy as np
import pytest

from pipelines.config.configuration import load_settings
from pipelines.errors import ConfigurationError, UsageError
from pipelines.execution.serial_runner import run_serial
from pipelines.flow import flow_graph
from pipelines.graphs.input_files import input_files
from pipelines.graphs.planning import plan
from pipelines.storage import artefacts
from pipelines.storage.store import Store
from tests.loaders.dbn_builder import POINT, bars, mapping, metadata, ns, write
from tests.loaders.tick_builder import tick_head, ticks

MINUTE, BARS = 60_000_000_000, 280
START = ns("2024-03-05 10:00")
WORDS = ("load.bars_from_trades=1m",)


def trade_records():
    """Two to five trades a minute of ESH4, now and then one of ESM4."""
    draw = np.random.default_rng(8)
    times = np.concatenate([START + at * MINUTE + np.sort(draw.integers(0, MINUTE, draw.integers(2, 6))) for at in range(BARS)])
    rows = ticks("trades", len(times))
    rows["ts_recv"], rows["size"] = times, draw.integers(1, 9, len(times))
    rows["price"] = (20_000 + np.cumsum(draw.integers(-2, 3, len(times)))) * (POINT // 4)
    rows["instrument_id"][draw.random(len(times)) < 0.05] = 2
    return rows


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    rows = trade_records()
    early = rows["ts_recv"] < START + 100 * MINUTE + MINUTE // 2  # the files meet within a bar
    write(data / "trades.0.dbn.zst", tick_head("trades"), rows[early].tobytes())
    write(data / "trades.1.dbn.zst", tick_head("trades", start=ns("2024-03-05")), rows[~early].tobytes())
    return data


def made(folder, name):
    store = Store.open(folder.parent / "store")
    graph = flow_graph(load_settings([f"data={folder}", *WORDS]), ())
    run_serial([row.task for row in plan(graph.needed_for([name]), store) if not row.cached], store, lambda outcome: None)
    return artefacts.read_parts(store.verified(graph[name].key), graph[name].kind), graph


def test_the_series_is_made_of_the_trades_and_bars_in_the_folder_are_not_read(folder):
    head = metadata([mapping("ESH4", ("2024-03-01", "2024-04-01", 1))])
    write(folder / "bars.dbn", head, bars([(START, 1, 1000.0, 1)]))
    series, graph = made(folder, "bars")
    assert not any(task.node.name == "outright_parts" for task in graph.tasks)
    rows = trade_records()
    rows = rows[rows["instrument_id"] == 1]
    expected = []
    for begin in range(START, START + BARS * MINUTE, MINUTE):
        mine = rows[(rows["ts_recv"] >= begin) & (rows["ts_recv"] < begin + MINUTE)]
        if len(mine):
            price = mine["price"] / POINT
            expected.append((begin, price[0], price.max(), price.min(), price[-1], int(mine["size"].sum())))
    columns = ["open", "high", "low", "close", "volume"]
    found = [(moment.value, *row) for moment, row in zip(series["ts_event"], series[columns].to_numpy(), strict=True)]
    assert found == expected and set(series["contract"]) == {"ESH4"}


def test_a_feature_set_and_gaps_come_of_them(folder):
    value, _ = made(folder, "feature_set")
    assert len(value.features) > 270 and value.valid.any()
    gaps, _ = made(folder, "gaps")
    assert gaps.report["bars"] == len(value.bars)
    settings = load_settings([f"data={folder}", *WORDS])
    files = input_files(settings)
    assert files["bars"] == () and [file.path.name for file in files["trades"]] == ["trades.0.dbn.zst", "trades.1.dbn.zst"]


def test_a_folder_without_trades_and_an_interval_without_a_schema_are_refused(tmp_path):
    write(tmp_path / "bars.dbn", metadata([mapping("ESH4", ("2024-03-01", "2024-04-01", 1))]), bars([(START, 1, 5000.0, 1)]))
    with pytest.raises(UsageError, match=r"load\.bars_from_trades: .* holds no file of trades, tbbo, mbp-1, mbp-10"):
        flow_graph(load_settings([f"data={tmp_path}", *WORDS]), ())
    with pytest.raises(ConfigurationError, match=r"load\.bars_from_trades is '5m', must be none or one of 1s, 1m, 1h, 1d"):
        load_settings(["data=x", "load.bars_from_trades=5m"])


def test_a_length_of_bars_that_is_not_that_of_the_files_is_refused_with_both(tmp_path, folder):
    hours = tmp_path / "hours"
    hours.mkdir()
    head = metadata([mapping("ESH4", ("2024-03-01", "2024-04-01", 1))], schema=dbn.Schema.OHLCV_1H)
    write(hours / "bars.dbn", head, bars([(START, 1, 5000.0, 1)]))
    wrong = r"bar_seconds is 60, but the bars of .*hours are ohlcv-1h, 3600 seconds long: set bar_seconds=3600"
    with pytest.raises(ConfigurationError, match=wrong):
        flow_graph(load_settings([f"data={hours}"]), ())
    assert flow_graph(load_settings([f"data={hours}", "bar_seconds=3600"]), ()).tasks
    with pytest.raises(ConfigurationError, match=r"bar_seconds is 60, but the bars of load\.bars_from_trades=1s are ohlcv-1s"):
        flow_graph(load_settings([f"data={folder}", "load.bars_from_trades=1s"]), ())
