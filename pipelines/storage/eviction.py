"""Keeps a store within a size: the least recently used artefacts go first, what a live run or a person uses never does."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pipelines.errors import ConfigurationError
from pipelines.storage import manifests
from pipelines.storage.sizes import size_text
from pipelines.storage.store import Store
from pipelines.storage.store_leases import last_uses, live, read_leases

POINTERS = ("published", "promoted")
_KEYS = re.compile(r"\b[0-9a-f]{64}\b")


@dataclass(frozen=True)
class StoredArtefact:
    """An artefact in a store: key, task, bytes, the parts it lists and the lease that used it last (0: none known)."""

    key: str
    task: str
    bytes: int
    needs: tuple[str, ...]
    used: int

    @property
    def node(self) -> str:
        """The node it came from: its task without coordinates and part."""
        return re.split(r"[\[/]", self.task, maxsplit=1)[0]


@dataclass(frozen=True)
class Eviction:
    """What was, or would be, evicted; `over` are the bytes by which the store still exceeds the budget."""

    artefacts: tuple[StoredArtefact, ...]
    over: int

    @property
    def bytes(self) -> int:
        """The bytes set free."""
        return sum(one.bytes for one in self.artefacts)


def inventory(store: Store, uses: Mapping[str, int] | None = None) -> list[StoredArtefact]:
    """Return every artefact, least recently used first; a part counts as used when the list that names it is."""
    ticks = dict(last_uses(store, read_leases(store)) if uses is None else uses)
    found = [(key, row, tuple(row.get("needs", ()))) for key, row in store.stored()]
    for key, _, needs in found:
        for needed in needs:
            ticks[needed] = max(ticks.get(needed, 0), ticks.get(key, 0))
    rows = [StoredArtefact(key, row["task"], manifests.size(row), needs, ticks.get(key, 0)) for key, row, needs in found]
    return sorted(rows, key=lambda one: (one.used, one.key))


def kept_keys(store: Store) -> set[str]:
    """Return the keys that pointer files name: promoted models, and of each list of published sets the newest.

    Of a journal (`.jsonl`) its last two lines count: the current set, and the one that its report is compared with.
    """
    found: set[str] = set()
    for folder in POINTERS:
        journals = set()
        for entry in store.files.entries(folder):
            name, journal, _ = entry.path.partition(".jsonl")
            if journal:
                journals.add(name + journal)
            else:
                found.update(_KEYS.findall((store.files.read(entry.path) or b"").decode("utf-8", "replace")))
        for path in sorted(journals):
            found.update(_KEYS.findall("\n".join(store.files.lines(path)[-2:])))
    return found


def pinned_keys(store: Store, items: Collection[StoredArtefact]) -> set[str]:
    """Return what must not go: what live runs hold and pointer files name, with the parts these list."""
    now = store.files.now()
    roots = kept_keys(store)
    for lease in read_leases(store):
        if live(store, lease, now):
            roots |= lease.keys
    return with_parts(roots, items)


def with_parts(keys: Collection[str], items: Collection[StoredArtefact]) -> set[str]:
    """Return the keys and all that their artefacts list."""
    needs = {one.key: one.needs for one in items}
    found: set[str] = set()
    waiting = list(keys)
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting.extend(needs.get(key, ()))
    return found


def evict(store: Store, budget: int, dry_run: bool = False, uses_of: Store | None = None) -> Eviction:
    """Evict until the artefacts take at most `budget` bytes, or only pinned ones are left.

    `uses_of` is the store whose leases and pointers count, where that is another one: of a cache the remote store.

    An artefact first becomes invisible, then the leases are read again: a run that began meanwhile either wrote its lease
    before that, and gets the artefact back, or looks for it afterwards, finds it missing and computes it.
    """
    holder = uses_of or store
    items = inventory(store, last_uses(holder, read_leases(holder)))
    chosen, left = _chosen(items, pinned_keys(holder, items), budget)
    if dry_run:
        return Eviction(tuple(chosen), max(0, left - budget))
    hidden = []
    for one in chosen:
        try:
            hidden.append((one, store.withdraw(one.key)))
        except OSError:  # another cleaner was first
            left += one.bytes if store.listed(one.key) is not None else 0
    pinned = pinned_keys(holder, items) if hidden else set()
    gone = []
    for one, place in hidden:
        if one.key in pinned:
            store.restore(one.key, place)
            left += one.bytes
        else:
            store.drop(one.key, place)
            gone.append(one)
    return Eviction(tuple(gone), max(0, left - budget))


def require_budget(store: Store, tasks: Mapping[str, str], budget: int) -> None:
    """Refuse a run whose artefacts cannot fit the budget, before it computes anything.

    `tasks` maps the keys of the run to node names. What is not in the store is taken to be as large as what the same node
    has made before; what was never made counts as nothing.
    """
    items = inventory(store)
    sizes = {one.key: one.bytes for one in items}
    by_node = defaultdict(list)
    for one in items:
        by_node[one.node].append(one.bytes)
    mine = with_parts(tasks, items)
    there = sum(sizes.get(key, 0) for key in mine)
    missing = sum(max(by_node.get(node, [0])) for key, node in tasks.items() if key not in sizes)
    kept = sum(sizes.get(key, 0) for key in with_parts(kept_keys(store), items) - mine)
    if there + missing + kept > budget:
        raise ConfigurationError(
            f"store_budget is {size_text(budget)}, too small for this run: its artefacts take {size_text(there)} in the "
            f"store and about {size_text(missing)} more, published and promoted ones {size_text(kept)}; set store_budget "
            f"to {size_text(there + missing + kept)} or more, or to none"
        )


def _chosen(items: list[StoredArtefact], pinned: set[str], budget: int) -> tuple[list[StoredArtefact], int]:
    left = sum(one.bytes for one in items)
    chosen = []
    for one in items:
        if left <= budget:
            break
        if one.key not in pinned:
            chosen.append(one)
            left -= one.bytes
    return chosen, left
