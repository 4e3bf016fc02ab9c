"""Runs a graph on a Dask cluster through futures; the only file that submits work to Dask."""

import heapq
import os
import queue
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from distributed.protocol.pickle import dumps, loads

from pipelines.errors import ClusterError, StaleWorkerError, WalkfoldError
from pipelines.execution.interrupts import go_on
from pipelines.execution.lost_tasks import LostTasks, died
from pipelines.execution.placement import GPU, Pools
from pipelines.execution.preflight import Worker, check_cluster, hosts_for
from pipelines.execution.retrying import wait_before_retry
from pipelines.execution.task_execution import Assignment, Outcome, assign, perform
from pipelines.execution.watchdog import Watchdog, gone, timed_out
from pipelines.execution.watching import Unwatched, Watcher
from pipelines.execution.window import Window
from pipelines.execution.worker_setup import WorkerSetup, plugin_name
from pipelines.graphs.graph import Task
from pipelines.storage.store import Store

TICK_S = 1.0  # between looks at the cluster while nothing ends
CLOSE_TICK_S = 0.2  # the same while a task with a timeout runs: its begin is told by an event
TOLD = "walkfold"  # topic of the events in which workers say what no result can

Batch = tuple[Task, ...]


def run_dask(
    tasks: Sequence[Task],
    store: Store,
    report: Callable[[Outcome], None],
    client: Any,
    logs: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
    most_deaths: int = 3,
    watcher: Watcher | None = None,
    foreseen: Sequence[Task] = (),
) -> None:
    """Submit each task once what it reads is published; call `report` as each ends; raise the first error not retried.

    Data goes through the store: a future carries only Outcomes of some hundred bytes, so a lost worker loses nothing that
    was finished. Only as many batches as the window allows are on the cluster at once. A task past its timeout is
    cancelled and its worker started anew, which loses none but that task. Each try is logged below the folder `logs`;
    warnings that nodes log go to `say`. Raises ClusterError before anything runs where the cluster lacks what a task needs, or
    one of those `foreseen` to be run after these.
    """
    expected, workers = check_cluster([*tasks, *foreseen], store, client)
    token = os.urandom(4).hex()
    memory = sum({worker.host: worker.memory for worker in workers}.values())
    window = Window(tasks, Pools.of(workers), memory)
    lost = LostTasks(store, logs, most_deaths)
    drive = _Drive(client, token, store, logs, say, window, workers, lost, watcher or Unwatched())
    topic = f"{TOLD}-{token}"
    try:
        client.register_plugin(WorkerSetup(token, expected.code, client.cluster is not None), name=plugin_name(token))
        client.subscribe_topic(topic, drive.events.put)
    except OSError as error:
        raise ClusterError(f"a worker was lost while the run began ({error}); run again") from None
    try:
        while window.unfinished:
            go_on()
            drive.submit()
            for future in drive.ended():
                drive.take(future, report)
            drive.listen()
            drive.stop_late()
            drive.watchdog.look(task for batch in drive.running.values() for task in batch)
    finally:
        drive.leave(topic)


