"""The record of a run: appended while it runs, readable after a crash, listed by `pipeline runs`."""

import json
import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

from pipelines.keys import installed_versions
from pipelines.processes import is_alive
from pipelines.store import Store

SHARED = ("started", "ended")  # events after which a remote store gets the record and the reports beside it
LIBRARIES = (
    "walkfold",
    "dask",
    "distributed",
    "numpy",
    "pandas",
    "numba",
    "pyarrow",
    "pandera",
    "torch",
    "databento-dbn",
)


@dataclass(frozen=True)
class RunRecord:
    """An open record: one JSON line an event below runs/<run>/."""

    run: str
    folder: Path
    store: Store

    @classmethod
    def begin(cls, store: Store, facts: dict[str, Any]) -> "RunRecord":
        """Create the folder of a new run and write its first line: what was asked for, where and with which versions."""
        now = datetime.now(UTC)
        run = f"{now:%Y%m%dT%H%M%SZ}-{os.urandom(2).hex()}"
        record = cls(run, store.root / "runs" / run, store)
        record.folder.mkdir(parents=True)
        record.append(
            "started", created=now.isoformat(timespec="seconds"), pid=os.getpid(), versions=versions(), **facts
        )
        return record

    def append(self, event: str, **facts: Any) -> None:
        """Append one event; a crash leaves all earlier lines readable."""
        with (self.folder / "record.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"event": event, "at": datetime.now(UTC).isoformat(), **facts}, default=str) + "\n")
        if event in SHARED:
            self.store.push(self.folder)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries a run depends on; `source` for a package that is not installed."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found |= installed_versions([name])
        except PackageNotFoundError:
            found[name] = "source"
    return found


def read_records(store: Store) -> list[dict[str, Any]]:
    """Return a summary of every run in the store, oldest first; a store that does not exist has none."""
    store.pull("runs", "record.jsonl")
    return [read_record(path.parent) for path in sorted((store.root / "runs").glob("*/record.jsonl"))]


def read_record(folder: Path) -> dict[str, Any]:
    """Return one run's summary: its first line, its tasks and its status (`crashed` where the process is gone)."""
    events = []
    path = folder / "record.jsonl"
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else ():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and "event" in event:
            events.append(event)
    summary: dict[str, Any] = {"run": folder.name, "status": "unreadable", "tasks": []}
    for event in events:
        kind = event.pop("event")
        if kind == "started":
            summary.update(event, status="running" if is_alive(int(event.get("pid", 0))) else "crashed")
        elif kind == "task":
            summary["tasks"].append(event)
        elif kind == "ended":
            summary.update(event)
    return summary
