"""The artefact store: written once under a content key, visible whole or not at all, verified when read.

objects/ab/<key>/…parts…, manifest.json     an artefact; it exists when its manifest does
refs/<task>.json                            the last keys of a task, to explain why it runs again
code/                                       the definitions behind each hash of code in a key
runs/ ledger/                               records of runs, looks at validation and test rows
published/ promoted/ scores/ downloads/     feature sets as reported and published, current models, positions, fetched days
locks/                                      which refresh runs
leases/                                     what live runs use and earlier ones used last
tmp/  corrupt/                              unfinished writes; artefacts whose bytes changed
"""

import contextlib
import errno
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.errors import CorruptArtefactError, StoreError, said
from pipelines.storage import manifests
from pipelines.storage.json_values import json_value
from pipelines.storage.listing import listed
from pipelines.storage.manifests import MANIFEST
from pipelines.storage.processes import is_alive
from pipelines.storage.store_files import (
    Entry,
    Files,
    LocalFiles,
    checked_key,
    is_key,
    is_plain_name,
    removed,
    sha256_of,
    sync,
    unfinished,
    write_bytes,
    writer_of,
)

REMEMBERED = 8
FOLDERS = ("objects", "refs", "code", "runs", "ledger", "published", "leases", "tmp", "corrupt")


