"""The sliding window over a graph: which tasks go to the cluster next, so that a bounded number is there at once."""

import heapq
import math
from collections.abc import Sequence

from pipelines.execution.placement import Pools
from pipelines.graphs.graph import Task

AHEAD = 2  # batches a slot: one that runs and one that waits beside it
BATCH_S = 0.5  # seconds that a batch of short tasks should take: scheduling one costs milliseconds
MOST_IN_BATCH = 64


class Window:
    """Tasks that wait for others, that are ready, and that are in flight, in batches of one node's tasks.

    Short tasks of one node travel together, as many as take about BATCH_S by the mean of those that have ended, and never
    so many that slots stay empty. At most AHEAD batches a slot are in flight in each pool of workers, so that tasks that wait
    for a GPU keep no other back; and tasks that say how much memory they need only together with others that fit beside them.
    """

    def __init__(self, tasks: Sequence[Task], pools: Pools, memory: int) -> None:
        self.unfinished = len(tasks)
        self.pools = pools
        self.memory = memory
        self._tasks = list(tasks)
        self._place = {task.name: place for place, task in enumerate(tasks)}
        self._waiting: dict[str, int] = {}
        self._readers: dict[str, list[str]] = {}
        self._ready: dict[str, list[int]] = {pool: [] for pool in pools.slots}
        self._ready_of: dict[str, int] = {}
        self._alone: set[str] = set()
        self._pace: dict[str, tuple[int, float]] = {}
        self._used = dict.fromkeys(pools.slots, 0)
        self._memory_used = 0
        for task in tasks:
            upstream = [name for name in task.upstream if name in self._place]
            self._waiting[task.name] = len(upstream)
            for name in upstream:
                self._readers.setdefault(name, []).append(task.name)
            if not upstream:
                self._push(task)

    def next_batch(self) -> tuple[Task, ...]:
        """Return tasks to submit together, or none while the window is full or nothing is ready."""
        return next(filter(None, map(self._batch, self._ready)), ())

    def _batch(self, pool: str) -> tuple[Task, ...]:
        """Return what goes to a pool next; nothing where it is full."""
        ready, used = self._ready[pool], self._used[pool]
        if not ready:
            return ()
        first = self._tasks[ready[0]]
        memory = first.node.resources.memory
        room = not used or used + _weight(first) <= AHEAD * self.pools.slots[pool]
        fits = not self._memory_used or self._memory_used + memory <= self.memory
        if not (room and (fits or not memory)):
            return ()
        size, batch = self._size(first, pool), [self._pop(pool)]
        while len(batch) < size and ready and self._joins(first, self._tasks[ready[0]]):
            batch.append(self._pop(pool))
        self._used[pool] += _weight(first)
        self._memory_used += memory
        return tuple(batch)

    def back(self, batch: Sequence[Task]) -> None:
        """Note that a batch is no longer in flight, whatever became of its tasks."""
        self._used[self.pools.pool(batch[0])] -= _weight(batch[0])
        self._memory_used -= batch[0].node.resources.memory

    def again(self, task: Task) -> None:
        """Make a task ready once more, now alone: what befell it must not befall others."""
        self._alone.add(task.name)
        self._push(task)

    def finished(self, task: Task, seconds: float) -> None:
        """Make ready what waited for this task alone."""
        self.unfinished -= 1
        count, mean = self._pace.get(task.node.name, (0, 0.0))
        count = min(count + 1, 20)
        self._pace[task.node.name] = (count, mean + (seconds - mean) / count)
        for name in self._readers.get(task.name, ()):
            self._waiting[name] -= 1
            if not self._waiting[name]:
                self._push(self._tasks[self._place[name]])

    def _size(self, first: Task, pool: str) -> int:
        """How many tasks of this node travel together."""
        if first.node.name not in self._pace or self._goes_alone(first):
            return 1
        by_time = BATCH_S / max(self._pace[first.node.name][1], BATCH_S / MOST_IN_BATCH)
        by_share = math.ceil(self._ready_of[first.node.name] / (AHEAD * self.pools.slots[pool]))
        return max(1, min(int(by_time), by_share))

    def _joins(self, first: Task, other: Task) -> bool:
        return other.node is first.node and not self._goes_alone(other)

    def _goes_alone(self, task: Task) -> bool:
        return bool(task.node.timeout_s) or task.name in self._alone

    def _push(self, task: Task) -> None:
        heapq.heappush(self._ready[self.pools.pool(task)], self._place[task.name])
        self._ready_of[task.node.name] = self._ready_of.get(task.node.name, 0) + 1

    def _pop(self, pool: str) -> Task:
        task = self._tasks[heapq.heappop(self._ready[pool])]
        self._ready_of[task.node.name] -= 1
        return task


def _weight(task: Task) -> int:
    """Slots that a task takes: one a core of arithmetic."""
    return task.node.resources.cores
