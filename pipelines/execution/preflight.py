"""What a run needs and the cluster lacks is an error before the first node: never a wait without end."""

import os
import platform
import shutil
import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from typing import Any

from pipelines.errors import ClusterError, StoreError, said
from pipelines.execution.worker_code import ExpectedCode, expected_code
from pipelines.graphs.graph import Task
from pipelines.keying import keys
from pipelines.record.records import LIBRARIES
from pipelines.storage.store import Store
from pipelines.storage.store_files import unfinished

LEAST_FREE = 2**24  # bytes of the store's disk: artefacts and their manifests need some
ANSWER_S = 60.0  # for a worker to say what it has
JOIN_S = 30.0  # for a worker that is being restarted
WORKERS = -1  # "all of them" to Client.scheduler_info


@dataclass(frozen=True)
class Expectation:
    """What every worker must have in common with the driver: code, versions, arithmetic, and the store with its token."""

    code: ExpectedCode
    versions: Mapping[str, str]
    arithmetic: Mapping[str, str]
    store: Store
    token: str


@dataclass(frozen=True)
class Worker:
    """What a worker has, and what about it refuses the run (empty: nothing)."""

    address: str
    host: str
    memory: int
    cores: int
    gpus: float
    refusal: str = ""


def expectation(tasks: Sequence[Task], store: Store, token: str) -> Expectation:
    """Return what the tasks expect of every worker."""
    split = any(task.node.split is not None for task in tasks)
    named = {name for task in tasks for name in task.parts["libraries"]}
    found = {name: _version(name) for name in sorted(named & _installable(named) | set(LIBRARIES))}
    versions = {"python": platform.python_version(), **found}
    return Expectation(expected_code(tasks), versions, keys.arithmetic() if split else {}, store, token)


def refusal(expected: Expectation) -> str:
    """Say, on a worker, what it lacks or where it differs from the driver, with the remedy; or nothing."""
    for name, wanted in expected.versions.items():
        here = platform.python_version() if name == "python" else _version(name)
        if here != wanted:
            return f"it has {name} {here}, the driver {wanted}; install the same versions"
    if expected.arithmetic and keys.arithmetic() != expected.arithmetic:
        return "its processor rounds features differently from the driver's; run on machines of one kind"
    if names := expected.code.first_difference():
        return f"its code of {names} differs from the driver's; install the same code there and restart the worker"
    return _store_refusal(expected.store, expected.token)


def _store_refusal(store: Store, token: str) -> str:
    try:
        if store.files.read(token) is None:
            return f"it does not see the store {store.location}; use a folder or bucket that all machines share"
    except StoreError as error:
        return str(error)
    probe = f"tmp/{unfinished('probe')}"
    try:
        store.files.write(probe, b"")
        store.files.remove(probe)
        full = store.root.is_dir() and shutil.disk_usage(store.root).free < LEAST_FREE
    except OSError as error:
        why = said(error)
        return f"it cannot write the store {store.location} ({why}); give it the right to, or choose another with store=DIR"
    if full:
        return f"the disk of the store {store.root} is full; free space there or choose another store with store=DIR"
    return ""


def survey(expected: Expectation) -> tuple[str, int, int, str]:
    """Return, on a worker, its host, its memory in bytes, its cores and its refusal."""
    from dask.system import CPU_COUNT
    from distributed.system import MEMORY_LIMIT

    return socket.gethostname(), int(MEMORY_LIMIT), int(CPU_COUNT), refusal(expected)


def known_here() -> bool:
    """Be importable, on the scheduler."""
    return True


def surveyed(client: Any, expected: Expectation) -> tuple[Worker, ...]:
    """Ask every worker of a cluster; raises ClusterError when one does not answer."""
    try:
        client.wait_for_workers(1, timeout=JOIN_S)
    except TimeoutError:
        return ()
    try:
        client.run_on_scheduler(known_here)
    except (ImportError, RuntimeError) as error:
        raise ClusterError(
            f"the scheduler at {client.scheduler.address} cannot import walkfold ({error}); install the same version there"
        ) from None
    try:
        answers = client.sync(client._run, survey, expected, on_error="return", callback_timeout=ANSWER_S)
    except OSError as error:
        if not isinstance(error, TimeoutError):
            raise ClusterError(f"a worker was lost while it was asked what it has ({error}); run again") from None
        raise ClusterError(
            f"a worker did not say within {ANSWER_S:g} s what it has; restart the workers, or use cluster=processes"
        ) from None
    return tuple(
        _worker(address, answers[address], info) for address, info in known(client).items() if address in answers
    )