@dataclass(frozen=True)
class Store:
    """A store below one folder of a local file system."""

    root: Path

    @classmethod
    def open(cls, root: Path) -> "Store":
        """Create the folders, remove what dead processes left unfinished; raise StoreError when it is not writable."""
        store = cls(root.resolve())
        store._prepare(str(root))
        return store

    @property
    def location(self) -> str:
        """The store as a person names it."""
        return str(self.root)

    @property
    def files(self) -> Files:
        """The small files of the store: references, leases, journals."""
        return LocalFiles(self.root)

    def folder(self, key: str) -> Path:
        """Return the folder an artefact with this key has; raise StoreError for what is no key."""
        return self.root / "objects" / checked_key(key)[:2] / key

    def manifest(self, key: str) -> dict[str, Any] | None:
        """Return the manifest of an artefact whose files are all there with their sizes, or None.

        The list of a node's parts is there when each of its parts is.
        """
        manifest = self._complete(key)
        if manifest is None:
            return None
        return manifest if all(self._complete(needed) is not None for needed in manifest.get("needs", ())) else None

    def listed(self, key: str) -> dict[str, Any] | None:
        """Return the manifest alone, whether or not what it lists is there; None where there is none to believe."""
        folder = self.folder(key)
        if folder.is_symlink() or folder.parent.is_symlink():
            return None
        try:
            return manifests.parsed(LocalFiles(folder).read(MANIFEST), key)
        except StoreError:  # an artefact that the disk does not give is damaged: it is made again
            return None

    def keys_from(self, start: str) -> list[str]:
        """Return the keys of artefacts that begin so, by two characters or more."""
        found = listed(self.root / "objects" / start[:2]) if start[:2].isalnum() else []
        return [path.name for path in found if is_key(path.name) and path.name.startswith(start)]

    def stored(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Go through the artefacts: key and manifest."""
        for group in listed(self.root / "objects"):
            for folder in listed(group) if len(group.name) == 2 else ():
                manifest = self.listed(folder.name) if is_key(folder.name) else None
                if manifest is not None:
                    yield folder.name, manifest

    def verified(self, key: str, names: Callable[[str], bool] = lambda name: True) -> Path:
        """Return the folder after comparing its files (those whose name `names` accepts) with the manifest's checksums.

        A damaged artefact is moved aside and CorruptArtefactError raised, so that the next run recomputes it.
        """
        folder = self.folder(key)
        seen = _identity(folder)
        manifest = self.manifest(key)
        if manifest is None:
            self.set_aside(key, seen)
            raise CorruptArtefactError(f"artefact {key[:12]} is missing or incomplete; run again to recompute it", key)
        wrong = _differing(folder, manifest, names)
        if wrong is not None:
            moved = self.set_aside(key, seen)
            what = f"it was moved to {self.root / 'corrupt'}" if moved else "it could not be moved aside"
            raise CorruptArtefactError(
                f"artefact {key[:12]} of {manifest['task']}: the bytes of {wrong} differ from its checksum; {what}, "
                "run again to recompute it",
                key,
            )
        return folder

    def publish(self, key: str, unfinished: Path, description: Mapping[str, Any], durable: bool = True) -> None:
        """Make the files in `unfinished` (from `begin`) the artefact `key`, in one rename; the first writer wins.

        Unless `durable`, a power cut may leave files torn: their checksums tell, and they are computed again. Meant for
        artefacts of which there are hundreds, each soon made.
        """
        manifest = manifests.described(key, unfinished, description)
        if durable:
            for name in manifest["files"]:
                sync(unfinished / name)
        write_bytes(unfinished / MANIFEST, manifests.as_bytes(manifest), durable)
        if durable:
            sync(unfinished)
        self._place(key, unfinished)
        if durable:
            sync(self.folder(key).parent)

    def begin(self, key: str) -> Path:
        """Return a new empty folder beside the objects, for the files of one artefact."""
        folder = self._temporary(checked_key(key)[:16])
        folder.mkdir(parents=True)
        return folder

    def remember(self, task: str, reference: Mapping[str, Any]) -> None:
        """Note the key of a task and what it was made of as the one that was made or used last.

        The last REMEMBERED are kept, and the last of each instrument.
        """
        others = [one for one in self.remembered(task) if one.get("key") != reference["key"]]
        kept = [reference, *others][:REMEMBERED]
        for one in others[REMEMBERED - 1 :]:
            if root_of(one) not in map(root_of, kept):
                kept.append(one)
        self.files.write(_reference(task), json.dumps(kept).encode())

    def remembered(self, task: str) -> list[dict[str, Any]]:
        """Return what `remember` noted, the last made or used first; nothing where the file is missing or damaged."""
        try:
            references = json_value(self.files.read(_reference(task)))
        except ValueError:
            return []
        return [one for one in references if isinstance(one, dict)] if isinstance(references, list) else []

    def set_aside(self, key: str, seen: object = None) -> bool:
        """Move a damaged artefact to corrupt/; not if another process has replaced what was `seen` to be damaged."""
        folder = self.folder(key)
        if seen is not None and _identity(folder) != seen:
            return True
        if folder.parent.is_symlink():
            return False  # what lies behind a link is not the store's
        try:
            folder.rename(self.root / "corrupt" / f"{key}.{os.urandom(4).hex()}")
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def withdraw(self, key: str) -> Path:
        """Make an artefact invisible in one step, to be dropped or restored; where it is kept meanwhile."""
        hidden = self._temporary(f"evicted-{key[:16]}")
        self.folder(key).rename(hidden)
        return hidden

    def restore(self, key: str, hidden: Path) -> None:
        """Undo `withdraw`, unless another process has made the artefact again."""
        self._place(key, hidden)

    def drop(self, key: str, hidden: Path) -> None:
        """Delete a withdrawn artefact for good."""
        removed(hidden)

    def orphans(self, age: float) -> list[Entry]:
        """List files of artefacts that no manifest names: none here, where an artefact appears in one rename."""
        return []

    def require(self) -> None:
        """Raise StoreError where the store is gone: its place must not be filled with a new one by those who write."""
        if not (self.root / "objects").is_dir():
            raise StoreError(f"the store {self.location} is gone; bring it back and run again: what was finished stays")

    def push(self, folder: Path) -> None:
        """Bring a folder of a run to where the store is kept: here it already lies there."""

    def pull(self, folder: str, name: str) -> None:
        """Fetch the files of this name that other machines pushed: here they already lie there."""

    def _prepare(self, named: str) -> None:
        try:
            for name in FOLDERS:
                (self.root / name).mkdir(parents=True, exist_ok=True)
            probe = self.root / "tmp" / unfinished("probe")
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            why = said(error) if isinstance(error, FileExistsError | NotADirectoryError) else error.strerror
            raise StoreError(f"cannot write the store {named}: {why}; choose another with store=DIR") from None
        self._remove_unfinished()

    def _temporary(self, name: str) -> Path:
        return self.root / "tmp" / unfinished(name)

    def _complete(self, key: str) -> dict[str, Any] | None:
        """The manifest of an artefact whose own files are all there with their sizes."""
        manifest, folder = self.listed(key), self.folder(key)
        sizes = manifest["files"].items() if manifest is not None else ()
        return manifest if all(_has_size(folder / name, part["bytes"]) for name, part in sizes) else None

    def _place(self, key: str, made: Path) -> None:
        """Rename a finished folder to its place among the objects, or delete it where another writer was first."""
        target = self.folder(key)
        if target.parent.is_symlink():
            raise StoreError(f"{target.parent} is a link; a store holds its own files: replace it by a folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(target) and self.manifest(key) is None:
            self.set_aside(key)
        try:
            made.rename(target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            shutil.rmtree(made)  # another writer published the same content first

    def _remove_unfinished(self) -> None:
        """Delete what processes of this host that are gone left in tmp/; a crash leaves nothing behind for long."""
        for path in listed(self.root / "tmp"):
            writer = writer_of(path.name)
            if writer is not None and not is_alive(writer):
                removed(path)


def root_of(reference: Mapping[str, Any]) -> str:
    """Return the instrument's root that a remembered artefact was made with, "" where its node was not told."""
    parts = reference.get("parts")
    configuration = parts.get("configuration") if isinstance(parts, dict) else None
    return str(configuration.get("root", "")) if isinstance(configuration, dict) else ""


def _reference(task: str) -> str:
    if not is_plain_name(task):
        raise StoreError(f"task {task!r}: its name cannot name a file; use letters, digits and []=,-_")
    return f"refs/{task}.json"


def _has_size(path: Path, expected: int) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size == expected


def _identity(folder: Path) -> object:
    with contextlib.suppress(OSError):
        return folder.lstat().st_ino
    return None


def _differing(folder: Path, manifest: Mapping[str, Any], names: Callable[[str], bool]) -> str | None:
    """Return the first file whose bytes are not those of the manifest, or cannot be read."""
    for name, part in manifest["files"].items():
        if names(name):
            try:
                same = sha256_of(folder / name) == part["sha256"]
            except OSError:
                same = False
            if not same:
                return str(name)
    return None
