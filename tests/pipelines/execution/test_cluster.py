"""Clusters: what a configuration means, and refusal with a reason."""

import dataclasses

import pytest

from pipelines.config.configuration import load_settings
from pipelines.errors import ClusterError
from pipelines.execution.cluster import cluster_options, connected, gpu_refusal
from pipelines.execution.cluster_settings import ClusterOptions


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
    assert options["memory_limit"] == 0, "none: dask-cuda's own limit would kill a worker that nobody has limited"
    limited = dataclasses.replace(settings("cuda"), cluster_options=ClusterOptions(memory_limit="8GiB"))
    assert cluster_options(limited, 6)["memory_limit"] == "8GiB"


@pytest.mark.skipif(gpu_refusal() is None, reason="this machine can run cluster=cuda")
def test_cuda_is_refused_with_the_reason_before_anything_starts():
    with (
        pytest.raises(ClusterError, match=r"cluster=cuda: .*; use cluster=processes to run on the CPU"),
        connected(settings("cuda")),
    ):
        raise AssertionError("a cluster started without a GPU")
