"""Looks after what no future tells: tasks past their timeout, workers that are all gone, a scheduler that went away."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from pipelines.errors import ClusterError, ExitCode, NodeError
from pipelines.execution.preflight import known
from pipelines.graphs.graph import Task

LOOK_S = 5.0  # between two looks at the cluster
GONE_S = 60.0  # without a worker that could run what waits, before the run gives up
REPLACE_S = 10.0  # with fewer workers than there were, before others are started
RESTART_S = 30.0  # for a worker to come back


@dataclass
class Watchdog:
    """Knows since when each task with a timeout runs and where, and since when the cluster has had nobody to run one."""

    client: Any
    clock: Callable[[], float] = time.monotonic
    begun: dict[str, tuple[float, str]] = field(default_factory=dict)
    _looked: float = 0.0
    _alone_since: float | None = None
    wanted: int = 0
    _fewer_since: float | None = None

    def begins(self, key: str, worker: str) -> None:
        """Note that a worker has begun a task."""
        self.begun[key] = (self.clock(), worker)

    def late(self, key: str, task: Task) -> bool:
        """Say whether a task runs longer than it may."""
        since = self.begun.get(key)
        return bool(task.node.timeout_s) and since is not None and self.clock() - since[0] > task.node.timeout_s

    def stop(self, key: str, future: Any) -> None:
        """Cancel a task and restart its worker alone: a cancelled call would run on and hold it.

        A worker that nobody restarts, or a thread of this process, loses the slot until the call ends.
        """
        worker = self.begun.pop(key)[1]
        self.client.cancel([future])
        if not worker.startswith("inproc"):
            threading.Thread(target=_restart, args=(self.client, worker), daemon=True).start()

    def look(self, in_flight: Iterable[Task]) -> None:
        """Raise ClusterError where what is in flight would wait for ever."""
        now = self.clock()
        if now - self._looked < LOOK_S:
            return
        self._looked = now
        if self.client.status != "running":
            raise gone()
        workers = known(self.client).values()
        self._replace(len(workers), now)
        gpus = any(worker["resources"].get("GPU") for worker in workers)
        if workers and (gpus or not any(task.node.resources.gpu for task in in_flight)):
            self._alone_since = None
            return
        self._alone_since = now if self._alone_since is None else self._alone_since
        if now - self._alone_since > GONE_S:
            lacking = "with a GPU " if workers else ""
            raise ClusterError(
                f"for {GONE_S:g} s the cluster has had no worker {lacking}left; start workers and run again: what was "
                "finished stays"
            )


    def _replace(self, there: int, now: float) -> None:
        """Add workers to a cluster that the driver started, where some have not come back: a nanny can fail with its worker."""
        cluster = self.client.cluster
        if cluster is None or there >= self.wanted or any("GPU" in str(spec) for spec in cluster.worker_spec.values()):
            self.wanted, self._fewer_since = max(self.wanted, there), None
            return
        self._fewer_since = now if self._fewer_since is None else self._fewer_since
        if now - self._fewer_since >= REPLACE_S:
            cluster.scale(len(cluster.worker_spec) + self.wanted - there)
            self._fewer_since = None


def _restart(client: Any, worker: str) -> None:
    """Ask for a new worker process; waited for aside, as distributed may not notice that it is back."""
    with contextlib.suppress(Exception):  # it is gone already: its tasks come back as those of any lost worker
        client.restart_workers([worker], timeout=RESTART_S)


def gone() -> ClusterError:
    """The error for a scheduler that went away."""
    return ClusterError(
        "the connection to the scheduler was lost; start it again, then run again: what was finished stays and is not "
        "computed again"
    )


def timed_out(task: Task, worker: str) -> NodeError:
    """The error for a task past its timeout."""
    message = f"TimeoutError: it ran longer than its timeout_s of {task.node.timeout_s:g} s and was stopped"
    worth = task.node.retries.worth(TimeoutError())
    return NodeError(task.name, task.key, "TimeoutError", message, "", int(ExitCode.NODE_FAILED), worth, (), worker)
