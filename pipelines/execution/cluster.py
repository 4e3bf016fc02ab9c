"""Where the graph runs: which cluster a configuration means, starting it or connecting to it, and leaving nothing behind."""

import importlib.util
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipelines.config.settings import Settings
from pipelines.errors import ClusterError
from pipelines.execution.cluster_settings import NONE, SecuritySettings, is_address
from pipelines.execution.placement import CPU, GPU
from pipelines.storage.json_values import json_value

ALL = -1  # of the workers, to Client.scheduler_info
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
CLOSE_S = 20.0  # for the processes of a cluster to end
START_S = 120.0  # for the workers beside those with a GPU to come up
# options of a worker that say where it listens, whom it trusts and what it may hold
LISTENING = (
    "host", "interface", "protocol", "security", "silence_logs", "services", "dashboard_address", "dashboard", "memory_limit",
)  # fmt: skip
# Deaths are counted by the driver, task by task. A worker is killed at its limit, never paused: one that holds memory
# from an earlier node would wait for ever, and artefacts are in the store, so there is nothing to spill.
DASK_CONFIGURATION = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
}


def cluster_options(settings: Settings, cores: int) -> dict[str, Any]:
    """Return the keyword arguments of the cluster class; a pure function, so that it can be tested without a cluster.

    Every slot runs one task at a time with one thread of arithmetic: results cannot depend on the number of cores.
    """
    how = settings.cluster_options
    threads = how.threads_per_worker
    served = how.dashboard != NONE
    # the scheduler's HTTP server always runs: without an address it would listen on port 8787 of every interface
    dashboard = {
        "dashboard_address": how.dashboard if served else "127.0.0.1:0", "scheduler_kwargs": {"dashboard": served},
    }  # fmt: skip
    shared = dashboard | {"host": how.host}
    limit = {"memory_limit": 0 if how.memory_limit == NONE else how.memory_limit}
    if settings.cluster == "threads":
        return {
            "processes": False,
            "n_workers": 1,
            "threads_per_worker": settings.workers or max(1, cores),
            "memory_limit": 0,
            **dashboard,
        }
    if settings.cluster == "processes":
        workers = settings.workers or max(1, cores // threads)
        return shared | limit | {
            "processes": True, "n_workers": workers, "threads_per_worker": threads, "env": ONE_THREAD,
        }  # fmt: skip
    if settings.cluster == "cuda":
        options = shared | limit | {"threads_per_worker": 1, "resources": {GPU: 1}}
        return options | ({"n_workers": settings.workers} if settings.workers else {})
    raise ClusterError(f"cluster={settings.cluster} starts no Dask cluster")


def cpu_workers(settings: Settings, cores: int) -> tuple[int, dict[str, Any]]:
    """Return how many workers without a GPU stand beside those with one, and their options: a slot a core, as of processes."""
    threads = settings.cluster_options.threads_per_worker
    unseen = {"CUDA_VISIBLE_DEVICES": ""}  # what a worker does not hold it must not use
    return max(1, cores // threads), {"nthreads": threads, "resources": {CPU: threads}, "env": ONE_THREAD | unseen}


def add_workers(cluster: Any, count: int, options: Mapping[str, Any]) -> None:
    """Start further workers at a started cluster's scheduler, which listen as its own do, and wait for them."""
    from distributed import Nanny

    alike = {name: value for name, value in cluster.new_spec["options"].items() if name in LISTENING}
    spec = {"cls": Nanny, "options": {**alike, **options}}
    cluster.worker_spec.update({f"cpu-{number}": spec for number in range(count)})
    cluster.scale(len(cluster.worker_spec))
    cluster.wait_for_workers(len(cluster.worker_spec), timeout=START_S)


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
    """Start the configured cluster, or connect to one that runs; yield a client and stop at the end what was started.

    Raises ClusterError with the reason before anything is started when `cluster=cuda` cannot run here, and within
    `cluster_options.wait_s` when there is no scheduler at an address, or it has no worker.
    """
    import dask

    with dask.config.set(DASK_CONFIGURATION):
        if is_address(settings.cluster):
            with _joined(settings) as client:
                yield client
        else:
            with _started(settings) as client:
                yield client


@contextmanager
def _joined(settings: Settings) -> Iterator[Any]:
    """Connect to a scheduler that runs already; its workers are somebody else's and stay."""
    from distributed import Client

    how = settings.cluster_options
    address = _address(settings.cluster)
    remedy = "start it, correct cluster=, or use cluster=processes"
    if address.startswith("tls") and not how.security.on:
        raise ClusterError(f"cluster={address} is encrypted: give cluster_options.security.ca_file, cert and key")
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # a scheduler that goes away is told as an error of ours
    try:
        client = Client(address, timeout=how.wait_s, security=security(how.security))
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"cluster={settings.cluster}: no scheduler answers at {address} within {how.wait_s:g} s "
            f"({type(error).__name__}); {remedy}"
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=how.wait_s)
        except TimeoutError:
            raise ClusterError(
                f"cluster={settings.cluster}: the scheduler has no worker after {how.wait_s:g} s; start some with "
                f"`dask worker {address}`, or use cluster=processes"
            ) from None
        yield client


@contextmanager
def _started(settings: Settings) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    cluster_class = LocalCluster
    if settings.cluster == "cuda":
        if refusal := gpu_refusal():
            raise ClusterError(f"cluster=cuda: {refusal}; use cluster=processes to run on the CPU")
        from dask_cuda import LocalCUDACluster

        cluster_class = LocalCUDACluster
    options = cluster_options(settings, os.cpu_count() or 1)
    encryption = security(settings.cluster_options.security)
    if encryption is not None and settings.cluster != "threads":
        options |= {"security": encryption, "protocol": "tls"}
    try:
        with _interrupts_reach_only_this_process():
            cluster = cluster_class(**options, silence_logs=logging.CRITICAL)
            if settings.cluster == "cuda":
                _add_cpu_workers(cluster, settings)
    except (RuntimeError, OSError, ValueError) as error:
        raise ClusterError(
            f"cluster={settings.cluster} did not start: {error}; run again, or use cluster=serial"
        ) from None
    try:
        with Client(cluster) as client:
            yield client
    finally:
        _close(cluster)


def _add_cpu_workers(cluster: Any, settings: Settings) -> None:
    try:
        add_workers(cluster, *cpu_workers(settings, os.cpu_count() or 1))
    except BaseException:
        _close(cluster)
        raise


def _close(cluster: Any) -> None:
    """Stop a cluster; what does not stop in time, as a worker that was killed while it restarted, is killed."""
    try:
        cluster.close(timeout=CLOSE_S)
    except TimeoutError:
        for process in multiprocessing.active_children():
            process.kill()


def security(settings: SecuritySettings) -> Any:
    """Return Dask's object for TLS with these files, the same for every part of the cluster; None without."""
    if not settings.on:
        return None
    from distributed.security import Security

    for name in ("ca_file", "cert", "key"):
        if not Path(getattr(settings, name)).is_file():
            raise ClusterError(f"cluster_options.security.{name}={getattr(settings, name)}: there is no such file")
    roles = ("client", "scheduler", "worker")
    files = {f"tls_{role}_{part}": getattr(settings, part) for role in roles for part in ("cert", "key")}
    return Security(tls_ca_file=settings.ca_file, require_encryption=True, **files)


def described(settings: Settings, client: Any) -> dict[str, Any]:
    """Return what a run's record says of its cluster; `dashboard` is None where none is served."""
    workers = client.scheduler_info(n_workers=ALL)["workers"].values()
    served = settings.cluster_options.dashboard != NONE and importlib.util.find_spec("bokeh") is not None
    return {
        "cluster": settings.cluster,
        "scheduler": client.scheduler.address,
        "workers": len(workers),
        "gpu_workers": sum(bool(worker["resources"].get(GPU)) for worker in workers),
        "slots": sum(int(worker["nthreads"]) for worker in workers),
        "dashboard": _dashboard(settings, client) if served else None,
    }


def _dashboard(settings: Settings, client: Any) -> str | None:
    """The dashboard's address; Dask's own link names another interface than a started cluster listens on."""
    if is_address(settings.cluster):
        return str(client.dashboard_link)
    port = client.scheduler_info(n_workers=0)["services"].get("dashboard")
    host = settings.cluster_options.dashboard.rpartition(":")[0] or settings.cluster_options.host
    return f"http://{host}:{port}/status" if port else None


@contextmanager
def performance_report(path: Path | None) -> Iterator[None]:
    """Save Dask's report of what the cluster did meanwhile as one HTML file; nothing without a path."""
    if path is None:
        yield
        return
    from distributed import performance_report as reported

    with reported(filename=str(path)):
        yield


def report_refusal(settings: Settings, path: Path) -> str | None:
    """Return why no performance report can be saved, or None."""
    if settings.cluster == "serial":
        return "cluster=serial has no scheduler that could report; use cluster=threads or processes"
    if importlib.util.find_spec("bokeh") is None:
        return "bokeh is not installed: pip install 'walkfold[dashboard]'"
    return None if path.resolve().parent.is_dir() else f"the folder {path.resolve().parent} does not exist"


def _address(cluster: str) -> str:
    """Return the address of a scheduler, from its file where one is named."""
    if not cluster.endswith(".json"):
        return cluster
    try:
        return str(json_value(Path(cluster).read_text(encoding="utf-8"))["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ClusterError(
            f"cluster={cluster}: is no scheduler file ({type(error).__name__}); start the scheduler with --scheduler-file"
        ) from None


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
