"""Case D07: processes that build the same feature set at once all read it whole, and leave nothing unfinished."""

import multiprocessing
import shutil
import subprocess
import sys

import numpy as np
import pytest

from pipelines.cli import main
from pipelines.execution.serial_runner import run_serial
from pipelines.graphs.planning import plan
from pipelines.record.records import read_records
from pipelines.steps.feature_set import FeatureSet
from pipelines.storage import artefacts
from pipelines.storage.store import Store
from tests.pipelines.day_bars import Workshop, bars_of


def build_together(folder, rounds, barrier, answers):
    """In a process: build the feature set of each round with the others, at the same moment, and read it back."""
    import hashlib

    for number in range(rounds):
        shop = Workshop(folder / str(number))
        graph, store = shop.graph(), shop.store
        barrier.wait()
        run_serial([row.task for row in plan(graph, store) if not row.cached], store, lambda outcome: None)
        made = artefacts.read_parts(store.verified(graph["feature_set"].key), FeatureSet)
        answers.put((number, hashlib.sha256(np.asarray(made.features).tobytes()).hexdigest(), len(made.bars)))


@pytest.mark.parametrize(
    ("processes", "rounds"), [(4, 2), pytest.param(8, 20, marks=pytest.mark.acceptance, id="as reported")]
)
def test_every_process_reads_the_same_whole_feature_set(tmp_path, processes, rounds):
    for number in range(rounds):
        Workshop(tmp_path / str(number)).write(bars_of(days=2, roll_on=None, seed=number))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.pipelines.day_bars"])
    barrier, answers = context.Barrier(processes, timeout=120), context.Queue()
    arguments = (tmp_path, rounds, barrier, answers)
    workers = [context.Process(target=build_together, args=arguments) for _ in range(processes)]
    for worker in workers:
        worker.start()
    found = [answers.get(timeout=240) for _ in range(processes * rounds)]
    for worker in workers:
        worker.join(timeout=60)
    assert [worker.exitcode for worker in workers] == [0] * processes
    for number in range(rounds):
        read = {row[1:] for row in found if row[0] == number}
        assert len(read) == 1 and {rows for _, rows in read} == {400}
        store = Workshop(tmp_path / str(number)).store
        assert list((store.root / "tmp").iterdir()) == [] and list((store.root / "corrupt").iterdir()) == []


@pytest.mark.acceptance
def test_two_drivers_on_one_store_both_finish_with_what_one_alone_makes(
    tmp_path, small_settings, serial_store, contents
):
    store = tmp_path / "store"
    options = ["run", "fold=0", f"store={store}", *small_settings, "--quiet"]
    drivers = [
        subprocess.Popen([sys.executable, "-m", "pipelines.cli", *options, f"cluster={cluster}"], text=True)
        for cluster in ("serial", "processes")
    ]
    assert [driver.wait(timeout=280) for driver in drivers] == [0, 0]
    assert contents(store) == contents(serial_store)
    assert list((store / "tmp").iterdir()) == [] and list((store / "corrupt").iterdir()) == []
    assert [row["status"] for row in read_records(Store(store))] == ["done", "done"]


def test_a_run_whose_budget_is_too_small_stops_before_its_first_node(tmp_path, serial_store, small_settings, capsys):
    store = tmp_path / "store"
    shutil.copytree(serial_store, store)
    options = [f"store={store}", *small_settings, "cluster=serial", "--quiet"]
    before = len(read_records(Store(store)))
    assert main(["run", "fold=0", *options, "store_budget=1MB"]) == 2
    assert "store_budget is 1.0 MB, too small for this run" in capsys.readouterr().err
    record = read_records(Store(store))[-1]
    assert len(read_records(Store(store))) == before + 1 and record["tasks"] == []
    assert main(["run", "fold=0", *options, "store_budget=1GB"]) == 0
