"""Runs a graph on a Dask cluster through futures; the only file that submits work to Dask."""

import contextlib
import heapq
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pipelines.errors import ClusterError, ExitCode, NodeError, WalkfoldError
from pipelines.graph import Task
from pipelines.retrying import wait_before_retry
from pipelines.store import Store
from pipelines.task_execution import Assignment, Outcome, assign, perform
from pipelines.watching import Unwatched, Watcher

RESTART_SECONDS = 30
TOPIC = "walkfold"  # of the events in which a worker says that it begins a task


def run_dask(
    tasks: Sequence[Task],
    store: Store,
    report: Callable[[Outcome], None],
    client: Any,
    watcher: Watcher | None = None,
) -> None:
    """Submit each task once what it reads is published; call `report` as each ends; raise the first error not retried.

    Data goes through the store: a future carries only an Outcome of some hundred bytes, so a lost worker loses nothing that
    was finished. The Dask key of a task holds its content key and the number of its try. A task past its timeout is
    cancelled and its worker started anew, which loses none but that task.
    """
    _require_gpus(tasks, client)
    drive = _Drive({task.name: task for task in tasks}, store, client, watcher or Unwatched())
    client.subscribe_topic(TOPIC, drive.told)
    try:
        drive.submit_ready()
        while drive.unfinished:
            for future in drive.ended():
                task = drive.running.pop(future.key)
                try:
                    outcome = _outcome(future, task)
                except Exception as error:
                    drive.retry(task, error)
                    continue
                report(drive.timed(outcome, future.key))
                drive.finished(task)
            drive.stop_late()
            drive.submit_due()
    finally:
        client.unsubscribe_topic(TOPIC)
        client.cancel([future for future in drive.futures.values() if not future.done()])


def _require_gpus(tasks: Sequence[Task], client: Any) -> None:
    """Refuse a task that the scheduler would keep waiting for ever."""
    needing = [task.name for task in tasks if task.node.resources.gpu]
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if needing and not any(worker["resources"].get("GPU") for worker in workers):
        raise ClusterError(f"{needing[0]}: needs a GPU, but no worker has one; use cluster=cuda")


