"""The ledger of looks: every evaluation on validation or test rows, once, so that statistics know the number of trials."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.keys import digest
from pipelines.store import Store


@dataclass(frozen=True)
class Look:
    """One evaluation of something on the validation or test rows of a fold."""

    key: str
    task: str
    rows: str
    trials: int
    run: str


@dataclass(frozen=True)
class Ledger:
    """The looks at one fold of one data set; a file of one JSON line a look, appended and never rewritten."""

    path: Path

    @classmethod
    def of(cls, store: Store, data: Mapping[str, Any], fold: Mapping[str, Any]) -> "Ledger":
        """Return the ledger of a data set (what identifies its files) and a fold (its first and last instants)."""
        return cls(store.root / "ledger" / f"{digest([data, fold])[:24]}.jsonl")

    def looks(self) -> dict[str, Look]:
        """Return all looks by content key; a half-written last line of a crashed run is ignored."""
        found: dict[str, Look] = {}
        if self.path.is_file():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    look = Look(**json.loads(line))
                except (ValueError, TypeError):
                    continue
                found.setdefault(look.key, look)
        return found

    def record(self, look: Look) -> None:
        """Append a look unless its content key is there: a retry or a cache hit counts once."""
        if look.key in self.looks():
            return
        # the leading newline ends a line that a crash may have cut, so that this look cannot vanish into it
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write("\n" + json.dumps(vars(look)) + "\n")

    def summary(self) -> dict[str, int]:
        """Return how often the validation and the test rows were looked at, and with how many trials."""
        looks = list(self.looks().values())
        return {
            f"{rows}_{what}": sum(look.trials if what == "trials" else 1 for look in looks if look.rows == rows)
            for rows in ("validation", "test")
            for what in ("looks", "trials")
        }
