"""The ledger of looks: every evaluation on validation or test rows, once, so that statistics know the number of trials.

One file a root, appended and never rewritten. A look counts for a fold when its rows overlap the fold's in time, unless its
data are shown to be other data. Data are known by their rows, not by files: by the price that each trade date opened at. So
neither a file that was rewritten or downloaded again nor a day more nor another length of bars makes earlier looks vanish.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipelines.keying.keys import digest
from pipelines.storage.json_values import json_value
from pipelines.storage.store import Store

Instants = tuple[str, str]
"""First and last bar of a range, ISO 8601 in UTC: text that sorts in time order."""

Opened = Mapping[str, float]
"""The price at which each trade date (yyyymmdd) of a data set opened; empty where it is not known."""

ONE_IN = 20  # of the trade dates two data sets share, opened alike: the same market, whatever contract was followed when


@dataclass(frozen=True)
class Look:
    """One evaluation of something on the validation or test rows of a fold.

    `key` is made of what can change its result (pipelines.record.looks), `artefact` is the content key of what it made. In
    lines of ledgers that knew data by files both are the content key, and `data` names a list of checksums.
    """

    key: str
    artefact: str
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
        """Return all looks by key; a line that a crash or a disk has damaged is ignored."""
        found: dict[str, Look] = {}
        for line in self.store.files.lines(self.name):
            try:
                entry = json_value(line)
                look = Look(**{"artefact": entry["key"], **entry})
            except (ValueError, TypeError, KeyError):
                continue
            found.setdefault(look.key, look)
        return found

    def has(self, artefact: str) -> bool:
        """Say whether the look that made an artefact is there."""
        return any(look.artefact == artefact for look in self.looks().values())

    def record(self, look: Look, opened: Opened) -> None:
        """Append a look unless its key is there: a retry, a cache hit or the same result of a rewritten file counts once.

        `opened` are the opening prices of the data set that `look.data` names.
        """
        if look.key in self.looks():
            return
        if self.store.files.read(self._data_path(look.data)) is None:
            self.store.files.write(self._data_path(look.data), json.dumps({"opened": dict(opened)}).encode())
        self.store.files.append(self.name, json.dumps(asdict(look)))

    def summary(self, ranges: Mapping[str, Instants], opened: Opened) -> dict[str, int]:
        """Count the looks at rows that overlap these validation and test ranges, and their trials.

        `ranges` maps "validation" and "test" to the first and last bar of the fold asked about; `opened` are the opening
        prices of its data.
        """
        return self.pooled([ranges], opened)

    def pooled(self, folds: Sequence[Mapping[str, Instants]], opened: Opened) -> dict[str, int]:
        """Count as `summary` does the looks at rows of any of several folds, each look once."""
        alike: dict[str, bool] = {}
        counts = dict.fromkeys((f"{rows}_{what}" for rows in ("validation", "test") for what in ("looks", "trials")), 0)
        for look in self.looks().values():
            ranges = [fold[look.rows] for fold in folds]
            if not any(look.first <= last and first <= look.last for first, last in ranges):
                continue
            if look.data not in alike:
                alike[look.data] = may_be_the_same(opened, self._opened(look.data))
            if alike[look.data]:
                counts[f"{look.rows}_looks"] += 1
                counts[f"{look.rows}_trials"] += look.trials
        return counts

    def _data_path(self, data: str) -> str:
        return f"{self.name.removesuffix('.jsonl')}/{data}.json"

    def _opened(self, data: str) -> Opened:
        """The opening prices of a data set; empty for one that was known by its files, and where a disk has damaged them."""
        try:
            found: Any = json_value(self.store.files.read(self._data_path(data)))
            return {str(session): float(price) for session, price in found["opened"].items()}
        except (ValueError, TypeError, KeyError, AttributeError):
            return {}


def data_name(opened: Opened) -> str:
    """Return the short name of a data set: a hash of its opening prices."""
    return digest(dict(opened))[:16]


def may_be_the_same(one: Opened, other: Opened) -> bool:
    """Say whether two data sets may hold the same market's rows: unless it is shown that they do not, they do.

    Shown it is where they share trade dates, and fewer than one in ONE_IN of these opened at the same price.
    """
    shared = one.keys() & other.keys()
    equal = sum(one[session] == other[session] for session in shared)
    return equal * ONE_IN >= len(shared)
