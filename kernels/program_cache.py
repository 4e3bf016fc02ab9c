"""The folder of compiled programs: where it is, files that are written whole or not at all, and how many stay."""

import atexit
import contextlib
import functools
import glob
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

MOST_PROGRAMS = 1_000
"""Programs kept in a folder; those used last stay."""


class CacheError(OSError):
    """The folder for compiled programs cannot be written; the message names it."""


def default_cache() -> Path:
    """The per-user folder for compiled programs, by the platform's convention; where there is none that can be written,
    a temporary one of this process.
    """
    try:
        folder = _users_cache()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # RuntimeError: the user has no home
        return _temporary()
    return folder if os.access(folder, os.W_OK) else _temporary()


@functools.cache
def _temporary() -> Path:
    folder = tempfile.mkdtemp(prefix="walkfold-programs-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _users_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "walkfold" / "programs"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "walkfold" / "programs"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "walkfold" / "programs"


def write_whole(path: Path, content: bytes) -> Path:
    """The file with that content; several processes may race. A new one takes the place of those used longest ago.

    Raises ``CacheError``.
    """
    if used(path) and path.read_bytes() == content:
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise CacheError(
            f"{path.parent}: compiled programs cannot be stored ({error}); pass cache= a folder that can"
        ) from error
    keep_latest(path.parent.glob(f"program_*{path.suffix}"), MOST_PROGRAMS)
    return path


def used(path: Path) -> bool:
    """Whether the file exists; if it does, its time of access is now and its other times stay."""
    try:
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))
    except FileNotFoundError:
        return False
    except OSError:  # another user's
        return path.exists()
    return True


def keep_latest(files: Iterable[Path], most: int) -> None:
    """Keep the files that were used last; remove the others, with what Python and numba have made of them."""
    for path in sorted(files, key=_last_use, reverse=True)[most:]:
        for each in (path, *path.parent.glob(f"__pycache__/{glob.escape(path.stem)}.*")):
            with contextlib.suppress(OSError):
                each.unlink()


def _last_use(path: Path) -> int:
    try:
        return path.stat().st_atime_ns
    except OSError:
        return 0
