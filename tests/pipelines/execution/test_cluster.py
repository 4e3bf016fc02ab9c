"""Clusters: what a configuration means, refusal with a reason, and the same artefacts on GPUs' workers."""

import dataclasses
import os

import pytest

from pipelines.cli import main
from pipelines.config.configuration import load_settings
from pipelines.errors import ClusterError
from pipelines.execution.cluster import cluster_options, connected, gpu_refusal


def settings(kind: str, workers: int = 0):
    return dataclasses.replace(load_settings(), cluster=kind, workers=workers)


def test_processes_are_one_a_core_each_with_one_thread_of_arithmetic():
    options = cluster_options(settings("processes"), 6)
    assert (options["n_workers"], options["threads_per_worker"], options["processes"]) == (6, 1, True)
    assert options["env"]["OMP_NUM_THREADS"] == options["env"]["NUMBA_NUM_THREADS"] == "1"
    assert options["host"] == "127.0.0.1", "a cluster of this machine listens to this machine only"


def test_threads_share_one_process():
    options = cluster_options(settings("threads", 3), 6)
    assert (options["n_workers"], options["threads_per_worker"], options["processes"]) == (1, 3, False)


def test_gpu_workers_declare_the_resource_that_nodes_ask_for():
    options = cluster_options(settings("cuda"), 6)
    assert options["resources"] == {"GPU": 1}
    assert "n_workers" not in options, "dask-cuda starts one a GPU by itself"
    assert cluster_options(settings("cuda", 2), 6)["n_workers"] == 2


@pytest.mark.skipif(gpu_refusal() is None, reason="this machine can run cluster=cuda")
def test_cuda_is_refused_with_the_reason_before_anything_starts():
    with (
        pytest.raises(ClusterError, match=r"cluster=cuda: .*; use cluster=processes to run on the CPU"),
        connected(settings("cuda")),
    ):
        raise AssertionError("a cluster started without a GPU")


@pytest.mark.gpu
@pytest.mark.skipif(gpu_refusal() is not None, reason=f"cluster=cuda cannot run here: {gpu_refusal()}")
def test_gpu_workers_see_one_gpu_each():
    with connected(settings("cuda")) as client:
        visible = client.run(lambda: os.environ["CUDA_VISIBLE_DEVICES"].split(",")[0])
        resources = {worker: info["resources"] for worker, info in client.scheduler_info()["workers"].items()}
    assert len(set(visible.values())) == len(visible) >= 1
    assert all(held == {"GPU": 1} for held in resources.values())


@pytest.mark.gpu
@pytest.mark.skipif(gpu_refusal() is not None, reason=f"cluster=cuda cannot run here: {gpu_refusal()}")
def test_a_dask_cuda_cluster_makes_the_same_artefacts_bit_for_bit(tmp_path, small_settings, contents):
    for kind in ("serial", "cuda"):
        words = [word for word in small_settings if not word.startswith("workers=")]
        assert main(["run", "fold=0", f"store={tmp_path / kind}", *words, f"cluster={kind}", "--quiet"]) == 0
    assert contents(tmp_path / "cuda") == contents(tmp_path / "serial")
