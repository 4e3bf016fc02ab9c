"""Files of bars are read piece by piece through the nodes, and the pieces of a file make what the whole file makes."""

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from loaders.outrights import outright_bars
from pipelines.config.configuration import load_settings
from pipelines.errors import ConfigurationError
from pipelines.execution.serial_runner import run_serial
from pipelines.flow import flow_graph
from pipelines.graphs.planning import plan
from pipelines.storage import artefacts
from pipelines.storage.store import Store
from tests.loaders.dbn_builder import bars, mapping, metadata, ns, write

MINUTE = 60_000_000_000
MARCH = ("2024-03-01", "2024-04-01")
HEAD = metadata([mapping(name, (*MARCH, number)) for number, name in enumerate(("ESH4", "ESM4", "ESH4-ESM4"), 1)])


def records(day, count=40, late=()):
    """Rows of three instruments a minute; those `late` stand a day back."""
    start = ns(f"2024-03-{day:02} 15:00")
    times = [start + at * MINUTE - (1440 * MINUTE if at in late else 0) for at in range(count)]
    return [(ts, number, 5000.0 + at % 7, 10 + at + number) for at, ts in enumerate(times) for number in (1, 2, 3)]


@pytest.fixture
def folder(tmp_path):
    """A raw file, and a compressed one of a frame a day; a late record lies behind a cut of each."""
    data = tmp_path / "data"
    data.mkdir()
    write(data / "a.dbn", HEAD, bars(records(4, late=(30,))))
    days = [bars(records(day, late=(0,) if day == 6 else ())) for day in (5, 6, 7)]
    write(data / "b.dbn.zst", metadata([mapping("ESH4", (*MARCH, 1))], start=ns("2024-03-05")), *days)
    return data


def made(graph, name, store):
    """Compute a task with what it needs and read it back, with the names of what was computed."""
    waiting = [row.task for row in plan(graph.needed_for([name]), store) if not row.cached]
    run_serial(waiting, store, lambda outcome: None)
    task = graph[name]
    return artefacts.read_parts(store.verified(task.key), task.kind), [task.name for task in waiting]


def graph_of(folder, *words):
    return flow_graph(load_settings([f"data={folder}", *words]), ())


@pytest.mark.parametrize("limit", [1, 7, 120, 10**6])
def test_the_pieces_of_a_file_make_the_bars_and_the_report_of_the_whole(folder, tmp_path, limit):
    graph, store = graph_of(folder, f"load.partition_records={limit}"), Store.open(tmp_path / "store")
    names = [task.name for task in graph.tasks if task.node.name == "outright_parts"]
    expected = {1: 120 + 3, 7: 18 + 3, 120: 1 + 3, 10**6: 2}[limit]  # 120 raw records; frames of 120 records are not cut
    assert len(names) == expected
    for ordinal, name in enumerate(("a.dbn", "b.dbn.zst")):
        joined, _ = made(graph, f"outrights[file={ordinal}]", store)
        whole = outright_bars(folder / name, (), "ES", ordinal)
        assert_frame_equal(joined.bars, whole.bars)
        assert_frame_equal(joined.listed, whole.listed)
        assert joined.report == whole.report
        assert joined.bars["backwards"].sum() == (2, 1)[ordinal]


def test_a_piece_holds_no_more_records_than_the_limit_and_says_so(folder, tmp_path):
    graph, store = graph_of(folder, "load.partition_records=7"), Store.open(tmp_path / "store")
    counts = []
    for task in graph.tasks:
        if task.node.name == "outright_parts" and dict(task.coordinates)["file"] == 0:
            counts.append(made(graph, task.name, store)[0].report["records"])
    assert counts == [7] * 17 + [1]


def test_the_key_is_that_of_the_records_so_another_limit_that_cuts_nothing_computes_nothing(folder, tmp_path):
    store = Store.open(tmp_path / "store")
    made(graph_of(folder), "outrights[file=1]", store)
    assert made(graph_of(folder, "load.partition_records=5000"), "outrights[file=1]", store)[1] == []
    computed = made(graph_of(folder, "load.partition_records=100"), "outrights[file=1]", store)[1]
    assert computed == [f"outright_parts[file=1,part={part}]" for part in range(3)] + ["outrights[file=1]"]
    (tmp_path / "moved").mkdir()
    for path in folder.iterdir():
        path.rename(tmp_path / "moved" / path.name)
    assert made(graph_of(tmp_path / "moved", "load.partition_records=100"), "outrights[file=1]", store)[1] == []


def test_the_sample_rolls_alike_however_it_is_cut(small_sample, tmp_path):
    store = Store.open(tmp_path / "store")
    rolled = []
    for words in ((), ("load.partition_records=4000",)):
        graph = graph_of(small_sample, *words)
        rolled.append(made(graph, "rolled", store)[0])
    assert len([task for task in graph.tasks if task.node.name == "outright_parts"]) > 3
    for name in ("bars", "schedule"):
        assert_frame_equal(getattr(rolled[0], name), getattr(rolled[1], name))
    assert rolled[0].report == rolled[1].report and np.asarray(pd.unique(rolled[0].bars["contract"])).size > 1


def test_no_piece_is_without_records():
    with pytest.raises(ConfigurationError, match=r"load\.partition_records is 0, must be at least 1"):
        load_settings(["data=x", "load.partition_records=0"])
