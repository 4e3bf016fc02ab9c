"""One task from inputs to published artefact: what every runner does at a node, in whatever process it runs."""

import contextlib
import ctypes
import errno
import os
import resource
import shutil
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines import artefacts
from pipelines.errors import CorruptArtefactError, ExitCode, NodeError, StoreError
from pipelines.graph import Source, Task
from pipelines.store import Store

AFTER_READ = "after a cache read"
BEFORE_WRITE = "before a cache write"
FULL_DISK = 2**20  # bytes; less than this free and no artefact fits


@dataclass(frozen=True)
class Assignment:
    """All that a worker needs to run a task: a function, constants, where inputs lie, the key to publish under."""

    task: str
    key: str
    function: Callable[..., Any]
    kind: Any
    inputs: Mapping[str, Source | tuple[Source, ...]]
    constants: Mapping[str, Any]
    gate: Callable[[Any, str], None] | None
    parts: Mapping[str, Any]
    store: Path


@dataclass(frozen=True)
class Outcome:
    """What the run record keeps of a task."""

    task: str
    key: str
    seconds: float
    cached: bool
    worker: str
    peak_bytes: int


def assign(task: Task, store: Store) -> Assignment:
    """Reduce a task to what a worker needs."""
    return Assignment(
        task=task.name,
        key=task.key,
        function=task.node.function,
        kind=task.kind,
        inputs=task.inputs,
        constants=task.constants,
        gate=task.node.gate,
        parts=task.parts,
        store=store.root,
    )


def perform(assignment: Assignment) -> Outcome:
    """Run one task and publish its artefact.

    Raises NodeError with plain strings only (it crosses process borders), CorruptArtefactError for a damaged input and
    StoreError when the store cannot take the artefact.
    """
    started = time.perf_counter()
    store = Store(assignment.store)
    try:
        arguments = {name: _load(store, source) for name, source in assignment.inputs.items()}
        value = assignment.function(**arguments, **assignment.constants)
        if assignment.gate is not None:
            assignment.gate(value, BEFORE_WRITE)
        _publish(store, assignment, value)
    except (CorruptArtefactError, StoreError):
        raise
    except (Exception, SystemExit) as error:  # a node that calls sys.exit must fail the node, not its worker
        raise _as_node_error(assignment, error) from None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    seconds = time.perf_counter() - started
    del arguments, value
    _give_back_memory()
    return Outcome(assignment.task, assignment.key, seconds, False, f"pid {os.getpid()}", peak)


def _load(store: Store, source: Source | tuple[Source, ...]) -> Any:
    if isinstance(source, tuple):
        return [_load(store, each) for each in source]
    folder = store.verified(source.key)
    value = artefacts.read_parts(folder, source.kind, source.field)
    if source.gate is not None and source.field is None:
        source.gate(value, AFTER_READ)
    return value


def _publish(store: Store, assignment: Assignment, value: Any) -> None:
    folder = None
    try:
        folder = store.begin(assignment.key)
        artefacts.write_parts(value, folder)
        store.publish(assignment.key, folder, {"task": assignment.task, "parts": assignment.parts})
        store.remember(assignment.task, {"key": assignment.key, "parts": assignment.parts})
    except OSError as error:
        # numpy reports a short write without an errno, so the disk itself is asked too
        full = error.errno == errno.ENOSPC or shutil.disk_usage(store.root).free < FULL_DISK
        reason = "the disk is full" if full else str(error.strerror or error)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        raise StoreError(
            f"{assignment.task}: cannot write its artefact to the store {store.root}: {reason}; free space there or choose "
            "another store with store=DIR; what was finished stays and is not computed again"
        ) from None


def _as_node_error(assignment: Assignment, error: BaseException) -> NodeError:
    from loaders.errors import DataError
    from training.errors import FoldError
    from validation.errors import ValidationError

    code = ExitCode.NODE_FAILED
    if isinstance(error, FoldError):
        code = ExitCode.USAGE
    elif isinstance(error, DataError | ValidationError):
        code = ExitCode.DATA_REJECTED
    message = str(error) or type(error).__name__
    if code is ExitCode.NODE_FAILED:
        message = f"{type(error).__name__}: {message}"
    trace = "".join(traceback.format_exception(error))
    return NodeError(assignment.task, assignment.key, type(error).__name__, message, trace, int(code))


def _give_back_memory() -> None:
    """Return freed pages to the system: a worker otherwise keeps the peak of every node it ever ran."""
    with contextlib.suppress(OSError):  # another C library than glibc: nothing to trim
        ctypes.CDLL("libc.so.6").malloc_trim(0)
