"""The files of a store in a bucket or on another fsspec file system: whole objects, dated by the server's clock."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pipelines.storage.store_files import Entry


@dataclass(frozen=True)
class RemoteFiles:
    """The objects below a URL; `options` are fsspec's for its protocol, and never printed: they may hold secrets.

    Every failure of the server or of the way to it is an OSError.
    """

    url: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)

    def read(self, path: str) -> bytes | None:
        """Return the content, None where there is no such object."""
        with self._opened() as (fs, base):
            try:
                return bytes(fs.cat_file(f"{base}/{path}"))
            except FileNotFoundError:
                return None

    def read_all(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Return the content of those that are there, read at the same time where the file system can."""
        with self._opened() as (fs, base):
            whole = {f"{base}/{path}": path for path in paths}
            answers = fs.cat(list(whole), on_error="return") if whole else {}
            answers = answers if isinstance(answers, dict) else {next(iter(whole)): answers}  # one path, one answer
            for answer in answers.values():
                if isinstance(answer, Exception) and not isinstance(answer, FileNotFoundError):
                    raise answer
            return {whole[path]: bytes(data) for path, data in answers.items() if not isinstance(data, Exception)}

    def write(self, path: str, data: bytes) -> None:
        """Replace the object: readers see the old or the new content."""
        with self._opened() as (fs, base):
            fs.pipe_file(f"{base}/{path}", data)

    def create(self, path: str, data: bytes) -> bool:
        """Put the object unless there is one; return whether it was put.

        The server decides between two writers where it knows conditional puts (S3 does); elsewhere the later one wins.
        """
        with self._opened() as (fs, base):
            try:
                if fs.exists(f"{base}/{path}"):
                    return False
                fs.pipe_file(f"{base}/{path}", data, mode="create")
            except FileExistsError:
                return False
            except NotImplementedError:  # fsspec's answer where a file system knows no conditional put
                fs.pipe_file(f"{base}/{path}", data)
            return True

    def remove(self, path: str) -> None:
        """Delete the object where it is there."""
        with self._opened() as (fs, base):
            try:
                fs.rm_file(f"{base}/{path}")
            except FileNotFoundError:
                return

    def append(self, path: str, line: str) -> None:
        """Add an object to a journal, whose objects are its lines; nothing is ever rewritten."""
        names = [entry.path.rpartition("/")[2] for entry in self.entries(path)]
        number = 1 + max((int(name[:12]) for name in names), default=0)
        self.write(f"{path}/{number:012d}-{os.urandom(4).hex()}", line.encode())

    def lines(self, path: str) -> list[str]:
        """Return the lines of a journal in the order of their names."""
        found = self.read_all([entry.path for entry in self.entries(path)])
        return [found[name].decode("utf-8", "replace") for name in sorted(found)]

    def entries(self, folder: str) -> list[Entry]:
        """List the objects below a folder, by path."""
        with self._opened() as (fs, base):
            fs.invalidate_cache()
            found = fs.find(f"{base}/{folder}", detail=True)
            rows = [
                Entry(path[len(base) + 1 :], int(row.get("size") or 0), _changed(row)) for path, row in found.items()
            ]
            return sorted(rows, key=lambda entry: entry.path)

    def now(self) -> float:
        """Return the time that an object written now gets: the server's clock, not this host's."""
        probe = f"tmp/clock.{os.urandom(4).hex()}"
        self.write(probe, b"-")
        try:
            with self._opened() as (fs, base):
                fs.invalidate_cache()
                return _changed(fs.info(f"{base}/{probe}"))
        finally:
            self.remove(probe)

    def upload(self, source: Path, path: str) -> None:
        """Put a local file."""
        with self._opened() as (fs, base):
            fs.put_file(str(source), f"{base}/{path}")

    def download(self, path: str, target: Path) -> None:
        """Write an object to a local file; raise FileNotFoundError where there is none."""
        with self._opened() as (fs, base):
            fs.get_file(f"{base}/{path}", str(target))

    def move(self, path: str, target: str) -> None:
        """Copy an object inside the file system and delete the first."""
        with self._opened() as (fs, base):
            fs.mv(f"{base}/{path}", f"{base}/{target}")

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, str]]:
        try:
            import fsspec

            # a cached listing would hide what other processes have published
            fs, base = fsspec.core.url_to_fs(self.url, **{"use_listings_cache": False, **self.options})
            yield fs, base.rstrip("/")
        except OSError:
            raise
        except Exception as error:  # each file system has its own: botocore's, aiohttp's, google's
            raise OSError(None, f"{type(error).__name__}: {error}") from None


def _changed(row: Mapping[str, Any]) -> float:
    """Return when an object changed, in seconds; fsspec's file systems name it differently."""
    for name in ("LastModified", "last_modified", "mtime", "updated", "created"):
        value = row.get(name)
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, int | float):
            return float(value)
    return 0.0