def known(client: Any) -> dict[str, Any]:
    """Return what the scheduler says of its workers, by address."""
    return dict(client.scheduler_info(n_workers=WORKERS)["workers"])


def _worker(address: str, answer: Any, info: Mapping[str, Any]) -> Worker:
    gpus = float(info["resources"].get("GPU", 0))
    if isinstance(answer, BaseException):
        why = f"it cannot load the code of this run ({answer}); install there what the driver has, the same versions"
        return Worker(address, str(info.get("host", "")), 0, 0, gpus, why)
    host, memory, cores, why = answer
    return Worker(address, host, min(memory, int(info["memory_limit"]) or memory), cores, gpus, why)


def check(tasks: Iterable[Task], workers: Sequence[Worker]) -> None:
    """Raise ClusterError naming what is needed, by which node, what is there, and the remedy."""
    if not workers:
        raise ClusterError("the cluster has no worker; start some, or use cluster=processes")
    for worker in workers:
        if worker.refusal:
            raise ClusterError(f"worker {worker.address} on {worker.host}: {worker.refusal}")
    for task in tasks:
        if lacking := unsatisfied(task, workers):
            raise ClusterError(f"{task.name}: {lacking}")


def unsatisfied(task: Task, workers: Sequence[Worker]) -> str:
    """Say what a task needs that no worker has, and the remedy; or nothing."""
    needs = task.node.resources
    there = f"{len(workers)} worker{'s' if len(workers) > 1 else ''}"
    if needs.gpu and not any(worker.gpus >= needs.gpu for worker in workers):
        return f"needs a GPU, but no worker has one ({there} without); use cluster=cuda"
    able = [worker for worker in workers if worker.gpus >= needs.gpu]
    memory, cores = max(worker.memory for worker in able), max(worker.cores for worker in able)
    if needs.memory > memory:
        return (
            f"needs {_gib(needs.memory)} of memory, but the largest of {there} has {_gib(memory)}; run on a larger machine, "
            "raise cluster_options.memory_limit, or say less in the node's resources"
        )
    if needs.cores > cores:
        return f"needs {needs.cores} cores, but the machines of {there} have {cores}; run on a larger machine"
    return ""


def check_this_machine(tasks: Sequence[Task]) -> None:
    """Raise ClusterError for what a run in this process lacks."""
    gpus = 1.0
    if any(task.node.resources.gpu for task in tasks):
        from kernels.fallback import cuda_refusal

        gpus = 0.0 if cuda_refusal() else 1.0
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    check(tasks, (Worker("this process", socket.gethostname(), memory, os.cpu_count() or 1, gpus),))


def check_executor(tasks: Iterable[Task]) -> None:
    """Raise ClusterError where a sweep must run on a GPU that this machine, which is to run it, lacks."""
    for task in tasks:
        if task.constants.get("executor") == "cuda" and not task.constants.get("allow_fallback"):
            from kernels.fallback import cuda_refusal

            if (found := cuda_refusal()) is not None:
                raise ClusterError(
                    f"{task.name}: executor=cuda cannot run here ({found.reason}): {found.message}; or use sweep.executor=cpu "
                    "or auto, or sweep.allow_fallback=true to run on the CPU and be told so"
                )
            return


def hosts_for(task: Task, workers: Sequence[Worker]) -> list[str] | None:
    """Return the hosts that have what a task needs, or None where every worker has: hosts stay when workers are replaced."""
    able = [
        one for one in workers if one.memory >= task.node.resources.memory and one.cores >= task.node.resources.cores
    ]
    if len(able) == len(workers):
        return None
    return sorted({one.address.partition("://")[2].rpartition(":")[0] for one in able})


def check_cluster(tasks: Sequence[Task], store: Store, client: Any) -> tuple[Expectation, tuple[Worker, ...]]:
    """Ask the workers and compare with what the tasks need; raises ClusterError before anything runs."""
    token = f"tmp/{unfinished('preflight')}"
    store.files.write(token, b"here")
    try:
        expected = expectation(tasks, store, token)
        workers = surveyed(client, expected)
    finally:
        with suppress(OSError):
            store.files.remove(token)
    check(tasks, workers)
    return expected, workers


def _installable(names: Iterable[str]) -> set[str]:
    """Of the libraries in a key, those that are packages; the others say how the processor rounds."""
    return {name for name in names if _version(name) != "source"}


def _version(name: str) -> str:
    try:
        return keys.installed_versions([name])[name]
    except PackageNotFoundError:
        return "source"


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
