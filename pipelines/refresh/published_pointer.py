"""The pointer to the set that readers use: switched in one write, with the set before it and what has been refused since.

published/<name>.json           {"current": set, "previous": set or null, "withdrawn": [...], "refused": [...]}
published/<name>.history.jsonl  a line a switch, appended

A reader gets the old set or the new one. The artefacts of both are named by 64-digit keys, which no eviction removes.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pipelines.errors import StoreError, UsageError
from pipelines.storage.json_values import json_value
from pipelines.storage.store import Store

SHORT = 32  # digits of a key that only name a set and must not keep it from being evicted
REMEMBERED = 32  # refused deliveries, and sets taken back


@dataclass(frozen=True)
class CurrentSet:
    """A published feature set: its key, that of its list of trade dates, and what it was made of.

    `at` and `run`: when and by which record it was published. `fingerprint` names files, configuration and code together.
    `files`: name → sha256. `last_bar` is the start of its newest bar, ISO 8601; `volumes` what each contract traded in its
    newest session, `missing` what share of a
    full session's minutes each session lacked (those that lacked none are left out). `code`: node → hash of its code, and
    `configuration` what of it the data depends on.
    """

    feature_set: str
    feature_days: str
    fingerprint: str
    at: str
    run: str
    files: dict[str, str]
    sessions: int
    rows: int
    last_session: int
    last_bar: str
    contract: str
    volumes: dict[str, int] = field(default_factory=dict)
    missing: dict[str, float] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)
    configuration: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Refusal:
    """A delivery that was refused, by its fingerprint, and why."""

    fingerprint: str
    reasons: tuple[str, ...]
    at: str
    run: str


@dataclass(frozen=True)
class Pointer:
    """What is published under a name. `withdrawn` are the beginnings of keys of sets that a person took back."""

    current: CurrentSet | None = None
    previous: CurrentSet | None = None
    withdrawn: tuple[str, ...] = ()
    refused: tuple[Refusal, ...] = ()

    def refusal(self, fingerprint: str) -> Refusal | None:
        """Return why this very delivery was refused before; None where it was not."""
        return next((one for one in self.refused if one.fingerprint == fingerprint), None)


def read_pointer(store: Store, name: str) -> Pointer:
    """Return what is published; an empty pointer where nothing ever was. Raises StoreError for a damaged one."""
    data = store.files.read(_path(name))
    if data is None:
        return Pointer()
    try:
        row = json_value(data)
        refused = tuple(Refusal(**{**one, "reasons": tuple(one["reasons"])}) for one in row["refused"])
        return Pointer(_set(row["current"]), _set(row["previous"]), tuple(row["withdrawn"]), refused)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{_path(name)} in the store {store.location} is damaged ({error}); restore it, or remove it and run "
            "`pipeline refresh`"
        ) from None


def current_set(store: Store, name: str) -> CurrentSet:
    """Return the published set; raise UsageError where there is none."""
    found = read_pointer(store, name).current
    if found is None:
        raise UsageError(f"nothing is published as {name} in the store {store.location}; run `pipeline refresh`")
    return found


def publish(store: Store, name: str, new: CurrentSet) -> Pointer:
    """Make a set the current one; the set until now becomes the previous one, unless it is the same computed anew."""
    before = read_pointer(store, name)
    same = before.current is not None and before.current.feature_set == new.feature_set
    previous = before.previous if same else before.current
    return _switch(store, name, replace(before, current=new, previous=previous), "published")


def renamed(store: Store, name: str, same: CurrentSet) -> None:
    """Note that the current set is also what other files, configuration or code make."""
    _write(store, name, replace(read_pointer(store, name), current=same))


def refuse(store: Store, name: str, refusal: Refusal) -> None:
    """Remember a refused delivery, so that the next refresh need not compute it again."""
    before = read_pointer(store, name)
    others = [one for one in before.refused if one.fingerprint != refusal.fingerprint]
    _write(store, name, replace(before, refused=(*others, refusal)[-REMEMBERED:]))


def roll_back(store: Store, name: str) -> Pointer:
    """Make the previous set the current one; the set taken back is not published again unless something changes."""
    before = read_pointer(store, name)
    if before.previous is None or before.current is None:
        raise UsageError(f"there is no set before the one published as {name}: nothing to roll back to")
    if store.manifest(before.previous.feature_set) is None:
        raise StoreError(f"the set before the one published as {name} is gone or damaged; the published one stays")
    withdrawn = (*before.withdrawn, before.current.feature_set[:SHORT])[-REMEMBERED:]
    after = replace(before, current=before.previous, previous=None, withdrawn=withdrawn)
    return _switch(store, name, after, "rolled back")


def _switch(store: Store, name: str, after: Pointer, what: str) -> Pointer:
    assert after.current is not None
    _write(store, name, after)
    line = {"event": what, "at": after.current.at, "run": after.current.run, "feature_set": after.current.feature_set}
    store.files.append(f"published/{name}.history.jsonl", json.dumps(line))
    return after


def _write(store: Store, name: str, pointer: Pointer) -> None:
    store.files.write(_path(name), json.dumps(asdict(pointer), indent=1).encode())


def _path(name: str) -> str:
    return f"published/{name}.json"


def _set(row: Mapping[str, Any] | None) -> CurrentSet | None:
    return None if row is None else CurrentSet(**row)
