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
from pipelines.execution.placement import CPU, GPU, can_use_gpu, needs_gpu
from pipelines.execution.worker_code import ExpectedCode, expected_code
from pipelines.graphs.graph import Task
from pipelines.keying import keys
from pipelines.keying.arithmetic import arithmetic
from pipelines.record.records import LIBRARIES
from pipelines.storage.store import Store
from pipelines.storage.store_files import unfinished

LEAST_FREE = 2**24  # bytes of the store's disk: artefacts and their manifests need some
ANSWER_S = 60.0  # for a worker to say what it has
JOIN_S = 30.0  # for a worker that is being restarted


@dataclass(frozen=True)
class Expectation:
    """What every worker must have in common with the driver: code, versions, arithmetic, and the store with its token.

    `gpu`: tasks go to the workers that announce a GPU, so it must work there.
    """

    code: ExpectedCode
    versions: Mapping[str, str]
    arithmetic: Mapping[str, str]
    store: Store
    token: str
    gpu: bool = False


@dataclass(frozen=True)
class Worker:
    """What a worker has, and what about it refuses the run (empty: nothing).

    `gpus` and `cpus` are the resources it announces, `slots` how many nodes it runs at once.
    """

    address: str
    host: str
    memory: int
    cores: int
    gpus: float
    refusal: str = ""
    cpus: float = 0.0
    slots: int = 1


def expectation(tasks: Sequence[Task], store: Store, token: str) -> Expectation:
    """Return what the tasks expect of every worker."""
    rounding = [set(task.node.libraries) for task in tasks if not task.node.exact]
    named = {name for task in tasks for name in task.parts["libraries"]}
    found = {name: _version(name) for name in sorted(named & _installable(named) | set(LIBRARIES))}
    versions = {"python": platform.python_version(), **found}
    rounds = arithmetic(set().union(*rounding)) if rounding else {}
    gpu = any(can_use_gpu(task) and not task.constants.get("allow_fallback") for task in tasks)
    return Expectation(expected_code(tasks), versions, rounds, store, token, gpu)


def refusal(expected: Expectation) -> str:
    """Say, on a worker, what it lacks or where it differs from the driver, with the remedy; or nothing."""
    for name, wanted in expected.versions.items():
        here = platform.python_version() if name == "python" else _version(name)
        if here != wanted:
            return f"it has {name} {here}, the driver {wanted}; install the same versions"
    if differing := _other_rounding(expected.arithmetic):
        return f"its processor or C library may round otherwise than the driver's ({differing}); run on machines of one kind"
    if names := expected.code.first_difference():
        return f"its code of {names} differs from the driver's; install the same code there and restart the worker"
    return _store_refusal(expected.store, expected.token)


def _other_rounding(wanted: Mapping[str, str]) -> str:
    """What rounds here otherwise than the driver has it; nothing where nothing does, or where no task rounds."""
    here = arithmetic(("torch",)) if wanted else {}
    differing = {name: value for name, value in wanted.items() if here.get(name) != value}
    return ", ".join(f"{name} {here.get(name)}, there {value}" for name, value in differing.items())


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


def gpu_refusal() -> str:
    """Say, on a worker that announces a GPU, why programs cannot run on it, with the remedy; or nothing."""
    from kernels.fallback import cuda_refusal

    if (found := cuda_refusal()) is None:
        return ""
    return (
        f"it announces a GPU, but cannot run CUDA ({found.reason}): {found.message}; or start it without --resources GPU=1, or "
        "use sweep.executor=cpu"
    )


def survey(expected: Expectation, dask_worker: Any = None) -> tuple[str, int, int, str]:
    """Return, on a worker, its host, its memory in bytes, its cores and its refusal; Dask fills in the worker itself."""
    from dask.system import CPU_COUNT
    from distributed.system import MEMORY_LIMIT

    why = refusal(expected)
    if not why and expected.gpu and dask_worker.state.total_resources.get(GPU):
        why = gpu_refusal()
    return socket.gethostname(), int(MEMORY_LIMIT), int(CPU_COUNT), why


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
    return dict(client.scheduler_info(n_workers=-1)["workers"])


def _worker(address: str, answer: Any, info: Mapping[str, Any]) -> Worker:
    gpus, cpus = (float(info["resources"].get(name, 0)) for name in (GPU, CPU))
    slots = int(info["nthreads"])
    if isinstance(answer, BaseException):
        why = f"it cannot load the code of this run ({answer}); install there what the driver has, the same versions"
        return Worker(address, str(info.get("host", "")), 0, 0, gpus, why, cpus, slots)
    host, memory, cores, why = answer
    return Worker(address, host, min(memory, int(info["memory_limit"]) or memory), cores, gpus, why, cpus, slots)


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
    able = _able(task, workers)
    if not able:
        return (
            f"needs a GPU, but no worker has one ({there} without); use cluster=cuda, or at a scheduler of yours start workers "
            f"with `dask cuda worker ADDRESS --resources GPU=1`{', or use sweep.executor=auto' if needs.executor else ''}"
        )
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
    needing = [task for task in tasks if needs_gpu(task)]
    if needing:
        from kernels.fallback import cuda_refusal

        if (found := cuda_refusal()) is not None:
            what, remedy = "it needs a GPU and", ""
            if needing[0].node.resources.executor:
                what = "executor=cuda"
                remedy = "; or use sweep.executor=cpu or auto, or sweep.allow_fallback=true to run on the CPU and be told so"
            raise ClusterError(f"{needing[0].name}: {what} cannot run here ({found.reason}): {found.message}{remedy}")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    gpus = 1.0 if needing else 0.0
    check(tasks, (Worker("this process", socket.gethostname(), memory, os.cpu_count() or 1, gpus),))


def _able(task: Task, workers: Sequence[Worker]) -> list[Worker]:
    """The workers that a task may go to by their GPUs alone."""
    holding = [worker for worker in workers if worker.gpus]
    if needs_gpu(task) or (holding and can_use_gpu(task)):
        return holding
    return [worker for worker in workers if not worker.gpus] or list(workers)


def hosts_for(task: Task, workers: Sequence[Worker]) -> list[str] | None:
    """Return the hosts that have what a task needs, or None where every worker has: hosts stay when workers are replaced."""
    pool = _able(task, workers)
    able = [one for one in pool if one.memory >= task.node.resources.memory and one.cores >= task.node.resources.cores]
    if len(able) == len(pool):
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
