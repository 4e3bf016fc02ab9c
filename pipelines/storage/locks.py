"""A lock in a store that one process holds at a time, with its owner and age, taken over from a dead one.

Holders are counted up: `locks/<name>/<number>.json` is created only where there is none, so of two that want the next
number one gets it, on a local disk and in a bucket alike. The highest number counts. Nothing that a dead holder left has to be
deleted before the next one can begin, and no clock but the store's own has a part in it.
"""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from pipelines.errors import LockedError, StoreError, said
from pipelines.storage.json_values import json_value
from pipelines.storage.processes import Owner
from pipelines.storage.store import Store
from pipelines.storage.store_files import Entry
from pipelines.storage.store_leases import LEASE_SECONDS, RENEWALS

ATTEMPTS = 20  # of processes that want the lock at the same moment, all but one give up long before


@dataclass(frozen=True)
class Holding:
    """A lock that this process holds, and what it was taken over from ("" where it was free)."""

    store: Store
    path: str
    taken_over: str

    def require(self) -> None:
        """Raise LockedError where another process has taken the lock over: it believed this one dead."""
        newest = _newest(self.store, self.path.rpartition("/")[0])
        if newest is None or newest.path != self.path:
            raise LockedError(
                "another refresh has taken the lock over: this one did not renew it for "
                f"{LEASE_SECONDS / 60:.0f} minutes; nothing was published, run again"
            )


@contextmanager
def locked(store: Store, name: str, what: str) -> Iterator[Holding]:
    """Hold the lock until the block ends or the process dies; raise LockedError naming the holder where one lives."""
    try:
        holding = _take(store, f"locks/{name}", what)
    except OSError as error:
        raise StoreError(
            f"cannot write a lock in the store {store.location}: {said(error)}; free space there or choose "
            "another store with store=DIR"
        ) from None
    over = threading.Event()
    renewing = threading.Thread(target=_renew, args=(holding, over), daemon=True)
    renewing.start()
    try:
        yield holding
    finally:
        over.set()
        renewing.join()
        with suppress(OSError):  # the process ends soon, and then its lock does
            store.files.write(holding.path, _facts(ended=True))


def _take(store: Store, folder: str, what: str) -> Holding:
    for _ in range(ATTEMPTS):
        newest = _newest(store, folder)
        left = ""
        if newest is not None:
            if living := _living(store, newest):
                raise LockedError(f"another {what} holds the lock of {store.location}: {living}; wait for it to end")
            left = _left_by(store, newest)
        number = 1 + (_number(newest) if newest else 0)
        path = f"{folder}/{number:012d}.json"
        if store.files.create(path, _facts(ended=False)):
            last = _newest(store, folder)
            if last is not None and last.path == path:
                _forget(store, folder, path)
                return Holding(store, path, left)
            store.files.remove(path)  # the list was old: others have come and gone since
    raise LockedError(f"another {what} takes the lock of {store.location} each time this one tries; run again later")


def _living(store: Store, entry: Entry) -> str:
    """Name the holder as a person wants it, or "" where it has ended or is dead."""
    row = _read(store, entry)
    if row is None or row["ended"]:
        return ""
    age = max(0.0, store.files.now() - entry.changed)
    runs = Owner(**row["owner"]).runs()
    if runs is False or (runs is None and age > LEASE_SECONDS):
        return ""
    return f"pid {row['owner']['pid']} on {row['host']} since {row['since']} ({_age(row['since'])})"


def _left_by(store: Store, entry: Entry) -> str:
    row = _read(store, entry)
    if row is None or row["ended"]:
        return ""
    return f"pid {row['owner']['pid']} on {row['host']}, which died holding it since {row['since']}"


def _read(store: Store, entry: Entry) -> dict[str, Any] | None:
    try:
        row = json_value(store.files.read(entry.path))
        Owner(**row["owner"])
        return {"owner": row["owner"], "host": row["host"], "since": row["since"], "ended": bool(row["ended"])}
    except (ValueError, KeyError, TypeError):
        return None  # a crash or a disk has damaged it: nobody can be holding it


def _newest(store: Store, folder: str) -> Entry | None:
    entries = [entry for entry in store.files.entries(folder) if entry.path.rpartition("/")[2][:12].isdigit()]
    return max(entries, key=_number, default=None)


def _number(entry: Entry) -> int:
    return int(entry.path.rpartition("/")[2][:12])


def _forget(store: Store, folder: str, mine: str) -> None:
    for entry in store.files.entries(folder):
        if entry.path < mine:
            store.files.remove(entry.path)


def _facts(ended: bool) -> bytes:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    return json.dumps({"owner": asdict(Owner.this()), "host": socket.gethostname(), "since": since, "ended": ended}).encode()


def _age(since: str) -> str:
    seconds = max(0, int((datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds()))  # a clock may go back
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"


def _renew(holding: Holding, over: threading.Event) -> None:
    while not over.wait(LEASE_SECONDS / RENEWALS):
        with suppress(OSError, StoreError):  # a server that is away for a while; the next renewal may reach it
            data = holding.store.files.read(holding.path)
            if data is not None:
                holding.store.files.write(holding.path, data)
