"""Removes what writers that died left in a store: unfinished folders and files that nobody has touched for a lease."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipelines.storage.listing import listed, walked
from pipelines.storage.store import Store
from pipelines.storage.store_files import LocalFiles, removed
from pipelines.storage.store_leases import LEASE_SECONDS

FINISHED = ("objects", "corrupt", "tmp")  # artefacts appear whole; of tmp/ everything is unfinished
_UNFINISHED = re.compile(r"\..+\.\d+\.[0-9a-f]{8}")


@dataclass(frozen=True)
class Leftovers:
    """How many unfinished files and folders were, or would be, removed, and their bytes."""

    count: int
    bytes: int


def remove_leftovers(store: Store, dry_run: bool = False) -> Leftovers:
    """Remove the unfinished writes below the store's local folder, and what the store itself knows to be left over."""
    now = _now(store.root)
    old = [path for path in _unfinished(store.root) if _age(path, now) > LEASE_SECONDS]
    size = sum(_size(path) for path in old)
    for path in old if not dry_run else ():
        removed(path)
    orphans = store.orphans(LEASE_SECONDS)
    for entry in orphans if not dry_run else ():
        store.files.remove(entry.path)
    return Leftovers(len(old) + len(orphans), size + sum(entry.bytes for entry in orphans))


def _unfinished(root: Path) -> Iterator[Path]:
    yield from listed(root / "tmp")
    for folder in listed(root):
        if folder.is_dir() and folder.name not in FINISHED:
            yield from (path for path in walked(folder) if _UNFINISHED.fullmatch(path.name))


def _now(root: Path) -> float:
    return LocalFiles(root).now()


def _age(path: Path, now: float) -> float:
    """Return the seconds since anything in it changed; what lies in the future, after a clock moved back, is dated now."""
    newest = 0.0
    for each in (path, *_below(path)):
        with suppress(OSError):
            changed = each.lstat().st_mtime
            if changed > now:
                os.utime(each, (now, now), follow_symlinks=False)
            newest = max(newest, min(changed, now))
    return now - newest


def _below(path: Path) -> Iterator[Path]:
    return walked(path) if path.is_dir() and not path.is_symlink() else iter(())


def _size(path: Path) -> int:
    found = 0
    for each in (path, *_below(path)):
        with suppress(OSError):
            found += each.lstat().st_size if not each.is_dir() else 0
    return found
