"""Leases: what live runs use and must not lose, and which run used what last.

A lease is one small file that its run renews while it lives. On the host of the run the process itself says whether it
lives; elsewhere the lease's age does, by the clock of the file system alone, so that no host's clock matters. Leases are
counted up, and the count is the order of use: a clock that moved backwards does not change it.
"""

import json
import os
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

from pipelines.errors import StoreError, said
from pipelines.storage.json_values import json_value
from pipelines.storage.processes import Owner
from pipelines.storage.store import Store

LEASE_SECONDS = 900.0  # a run on another host that has not renewed its lease for so long is taken to be dead
RENEWALS = 10  # in that time
HISTORY = "leases/history.json"


@dataclass(frozen=True)
class Lease:
    """What one run uses: keys, its place in the order of runs, its process, and whether it said that it ended."""

    path: str
    tick: int
    keys: frozenset[str]
    owner: Owner
    ended: bool
    changed: float


@contextmanager
def held(store: Store, keys: Collection[str]) -> Iterator[None]:
    """Keep these artefacts (and what their lists of parts name) from eviction until the block ends or the process dies.

    Raises StoreError where the lease cannot be written.
    """
    leases, history = read_leases(store), read_history(store)
    tick = 1 + max((*(lease.tick for lease in leases), *history.values()), default=0)
    path = f"leases/{tick:012d}.{os.urandom(4).hex()}.json"
    facts = {"tick": tick, "keys": sorted(keys), "owner": asdict(Owner.this())}
    try:
        store.files.write(path, json.dumps({**facts, "ended": False}).encode())
    except OSError as error:
        raise StoreError(
            f"cannot write a lease in the store {store.location}: {said(error)}; free space there or choose "
            "another store with store=DIR; what was finished stays and is not computed again"
        ) from None
    over = threading.Event()
    renewing = threading.Thread(target=_renew, args=(store, path, facts, over), daemon=True)
    renewing.start()
    try:
        yield
    finally:
        over.set()
        renewing.join()
        with suppress(OSError):  # the process ends soon, and then its lease does
            store.files.write(path, json.dumps({**facts, "ended": True}).encode())


def read_leases(store: Store) -> list[Lease]:
    """Return all leases in the store, ended ones too; a damaged file is none."""
    found = []
    for entry in store.files.entries("leases"):
        if entry.path == HISTORY:
            continue
        try:
            row = json_value(store.files.read(entry.path))
            owner = Owner(**row["owner"])
            found.append(
                Lease(entry.path, int(row["tick"]), frozenset(row["keys"]), owner, bool(row["ended"]), entry.changed)
            )
        except (ValueError, KeyError, TypeError):
            continue
    return found


def live(store: Store, lease: Lease, now: float) -> bool:
    """Say whether the run of a lease may still use its artefacts; `now` is `store.files.now()`."""
    if lease.ended:
        return False
    runs = lease.owner.runs()
    if runs is not None:
        return runs
    if lease.changed > now:  # the clock moved back: its time begins now, so that it neither ends early nor lasts for ever
        data = store.files.read(lease.path)
        if data is not None:
            store.files.write(lease.path, data)
        return True
    return now - lease.changed <= LEASE_SECONDS


def read_history(store: Store) -> dict[str, int]:
    """Return of each key the last lease that held it, of leases that `fold_ended` has put away."""
    try:
        history = json_value(store.files.read(HISTORY))
        return {str(key): int(tick) for key, tick in history.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def last_uses(store: Store, leases: Collection[Lease]) -> dict[str, int]:
    """Return of each key the last lease that held it."""
    uses = read_history(store)
    for lease in leases:
        for key in lease.keys:
            uses[key] = max(uses.get(key, 0), lease.tick)
    return uses


def fold_ended(store: Store, known: Collection[str] | None = None) -> int:
    """Put the leases of runs that are over into one file, of the `known` keys or all; return how many they were."""
    now, leases = store.files.now(), read_leases(store)
    over = [lease for lease in leases if not live(store, lease, now)]
    if over:
        uses = last_uses(store, over)
        kept = sorted(key for key in uses if known is None or key in known)
        store.files.write(HISTORY, json.dumps({key: uses[key] for key in kept}).encode())
    for lease in over:
        store.files.remove(lease.path)
    return len(over)


def _renew(store: Store, path: str, facts: dict[str, object], over: threading.Event) -> None:
    while not over.wait(LEASE_SECONDS / RENEWALS):
        with suppress(OSError):  # a server that is away for a while; the next renewal may reach it
            store.files.write(path, json.dumps({**facts, "ended": False}).encode())
