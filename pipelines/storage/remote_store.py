"""A store in a bucket or on another fsspec file system, with a folder of this machine for what it has read and written.

The remote side holds the same folders as a local store, with two differences: there is no rename, so a writer puts the
files of an artefact below a name of its own (objects/ab/<key>/<writer>/…) and the manifest, which names the writer, last;
and a journal is a folder whose objects are its lines. The local folder holds whole, checked artefacts only, to be mapped
into memory; losing it costs nothing but the time to read them again.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.errors import CorruptArtefactError, StoreError, said
from pipelines.storage import manifests
from pipelines.storage.listing import walked
from pipelines.storage.manifests import MANIFEST
from pipelines.storage.remote_files import RemoteFiles
from pipelines.storage.store import FOLDERS, Store
from pipelines.storage.store_files import Entry, checked_key, is_plain_name, sha256_of, write_bytes


@dataclass(frozen=True)
class RemoteStore(Store):
    """A store below a URL; `root` is this machine's folder for it."""

    url: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)

    @classmethod
    def connect(cls, url: str, options: Mapping[str, Any], root: Path) -> "RemoteStore":
        """Prepare the local folder and make sure that the remote side can be written; raise StoreError where not."""
        store = cls(root.resolve(), url.rstrip("/"), options)
        store._prepare(str(root))
        try:
            store.files.now()  # writes, reads and deletes an object
        except OSError as error:
            raise StoreError(
                f"cannot write the store {url}: {said(error)}; see that the bucket exists, that store_options "
                "or the environment hold its credentials, and that its package is installed (S3: pip install walkfold[s3])"
            ) from None
        return store

    @property
    def location(self) -> str:
        """The URL."""
        return self.url

    @property
    def files(self) -> RemoteFiles:
        """The small objects: references, leases, journals."""
        return RemoteFiles(self.url, self.options)

    @property
    def cache(self) -> Store:
        """The local folder as a store of its own."""
        return Store(self.root)

    def listed(self, key: str) -> dict[str, Any] | None:
        """Return the manifest alone; None where there is none to believe."""
        return _parsed(self._reached(lambda: self.files.read(_manifest_path(key))), key)

    def manifest(self, key: str) -> dict[str, Any] | None:
        """Return the manifest of an artefact, or None; a list of parts is there when each of its parts is."""
        manifest = self.listed(key)
        needs: Sequence[str] = manifest.get("needs", ()) if manifest else ()
        found = self._reached(lambda: self.files.read_all([_manifest_path(needed) for needed in needs])) if needs else {}
        return manifest if all(_parsed(found.get(_manifest_path(needed)), needed) for needed in needs) else None

    def keys_from(self, start: str) -> list[str]:
        """Return the keys of artefacts that begin so."""
        paths = [entry.path.split("/") for entry in self.files.entries(f"objects/{start[:2]}")]
        return sorted(path[2] for path in paths if path[3:] == [MANIFEST] and path[2].startswith(start))

    def stored(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Go through the artefacts: key and manifest."""
        paths = [entry.path for entry in self.files.entries("objects") if entry.path.endswith(f"/{MANIFEST}")]
        for path, data in sorted(self.files.read_all(paths).items()):
            key = path.split("/")[-2]
            manifest = _parsed(data, key) if len(key) == 64 else None
            if manifest is not None and path == _manifest_path(key):
                yield key, manifest

    def verified(self, key: str, names: Callable[[str], bool] = lambda name: True) -> Path:
        """Return this machine's folder of the artefact, read from the remote side where it is not there or damaged.

        Bytes that differ from the manifest on the remote side set the artefact aside there and raise CorruptArtefactError.
        """
        manifest = self.manifest(key)
        if manifest is None:
            self.set_aside(key)
            raise CorruptArtefactError(f"artefact {key[:12]} is missing or incomplete; run again to recompute it", key)
        if self.cache.listed(key) == manifest:
            with contextlib.suppress(CorruptArtefactError):
                return self.cache.verified(key, names)
        fetched = self.begin(key)
        try:
            for name, part in manifest["files"].items():
                self._fetch(key, manifest, name, part["sha256"], fetched / name)
            self._cached(key, fetched, manifest)
        finally:
            shutil.rmtree(fetched, ignore_errors=True)
        return self.folder(key)

    def publish(self, key: str, unfinished: Path, description: Mapping[str, Any], durable: bool = True) -> None:
        """Put the files in `unfinished`, then the manifest, which makes them the artefact `key`; the first writer wins."""
        manifest = {**manifests.described(key, unfinished, description), "folder": unfinished.name}
        place = f"objects/{checked_key(key)[:2]}/{key}"
        for name in manifest["files"]:
            self.files.upload(unfinished / name, f"{place}/{unfinished.name}/{name}")
        if not self.files.create(_manifest_path(key), manifests.as_bytes(manifest)):
            if self.listed(key) is None or self.manifest(key) is None:  # a damaged one, or a list whose parts are gone
                self.files.write(_manifest_path(key), manifests.as_bytes(manifest))
            else:
                for name in manifest["files"]:
                    self.files.remove(f"{place}/{unfinished.name}/{name}")
                shutil.rmtree(unfinished)
                return
        self._cached(key, unfinished, manifest)

    def set_aside(self, key: str, seen: object = None) -> bool:
        """Move the manifest of a damaged artefact, and with it the artefact, out of sight."""
        del seen
        try:
            self.files.move(_manifest_path(key), f"corrupt/{key}.{os.urandom(4).hex()}/{MANIFEST}")
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def withdraw(self, key: str) -> Path:
        """Delete the manifest remotely, which makes the artefact invisible; keep it here to restore it."""
        data = self.files.read(_manifest_path(key))
        if data is None:
            raise FileNotFoundError(key)
        hidden = self._temporary(f"evicted-{key[:16]}")
        hidden.write_bytes(data)
        self.files.remove(_manifest_path(key))
        return hidden

    def restore(self, key: str, hidden: Path) -> None:
        """Put the manifest back, unless another process has made the artefact again."""
        self.files.create(_manifest_path(key), hidden.read_bytes())
        hidden.unlink()

    def drop(self, key: str, hidden: Path) -> None:
        """Delete the objects of a withdrawn artefact."""
        manifest = _parsed(hidden.read_bytes(), key)
        for name in manifest["files"] if manifest else ():
            self.files.remove(_data_path(key, manifest or {}, name))
        hidden.unlink()

    def orphans(self, age: float) -> list[Entry]:
        """List objects of writers that died before their manifest, unchanged for `age` seconds by the server's clock."""
        now, entries = self.files.now(), self.files.entries("objects")
        named = {_data_path(key, row, name) for key, row in self.stored() for name in row["files"]}
        named |= {_manifest_path(key) for key, _ in self.stored()}
        left = [one for one in entries if one.path not in named and now - one.changed > age]
        return left + [one for one in self.files.entries("tmp") if now - one.changed > age]

    def require(self) -> None:
        """Make this machine's folder where it has none yet; the remote side answers for itself when it is asked."""
        for name in FOLDERS:
            (self.root / name).mkdir(parents=True, exist_ok=True)

    def push(self, folder: Path) -> None:
        """Copy a run's folder to the remote side; raise StoreError where that cannot be."""
        try:
            for path in sorted(walked(folder)):
                if path.is_file() and not path.name.startswith("."):
                    self.files.upload(path, path.relative_to(self.root).as_posix())
        except OSError as error:
            raise StoreError(
                f"cannot copy {folder} to the store {self.url}: {said(error)}; it is complete in that folder"
            ) from None

    def pull(self, folder: str, name: str) -> None:
        """Fetch the files of this name below a folder that are not here, or shorter here: records grow."""
        for entry in self._reached(lambda: self.files.entries(folder)):
            target = self.root / entry.path
            known = target.stat().st_size if target.exists() else -1
            plain = all(is_plain_name(part) for part in entry.path.split("/"))
            if plain and target.name == name and known < entry.bytes:
                target.parent.mkdir(parents=True, exist_ok=True)
                self.files.download(entry.path, target)

    def _fetch(self, key: str, manifest: Mapping[str, Any], name: str, sha256: str, target: Path) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._reached(lambda: self.files.download(_data_path(key, manifest, name), target))
            if sha256_of(target) == sha256:
                return
        moved = self.set_aside(key)
        what = f"it was moved to {self.url}/corrupt" if moved else "it could not be moved aside"
        raise CorruptArtefactError(
            f"artefact {key[:12]} of {manifest['task']}: the bytes of {name} differ from its checksum; {what}, "
            "run again to recompute it",
            key,
        )

    def _cached(self, key: str, made: Path, manifest: Mapping[str, Any]) -> None:
        """Make a folder this machine's copy of the artefact, in place of an older one."""
        write_bytes(made / MANIFEST, manifests.as_bytes(manifest))
        if self.folder(key).exists() and self.cache.listed(key) != manifest:
            shutil.rmtree(self.folder(key), ignore_errors=True)
        self._place(key, made)

    def _place(self, key: str, made: Path) -> None:
        self.cache._place(key, made)

    def _reached(self, ask: Callable[[], Any]) -> Any:
        """Ask the server; say plainly when it does not answer, instead of taking that for a missing artefact."""
        try:
            return ask()
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StoreError(
                f"cannot read the store {self.url}: {said(error)}; run again when it can be reached, what was "
                "finished stays"
            ) from None


def _parsed(data: bytes | None, key: str) -> dict[str, Any] | None:
    manifest = manifests.parsed(data, key)
    return manifest if manifest is not None and is_plain_name(manifest.get("folder")) else None


def _manifest_path(key: str) -> str:
    return f"objects/{checked_key(key)[:2]}/{key}/{MANIFEST}"


def _data_path(key: str, manifest: Mapping[str, Any], name: str) -> str:
    return f"objects/{key[:2]}/{key}/{manifest['folder']}/{name}"
