"""Writes each evaluation to the ledger the moment it is known to have happened, whatever becomes of the run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipelines.graphs.graph import Graph, Task
from pipelines.graphs.input_files import GROUPS, InputFile
from pipelines.graphs.reading import read_task
from pipelines.record.ledger import Instants, Ledger, Look, data_name
from pipelines.storage.store import Store

FOLDS = "folds"
PRICES = ("bars", "trades")
ROWS = ("validation", "test")


@dataclass
class LookKeeper:
    """Knows the rows of every fold of a run and the ledger that its evaluations belong to."""

    graph: Graph
    store: Store
    root: str
    files: Mapping[str, tuple[InputFile, ...]]
    run: str
    _ranges: dict[int, dict[str, Instants]] = field(default_factory=dict)

    @property
    def ledger(self) -> Ledger:
        """The ledger of the run's root."""
        return Ledger.of(self.store, self.root)

    def note(self, name: str) -> None:
        """Record the look of a finished or cached task; tasks that evaluate nothing leave no trace."""
        task = self.graph[name]
        if task.node.evaluates is None:
            return
        first, last = self.ranges(int(dict(task.coordinates)["fold"]))[task.node.evaluates]
        look = Look(
            key=task.key,
            task=task.name,
            rows=task.node.evaluates,
            trials=self._trials(task),
            run=self.run,
            first=first,
            last=last,
            data=data_name(self._checksums()),
        )
        self.ledger.record(look, self._checksums())

    def summary(self, fold: int) -> dict[str, int]:
        """Count all looks at the rows of a fold, of this run and of earlier ones."""
        return self.ledger.summary(self.ranges(fold), self._checksums())

    def pooled(self, folds: Sequence[int]) -> dict[str, int]:
        """Count all looks at the rows of any of these folds, of this run and of earlier ones."""
        return self.ledger.pooled([self.ranges(fold) for fold in folds], self._checksums())

    def ranges(self, fold: int) -> dict[str, Instants]:
        """Return the first and last bar of a fold's validation and test rows, read once from the folds artefact."""
        if fold not in self._ranges:
            task = self.graph[FOLDS]
            table = read_task(self.store, task)
            for entry in table.reports:
                self._ranges[int(entry["index"])] = {rows: (entry[rows]["first"], entry[rows]["last"]) for rows in ROWS}
        return self._ranges[fold]

    def _trials(self, task: Task) -> int:
        """Return how many things the task tried: the table of nodes says it, or names the field that holds it."""
        if isinstance(task.node.trials, int):
            return task.node.trials
        value: Any = read_task(self.store, task, task.node.trials)
        return int(value)

    def price_files(self) -> list[tuple[InputFile, ...]]:
        """The groups of files that prices come from."""
        return [group for name, group in self.files.items() if name in PRICES or name not in GROUPS]

    def _checksums(self) -> list[str]:
        """Of the files that prices come from: walkfold's own groups of them, and those of the user's flow."""
        return [item.sha256 for group in self.price_files() for item in group]
