"""Tasks whose worker died: which of them were to blame, how often each may be, and in how many pieces it is tried again."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.errors import ClusterError, ExitCode, NodeError
from pipelines.execution.worker_logs import last_lines, log_file
from pipelines.graphs.graph import Task
from pipelines.storage.store import Store

MOST_IN_VAIN = 20  # workers lost one after the other without a task that ends


@dataclass
class LostTasks:
    """Counts the deaths of workers by task; a task that had not begun is not to blame for its worker's death."""

    store: Store
    logs: Path | None
    most_deaths: int
    deaths: dict[str, int] = field(default_factory=dict)
    pieces: dict[str, int] = field(default_factory=dict)
    _in_vain: int = 0

    def blame(self, task: Task, attempt: int, worker: str, times: int) -> None:
        """Count deaths against a task that ran; raises NodeError where they are too many.

        It may have been its memory, so work that can be cut is done in twice as many pieces from now on.
        """
        if self.store.manifest(task.key) is not None or not self._had_begun(task, attempt):
            return
        count = self.deaths[task.name] = self.deaths.get(task.name, 0) + times
        if task.node.pieces is not None:
            self.pieces[task.name] = 2 * self.pieces.get(task.name, 1)
        if count > self.most_deaths:
            raise self._error(task, attempt, worker, count)

    def lost(self, worker: str) -> None:
        """Note a death; raises ClusterError where workers die without end, whatever they run."""
        self._in_vain += 1
        if self._in_vain > MOST_IN_VAIN:
            raise ClusterError(
                f"{MOST_IN_VAIN} workers were lost without a task that ended, the last at {worker}; see why they die, then run "
                "again: what was finished stays"
            )

    def ended(self) -> None:
        """Note that a task has ended."""
        self._in_vain = 0

    def _had_begun(self, task: Task, attempt: int) -> bool:
        shared = self.store.location == str(self.store.root)  # else logs lie where the worker ran
        return not shared or self.logs is None or log_file(self.logs, task.name, attempt).exists()

    def _error(self, task: Task, attempt: int, worker: str, count: int) -> NodeError:
        said: tuple[str, ...] = last_lines(log_file(self.logs, task.name, attempt)) if self.logs else ()
        message = (
            f"WorkerLost: {count} workers died while it ran (key {task.key[:12]}, the last at {worker}), most often for want "
            "of memory: give workers more (workers=1, cluster_options.memory_limit), then run again: what was finished stays"
        )
        return NodeError(task.name, task.key, "WorkerLost", message, "", int(ExitCode.NODE_FAILED), False, said, worker)


def died(error: BaseException) -> tuple[str, int] | None:
    """Return the address of the worker that died and how many died so; None where the error is another."""
    if type(error).__name__ != "KilledWorker":
        return None
    killed: Any = error
    return str(getattr(killed.last_worker, "address", killed.last_worker)), int(killed.allowed_failures) + 1
