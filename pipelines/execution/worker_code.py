"""Whether a worker runs the driver's code: a worker that has loaded other code than a key says publishes nothing.

A worker keeps the source of every module of the project's as it was when it first saw it loaded: a file that is edited later
changes neither what the worker runs nor what it says of it.
"""

import hashlib
import importlib
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from pipelines.graphs.graph import Task
from pipelines.keying import keys
from pipelines.keying.code_reading import CodeReader
from pipelines.keying.module_files import FILE, source_file


@dataclass(frozen=True)
class ExpectedCode:
    """The driver's code: by the code's hash in a key where it starts, which modules it reaches and which data files beside
    them; and the hash of each module's bytes.
    """

    starts: Mapping[str, keys.Start]
    reached: Mapping[str, tuple[str, ...]]
    modules: Mapping[str, str]
    files: Mapping[str, tuple[str, ...]]
    _found: dict[str, str] = field(default_factory=dict, compare=False)

    def difference(self, code: str) -> str:
        """Name the modules for which the code in a key is other code here, or nothing; looked up once a process."""
        if code not in self._found:
            self._found[code] = self._difference(code)
        return self._found[code]

    def first_difference(self) -> str:
        """Name the modules of the first code that is other code here, or nothing."""
        return next((found for code in self.starts if (found := self.difference(code))), "")

    def _difference(self, code: str) -> str:
        start = self.starts[code]
        for name in start.loaded:  # what it puts in place is there for the driver's nodes too
            try:
                importlib.import_module(name.partition(":")[0])
            except ImportError as error:
                return f"{name} ({error})"
        keep_loaded(tuple(sorted({name.partition(".")[0] for name in self.modules})))
        reached = self.reached[code]
        other = [name for name in reached if _sha256(kept_source(name, source_file(name))) != self.modules[name]]
        if not other and not self.files[code]:
            return ""
        here = keys.code_reached(start, KeptReader())  # bytes differ, the code perhaps not: a comment
        return "" if here.digest == code else ", ".join(other or self.files[code])


class KeptReader(CodeReader):
    """Reads modules as this process has loaded them."""

    def source(self, name: str, path: Path) -> bytes:
        """Return what the module's file held when this process first saw it."""
        return kept_source(name, path) or b""


def expected_code(tasks: Iterable[Task]) -> ExpectedCode:
    """Return the code behind the tasks' keys."""
    starts: dict[str, keys.Start] = {}
    reached: dict[str, tuple[str, ...]] = {}
    beside: dict[str, tuple[str, ...]] = {}
    for task in tasks:
        code = task.code
        if code.digest not in starts:
            starts[code.digest] = code.start
            reached[code.digest] = tuple(sorted({name.partition(":")[0] for name in code.definitions}))
            beside[code.digest] = tuple(name for name in code.definitions if name.partition(":")[2].startswith(FILE))
    names = sorted({name for found in reached.values() for name in found})
    files = {name: source_file(name) for name in names}
    modules = {name: _sha256(path.read_bytes() if path else None) for name, path in files.items()}
    return ExpectedCode(starts, reached, modules, beside)


def keep_loaded(tops: tuple[str, ...]) -> None:
    """Keep the source of all loaded modules of some packages."""
    _keep_loaded(tops, len(sys.modules))


@lru_cache(maxsize=64)
def _keep_loaded(tops: tuple[str, ...], loaded: int) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] in tops:
            kept_source(name, source_file(name))


@lru_cache(maxsize=100_000)  # more than any process has modules: what is kept must never be read again
def kept_source(name: str, path: Path | None) -> bytes | None:
    """Return the bytes of a module's file as they were the first time that this was asked in this process."""
    try:
        return path.read_bytes() if path else None
    except OSError:
        return None


def _sha256(source: bytes | None) -> str:
    return hashlib.sha256(source).hexdigest() if source is not None else ""