@dataclass
class _Drive:
    """What the driver knows while a graph runs: what is in flight, what is tried again when, what workers have said."""

    client: Any
    token: str
    store: Store
    logs: Path | None
    say: Callable[[str], None]
    window: Window
    workers: Sequence[Worker]
    lost: LostTasks
    watcher: Watcher
    submitted: dict[str, float] = field(default_factory=dict)
    running: dict[str, Batch] = field(default_factory=dict)
    futures: dict[str, Any] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    waiting: list[tuple[float, str, Task]] = field(default_factory=list)
    done: "queue.SimpleQueue[Any]" = field(default_factory=queue.SimpleQueue)
    events: "queue.SimpleQueue[Any]" = field(default_factory=queue.SimpleQueue)

    def __post_init__(self) -> None:
        self.watchdog = Watchdog(self.client, wanted=len(self.workers))

    def submit(self) -> None:
        """Submit what the window lets through, retries whose wait is over among it."""
        while self.waiting and self.waiting[0][0] <= time.monotonic():
            self.window.again(heapq.heappop(self.waiting)[2])
        while batch := self.window.next_batch():
            self._submit(batch)

    def _submit(self, batch: Batch) -> None:
        first = batch[0]
        # a try has a key of its own: Dask would return the old result, or the old error, for one that it knows
        key = f"{first.node.name}-{first.key[:16]}-{self.token}-{self.attempts.get(first.name, 0)}"
        pools = self.window.pools
        gpu = pools.pool(first) == GPU
        assignments = [
            assign(
                task, self.store, self.logs, self.attempts.get(task.name, 0), self.lost.pieces.get(task.name, 1), gpu
            )
            for task in batch
        ]
        if len(batch) > 1:  # short tasks: waiting for the disk costs more than making one of them again
            assignments = [replace(assignment, durable=False) for assignment in assignments]
        self.running[key] = batch
        self.submitted[key] = time.monotonic()
        future = self.client.submit(
            _perform,
            dumps(assignments),  # bytes: the scheduler reads what it passes on, and may lack the user's modules
            [task.code.digest for task in batch],
            self.token,
            key,
            key=key,
            retries=0,
            pure=False,
            resources=pools.resources(first),
            workers=hosts_for(first, self.workers),
        )
        self.futures[key] = future
        future.add_done_callback(self.done.put)

    def ended(self) -> list[Any]:
        """Wait until a future ends or there is something to look at; return the futures that ended."""
        close = any(batch[0].node.timeout_s for batch in self.running.values())
        wait = CLOSE_TICK_S if close else TICK_S
        if self.waiting:
            wait = max(0.0, min(wait, self.waiting[0][0] - time.monotonic()))
        found = []
        try:
            found.append(self.done.get(timeout=wait))
            while True:
                found.append(self.done.get_nowait())
        except queue.Empty:
            return [future for future in found if future.key in self.running]

    def take(self, future: Any, report: Callable[[Outcome], None]) -> None:
        """Report the tasks of a batch that ended well; try the others again, or raise the first error that is none's fault."""
        elapsed = time.monotonic() - self.submitted[future.key]
        batch = self._back(future.key)
        try:
            results = future.result()
        except Exception as error:
            self._lost(batch, error)
            return
        worked = sum(result.seconds for result in results if isinstance(result, Outcome))
        for task, result in zip(batch, results, strict=False):
            if isinstance(result, Outcome):
                self.lost.ended()
                report(_waited(result, elapsed - worked))
                self.window.finished(task, result.seconds)
            else:
                self._retry(task, result)
        for task in batch[len(results) :]:
            self._again(task)

    def listen(self) -> None:
        """Take note of what workers have said: a batch begins, a task warns."""
        while not self.events.empty():
            _, event = self.events.get()
            if "begins" in event:
                self.watchdog.begins(event["begins"], event["worker"])
                for name in event["tasks"]:
                    self.watcher.began(name)
            else:
                self.say(event["warns"])

    def stop_late(self) -> None:
        """Stop tasks past their timeout; they travel alone."""
        for key, batch in list(self.running.items()):
            if self.watchdog.late(key, batch[0]):
                future, worker = self.futures[key], self.watchdog.begun[key][1]
                self._back(key)
                self.watchdog.stop(key, future)
                self._retry(batch[0], timed_out(batch[0], worker))

    def leave(self, topic: str) -> None:
        """Take back from the cluster what is not done, and what was left there for this run."""
        if self.client.status != "running":
            return
        with suppress(OSError, TimeoutError):  # a worker that dies just now has nothing left to take back
            self.client.cancel(list(self.futures.values()))
            self.client.unsubscribe_topic(topic)
            self.client.unregister_worker_plugin(plugin_name(self.token))

    def _back(self, key: str) -> Batch:
        batch = self.running.pop(key)
        del self.futures[key], self.submitted[key]
        self.window.back(batch)
        return batch

    def _lost(self, batch: Batch, error: Exception) -> None:
        """Try again what a dead worker had; raise what another try does not help against."""
        if death := died(error):
            worker, times = death
            self.lost.lost(worker)
            for task in batch:
                self.lost.blame(task, self.attempts.get(task.name, 0), worker, times)
            for task in batch:
                tries = self.attempts.get(task.name, 0) + 1
                self.watcher.retried(task.name, f"{task.name}: its worker {worker} died", tries, 0.0)
                self._again(task)
        elif isinstance(error, WalkfoldError):
            raise error
        elif "Cancelled" in type(error).__name__:
            raise gone() from None
        else:
            raise ClusterError(
                f"{batch[0].name}: the cluster lost this task ({type(error).__name__}: {error}); run again: what was finished "
                "stays"
            ) from None

    def _again(self, task: Task) -> None:
        self.attempts[task.name] = self.attempts.get(task.name, 0) + 1
        self.window.again(task)

    def _retry(self, task: Task, error: Exception) -> None:
        """Put a failed task among those to be tried again after a wait, or raise its error."""
        failures = self.failures[task.name] = self.failures.get(task.name, 0) + 1
        wait = wait_before_retry(task, error, failures)
        if wait is None:
            raise error
        self.attempts[task.name] = self.attempts.get(task.name, 0) + 1
        self.watcher.retried(task.name, str(error), failures, wait)
        heapq.heappush(self.waiting, (time.monotonic() + wait, task.name, task))


def _waited(outcome: Outcome, seconds: float) -> Outcome:
    """Add what its batch waited, for a worker and for messages, by this machine's clock alone."""
    return replace(outcome, timings={"queue": max(0.0, seconds), **outcome.timings})


def _perform(packed: bytes, codes: Sequence[str], token: str, key: str) -> list[Outcome | Exception]:
    """Run a batch on a worker, up to the first task that fails."""
    assignments: list[Assignment] = loads(packed)
    from distributed import get_worker

    worker = get_worker()
    topic = f"{TOLD}-{token}"
    results: list[Outcome | Exception] = []
    worker.log_event(topic, {"begins": key, "worker": worker.address, "tasks": [one.task for one in assignments]})
    for assignment, code in zip(assignments, codes, strict=True):
        try:
            _require_same_code(worker, assignment, code, token)
            results.append(perform(assignment, lambda text: worker.log_event(topic, {"warns": text}), worker.address))
        except WalkfoldError as error:
            results.append(error)
            break
    return results


def _require_same_code(worker: Any, assignment: Assignment, code: str, token: str) -> None:
    """Refuse to publish under a key that says other code than this process has loaded."""
    if names := worker.plugins[plugin_name(token)].code.difference(code):
        raise StaleWorkerError(
            f"{assignment.task}: worker {worker.address} has other code of {names} than the driver; install the same code "
            "there and restart the worker, then run again: what was finished stays"
        )
