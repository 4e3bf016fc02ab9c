"""Retries and timeouts: only listed errors are tried again, after growing waits that the key decides, on every runner."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from loaders.errors import DamagedFileError
from pipelines.errors import ClusterError, ConfigurationError, NodeError
from pipelines.execution.dask_runner import run_dask
from pipelines.execution.retrying import backoff
from pipelines.execution.serial_runner import run_serial
from pipelines.graphs.graph import build_graph
from pipelines.graphs.node import Node, Resources, Retries
from pipelines.storage import artefacts
from pipelines.storage.store import Store
from validation.errors import GateError

QUICK = Retries(times=3, errors=(OSError,), wait_s=0.01, longest_s=0.02)


def count(folder: str) -> int:
    """Note one more try beside the store and return how many there were: what a server that fails now and then sees."""
    Path(folder, f"try.{time.monotonic_ns()}").touch()
    return len(list(Path(folder).glob("try.*")))


def flaky(folder: str) -> int:
    tries = count(folder)
    if tries < 3:
        raise ConnectionError(f"try {tries}")
    return tries


def refused(folder: str) -> int:
    count(folder)
    raise ValueError("the same at every try")


def damaged(folder: str) -> int:
    count(folder)
    raise DamagedFileError("bars.dbn is cut off")


def slow_once(folder: str) -> int:
    if count(folder) == 1:
        time.sleep(60)
    return 1


def after(value: int) -> int:
    return value + 1


class Place:
    """The only setting there is."""

    def __init__(self, folder) -> None:
        self.folder = str(folder)


def graph_of(node: Node, folder):
    return build_graph((node, Node("after", after, inputs={"value": node.name})), Place(folder), {}, {})


def node_of(function, **how) -> Node:
    return Node("node", function, settings={"folder": "folder"}, **{"retries": QUICK, **how})


def read(store: Store, task):
    return artefacts.read_parts(store.verified(task.key), task.kind)


def test_a_listed_error_is_tried_again_after_growing_waits_that_repeat(tmp_path):
    store, waits = Store.open(tmp_path / "store"), []
    retries = replace(QUICK, wait_s=1.0, longest_s=60.0)
    graph = graph_of(node_of(flaky, retries=retries), tmp_path)
    run_serial(graph.tasks, store, lambda outcome: None, waits.append)
    assert read(store, graph["node"]) == 3 and read(store, graph["after"]) == 4
    key = graph["node"].key
    assert waits == [backoff(retries, key, 1), backoff(retries, key, 2)]
    assert 0.5 <= waits[0] <= 1.0 <= waits[1] <= 2.0


def test_waits_double_up_to_the_longest_and_tasks_do_not_wait_in_step():
    retries = Retries(times=9, wait_s=1.0, longest_s=8.0)
    assert 4.0 <= backoff(retries, "k", 9) <= 8.0 and 4.0 <= backoff(retries, "k", 2000) <= 8.0
    assert len({backoff(retries, f"key {number}", 1) for number in range(50)}) == 50


@pytest.mark.parametrize(("function", "cause"), [(refused, "ValueError"), (damaged, "DamagedFileError")])
def test_other_errors_and_rejected_data_are_tried_once(tmp_path, function, cause):
    store = Store.open(tmp_path / "store")
    retries = replace(QUICK, errors=(OSError, Exception) if function is damaged else (OSError,))
    with pytest.raises(NodeError) as failed:
        run_serial(graph_of(node_of(function, retries=retries), tmp_path).tasks, store, lambda outcome: None)
    assert failed.value.cause == cause and len(list(tmp_path.glob("try.*"))) == 1


def test_the_last_try_raises_the_error(tmp_path):
    store = Store.open(tmp_path / "store")
    graph = graph_of(node_of(flaky, retries=replace(QUICK, times=1)), tmp_path)
    with pytest.raises(NodeError, match="try 2"):
        run_serial(graph.tasks, store, lambda outcome: None)


@pytest.mark.parametrize("kind", [DamagedFileError, GateError, ConfigurationError])
def test_errors_that_never_pass_cannot_be_listed(kind):
    with pytest.raises(ValueError, match=f"{kind.__name__} is the same at every try"):
        Retries(times=1, errors=(kind,))


@pytest.mark.parametrize("wrong", [{"times": -1}, {"wait_s": 2.0, "longest_s": 1.0}, {"wait_s": -1.0}])
def test_retries_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ValueError, match="retries"):
        Retries(**wrong)


def test_how_a_node_runs_is_not_in_its_key(tmp_path):
    plain = graph_of(Node("node", flaky, settings={"folder": "folder"}), tmp_path)
    other = graph_of(node_of(flaky, timeout_s=5.0, resources=Resources(memory=2**30, cores=2)), tmp_path)
    assert plain["node"].key == other["node"].key
    with pytest.raises(ValueError, match="timeout_s is -1"):
        node_of(flaky, timeout_s=-1)
    with pytest.raises(ValueError, match="gpu is 2"):
        Resources(gpu=2)


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
    with distributed.LocalCluster(**options, silence_logs=50) as cluster, distributed.Client(cluster) as connected:
        yield connected


def test_workers_try_again_and_a_node_past_its_timeout_is_stopped(client, tmp_path):
    store, outcomes = Store.open(tmp_path / "store"), []
    graph = graph_of(node_of(flaky), tmp_path)
    run_dask(graph.tasks, store, outcomes.append, client)
    assert [outcome.task for outcome in outcomes] == ["node", "after"] and read(store, graph["after"]) == 4

    late = graph_of(node_of(slow_once, timeout_s=0.5), tmp_path / "late")
    (tmp_path / "late").mkdir()
    begun = time.monotonic()
    run_dask(late.tasks, store, outcomes.append, client)
    assert time.monotonic() - begun < 40 and read(store, late["after"]) == 2  # the first try would have slept for 60


def test_a_gpu_that_no_worker_has_is_an_error_before_anything_runs(client, tmp_path):
    graph = graph_of(node_of(flaky, resources=Resources(gpu=1)), tmp_path)
    with pytest.raises(ClusterError, match="node: needs a GPU, but no worker has one"):
        run_dask(graph.tasks, Store.open(tmp_path / "store"), lambda outcome: None, client)
    assert not list(tmp_path.glob("try.*"))


def test_workers_fail_with_the_error_that_no_retry_is_left_for(client, tmp_path):
    store = Store.open(tmp_path / "store")
    late = graph_of(node_of(slow_once, timeout_s=0.3, retries=Retries()), tmp_path)
    with pytest.raises(NodeError, match=r"node: TimeoutError: it ran longer than its timeout_s of 0.3 s"):
        run_dask(late.tasks, store, lambda outcome: None, client)
    with pytest.raises(NodeError) as failed:
        run_dask(graph_of(node_of(refused), tmp_path).tasks, store, lambda outcome: None, client)
    assert failed.value.cause == "ValueError"
