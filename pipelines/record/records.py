"""The record of a run: one JSON line an event, appended while it runs, readable after a crash at any byte."""

import difflib
import json
import math
import os
import platform
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

from pipelines.errors import UsageError
from pipelines.keying.keys import installed_versions
from pipelines.record.redaction import Redactor, current
from pipelines.storage.json_values import json_value
from pipelines.storage.listing import listed
from pipelines.storage.processes import Owner, is_alive
from pipelines.storage.store import Store
from pipelines.storage.store_files import LocalFiles, write_text

RECORD = "record.jsonl"
SUMMARY = "summary.json"
ENDED = "ended"
LISTED = {"retry": "retries", "damaged": "damaged", "warning": "warnings", "evicted": "evicted"}  # there may be many of each
USERS = ("configuration", "facts")  # what the user's own code names; all else may hold content keys
SUMMARISED = (
    "run", "status", "exit_code", "created", "command", "words", "config_file", "fold", "seconds", "error", "headlines",
    "metrics", "report", "reports", "data_report", "pooled_report", "feature_set", "reproduces", "pid", "host",
)  # fmt: skip
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
    """An open record: one JSON line an event below runs/<run>/. What it is given is cleaned of secrets first."""

    run: str
    folder: Path
    store: Store
    redactor: Redactor = field(default_factory=current)

    @classmethod
    def begin(cls, store: Store, facts: Mapping[str, Any]) -> "RunRecord":
        """Create the folder of a new run and write its first line: what was asked for, where and with which versions."""
        now = datetime.now(UTC)
        # the fraction of the second comes first, so that names sort by time; the rest tells apart two runs at one instant
        run = f"{now:%Y%m%dT%H%M%SZ}-{now.microsecond * 0x10000 // 1_000_000:04x}{os.urandom(1).hex()}"
        record = cls(run, store.root / "runs" / run, store)
        record.folder.mkdir(parents=True)
        created = now.isoformat(timespec="seconds")
        place = {"pid": os.getpid(), "host": socket.gethostname(), "owner": vars(Owner.this())}
        record.append("started", created=created, **place, versions=versions(), **facts)
        return record

    def append(self, event: str, **facts: Any) -> None:
        """Append one event in one write; a crash leaves all earlier lines readable, a cut line does not spoil later ones."""
        clean = {name: self.redactor.tree({name: value}, name not in USERS)[name] for name, value in _plain(facts).items()}
        line = {"event": event, "at": datetime.now(UTC).isoformat(), **clean}
        # the leading newline ends a line that a full disk may have cut
        text = "\n" + json.dumps(line, allow_nan=False) + "\n"
        with (self.folder / RECORD).open("ab") as stream:
            stream.write(text.encode())
        if event in SHARED:
            self.store.push(self.folder)

    def end(self, status: str, exit_code: int, seconds: float, **facts: Any) -> None:
        """Append how the run ended, and write its summary, which lists of many runs are made of."""
        self.append(ENDED, status=status, exit_code=exit_code, seconds=seconds, **facts)
        write_text(self.folder / SUMMARY, json.dumps(summary_of(read_record(self.folder)), allow_nan=False))


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
    """Return every run in the store with its tasks, oldest first; a store that does not exist has none."""
    store.pull("runs", RECORD)
    return [read_record(folder) for folder in run_folders(store)]


def read_summaries(store: Store, most: int = 0) -> list[dict[str, Any]]:
    """Return the summaries of the runs in the store, oldest first; of a run that did not end it is made of its record.

    `most`: only so many of the newest; 0 is all.
    """
    return [_summary(folder) for folder in run_folders(store)[-most:]]


def run_folders(store: Store) -> list[Path]:
    """Return the folders of the runs on this machine that have a record, oldest first."""
    return [folder for folder in listed(store.root / "runs") if (folder / RECORD).exists()]


def find_run(store: Store, name: str) -> Path:
    """Return the folder of the run of this name or beginning; raise UsageError naming the nearest or those that begin so."""
    store.pull("runs", RECORD)
    known = [folder.name for folder in run_folders(store)]
    found = [name] if name in known else [run for run in known if run.startswith(name)]
    if len(found) == 1:
        return store.root / "runs" / found[0]
    if found:
        reason = f"{len(found)} runs begin so, the last is {found[-1]}: write more of it"
    elif known:
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        reason = f"did you mean {close[0]!r}?" if close else f"the last is {known[-1]}; pipeline runs lists all"
    else:
        reason = "there are no runs yet"
    raise UsageError(f"no single run {name!r}: {reason}")


def read_record(folder: Path) -> dict[str, Any]:
    """Return one run: its first line, its tasks and its status (`crashed` where the process is gone).

    A line that a crash or a disk has damaged is left out; `status` is `unreadable` where the first one is.
    """
    found: dict[str, Any] = {"run": folder.name, "status": "unreadable", "tasks": []}
    found |= {name: [] for name in LISTED.values()}
    in_hand: dict[str, None] = {}
    for event in _events(folder / RECORD):
        kind = event.pop("event")
        if kind == "started":
            found.update(event, status="running" if _runs(event) else "crashed")
        elif kind == "began":
            in_hand[str(event.get("task"))] = None
        elif kind == "task":
            found["tasks"].append(event)
            in_hand.pop(str(event.get("task")), None)
        elif kind in LISTED:
            found[LISTED[kind]].append(event)
        elif kind == "cluster":
            found[kind] = event
        elif kind == "placed":
            found[kind] = {**found.get(kind, {}), **event.get(kind, {})}
        elif kind in ("planned", ENDED):
            del event["at"]
            found.update(event)
    return {**found, "in_hand": list(in_hand)}


def summary_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a list of runs shows of one."""
    tasks = record["tasks"]
    cached = sum(bool(task.get("cached")) for task in tasks)
    inputs = record.get("inputs") or []
    return {
        **{name: record[name] for name in SUMMARISED if name in record},
        "data": (record.get("configuration") or {}).get("data"),
        "files": len({row["path"] for row in inputs}),
        "computed": len(tasks) - cached,
        "cached": cached,
        "peak_bytes": max((int(task.get("peak_bytes", 0)) for task in tasks), default=0),
        "warnings": len(record["warnings"]) + sum(len(task.get("warnings", ())) for task in tasks),
        "retries": len(record["retries"]),
    }


def _summary(folder: Path) -> dict[str, Any]:
    try:
        found = json_value((folder / SUMMARY).read_bytes())
        if isinstance(found, dict) and found["run"] == folder.name:
            return found
    except (OSError, ValueError, KeyError):
        pass  # the run goes on, or crashed
    return summary_of(read_record(folder))


def _events(path: Path) -> list[dict[str, Any]]:
    found = []
    data = LocalFiles(path.parent).read(path.name) or b""
    for line in data.decode("utf-8", "replace").splitlines():
        try:
            event = json_value(line)
        except ValueError:
            continue
        if isinstance(event, dict) and isinstance(event.get("event"), str) and "at" in event:
            found.append(event)
    return found


def _runs(started: Mapping[str, Any]) -> bool:
    """Whether the process of a record may still run; of another machine's that cannot be known."""
    owner = started.get("owner")
    if isinstance(owner, dict) and owner.keys() == {"place", "pid", "started"}:
        return Owner(**owner).runs() is not False
    return is_alive(int(started.get("pid", 0)))


def _plain(value: Any) -> Any:
    """Return a value as JSON that every reader understands: a float that is not finite as text, others by their text."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
