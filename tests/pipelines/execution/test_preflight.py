"""What cannot be satisfied is an error before the first node: what is needed, by whom, what is there, what to do."""

import dataclasses
import platform

import pytest

from pipelines.errors import ClusterError
from pipelines.execution.preflight import Worker, check, expectation, hosts_for, refusal
from pipelines.execution.serial_runner import run_serial
from pipelines.graphs.node import Resources
from pipelines.keying.arithmetic import arithmetic
from pipelines.storage.store import Store
from tests.pipelines.execution.squares import Squares, graph_of, squares

GIB = 2**30
SMALL = Worker("tcp://10.0.0.1:4001", "small", 4 * GIB, 2, 0.0)
LARGE = Worker("tcp://10.0.0.2:4002", "large", 64 * GIB, 16, 0.0)


def tasks(**needs):
    return graph_of(squares, Squares("nowhere"), 2, resources=Resources(**needs)).tasks


@pytest.mark.parametrize(
    ("needs", "workers", "message"),
    [
        ({"gpu": 1}, (SMALL, LARGE), r"squares\[chunk=0\]: needs a GPU, but no worker has one \(2 workers without\); use"),
        ({"memory": 100 * GIB}, (SMALL, LARGE), r"needs 100.0 GiB of memory, but the largest of 2 workers has 64.0 GiB"),
        ({"cores": 32}, (SMALL,), r"needs 32 cores, but the machines of 1 worker have 2; run on a larger machine"),
        ({}, (), "the cluster has no worker; start some, or use cluster=processes"),
        ({}, (SMALL, dataclasses.replace(LARGE, refusal="it is asleep")), r"worker tcp://10.0.0.2:4002 on large: it is asleep"),
    ],
)  # fmt: skip
def test_what_nobody_has_is_named(needs, workers, message):
    with pytest.raises(ClusterError, match=message):
        check(tasks(**needs), workers)


def test_what_some_worker_has_is_enough_and_goes_to_its_host():
    check(tasks(memory=32 * GIB, cores=8), (SMALL, LARGE))
    assert hosts_for(tasks(memory=32 * GIB)[0], (SMALL, LARGE)) == ["10.0.0.2"]
    assert hosts_for(tasks(memory=1 * GIB)[0], (SMALL, LARGE)) is None
    gpu = dataclasses.replace(LARGE, gpus=1.0)
    with pytest.raises(ClusterError, match=r"the largest of 2 workers has 64.0 GiB"):
        check(tasks(gpu=1, memory=65 * GIB), (dataclasses.replace(SMALL, memory=99 * GIB), gpu))


@pytest.fixture
def expected(tmp_path):
    store = Store.open(tmp_path / "store")
    store.files.write("tmp/.token", b"here")
    return expectation(tasks(), store, "tmp/.token")


def test_a_worker_that_differs_says_in_what(tmp_path, expected):
    assert refusal(expected) == "" and [path.name for path in (tmp_path / "store" / "tmp").iterdir()] == [".token"]
    assert {"python", "numpy", "pandas", "distributed"} <= set(expected.versions)
    other = dataclasses.replace(expected, versions={**expected.versions, "numpy": "0.1"})
    assert "it has numpy 2" in refusal(other) and "the driver 0.1; install the same versions" in refusal(other)
    other = dataclasses.replace(expected, versions={"python": "2.7.18"})
    assert refusal(other) == f"it has python {platform.python_version()}, the driver 2.7.18; install the same versions"
    other = dataclasses.replace(expected, arithmetic={"back end": "abacus"})
    assert "may round otherwise than the driver's (back end numpy, there abacus); run on machines" in refusal(other)
    unseen = dataclasses.replace(expected, store=Store(tmp_path / "elsewhere"))
    assert f"it does not see the store {tmp_path / 'elsewhere'}" in refusal(unseen)


def test_only_tasks_that_round_ask_for_equal_processors(tmp_path):
    store = Store.open(tmp_path / "store")
    exact = [task for task in graph_of(squares, Squares("nowhere"), 2, exact=True).tasks if task.node.exact]
    assert expectation(exact, store, "").arithmetic == {}
    assert expectation([*exact, *tasks()], store, "").arithmetic == arithmetic()
    learnt = graph_of(squares, Squares("nowhere"), 2, libraries=("torch",)).tasks
    assert expectation([*exact, *learnt], store, "").arithmetic == arithmetic(("torch",))


def test_a_store_that_a_worker_cannot_write_is_said(expected, monkeypatch):
    def refused(files, path, data):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("pipelines.storage.store_files.LocalFiles.write", refused)
        assert "it cannot write the store" in refusal(expected) and "(Permission denied)" in refusal(expected)
    monkeypatch.setattr("pipelines.execution.preflight.LEAST_FREE", 2**70)
    assert "is full; free space" in refusal(expected)


def test_one_process_has_no_more_than_its_machine(tmp_path):
    store = Store.open(tmp_path / "store")
    for needs, message in (({"memory": 2**50}, "needs 1048576.0 GiB of memory"), ({"cores": 9999}, "needs 9999 cores")):
        with pytest.raises(ClusterError, match=message):
            run_serial(tasks(**needs), store, lambda outcome: None)
    assert list((store.root / "objects").iterdir()) == []
