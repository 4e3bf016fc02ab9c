"""Where the graph runs: which cluster a configuration means, and starting it."""

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pipelines.errors import ClusterError
from pipelines.settings import Settings

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def cluster_options(settings: Settings, cores: int) -> dict[str, Any]:
    """Return the keyword arguments of the cluster class; a pure function, so that it can be tested without a cluster.

    Every worker runs one task at a time with one thread of arithmetic: results cannot depend on the number of cores.
    """
    workers = settings.workers or max(1, cores)
    if settings.cluster == "threads":
        return {"processes": False, "n_workers": 1, "threads_per_worker": workers, "dashboard_address": "127.0.0.1:0"}
    if settings.cluster == "processes":
        return {
            "processes": True,
            "n_workers": workers,
            "threads_per_worker": 1,
            "dashboard_address": "127.0.0.1:0",
            "host": "127.0.0.1",
            "env": ONE_THREAD,
            "memory_limit": 0,
        }
    if settings.cluster == "cuda":
        options = {
            "threads_per_worker": 1,
            "dashboard_address": "127.0.0.1:0",
            "host": "127.0.0.1",
            "resources": {"GPU": 1},
        }
        return options | ({"n_workers": settings.workers} if settings.workers else {})
    raise ClusterError(f"cluster={settings.cluster} starts no Dask cluster")


def gpu_refusal() -> str | None:
    """Return why `cluster=cuda` cannot run on this machine, or None when it can."""
    try:
        import dask_cuda  # noqa: F401
    except ImportError:
        return "dask-cuda is not installed: pip install 'walkfold[gpu]'"
    try:
        import cupy
    except ImportError:
        return "cupy is not installed: pip install 'walkfold[gpu]'"
    try:
        devices = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"no usable GPU: {error}"
    return None if devices else "no GPU is visible (see CUDA_VISIBLE_DEVICES)"


@contextmanager
def connected(settings: Settings) -> Iterator[Any]:
    """Start the configured cluster, yield a connected client and stop every process of it at the end.

    Raises ClusterError with the reason before anything is started when `cluster=cuda` cannot run here.
    """
    if settings.cluster == "cuda":
        refusal = gpu_refusal()
        if refusal:
            raise ClusterError(f"cluster=cuda: {refusal}; use cluster=processes to run on the CPU")
    from distributed import Client, LocalCluster

    options = cluster_options(settings, os.cpu_count() or 1)
    if settings.cluster == "cuda":
        from dask_cuda import LocalCUDACluster

        cluster_class = LocalCUDACluster
    else:
        cluster_class = LocalCluster
    try:
        with _interrupts_reach_only_this_process():
            cluster = cluster_class(**options, silence_logs=logging.CRITICAL)
    except RuntimeError as error:
        raise ClusterError(
            f"cluster={settings.cluster} did not start: {error}; run again, or use cluster=serial"
        ) from None
    with cluster, Client(cluster) as client:
        yield client


@contextmanager
def _interrupts_reach_only_this_process() -> Iterator[None]:
    """Start processes that ignore SIGINT: Ctrl-C goes to a terminal's whole group, and it is this process that stops them.

    Children inherit "ignored". Here the signal is blocked meanwhile, so that an interrupt during the start is kept and
    delivered as soon as the start is over.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