@dataclass
class _Drive:
    """What the driver knows while a graph runs: who waits for whom, what runs where since when, what is tried again when."""

    tasks: Mapping[str, Task]
    store: Store
    client: Any
    watcher: Watcher
    submitted: dict[str, float] = field(default_factory=dict)
    waiting: dict[str, set[str]] = field(default_factory=dict)
    readers: dict[str, list[str]] = field(default_factory=dict)
    running: dict[str, Task] = field(default_factory=dict)
    futures: dict[str, Any] = field(default_factory=dict)
    begun: dict[str, tuple[float, str]] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)
    again: list[tuple[float, str]] = field(default_factory=list)
    done: "queue.SimpleQueue[Any]" = field(default_factory=queue.SimpleQueue)
    events: "queue.SimpleQueue[Any]" = field(default_factory=queue.SimpleQueue)
    unfinished: int = 0

    def __post_init__(self) -> None:
        self.unfinished = len(self.tasks)
        for name, task in self.tasks.items():
            self.waiting[name] = {one for one in task.upstream if one in self.tasks}
            for one in self.waiting[name]:
                self.readers.setdefault(one, []).append(name)

    def submit_ready(self) -> None:
        """Submit what waits for nothing."""
        for name in [name for name, waits in self.waiting.items() if not waits]:
            self._submit(self.tasks[name])

    def finished(self, task: Task) -> None:
        """Submit what waited for this task alone."""
        self.unfinished -= 1
        for name in self.readers.get(task.name, ()):
            self.waiting[name].discard(task.name)
            if not self.waiting[name]:
                self._submit(self.tasks[name])

    def retry(self, task: Task, error: Exception) -> None:
        """Put a failed task among those to be tried again, or raise its error."""
        self.tries[task.name] = self.tries.get(task.name, 0) + 1
        wait = wait_before_retry(task, error, self.tries[task.name])
        if wait is None:
            raise error
        self.watcher.retried(task.name, str(error), self.tries[task.name], wait)
        heapq.heappush(self.again, (time.monotonic() + wait, task.name))

    def told(self, event: Any) -> None:
        """Take note of a worker's word that it begins a task; called from the client's thread."""
        self.events.put(event)
        self.watcher.began(str(event[1]["task"]))

    def timed(self, outcome: Outcome, key: str) -> Outcome:
        """Add what the task waited, for a worker and for messages: the clocks of two machines need not agree."""
        queue = time.monotonic() - self.submitted.pop(key) - outcome.seconds
        return replace(outcome, timings={"queue": max(0.0, queue), **outcome.timings})

    def submit_due(self) -> None:
        """Submit the tasks whose wait before another try is over."""
        while self.again and self.again[0][0] <= time.monotonic():
            self._submit(self.tasks[heapq.heappop(self.again)[1]])

    def ended(self) -> list[Any]:
        """Wait until a future ends, a retry is due or a timeout is over; return the futures that ended."""
        until = [self.again[0][0]] if self.again else []
        if any(task.node.timeout_s for task in self.running.values()):
            until.append(time.monotonic() + 0.2)  # begins are told by events, so late tasks are looked for
        found = []
        try:
            found.append(self.done.get(timeout=max(0.0, min(until) - time.monotonic()) if until else None))
            while True:
                found.append(self.done.get_nowait())
        except queue.Empty:
            return [future for future in found if future.key in self.running]

    def stop_late(self) -> None:
        """Cancel tasks past their timeout and restart their workers: a cancelled call would run on and hold its worker."""
        while not self.events.empty():
            _, event = self.events.get()
            self.begun[event["key"]] = (time.monotonic(), event["worker"])
        for key, task in list(self.running.items()):
            since, worker = self.begun.get(key, (time.monotonic(), ""))
            if task.node.timeout_s and time.monotonic() - since > task.node.timeout_s:
                del self.running[key]
                self.client.cancel([self.futures.pop(key)])
                if worker.startswith("tcp"):
                    threading.Thread(target=_restart, args=(self.client, worker), daemon=True).start()
                self.retry(task, _timed_out(task))

    def _submit(self, task: Task) -> None:
        self.waiting.pop(task.name, None)
        key = f"{task.name}-{task.key[:16]}-{self.tries.get(task.name, 0)}"
        needs = {"GPU": task.node.resources.gpu} if task.node.resources.gpu else None
        self.running[key] = task
        self.submitted[key] = time.monotonic()
        future = self.client.submit(
            _perform, assign(task, self.store), key, key=key, retries=0, pure=False, resources=needs
        )
        self.futures[key] = future
        future.add_done_callback(self.done.put)


def _perform(assignment: Assignment, key: str) -> Outcome:
    """Run on a worker."""
    from distributed import get_worker

    worker = get_worker()
    worker.log_event(TOPIC, {"key": key, "task": assignment.task, "worker": worker.address})
    return perform(assignment)


def _restart(client: Any, worker: str) -> None:
    """Ask for a new worker process; waited for aside, as distributed may not notice that it is back."""
    with contextlib.suppress(Exception):
        client.restart_workers([worker], timeout=RESTART_SECONDS)


def _timed_out(task: Task) -> NodeError:
    message = f"TimeoutError: it ran longer than its timeout_s of {task.node.timeout_s:g} s and was stopped"
    worth = task.node.retries.worth(TimeoutError())
    return NodeError(task.name, task.key, "TimeoutError", message, "", int(ExitCode.NODE_FAILED), worth)


def _outcome(future: Any, task: Task) -> Outcome:
    try:
        outcome: Outcome = future.result()
    except WalkfoldError:
        raise
    except Exception as error:
        raise ClusterError(
            f"{task.name}: the cluster lost this task ({type(error).__name__}: {error}); run again, what was finished stays"
        ) from None
    return outcome
