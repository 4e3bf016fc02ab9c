"""cluster=cuda on a machine with a GPU: the sweep is on it without being told, all else beside it, and the record says so."""

import dataclasses
import json
import os

import pytest

from pipelines.cli import main
from pipelines.config.configuration import load_settings
from pipelines.execution.cluster import connected, gpu_refusal
from pipelines.execution.cluster_settings import ClusterOptions
from tests.pipelines.execution.test_cluster import settings

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(gpu_refusal() is not None, reason=f"cluster=cuda cannot run here: {gpu_refusal()}"),
]
CORES = os.cpu_count() or 1


def test_each_gpu_has_a_worker_and_each_core_one_that_sees_no_gpu():
    with connected(settings("cuda")) as client:
        visible = client.run(lambda: os.environ["CUDA_VISIBLE_DEVICES"].split(",")[0])
        workers = client.scheduler_info(n_workers=-1)["workers"]
    held = {address: info["resources"] for address, info in workers.items()}
    cards = [address for address in held if held[address] == {"GPU": 1}]
    assert len({visible[address] for address in cards}) == len(cards) >= 1
    assert [held[address] for address in held if address not in cards] == [{"CPU": 1}] * CORES
    assert {visible[address] for address in held if address not in cards} == {""}
    assert {info["nthreads"] for info in workers.values()} == {1}


def test_limits_and_threads_are_those_of_the_options():
    options = ClusterOptions(memory_limit="9GiB", threads_per_worker=2)
    with connected(dataclasses.replace(settings("cuda", 1), cluster_options=options)) as client:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
    assert {info["memory_limit"] for info in workers} == {9 * 2**30}
    plain = [info["nthreads"] for info in workers if not info["resources"].get("GPU")]
    assert plain == [2] * max(1, CORES // 2) and len(workers) == len(plain) + 1


@pytest.fixture(scope="module")
def on_gpu(tmp_path_factory, small_settings):
    """The small flow with the settings as they are shipped, but for cluster=cuda; its record beside it."""
    store = tmp_path_factory.mktemp("gpu") / "store"
    words = [word for word in small_settings if not word.startswith("workers=")]
    assert load_settings(words).sweep.executor == "auto", "nothing here names an executor"
    assert main(["run", "fold=0", f"store={store}", *words, "cluster=cuda", "--quiet"]) == 0
    return store


def record(capsys, store):
    capsys.readouterr()
    assert main(["runs", f"store={store}", "--json"]) == 0
    return json.loads(capsys.readouterr().out)["runs"][0]


def test_default_settings_sweep_on_the_gpu_and_the_record_names_it(capsys, on_gpu):
    found = record(capsys, on_gpu)
    assert (found["executor"], found["fallback_reason"]) == ("cuda", None)
    assert found["placed"]["sweep"] == {"where": "GPU worker", "why": "sweep.executor=auto"}
    assert {row["where"] for name, row in found["placed"].items() if name != "sweep"} == {"CPU worker"}
    assert found["cluster"]["gpu_workers"] >= 1 and found["cluster"]["workers"] == found["cluster"]["gpu_workers"] + CORES
    sweeps = [row for row in found["tasks"] if row["task"].startswith("sweep[")]
    others = {row["worker"] for row in found["tasks"]} - {row["worker"] for row in sweeps}
    assert sweeps and len(others) > 1 and not others & {row["worker"] for row in sweeps}
    scored = [row for row in sweeps if row["facts"]]
    assert {row["facts"]["executor"] for row in scored} == {"cuda"}
    held = {row["task"]: (row["cached"], row["device_bytes"]) for row in scored}
    assert all(size > 0 for _, size in held.values()), held
    assert all(row["facts"]["why"].startswith("auto: its worker holds a GPU") for row in scored)


def test_a_dask_cuda_cluster_makes_the_same_artefacts_bit_for_bit(on_gpu, serial_store, contents):
    """The serial run is on the CPU, unless a calibration of this machine says that its GPU is faster."""
    assert contents(on_gpu) == contents(serial_store)


def test_a_sweep_that_asks_for_the_cpu_leaves_the_gpu_alone(capsys, tmp_path, small_settings):
    words = [*small_settings, "sweep.executor=cpu", "workers=1", "cluster=cuda", f"store={tmp_path}"]
    assert main(["sweep", "fold=0", *words, "--quiet"]) == 0
    found = record(capsys, tmp_path)
    assert found["executor"] == "cpu" and found["placed"]["sweep"]["why"] == "sweep.executor=cpu"
    assert all(row["device_bytes"] == 0 for row in found["tasks"])
