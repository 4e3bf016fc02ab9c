"""Whether a worker runs the driver's code: what it has loaded is compared by module, and a worker that differs publishes nothing.

A worker keeps the source of every module of walkfold's and the user's as it was when it first saw it loaded: a file that is
edited later changes neither what the worker runs nor what it says of it.
"""

import hashlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from pipelines import keys
from pipelines.graph import Task

Hashes = tuple[str, str]
"""sha256 of a module's bytes, and of its normal source: comments and layout do not count, but take longer to leave out."""


@dataclass(frozen=True)
class ExpectedCode:
    """The driver's code: `modules` by name, and by function `package.module:name` the modules it reaches."""

    modules: Mapping[str, Hashes]
    reached: Mapping[str, tuple[str, ...]]
    _found: dict[str, str] = field(default_factory=dict, compare=False)

    def difference(self, function: str) -> str:
        """Say which module of a function is another one here, or nothing; looked up once a function and process."""
        if function not in self._found:
            self._found[function] = _difference({name: self.modules[name] for name in self.reached.get(function, ())})
        return self._found[function]

    def first_difference(self) -> str:
        """Say which of all modules is another one here, or nothing."""
        return _difference(self.modules)


def expected_code(tasks: Iterable[Task]) -> ExpectedCode:
    """Return the code of the tasks' functions and of the user's modules that they name."""
    starts: dict[str, set[str]] = {}
    for task in tasks:
        function = task.node.function
        starts.setdefault(reference(task), {function.__module__}).update(task.modules)
    reached = {name: keys.reached_modules(sorted(modules)) for name, modules in starts.items()}
    modules = {name: hashes for found in reached.values() for name, hashes in found.items()}
    return ExpectedCode(modules, {name: tuple(found) for name, found in reached.items()})


def reference(task: Task) -> str:
    """Return `package.module:name` of a task's function."""
    return f"{task.node.function.__module__}:{task.node.function.__qualname__}"


def keep_loaded(tops: Sequence[str]) -> None:
    """Read the source of the loaded modules of some packages, once each."""
    _keep_loaded(tuple(tops), len(sys.modules))


@lru_cache(maxsize=64)
def _keep_loaded(tops: tuple[str, ...], loaded: int) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] in tops:
            _kept_source(name)


@lru_cache(maxsize=None)  # noqa: UP033 - as many as there are modules, once a process: that is its point
def _kept_source(name: str) -> bytes | None:
    path = keys.source_file(name)
    try:
        return path.read_bytes() if path else None
    except OSError:
        return None


def _difference(modules: Mapping[str, Hashes]) -> str:
    keep_loaded(tuple(sorted({name.partition(".")[0] for name in modules})))
    for name, (exact, normal) in modules.items():
        source = _kept_source(name)
        if source is None:
            return f"{name} is not there"
        if hashlib.sha256(source).hexdigest() == exact:
            continue
        text = keys.normal_source(source.decode())
        if hashlib.sha256(text.encode()).hexdigest() != normal:
            return f"{name} differs"
    return ""
