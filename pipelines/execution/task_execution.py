"""One task from inputs to published artefact: what every runner does at a node, in whatever process it runs."""

import contextlib
import ctypes
import errno
import inspect
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernels.calibration import Calibration
from pipelines.errors import CorruptArtefactError, StoreError, said
from pipelines.execution.interrupts import go_on, require_no_interrupt
from pipelines.execution.machine import PARAMETER, Machine, facts_of, kept
from pipelines.execution.measuring import Stopwatch, device_bytes, noted_warnings, peak_bytes, restart_peaks
from pipelines.execution.node_errors import as_node_error
from pipelines.execution.pieces import Pieces, computed
from pipelines.execution.worker_logs import log_file, task_log
from pipelines.graphs.graph import Source, Task
from pipelines.graphs.node import Retries
from pipelines.graphs.part_keys import part_key, part_list, part_schema
from pipelines.graphs.parts import Part, PartList
from pipelines.graphs.reading import read_artefact
from pipelines.record.outputs import output_digest
from pipelines.record.redaction import Redactor, current
from pipelines.storage import artefacts
from pipelines.storage.store import Store
from pipelines.storage.store_leases import held

BEFORE_WRITE = "before a cache write"
FULL_DISK = 2**20  # bytes; less than this free and no artefact fits


@dataclass(frozen=True)
class Assignment:
    """All that a worker needs to run a task: a function, constants, where inputs lie, the key to publish under.

    `log` is the file of this try, `pieces_count` how many pieces its work is done in, where it can be. Unless `durable`, a
    power cut may tear the artefact, and it is made again. `gpu`: whether the worker that gets it holds a GPU for it; None
    where no worker was chosen.
    """

    task: str
    key: str
    function: Callable[..., Any]
    kind: Any
    inputs: Mapping[str, Source | tuple[Source, ...]]
    constants: Mapping[str, Any]
    gate: Callable[[Any, str], None] | None
    parts: Mapping[str, Any]
    store: Store
    split: Callable[..., Sequence[Part]] | None = None
    retries: Retries = field(default_factory=Retries)
    timeout_s: float = 0.0
    pieces: Pieces | None = None
    pieces_count: int = 1
    log: Path | None = None
    durable: bool = True
    gpu: bool | None = None
    redactor: Redactor = field(default_factory=Redactor)


@dataclass(frozen=True)
class Outcome:
    """What the run record keeps of a task; `facts` are what its node noted of how it ran.

    timings: seconds by phase: queue (waited for a worker), load, compute, publish. peak_bytes, device_bytes: of host and GPU
    memory, at most. warnings: given while it ran. output: the digest of what it made.
    """

    task: str
    key: str
    seconds: float
    cached: bool
    worker: str
    peak_bytes: int
    facts: Mapping[str, Any] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    device_bytes: int = 0
    warnings: tuple[str, ...] = ()
    output: str = ""


def assign(
    task: Task,
    store: Store,
    logs: Path | None = None,
    attempt: int = 0,
    pieces: int = 1,
    gpu: bool | None = None,
) -> Assignment:
    """Reduce a task to what a worker needs; its log goes below the folder `logs`."""
    return Assignment(
        task=task.name,
        key=task.key,
        function=task.node.function,
        kind=task.kind,
        inputs=task.inputs,
        constants=task.constants,
        gate=task.node.gate,
        parts=task.parts,
        store=store,
        split=task.node.split,
        retries=task.node.retries,
        timeout_s=task.node.timeout_s,
        pieces=task.node.pieces,
        pieces_count=pieces,
        log=log_file(logs, task.name, attempt) if logs else None,
        redactor=current(),
        gpu=gpu,
    )


def perform(assignment: Assignment, forward: Callable[[str], None], where: str = "") -> Outcome:
    """Run one task and publish its artefact; what another worker or run has published meanwhile is not computed again.

    Raises NodeError with plain strings only (it crosses process borders), CorruptArtefactError for a damaged input and
    StoreError when the store cannot take the artefact. Warnings that the node logs go to `forward`. `where` names the worker.
    """
    started = time.perf_counter()
    store = assignment.store
    worker = where or f"pid {os.getpid()}"
    store.require()
    if (manifest := store.manifest(assignment.key)) is not None:
        made = output_digest(store, manifest)
        return Outcome(assignment.task, assignment.key, 0.0, True, worker, 0, facts_of(manifest), output=made)
    machine, watch = Machine(_calibration, gpu=assignment.gpu), Stopwatch()
    restart_peaks()
    with task_log(assignment.task, assignment.log, forward, assignment.redactor) as log, noted_warnings() as warned:
        log.write(f"{assignment.task} begins, key {assignment.key}, pid {os.getpid()} on {socket.gethostname()}")
        try:
            _perform(store, assignment, machine, watch)
        except (CorruptArtefactError, StoreError) as error:
            log.write(str(error))
            raise
        except BaseException as error:  # a node that calls sys.exit must fail the node, not its worker
            require_no_interrupt(error)
            raise as_node_error(assignment, error, log, worker) from None
        seconds = time.perf_counter() - started
        log.write(f"done in {seconds:.3f} s")
    outcome = Outcome(
        task=assignment.task, key=assignment.key, seconds=seconds, cached=False, worker=worker, peak_bytes=peak_bytes(),
        facts=machine.facts, timings=watch.seconds, device_bytes=device_bytes(), warnings=tuple(warned),
        output=output_digest(store, store.manifest(assignment.key)),
    )  # fmt: skip
    _give_back_memory()
    return outcome


