"""Writes each evaluation to the ledger the moment it is known to have happened, whatever becomes of the run."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipelines.graphs.graph import Graph, Task
from pipelines.graphs.reading import read_task
from pipelines.keying import keys
from pipelines.keying.content import content_digest
from pipelines.record.ledger import Instants, Ledger, Look, Opened, data_name
from pipelines.storage.store import Store

FOLDS = "folds"
ROWS = ("validation", "test")


@dataclass
class LookKeeper:
    """Knows the rows of every fold of a run and the ledger that its evaluations belong to."""

    graph: Graph
    store: Store
    root: str
    run: str
    _ranges: dict[int, dict[str, Instants]] = field(default_factory=dict)
    _opened: dict[str, float] = field(default_factory=dict)

    @property
    def ledger(self) -> Ledger:
        """The ledger of the run's root."""
        return Ledger.of(self.store, self.root)

    def note(self, name: str) -> None:
        """Record the look of a finished or cached task; tasks that evaluate nothing leave no trace."""
        task = self.graph[name]
        if task.node.evaluates is None or self.ledger.has(task.key):
            return
        first, last = self.ranges(int(dict(task.coordinates)["fold"]))[task.node.evaluates]
        look = Look(
            key=self._identity(task, first, last),
            artefact=task.key,
            task=task.name,
            rows=task.node.evaluates,
            trials=self._trials(task),
            run=self.run,
            first=first,
            last=last,
            data=data_name(self.opened),
        )
        self.ledger.record(look, self.opened)

    def summary(self, fold: int) -> dict[str, int]:
        """Count all looks at the rows of a fold, of this run and of earlier ones."""
        return self.ledger.summary(self.ranges(fold), self.opened)

    def pooled(self, folds: Sequence[int]) -> dict[str, int]:
        """Count all looks at the rows of any of these folds, of this run and of earlier ones."""
        return self.ledger.pooled([self.ranges(fold) for fold in folds], self.opened)

    def ranges(self, fold: int) -> dict[str, Instants]:
        """Return the first and last bar of a fold's validation and test rows."""
        self._read()
        return self._ranges[fold]

    @property
    def opened(self) -> Opened:
        """The opening prices of the run's data; empty where a flow's own table of folds has none."""
        self._read()
        return self._opened

    def _read(self) -> None:
        """Read the folds artefact, once."""
        if self._ranges:
            return
        task = self.graph[FOLDS]
        table = read_task(self.store, task)
        for entry in table.reports:
            self._ranges[int(entry["index"])] = {rows: (entry[rows]["first"], entry[rows]["last"]) for rows in ROWS}
        self._opened = dict(getattr(table, "opened", {}))

    def _identity(self, task: Task, first: str, last: str) -> str:
        """Return what tells a look from others: the rows it looked at, its own settings, and what it saw there.

        Not the files, the code or the pieces of work it came of: where these change no result, nothing new was seen.
        """
        node = task.node
        own = {name: keys.plain(task.constants[name]) for name in node.settings if name not in node.neutral}
        place = [[axis, value] for axis, value in task.coordinates if axis != "fold"]
        days = {session: price for session, price in self.opened.items() if _date(first) <= session <= _date(last)}
        try:
            seen = content_digest(_told(read_task(self.store, task), node.neutral))
        except TypeError:  # an artefact of the user's whose content has no digest
            return task.key
        return keys.digest([node.name, place, own, node.evaluates, first, last, days, seen])

    def _trials(self, task: Task) -> int:
        """Return how many things the task tried: the table of nodes says it, or names the field that holds it."""
        if isinstance(task.node.trials, int):
            return task.node.trials
        value: Any = read_task(self.store, task, task.node.trials)
        return int(value)


def _told(value: Any, neutral: Sequence[str]) -> Any:
    """The fields of an artefact that tell looks apart."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    fields: Mapping[str, Any] = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    return {name: content for name, content in fields.items() if name not in neutral}


def _date(moment: str) -> str:
    """The UTC date yyyymmdd of an ISO 8601 moment."""
    return moment[:10].replace("-", "")
