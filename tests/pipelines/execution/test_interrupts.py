"""Runs that are stopped, killed, doubled or lose their store: no process stays, what was finished stays, a new run goes on."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipelines.storage.store import Store
from tests.pipelines.execution.test_schedulers import scheduler, stop, until, worker
from tests.pipelines.test_cli import REPOSITORY, _hear_interrupts, _members

CHUNKS = 12
FLOW = '''
import os, time
from pathlib import Path
from pipelines.graphs.flow_table import Flow
from pipelines.graphs.node import Node

HERE = Path(__file__).resolve().parent

def slow(chunk: int) -> int:
    with open(HERE / f"ran.{chunk}", "a") as stream:
        stream.write("x")
    time.sleep(float(os.environ.get("SLOW", "0.3")))
    return chunk * chunk

def total(chunks: list[int]) -> int:
    return sum(chunks)

FLOW = Flow(
    (
        Node("slow", slow, per=("chunk_number",), axes={"chunk": "chunk_number"}),
        Node("total", total, inputs={"chunks": "slow"}),
    ),
    axes={"chunk_number": lambda settings, place: range(CHUNKS)},
)
'''.replace("CHUNKS", str(CHUNKS))


@pytest.fixture
def here(tmp_path):
    (tmp_path / "slow_flow.py").write_text(FLOW)
    return tmp_path


@pytest.fixture
def start(here):
    """Starts a run in a group of processes of its own; whatever becomes of the test, none stays."""
    started = []

    def begin(*words, **environment):
        command = [sys.executable, "-m", "pipelines.cli", "run", "flow=slow_flow:FLOW", "store=store", *words, "--json"]
        started.append(subprocess.Popen(
            command, cwd=here, env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environment}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=_hear_interrupts,
        ))  # fmt: skip
        return started[-1]

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def begun(here, chunks=1):
    return len(list(here.glob("store/objects/*/*/manifest.json"))) >= chunks


def runs(here):
    return sorted(path.stat().st_size for path in here.glob("ran.*"))


def finished(here, process):
    """Wait for a run that succeeds; every artefact is there, once, and nothing is left half done."""
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    assert json.loads(out)["status"] == "done"
    store = Store(here / "store")
    assert len(runs(here)) == CHUNKS and list((store.root / "tmp").iterdir()) == [] == list((store.root / "corrupt").iterdir())
    assert len(list(here.glob("store/objects/*/*/manifest.json"))) == CHUNKS + 1


@pytest.mark.parametrize(
    ("cluster", "number"),
    [
        ("serial", signal.SIGTERM),
        pytest.param("threads", signal.SIGINT, marks=pytest.mark.acceptance),
        ("processes", signal.SIGINT),
        pytest.param("processes", signal.SIGTERM, marks=pytest.mark.acceptance),
    ],
)
def test_a_signal_ends_a_run_with_130_and_leaves_no_process(here, start, cluster, number):
    process = start(f"cluster={cluster}", "workers=2")
    until(lambda: begun(here))
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert json.loads(out)["exit_code"] == 130 and "Traceback" not in error
    until(lambda: not _members(process.pid))
    finished(here, start("cluster=serial", SLOW="0"))


def test_a_killed_driver_leaves_no_process_and_the_next_run_goes_on(here, start):
    process = start("cluster=processes", "workers=2")
    until(lambda: begun(here, 3))
    process.kill()
    process.communicate(timeout=30)
    until(lambda: not _members(process.pid), seconds=30)
    finished(here, start("cluster=serial", SLOW="0"))
    assert sum(runs(here)) <= CHUNKS + 2, "only the two chunks that were running may run again"


@pytest.mark.acceptance
def test_an_interrupt_leaves_a_cluster_of_somebody_else_as_it_was(here, start):
    others, address = scheduler(here / "scheduler.json")
    helper = worker(address, here)
    try:
        process = start(f"cluster={address}")
        until(lambda: begun(here))
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(60) == 130, process.communicate()[1]
        assert others.poll() is None and helper.poll() is None
        finished(here, start(f"cluster={address}", SLOW="0"))
    finally:
        stop(others, helper)


@pytest.mark.acceptance
def test_a_worker_without_the_users_module_is_an_error_before_the_first_node(here, start):
    others, address = scheduler(here / "scheduler.json")
    helper = worker(address)
    try:
        out, error = start(f"cluster={address}").communicate(timeout=120)
        assert re.search(r"it cannot load the code of this run \(.*'slow_flow'.*\); install", json.loads(out)["error"]), error
        assert not begun(here)
    finally:
        stop(others, helper)


def test_two_drivers_on_one_store_both_end_well(here, start):
    processes = [start("cluster=processes", "workers=1"), start("cluster=threads", "workers=1")]
    for process in processes:
        finished(here, process)
    assert set(runs(here)) <= {1, 2}


def test_a_store_that_goes_away_ends_the_run_and_one_that_comes_back_lets_it_go_on(here, start):
    process = start("cluster=processes", "workers=2")
    until(lambda: begun(here, 3))
    (here / "store").rename(here / "unplugged")
    out, error = process.communicate(timeout=60)
    assert process.returncode == 4 and "Traceback" not in error
    assert "store" in json.loads(out)["error"]
    until(lambda: not _members(process.pid))
    time.sleep(0.2)
    left = [path for path in Path(here).rglob("store/**/*") if path.is_file()]
    assert left == [], "nothing is written where the store was"
    if (here / "store").exists():
        (here / "store").rename(here / "empty")
    (here / "unplugged").rename(here / "store")
    finished(here, start("cluster=serial", SLOW="0"))
    assert sum(runs(here)) <= CHUNKS + 4
