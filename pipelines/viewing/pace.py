"""How far a run is, how fast it goes and how long the rest will take, from the tasks that have ended so far."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipelines.execution.task_execution import Outcome

SWEEP = "sweep"


@dataclass(frozen=True)
class SweepPace:
    """Chunks of sweeps done and in all, bar-steps a second over all workers (0.0: unknown), seconds left (None: unknown)."""

    done: int
    total: int
    rate: float
    left: float | None


class Pace:
    """Counts tasks by node: a task that is still to come takes what the ended ones of its node took on average."""

    def __init__(self, names: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self.total = len(names)
        self.done = 0
        self._clock = clock
        self._totals = Counter(node_of(name) for name in names)
        self._ended: Counter[str] = Counter()
        self._spent: dict[str, float] = {}
        self._begun = clock()
        self._working = self._begun  # since when tasks run: before that a cluster starts
        self._sweeping: tuple[float, float] | None = None  # since when, until when
        self._bar_steps = 0.0

    def expect(self, names: Sequence[str]) -> None:
        """Count further tasks that are to come."""
        self.total += len(names)
        self._totals.update(node_of(name) for name in names)

    def finished(self, outcome: Outcome) -> None:
        """Count one more task."""
        node = node_of(outcome.task)
        if not self.done:
            self._working = max(self._begun, self._clock() - outcome.seconds)
        self.done += 1
        self._ended[node] += 1
        self._spent[node] = self._spent.get(node, 0.0) + outcome.seconds
        steps = outcome.facts.get("bar_steps")
        if steps is not None:
            self._bar_steps += float(steps)
            now = self._clock()
            self._sweeping = (self._sweeping[0] if self._sweeping else now - outcome.seconds, now)

    @property
    def elapsed(self) -> float:
        """Seconds since the first task could begin."""
        return self._clock() - self._begun

    @property
    def left(self) -> float | None:
        """Seconds until all is done at the pace so far; None before any task has ended."""
        spent = sum(self._spent.values())
        if not self.done or not spent:
            return None if not self.done else 0.0
        return (self._clock() - self._working) * self._to_come() / spent

    @property
    def sweeps(self) -> SweepPace | None:
        """How far the sweeps are; None where there are none."""
        total, done = self._totals[SWEEP], self._ended[SWEEP]
        if not total:
            return None
        if self._sweeping is None:
            return SweepPace(done, total, 0.0, None)
        took = max(self._sweeping[1] - self._sweeping[0], 1e-9)
        return SweepPace(done, total, self._bar_steps / took, took * (total - done) / done)

    def few(self, name: str) -> bool:
        """Whether a node has so few tasks that each is worth a line."""
        return self._totals[node_of(name)] <= 100

    def _to_come(self) -> float:
        usual = sum(self._spent.values()) / self.done
        means = {node: self._spent[node] / self._ended[node] for node in self._spent}
        return sum(max(0, total - self._ended[node]) * means.get(node, usual) for node, total in self._totals.items())


def node_of(task: str) -> str:
    """The node of a task's name."""
    return task.partition("[")[0]


def span(seconds: float) -> str:
    """Seconds as a person says them: 45 s, 3:05 min, 2:10 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60}:{whole % 60:02d} min" if whole < 3600 else f"{whole // 3600}:{whole // 60 % 60:02d} h"


def rate(bar_steps_per_second: float) -> str:
    """A sweep's speed with its unit."""
    if bar_steps_per_second >= 1e9:
        return f"{bar_steps_per_second / 1e9:.3g} G bar-steps/s"
    if bar_steps_per_second < 1e6:
        return f"{bar_steps_per_second / 1e3:.0f} k bar-steps/s"
    return f"{bar_steps_per_second / 1e6:.0f} M bar-steps/s"
