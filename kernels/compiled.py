"""The one way to compiled functions: numba's, kept between processes by a digest of all the code and constants they hold.

Importing this module gives that cache to every compiled function of the process, to a user's ``@njit(cache=True)`` too. numba's
own looks at the time of one file: after an edit or a pull it would go on with old machine code of what is in the others.
"""

import glob
import hashlib
import pickle
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import njit
from numba.core import caching, ccallback, dispatcher
from numba.core.serialize import dumps
from numba.np.ufunc import ufuncbuilder

from kernels.code_digest import UnknownValueError, code_digest, dispatcher_options
from kernels.program_cache import keep_latest, used

MOST_VERSIONS = 64
"""Machine codes kept of one function: its signatures, and the versions of the code it reaches; those used last stay."""
CHECKSUM = 32  # bytes of a file's sha256, before its content


def compiled(function: Callable[..., Any]) -> Any:
    """The function compiled by numba: arithmetic in the order it is written, division as numpy's, without the GIL.

    Its machine code is cached beside the source or in the user's cache folder; where neither can be written, each
    process compiles its own.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
    return njit(**options)(function)


class CodeCache(caching._Cache):  # type: ignore[misc]  # numba is untyped
    """Machine code of one function, a file for each digest, beside its source or where numba else would keep it.

    What reads a value whose content cannot be told is compiled in each process.
    """

    def __init__(self, function: FunctionType, options: Callable[[], Any]) -> None:
        self._function = function
        self._options = options
        self._form = caching.CompileResultCacheImpl(function)  # raises RuntimeError where there is no folder
        self._name = self._form.filename_base.rpartition("-")[0]  # without the line
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(self._form.locator.get_cache_path())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code for a signature, or None."""
        target_context.refresh()
        path = self._path(sig, target_context.codegen())
        if path is None or not used(path):
            return None
        try:
            stored = path.read_bytes()
        except OSError:  # another user's, or removed just now
            return None
        if hashlib.sha256(stored[CHECKSUM:]).digest() != stored[:CHECKSUM]:
            return None
        return self._form.rebuild(target_context, pickle.loads(stored[CHECKSUM:]))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code for a signature, where that can be."""
        path = self._path(sig, data.codegen)
        if path is None or not self._form.check_cachable(data):
            return
        content = dumps(self._form.reduce(data))
        fresh = path.with_name(f"{path.stem}.{uuid.uuid4().hex[:16]}.tmp")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_bytes(hashlib.sha256(content).digest() + content)
            fresh.replace(path)
        except OSError:
            fresh.unlink(missing_ok=True)  # the next process compiles again
            return
        keep_latest(self._files(), MOST_VERSIONS)

    def enable(self) -> None:
        """Use the files from now on."""
        self._enabled = True

    def disable(self) -> None:
        """Neither read nor write files."""
        self._enabled = False

    def flush(self) -> None:
        """Remove the function's files."""
        keep_latest(self._files(), 0)

    def _files(self) -> Iterable[Path]:
        return Path(self.cache_path).glob(f"{glob.escape(self._name)}-*.nbc")

    def _path(self, signature: Any, codegen: Any) -> Path | None:
        if not self._enabled:
            return None
        try:
            digest = code_digest(self._function, self._options(), signature, codegen.magic_tuple())
        except (UnknownValueError, RecursionError):  # a list that holds itself has no text
            return None
        return Path(self.cache_path, f"{self._name}-{digest[:32]}.nbc")


def _cache_functions(self: Any) -> None:
    self._cache = CodeCache(self.py_func, lambda: dispatcher_options(self))


def _cache_ufuncs(self: Any) -> None:
    self.cache = CodeCache(self.py_func, lambda: ("ufunc", self.targetoptions, self.locals))


def _cache_callbacks(self: Any) -> None:
    self._cache = CodeCache(self._pyfunc, lambda: ("callback", self._compiler.targetoptions, self._compiler.locals))


def _nothing(self: Any, *_: Any) -> None:
    """Neither read nor write: what numba made a cache of its own for is compiled in each process."""


dispatcher.Dispatcher.enable_caching = _cache_functions
ufuncbuilder.UFuncDispatcher.enable_caching = _cache_ufuncs
ccallback.CFunc.enable_caching = _cache_callbacks
caching.Cache.load_overload = caching.Cache.save_overload = _nothing
