"""The artefact store: written once under a content key, visible whole or not at all, verified when read.

objects/ab/<key>/…parts…, manifest.json     an artefact; it exists when its manifest does
refs/<task>.json                            the last key of a task, to explain why it runs again
runs/ ledger/                               records of runs, looks at validation and test rows
published/                                  feature sets in the order of their first report
tmp/  corrupt/                              unfinished writes; artefacts whose bytes changed
"""

import errno
import hashlib
import json
import os
import shutil
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.errors import CorruptArtefactError, StoreError

REMEMBERED = 8


@dataclass(frozen=True)
class Store:
    """A store below one folder of a local file system."""

    root: Path

    @classmethod
    def open(cls, root: Path) -> "Store":
        """Create the folders, remove what dead processes left unfinished; raise StoreError when it is not writable."""
        store = cls(root.resolve())
        try:
            for name in ("objects", "refs", "runs", "ledger", "published", "tmp", "corrupt"):
                (store.root / name).mkdir(parents=True, exist_ok=True)
            probe = store.root / "tmp" / f".probe.{os.getpid()}"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise StoreError(
                f"cannot write the store {root}: {error.strerror}; choose another with store=DIR"
            ) from None
        store._remove_unfinished()
        return store

    def folder(self, key: str) -> Path:
        """Return the folder an artefact with this key has."""
        return self.root / "objects" / key[:2] / key

    def manifest(self, key: str) -> dict[str, Any] | None:
        """Return the manifest of an artefact whose files are all there with their sizes, or None.

        The list of a node's parts is there when each of its parts is.
        """
        folder = self.folder(key)
        try:
            manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
            sizes = {name: part["bytes"] for name, part in manifest["files"].items()}
            complete = bool(sizes) and all((folder / name).stat().st_size == size for name, size in sizes.items())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        complete = complete and all(self.manifest(needed) is not None for needed in manifest.get("needs", ()))
        return manifest if complete else None

    def verified(self, key: str, names: Callable[[str], bool] = lambda name: True) -> Path:
        """Return the folder after comparing its files (those whose name `names` accepts) with the manifest's checksums.

        A damaged artefact is moved aside and CorruptArtefactError raised, so that the next run recomputes it.
        """
        folder = self.folder(key)
        manifest = self.manifest(key)
        if manifest is None:
            self._set_aside(key)
            raise CorruptArtefactError(f"artefact {key[:12]} is missing or incomplete; run again to recompute it", key)
        for name, part in manifest["files"].items():
            if names(name) and _sha256(folder / name) != part["sha256"]:
                self._set_aside(key)
                raise CorruptArtefactError(
                    f"artefact {key[:12]} of {manifest['task']}: the bytes of {name} differ from its checksum; it was moved "
                    f"to {self.root / 'corrupt'}, run again to recompute it",
                    key,
                )
        return folder

    def publish(self, key: str, unfinished: Path, description: Mapping[str, Any], sync: bool = True) -> None:
        """Make the files in `unfinished` (from `begin`) the artefact `key`, in one rename; the first writer wins.

        Without `sync` a power cut may leave files torn: their checksums tell, and they are computed again. Meant for
        artefacts of which there are hundreds, each soon made.
        """
        files = {}
        for path in sorted(unfinished.iterdir()):
            files[path.name] = {"bytes": path.stat().st_size, "sha256": _sha256(path)}
            if sync:
                _sync(path)
        manifest = {**description, "key": key, "files": files}
        write_text(unfinished / "manifest.json", json.dumps(manifest, indent=1), sync=sync)
        if sync:
            _sync(unfinished)
        target = self.folder(key)
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and self.manifest(key) is None:
            self._set_aside(key)
        try:
            unfinished.rename(target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            shutil.rmtree(unfinished)  # another writer published the same content first
        if sync:
            _sync(target.parent)

    def begin(self, key: str) -> Path:
        """Return a new empty folder beside the objects, for the files of one artefact."""
        name = f"{key[:16]}.{socket.gethostname()}.{os.getpid()}.{os.urandom(4).hex()}"
        folder = self.root / "tmp" / name
        folder.mkdir(parents=True)
        return folder

    def remember(self, task: str, reference: Mapping[str, Any]) -> None:
        """Note the key of a task and what it was made of, newest first; only the last REMEMBERED are kept."""
        others = [one for one in self.remembered(task) if one.get("key") != reference["key"]]
        write_text(self.root / "refs" / f"{task}.json", json.dumps([reference, *others][:REMEMBERED]))

    def remembered(self, task: str) -> list[dict[str, Any]]:
        """Return what `remember` noted, newest first; nothing where the file is missing or damaged."""
        try:
            references = json.loads((self.root / "refs" / f"{task}.json").read_bytes())
        except (OSError, ValueError):
            return []
        return [one for one in references if isinstance(one, dict)] if isinstance(references, list) else []

    def _set_aside(self, key: str) -> None:
        folder = self.folder(key)
        if folder.exists():
            folder.rename(self.root / "corrupt" / f"{key}.{os.urandom(4).hex()}")

    def _remove_unfinished(self) -> None:
        """Delete temporary folders of processes of this host that are gone; a crash leaves nothing behind for long."""
        for folder in (self.root / "tmp").iterdir():
            parts = folder.name.rsplit(".", 3)
            if (
                len(parts) == 4
                and parts[1] == socket.gethostname()
                and parts[2].isdigit()
                and not is_alive(int(parts[2]))
            ):
                shutil.rmtree(folder, ignore_errors=True)


def write_text(path: Path, text: str, sync: bool = False) -> None:
    """Replace a text file atomically: a reader sees the old or the new content, never half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            stream.write(text)
            if sync:
                stream.flush()
                os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def is_alive(pid: int) -> bool:
    """Say whether a process of this host still runs; 0 and less are no processes."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
