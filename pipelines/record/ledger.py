"""The ledger of looks: every evaluation on validation or test rows, once, so that statistics know the number of trials.

One file a root, appended and never rewritten. A look counts for a fold when its rows overlap the fold's and its data share
a file with the fold's data: neither one more file nor a bar more or less in a fold makes earlier looks vanish.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pipelines.keying.keys import digest
from pipelines.storage.json_values import json_value
from pipelines.storage.store import Store

Instants = tuple[str, str]
"""First and last bar of a range, ISO 8601 in UTC: text that sorts in time order."""


@dataclass(frozen=True)
class Look:
    """One evaluation of something on the validation or test rows of a fold."""

    key: str
    task: str
    rows: str
    trials: int
    run: str
    first: str
    last: str
    data: str


@dataclass(frozen=True)
class Ledger:
    """The looks at the data of one root."""

    store: Store
    name: str

    @classmethod
    def of(cls, store: Store, root: str) -> "Ledger":
        """Return the ledger of a root in a store."""
        return cls(store, f"ledger/{root}.jsonl")

    @property
    def path(self) -> Path:
        """Where the ledger of a local store lies."""
        return self.store.root / self.name

    def looks(self) -> dict[str, Look]:
        """Return all looks by content key; a line that a crash or a disk has damaged is ignored."""
        found: dict[str, Look] = {}
        for line in self.store.files.lines(self.name):
            try:
                look = Look(**json_value(line))
            except (ValueError, TypeError):
                continue
            found.setdefault(look.key, look)
        return found

    def record(self, look: Look, files: Collection[str]) -> None:
        """Append a look unless its content key is there: a retry or a cache hit counts once.

        `files` are the checksums of the data set that `look.data` names.
        """
        if look.key in self.looks():
            return
        if self.store.files.read(self._data_path(look.data)) is None:
            self.store.files.write(self._data_path(look.data), json.dumps(sorted(files)).encode())
        self.store.files.append(self.name, json.dumps(asdict(look)))

    def summary(self, ranges: Mapping[str, Instants], files: Collection[str]) -> dict[str, int]:
        """Count the looks at rows that overlap these validation and test ranges, and their trials.

        `ranges` maps "validation" and "test" to the first and last bar of the fold asked about; `files` are the checksums
        of its data.
        """
        return self.pooled([ranges], files)

    def pooled(self, folds: Sequence[Mapping[str, Instants]], files: Collection[str]) -> dict[str, int]:
        """Count as `summary` does the looks at rows of any of several folds, each look once."""
        mine = set(files)
        shared: dict[str, bool] = {}
        counts = dict.fromkeys((f"{rows}_{what}" for rows in ("validation", "test") for what in ("looks", "trials")), 0)
        for look in self.looks().values():
            if look.data not in shared:
                shared[look.data] = not mine.isdisjoint(self._files(look.data))
            ranges = [fold[look.rows] for fold in folds]
            if shared[look.data] and any(look.first <= last and first <= look.last for first, last in ranges):
                counts[f"{look.rows}_looks"] += 1
                counts[f"{look.rows}_trials"] += look.trials
        return counts

    def _data_path(self, data: str) -> str:
        return f"{self.name.removesuffix('.jsonl')}/{data}.json"

    def _files(self, data: str) -> list[str]:
        try:
            return list(json_value(self.store.files.read(self._data_path(data))))
        except (ValueError, TypeError):
            return []


def data_name(files: Collection[str]) -> str:
    """Return the short name of a data set: a hash of the checksums of its files."""
    return digest(sorted(files))[:16]
