"""Case D07: processes that build the same feature set at once all read it whole, and leave nothing unfinished."""

import multiprocessing

import numpy as np
import pytest

from pipelines import artefacts
from pipelines.planning import plan
from pipelines.serial_runner import run_serial
from pipelines.steps.feature_set import FeatureSet
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
