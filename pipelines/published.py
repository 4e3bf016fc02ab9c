"""The feature sets of an instrument in the order in which they were first reported, so that a new one has a previous."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.errors import CorruptArtefactError
from pipelines.graphs.reading import read_artefact
from pipelines.keying.keys import digest
from pipelines.report.document import ReportContent
from pipelines.storage.json_values import json_value
from pipelines.storage.store import Store


@dataclass(frozen=True)
class PublishedSet:
    """A feature set, the content of its data report (both content keys) and the run that reported it first."""

    feature_set: str
    content: str
    run: str


@dataclass(frozen=True)
class PublishedSets:
    """A file of one JSON line a set, appended and never rewritten; a set that a run uses again stands there again."""

    store: Store
    name: str

    @classmethod
    def of(cls, store: Store, root: str, names: Sequence[str]) -> "PublishedSets":
        """The sets of one instrument with these features: only they can be compared."""
        return cls(store, f"published/{digest([root, list(names)])[:24]}.jsonl")

    @property
    def path(self) -> Path:
        """Where the list of a local store lies."""
        return self.store.root / self.name

    def sets(self) -> list[PublishedSet]:
        """All sets in the order of their first report, each with its latest content; a cut last line is ignored."""
        found: dict[str, PublishedSet] = {}
        for entry in self._lines():
            first = found.get(entry.feature_set, entry)
            found[entry.feature_set] = PublishedSet(entry.feature_set, entry.content, first.run)
        return list(found.values())

    def _lines(self) -> list[PublishedSet]:
        found = []
        for line in self.store.files.lines(self.name):
            try:
                found.append(PublishedSet(**json_value(line)))
            except (ValueError, TypeError):
                continue
        return found

    def record(self, entry: PublishedSet) -> None:
        """Make a set and the one reported before it the last lines, which eviction keeps: those of the last run."""
        known = self.sets()
        place = next((at for at, one in enumerate(known) if one.feature_set == entry.feature_set), len(known))
        wanted = [*known[:place][-1:], entry]
        lines = [(one.feature_set, one.content) for one in self._lines()]
        names = [(one.feature_set, one.content) for one in wanted]
        if lines[-len(names) :] == names:
            return
        for one in wanted[1:] if lines[-1:] == names[:1] else wanted:
            self.store.files.append(self.name, json.dumps(vars(one)))

    def before(self, feature_set: str) -> dict[str, Any] | None:
        """The set first reported before this one whose content is still in the store, or None.

        It is {"feature_set", "run", "document"}; the same set always has the same previous one.
        """
        known = self.sets()
        place = next((at for at, entry in enumerate(known) if entry.feature_set == feature_set), len(known))
        for entry in reversed(known[:place]):
            if self.store.manifest(entry.content) is None:
                continue
            try:
                document = read_artefact(self.store, entry.content, ReportContent, None, "document")
            except CorruptArtefactError:
                continue
            return {"feature_set": entry.feature_set, "run": entry.run, "document": document}
        return None
