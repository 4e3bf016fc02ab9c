"""Small files of a store on a local disk: replaced whole, read without following links, listed with their age."""

import errno
import hashlib
import os
import re
import shutil
import socket
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pipelines.errors import StoreError
from pipelines.storage.listing import walked

_KEY = re.compile(r"[0-9a-f]{64}")
NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO)
"""Errors of opening where there is no regular file: nothing, a folder, a link, a socket."""


@dataclass(frozen=True)
class Entry:
    """A file of a store: its path below the store, size, and when it changed by the clock of the file system."""

    path: str
    bytes: int
    changed: float


class Files(Protocol):
    """What a store needs of the place it is kept in. Paths are relative, with `/`."""

    def read(self, path: str) -> bytes | None:
        """Return the content, None where there is no such file."""

    def write(self, path: str, data: bytes) -> None:
        """Replace the file: readers see the old or the new content."""

    def create(self, path: str, data: bytes) -> bool:
        """Write the file unless there is one; return whether it was written. Of two writers one does."""

    def remove(self, path: str) -> None:
        """Delete the file where it is there."""

    def append(self, path: str, line: str) -> None:
        """Add a line to a journal; lines of several writers are all kept."""

    def lines(self, path: str) -> list[str]:
        """Return the lines of a journal, oldest first."""

    def entries(self, folder: str) -> list[Entry]:
        """List the files below a folder, by path; unfinished ones are left out."""

    def now(self) -> float:
        """Return the time by the clock that stamps the files, in seconds."""


@dataclass(frozen=True)
class LocalFiles:
    """The files below one folder of a local file system."""

    root: Path

    def read(self, path: str) -> bytes | None:
        """Return the content, None where there is no such regular file; raise StoreError where the disk does not give it."""
        try:
            return read_regular(self.root / path)
        except OSError as error:
            if error.errno in NOT_THERE:
                return None
            raise StoreError(
                f"cannot read {self.root / path}: {error.strerror or error}; check the disk and the permissions, then run again"
            ) from None

    def write(self, path: str, data: bytes) -> None:
        """Replace the file in one rename."""
        self._require()
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(target, data)

    def create(self, path: str, data: bytes) -> bool:
        """Write the file unless there is one: it appears whole, in one link."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}")
        try:
            draft.write_bytes(data)
            os.link(draft, target)
        except FileExistsError:
            return False
        finally:
            draft.unlink(missing_ok=True)
        return True

    def remove(self, path: str) -> None:
        """Delete the file where it is there."""
        (self.root / path).unlink(missing_ok=True)

    def append(self, path: str, line: str) -> None:
        """Add a line in one write."""
        self._require()
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        # the leading newline ends a line that a crash may have cut, so that this one cannot vanish into it
        with target.open("a", encoding="utf-8") as stream:
            stream.write("\n" + line + "\n")

    def lines(self, path: str) -> list[str]:
        """Return the lines; a cut last one is among them."""
        data = self.read(path)
        return [] if data is None else [line for line in data.decode("utf-8", "replace").splitlines() if line]

    def entries(self, folder: str) -> list[Entry]:
        """List the regular files below a folder; names that begin with a dot are unfinished."""
        found = []
        for path in sorted(walked(self.root / folder)):
            try:
                status = path.lstat()
            except OSError:  # it went while we looked
                continue
            if stat.S_ISREG(status.st_mode) and not path.name.startswith("."):
                found.append(Entry(path.relative_to(self.root).as_posix(), status.st_size, status.st_mtime))
        return found

    def now(self) -> float:
        """Return the time that a file written now gets."""
        probe = self.root / "tmp" / unfinished("clock")
        probe.write_bytes(b"")
        try:
            return probe.stat().st_mtime
        finally:
            probe.unlink(missing_ok=True)

    def _require(self) -> None:
        """Make nothing where a file system was that is gone."""
        if not self.root.is_dir():
            raise FileNotFoundError(errno.ENOENT, "the store is gone", str(self.root))


def unfinished(name: str) -> str:
    """Return a name below tmp/ for what this process writes and removes again: it says whose it is, should the process die."""
    return f"{name}.{socket.gethostname()}.{os.getpid()}.{os.urandom(4).hex()}"


def writer_of(name: str) -> int | None:
    """Return the process of this host that a name of `unfinished` or a draft of such a file belongs to, else None."""
    found = re.search(rf"\.{re.escape(socket.gethostname())}\.(\d+)\.[0-9a-f]{{8}}(\.\d+\.[0-9a-f]{{8}})?$", name)
    return int(found[1]) if found else None


def removed(path: Path) -> None:
    """Delete a file, or a folder with all that is in it, as far as that can be."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def is_key(text: object) -> bool:
    """Say whether a text is a content key: 64 hexadecimal digits."""
    return isinstance(text, str) and _KEY.fullmatch(text) is not None


def checked_key(key: str) -> str:
    """Return the key; raise StoreError for a text that is none and could name a place outside the store."""
    if not is_key(key):
        raise StoreError(f"{key!r:.80} is not a content key: 64 hexadecimal digits")
    return key


def is_plain_name(name: object) -> bool:
    """Say whether a text names a file in its folder and nothing above, below or beside it."""
    return (
        isinstance(name, str)
        and name not in ("", ".", "..")
        and not name.startswith(".")
        and not any(sign in name for sign in "/\\\0")
    )


def read_regular(path: Path) -> bytes:
    """Read a regular file; raise OSError for a link or anything else."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb") as stream:  # noqa: PTH123 - a descriptor has no path
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EISDIR, "not a regular file", str(path))
        return stream.read()


def sha256_of(path: Path) -> str:
    """Return the sha256 of a regular file; raise OSError for a link or anything else."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb") as stream:  # noqa: PTH123 - a descriptor has no path
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EISDIR, "not a regular file", str(path))
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sync(path: Path) -> None:
    """Wait until a file or the names in a folder have reached the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_bytes(path: Path, data: bytes, synced: bool = False) -> None:
    """Replace a file atomically: a reader sees the old or the new content, never half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with temporary.open("wb") as stream:
            stream.write(data)
            if synced:
                stream.flush()
                os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str, sync: bool = False) -> None:
    """Replace a text file as `write_bytes` does."""
    write_bytes(path, text.encode(), sync)
