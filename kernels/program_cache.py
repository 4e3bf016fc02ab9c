"""The folder of compiled programs: where it is, and files that are written whole or not at all."""

import atexit
import functools
import os
import shutil
import sys
import tempfile
from pathlib import Path


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
    """The file with that content, unless it exists; several processes may race. Its time is fixed at 0.

    numba discards its cache when the source's time changes, and the name already says what the content is. Raises
    ``CacheError``.
    """
    if path.exists():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.utime(name, (0, 0))
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise CacheError(
            f"{path.parent}: compiled programs cannot be stored ({error}); pass cache= a folder that can"
        ) from error
    return path