def _perform(store: Store, assignment: Assignment, machine: Machine, watch: Stopwatch) -> None:
    """Load, compute, publish; the parts of a node in parts are published while it computes."""
    with watch.phase("load"):
        arguments = {name: _load(store, source) for name, source in assignment.inputs.items()}
    if PARAMETER in inspect.signature(assignment.function).parameters:
        arguments[PARAMETER] = machine
    arguments |= assignment.constants
    with watch.phase("compute"):
        if assignment.split is None:
            value = _computed(assignment, arguments, machine)
        else:
            value = _computed_in_parts(store, assignment, arguments, machine)
    with watch.phase("publish"):
        _publish(store, assignment, value, machine)


def _computed(assignment: Assignment, arguments: Mapping[str, Any], machine: Machine) -> Any:
    value = computed(assignment.function, arguments, assignment.pieces, assignment.pieces_count, machine.facts)
    go_on()  # what a node made of an interrupt that it caught is not its result
    if assignment.gate is not None:
        assignment.gate(value, BEFORE_WRITE)
    return value


def _computed_in_parts(
    store: Store, assignment: Assignment, arguments: Mapping[str, Any], machine: Machine
) -> PartList:
    """Compute the parts that the store lacks, publish each under the key of its content, and list all of them."""
    assert assignment.split is not None
    schema = part_schema(assignment.parts)
    keyed = [(part, part_key(schema, part)) for part in assignment.split(**arguments)]
    with held(store, [key for _, key in keyed]):  # until the list of them is there, nothing else says that they are used
        for part, key in keyed:
            if store.manifest(key) is None:
                try:
                    value = _computed(assignment, {**arguments, **part.arguments}, machine)
                except Exception as error:
                    error.add_note(f"part {part.name}")
                    raise
                about = {"task": f"{assignment.task}/{part.name}", "about": dict(part.about), "parts": schema}
                _write(store, assignment.task, key, value, assignment.kind, about, durable=False)
    return part_list(schema, keyed)


def _load(store: Store, source: Source | tuple[Source, ...]) -> Any:
    if isinstance(source, tuple):
        return [_load(store, each) for each in source]
    if source.parts:
        listed = artefacts.read_parts(store.verified(source.key), PartList)
        return [_load(store, replace(source, key=str(key), parts=False)) for key in listed.table["key"]]
    return read_artefact(store, source.key, source.kind, source.gate, source.field)


def _publish(store: Store, assignment: Assignment, value: Any, machine: Machine) -> None:
    needs = {"needs": value.table["key"].tolist()} if isinstance(value, PartList) else {}
    about: dict[str, Any] = {"task": assignment.task, "parts": assignment.parts, **needs}
    if machine.facts:
        about["facts"] = kept(machine.facts)
    kind = PartList if isinstance(value, PartList) else assignment.kind
    _write(store, assignment.task, assignment.key, value, kind, about, assignment.durable)
    store.remember(assignment.task, {"key": assignment.key, "parts": assignment.parts})


def _write(
    store: Store, task: str, key: str, value: Any, kind: Any, about: Mapping[str, Any], durable: bool = True
) -> None:
    store.require()
    try:
        with _begun(store, key) as folder:
            artefacts.write_parts(value, folder, kind)
            store.publish(key, folder, about, durable)
    except OSError as error:
        # numpy reports a short write without an errno, so the disk itself is asked too
        full = error.errno == errno.ENOSPC or shutil.disk_usage(store.root).free < FULL_DISK
        reason = "the disk is full" if full else said(error)
        raise StoreError(
            f"{task}: cannot write its artefact to the store {store.location}: {reason}; free space there or choose "
            "another store with store=DIR; what was finished stays and is not computed again"
        ) from None


@contextlib.contextmanager
def _begun(store: Store, key: str) -> Iterator[Path]:
    """A folder to write an artefact into; whatever ends the writing badly leaves nothing of it."""
    folder = store.begin(key)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _calibration(threads: int) -> Calibration | None:
    """The calibration of this machine, for a node that runs on so many of its threads."""
    from kernels.calibration import this_machine
    from pipelines.calibrations import calibration_file, for_threads, load

    cores = os.cpu_count() or 1
    found = load(calibration_file(), this_machine(cores))
    return None if found is None else for_threads(found, threads)


def _give_back_memory() -> None:
    """Return freed pages to the system: a worker otherwise keeps the peak of every node it ever ran."""
    with contextlib.suppress(OSError):  # another C library than glibc: nothing to trim
        ctypes.CDLL("libc.so.6").malloc_trim(0)
