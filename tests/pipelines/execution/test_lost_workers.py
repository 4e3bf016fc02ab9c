"""Workers that die: the work is done again with the same bits; a node that kills them is named."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from pipelines.cli import main
from pipelines.errors import ClusterError, NodeError
from pipelines.execution.cluster import connected
from pipelines.execution.dask_runner import run_dask
from pipelines.execution.lost_tasks import MOST_IN_VAIN, LostTasks
from pipelines.execution.serial_runner import run_serial
from pipelines.storage.store import Store
from tests.pipelines.execution.squares import (
    IN_PIECES,
    Squares,
    expected,
    graph_of,
    killed_always,
    killed_once,
    killed_when_large,
    squares,
    sum_of,
)
from tests.pipelines.execution.test_cluster import settings


@pytest.fixture(scope="module")
def client():
    with connected(settings("processes", 2)) as connection:
        yield connection


def run(graph, tmp_path, client, report=lambda outcome: None, **how):
    store = Store.open(tmp_path / "store")
    (tmp_path / "run").mkdir(exist_ok=True)
    run_dask(graph.tasks, store, report, client, tmp_path / "run" / "logs", **how)
    return store


def worker_processes():
    """The workers that run now: children of this process that multiprocessing spawned."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it ends just now
            if "spawn_main" in " ".join(child.cmdline()) and child.status() != psutil.STATUS_ZOMBIE:
                found.append(child)
    return found


def test_case_g01_a_worker_that_a_task_kills_costs_no_result_and_doubles_none(client, tmp_path, contents):
    graph = graph_of(killed_once, Squares(str(tmp_path), bad=3), 6)
    store = run(graph, tmp_path, client)
    assert sum_of(store, graph) == expected(4, 6)
    run_serial(graph.tasks, Store.open(tmp_path / "serial"), lambda outcome: None)
    assert contents(tmp_path / "store") == contents(tmp_path / "serial")
    assert sorted(path.name for path in (tmp_path / "run" / "logs").glob("squares*chunk=3*")) == [
        "squares[chunk=3].0.log", "squares[chunk=3].1.log",
    ]  # fmt: skip


def test_workers_killed_from_outside_during_a_sweep_cost_no_result(client, tmp_path):
    reported = []

    def report(outcome):
        reported.append(outcome.task)
        if len(reported) in (5, 20):
            os.kill(worker_processes()[0].pid, signal.SIGKILL)

    graph = graph_of(squares, Squares(str(tmp_path), seconds=0.02), 40)
    store = run(graph, tmp_path, client, report)
    assert sum_of(store, graph) == expected(4, 40)
    assert sorted(reported) == sorted(task.name for task in graph.tasks), "each task is reported once"


def test_a_task_that_kills_its_workers_is_named_with_its_key_worker_and_log(client, tmp_path):
    graph = graph_of(killed_always, Squares(str(tmp_path), bad=2), 8)
    with pytest.raises(NodeError) as failed:
        run(graph, tmp_path, client, most_deaths=1)
    error = failed.value
    assert (error.task, error.node, error.partition) == ("squares[chunk=2]", "squares", "chunk=2")
    assert error.key == graph["squares[chunk=2]"].key and error.key[:12] in str(error)
    assert error.worker.startswith("tcp://127.0.0.1:") and error.worker in str(error)
    assert "2 workers died while it ran" in str(error) and "chunk 2 is about to die" in error.log[-1]


def test_a_chunk_too_large_for_its_worker_is_done_in_pieces(client, tmp_path):
    graph = graph_of(killed_when_large, Squares(str(tmp_path), size=8, most=2), 2, pieces=IN_PIECES)
    outcomes = []
    store = run(graph, tmp_path, client, outcomes.append)
    assert sum_of(store, graph) == expected(8, 2)
    assert 4 in {outcome.facts.get("pieces") for outcome in outcomes}


def test_workers_that_die_without_end_end_the_run(tmp_path):
    lost = LostTasks(Store.open(tmp_path), None, 3)
    for _ in range(MOST_IN_VAIN):
        lost.lost("tcp://127.0.0.1:1")
    with pytest.raises(ClusterError, match="20 workers were lost without a task that ended, the last at tcp"):
        lost.lost("tcp://127.0.0.1:1")
    lost.ended()
    lost.lost("tcp://127.0.0.1:1")


@pytest.mark.acceptance
def test_a_sweep_whose_workers_are_killed_twenty_times_makes_the_same_bits(tmp_path, small_settings, contents, monkeypatch):
    kills = []

    def kill(progress, outcome):
        if len(kills) < 20 and (workers := worker_processes()):
            kills.append(workers[len(kills) % len(workers)].pid)
            os.kill(kills[-1], signal.SIGKILL)

    monkeypatch.setattr("pipelines.viewing.progress.Silent.finished", kill)
    words = [*small_settings, "sweep.chunk_combinations=1", "cluster_options.most_deaths=20"]
    assert main(["run", "fold=0", f"store={tmp_path / 'serial'}", *words, "cluster=serial", "--quiet"]) == 0
    kills.clear()
    assert main(["run", "fold=0", f"store={tmp_path / 'store'}", *words, "cluster=processes", "--quiet"]) == 0
    assert len(kills) == 20 and Path(tmp_path / "store" / "corrupt").is_dir()
    assert contents(tmp_path / "store") == contents(tmp_path / "serial")
