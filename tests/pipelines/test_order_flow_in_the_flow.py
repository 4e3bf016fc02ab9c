"""Order flow from files of books and trades to the feature set, against a loop over the events of each bar."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import loaders.flow_events
from kernels.features.flow_table import FLOW_FEATURES
from loaders.errors import DataError
from pipelines.config.configuration import load_settings
from pipelines.execution.serial_runner import run_serial
from pipelines.flow import flow_graph
from pipelines.graphs.planning import plan
from pipelines.steps.order_flow import FileFlow, bar_order_flow, file_flow, unmeasured
from pipelines.storage import artefacts
from pipelines.storage.store import Store
from tests.loaders.dbn_builder import POINT, bars, mapping, metadata, ns, write
from tests.loaders.tick_builder import UNDEF_PRICE, tick_head, ticks

MINUTE, BARS, CUT = 60_000_000_000, 300, 20  # the second file of books begins with bar CUT
START = ns("2024-03-05 10:00")
FIELDS = ("imbalance", "depth", "bid_size", "ask_size", "bid", "ask", "spread", "bought", "sold", "trades", "has_book")


def book_records(seed=3):
    """Two levels of ESH4, and beside it ESM4 and a spread; trades among them of 100 contracts and more, one a minute."""
    draw = np.random.default_rng(seed)
    offsets = [np.sort(draw.integers(0, MINUTE, draw.integers(1, 6))) for _ in range(BARS)]
    offsets[50] = np.zeros(0, int)  # nothing happens: the book stands
    times = np.concatenate([START + at * MINUTE + each for at, each in enumerate(offsets)])
    rows = ticks("mbp-10", len(times))
    rows["ts_recv"], rows["ts_event"] = times, times - 1000
    rows["instrument_id"] = draw.choice([1, 1, 1, 2, 3], len(rows))
    rows["instrument_id"][[np.flatnonzero(times // MINUTE == START // MINUTE + at)[0] for at in range(BARS) if at != 50]] = 1
    rows["action"] = draw.choice([b"A", b"C", b"M"], len(rows))
    firsts = np.unique(times // MINUTE, return_index=True)[1]
    rows["action"][firsts], rows["side"], rows["size"] = b"T", draw.choice([b"A", b"B", b"N"], len(rows)), 100
    rows["size"] += draw.integers(0, 9, len(rows)).astype(np.uint32)
    fields = rows.dtype.names
    for name in fields:
        if name[3:5] == "px":
            rows[name] = UNDEF_PRICE
    best = 5000 * 4 + np.cumsum(draw.integers(-1, 2, len(rows)))
    for level in (0, 1):
        rows[f"bid_px_{level:02}"] = (best - level) * (POINT // 4)
        rows[f"ask_px_{level:02}"] = (best + draw.integers(1, 3, len(rows)) + level) * (POINT // 4)
        for side in ("bid", "ask"):
            rows[f"{side}_sz_{level:02}"] = draw.integers(1, 90, len(rows))
    return rows


def trade_records(seed=4):
    """One to four trades of ESH4 a minute, of 1 to 9 contracts."""
    draw = np.random.default_rng(seed)
    times = np.concatenate([START + at * MINUTE + np.sort(draw.integers(0, MINUTE, draw.integers(1, 5))) for at in range(BARS)])
    rows = ticks("trades", len(times))
    rows["ts_recv"], rows["side"] = times, draw.choice([b"A", b"B", b"N"], len(rows))
    rows["size"] = draw.integers(1, 10, len(rows))
    return rows


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    level = 5000 + 0.25 * np.cumsum(np.random.default_rng(5).integers(-2, 3, BARS))
    rows = [(START + at * MINUTE, 1, price, 50) for at, price in enumerate(level)]
    write(data / "bars.dbn.zst", metadata([mapping("ESH4", ("2024-03-01", "2024-04-01", 1))]), bars(rows))
    book = book_records()
    early = book["ts_recv"] < START + CUT * MINUTE
    write(data / "book.0.dbn.zst", tick_head("mbp-10"), book[early].tobytes())
    write(data / "book.1.dbn.zst", tick_head("mbp-10", start=ns("2024-03-05")), book[~early].tobytes())
    write(data / "trades.dbn.zst", tick_head("trades"), trade_records().tobytes())
    return data


def made(folder, name, *words):
    """Compute a task of the flow with what it needs; its value, and the graph."""
    store = Store.open(folder.parent / "store")
    graph = flow_graph(load_settings([f"data={folder}", "features.include=market,order_flow", *words]), ())
    run_serial([row.task for row in plan(graph.needed_for([name]), store) if not row.cached], store, lambda outcome: None)
    task = graph[name]
    return artefacts.read_parts(store.verified(task.key), task.kind), graph


def state(row):
    """Both sides of the levels that exist: (bid price, bid size, ask price, ask size) each."""
    names = [f"{side}_{kind}_{{:02}}" for side in ("bid", "ask") for kind in ("px", "sz")]
    return [tuple(int(row[name.format(level)]) / (POINT if "px" in name else 1) for name in names) for level in (0, 1)]


def event_flow(before, now):
    flow = 0.0
    flow += (now[1] if now[0] >= before[0] else 0) - (before[1] if now[0] <= before[0] else 0)
    return flow - (now[3] if now[2] <= before[2] else 0) + (before[3] if now[2] >= before[2] else 0)


def by_hand(trades):
    """A dict of columns by a loop over bars and events; each of the two files begins without a book."""
    book = [row for row in book_records() if row["instrument_id"] == 1]
    result = {name: [] for name in FIELDS}
    for at in range(BARS):
        begin = START + at * MINUTE
        since = START + (CUT * MINUTE if at >= CUT else 0)
        known = [(int(row["ts_recv"]), state(row)) for row in book if since <= row["ts_recv"] < begin + MINUTE]
        inside = [place for place, (ts, _) in enumerate(known) if ts >= begin]
        flow = [sum(event_flow(known[k - 1][1][level], known[k][1][level]) for k in inside if k) for level in (0, 1)]
        edges = [max(ts, begin) for ts, _ in known] + [begin + MINUTE]
        held = [(edges[k + 1] - edges[k], book_at) for k, (_, book_at) in enumerate(known) if edges[k + 1] > begin]
        length = sum(weight for weight, _ in held)
        depth = [sum(w * (b[level][1] + b[level][3]) / 2 for w, b in held) / length for level in (0, 1)]
        last = known[-1][1]
        mine = [row for row in trades if begin <= row["ts_recv"] < begin + MINUTE]
        volume = {side: sum(int(row["size"]) for row in mine if row["side"] == side) for side in (b"A", b"B")}
        values = (flow, depth, [b[1] for b in last], [b[3] for b in last], last[0][0], last[0][2],
                  sum(w * (b[0][2] - b[0][0]) for w, b in held) / length, volume[b"B"], volume[b"A"], len(mine), True)
        for name, value in zip(FIELDS, values, strict=True):
            result[name].append(value)
    return {name: np.array(values) for name, values in result.items()}


def own_trades():
    return [row for row in book_records() if row["action"] == b"T" and row["instrument_id"] == 1]


@pytest.mark.parametrize("with_trades", [True, False])
def test_bars_get_the_flow_of_their_contract_from_the_files(folder, with_trades):
    if not with_trades:  # then the trades inside the books count
        (folder / "trades.dbn.zst").unlink()
    flow, graph = made(folder, "order_flow")
    expected = by_hand(trade_records() if with_trades else own_trades())
    files = [task.name for task in graph.tasks if task.node.name == "file_flow"]
    assert len(files) == (3 if with_trades else 2)
    rows = np.arange(BARS) if with_trades else np.delete(np.arange(BARS), 50)
    for name in FIELDS:
        value = np.asarray(getattr(flow, name))
        if value.ndim == 2:
            assert not value[:, 2:].any()
            value = value[:, :2]
        assert_allclose(value[rows], expected[name][rows], rtol=1e-12, err_msg=name)
    if not with_trades:  # a bar with volume and no trade in the files is not measured
        assert not flow.has_book[50] and np.isnan(flow.bid[50])


def test_the_feature_set_has_the_nine_columns_and_the_mask(folder):
    value, _ = made(folder, "feature_set")
    names, flow = list(value.names), by_hand(trade_records())
    assert names[-9:] == [row.name for row in FLOW_FEATURES] and len(names) == 51
    assert_array_equal(np.flatnonzero(value.has_flow), np.arange(239, BARS))
    columns = {name: np.asarray(value.features)[:, names.index(name)] for name in names[-9:]}
    assert all(not column[:239].any() for column in columns.values())
    seen = np.arange(239, BARS)
    depth = np.array([flow["depth"][at - 239 : at + 1, 0].mean() for at in seen])
    quiet = np.array([flow["trades"][at - 239 : at + 1].mean() for at in seen])
    bid, ask = flow["bid_size"][seen, 0], flow["ask_size"][seen, 0]
    bought, sold = flow["bought"][seen], flow["sold"][seen]
    total = bought + sold
    assert_allclose(columns["ofi_l1"][seen], np.clip(flow["imbalance"][seen, 0] / depth, -5, 5), rtol=1e-5, atol=1e-6)
    assert_allclose(columns["imb_l1"][seen], (bid - ask) / (bid + ask), rtol=1e-5, atol=1e-6)
    signed = np.divide(bought - sold, total, out=np.zeros(len(seen)), where=total > 0)
    assert_allclose(columns["trade_imb"][seen], signed, rtol=1e-5, atol=1e-6)
    assert_allclose(columns["trade_rate"][seen], np.log((1 + flow["trades"][seen]) / (1 + quiet)), rtol=1e-5, atol=1e-6)


def test_without_books_the_columns_are_zeros_and_the_mask_is_false(folder):
    for path in folder.glob("book*"):
        path.unlink()
    value, graph = made(folder, "feature_set")
    assert not any(task.node.name == "file_flow" for task in graph.tasks)
    assert value.features.shape == (BARS, 51) and not np.asarray(value.features)[:, 42:].any() and not value.has_flow.any()


def test_books_are_not_even_listed_for_features_without_order_flow(folder):
    value, graph = made(folder, "feature_set", "features.include=market")
    assert not any(task.node.name == "file_flow" for task in graph.tasks) and value.features.shape == (BARS, 42)


def test_another_file_of_books_leaves_the_flow_of_the_others_alone(folder):
    before = made(folder, "order_flow")[1]
    write(folder / "book.2.dbn.zst", tick_head("mbp-10", start=ns("2024-03-06")), b"")
    after = made(folder, "order_flow")[1]
    assert {task.key for task in before.tasks if task.node.name == "file_flow"} < {task.key for task in after.tasks}


def test_a_file_in_small_pieces_gives_the_same_bits(folder, monkeypatch):
    for name in ("book.1.dbn.zst", "trades.dbn.zst"):
        whole = file_flow(folder / name, (), "ES", 60)
        with monkeypatch.context() as patch:
            patch.setattr(loaders.flow_events, "PIECE_RECORDS", 7)
            pieces = file_flow(folder / name, (), "ES", 60)
        pd.testing.assert_frame_equal(whole.bars, pieces.bars)
        for field in FIELDS:
            assert_array_equal(getattr(whole.flow, field), getattr(pieces.flow, field), err_msg=field)
        assert whole.report == pieces.report and set(whole.bars["contract"]) <= {"ESH4", "ESM4"}


def test_late_records_count_at_the_latest_time_before(tmp_path):
    rows = ticks("trades", 3, start="2024-03-05 10:00", step=MINUTE)
    rows["ts_recv"][2] = rows["ts_recv"][0]
    made_of = file_flow(write(tmp_path / "t.dbn", tick_head("trades"), rows.tobytes()), (), "ES", 60)
    assert made_of.flow.trades.tolist() == [1, 2] and made_of.report == {"schema": "trades", "records": 3}


def test_a_file_of_another_root_is_named(folder):
    with pytest.raises(DataError, match=r"none of its .* records is an outright of root 'CL'"):
        file_flow(folder / "book.0.dbn.zst", (), "CL", 60)


def one_file(schema, starts, **values):
    flow = unmeasured(len(starts))
    for name, value in values.items():
        getattr(flow, name)[:] = value
    table = pd.DataFrame({
        "ts_event": pd.DatetimeIndex(np.array(starts, "datetime64[ns]"), tz="UTC"),
        "contract": pd.Series(["ESH4"] * len(starts), dtype="str"), "expiry": np.full(len(starts), 202403, np.int32),
    })
    return FileFlow(table, flow, {"schema": schema, "records": 1})


def test_a_bar_cut_by_the_end_of_a_file_or_of_another_contract_is_not_measured():
    book = {"has_book": True, "bid": 1.0, "trades": 5.0}
    series = one_file("mbp-10", [0, 60, 120, 180]).bars.assign(volume=[3, 3, 3, 0])
    files = [one_file("mbp-10", [0, 60], **book), one_file("mbp-10", [60, 120], **book)]
    assert bar_order_flow(files, series).has_book.tolist() == [True, False, True, False]
    other = series.assign(expiry=np.array([202403, 202403, 202406, 202406], np.int32))
    assert bar_order_flow(files, other).has_book.tolist() == [True, False, False, False]
    # where there is a file of trades, those inside the books do not count
    with_trades = [*files[:1], one_file("trades", [0], trades=2.0)]
    flow = bar_order_flow(with_trades, series)
    assert flow.trades.tolist() == [2, 0, 0, 0] and flow.has_book.tolist() == [True, False, False, False]
