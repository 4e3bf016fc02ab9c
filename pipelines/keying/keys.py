"""Content keys: a hash over the code a node uses, its configuration, its inputs and the library versions that matter."""

import dataclasses
import hashlib
import importlib.metadata
import json
import sys
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any

from pipelines.errors import UsageError
from pipelines.keying.code_closure import Closure
from pipelines.keying.code_reading import CodeReader
from pipelines.keying.module_files import distributions_of

FORMAT = 1  # of artefacts on disk; raise it when an old artefact could be misread


def digest(value: Any) -> str:
    """Return the sha256 of a JSON value in canonical form (sorted keys, no spaces, floats by repr)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def plain(value: Any) -> Any:
    """Return a setting as JSON values for hashing: dataclasses by field, sets in an order of their own, paths as text.

    Raises TypeError for a value whose content it does not know.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        named = {str(name): plain(item) for name, item in value.items()}
        if len(named) < len(value):
            raise TypeError(f"a setting has the keys {', '.join(map(repr, value))}, of which two are one text: use text alone")
        return named
    if isinstance(value, set | frozenset):
        return sorted((plain(item) for item in value), key=digest)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, Path):
        return str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    kind = type(value).__name__
    raise TypeError(f"a setting of type {kind} cannot be part of a content key: use numbers, text or dataclasses")


def file_digest(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def content_key(
    code: str, constants: Mapping[str, Any], inputs: Mapping[str, Any], libraries: Mapping[str, str]
) -> str:
    """Return the key that names an artefact; it changes when anything that could change the artefact does."""
    return digest({"format": FORMAT, "code": code, "constants": constants, "inputs": inputs, "libraries": libraries})


def installed_versions(names: Iterable[str]) -> dict[str, str]:
    """Return the installed versions of libraries whose arithmetic or file format can change a result."""
    return {name: _installed_version(name) for name in sorted(names)}


@lru_cache(maxsize=256)
def _installed_version(name: str) -> str:
    return importlib.metadata.version(name)


@dataclass(frozen=True)
class Start:
    """Where the code in a key begins: functions and classes, whole modules, and what has been imported before.

    `loaded`: modules of the user's that the configuration names, or `module:name` of a function that is called. What they do
    besides defining is done before any node runs, and so counts for all of them.
    """

    functions: tuple[types.FunctionType | type, ...] = ()
    modules: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Code:
    """The code in a key: where it begins, its hash, and the hash of each definition, which says later what changed.

    `libraries`: versions of the installed libraries that the user's part of it imports. `uncovered`: what it may depend on
    that no key sees, in words.
    """

    start: Start
    digest: str
    definitions: Mapping[str, str]
    libraries: Mapping[str, str]
    uncovered: tuple[str, ...]


def code_reached(start: Start, reader: CodeReader | None = None) -> Code:
    """Return the code that functions, classes and whole modules can reach, with its hash, which holds where it begins, too.

    What it can reach says pipelines.keying.code_closure. Comments, docstrings and layout do not count, nor does code
    beside it that nothing reaches. Raises UsageError for a module without a file.
    """
    named = [*(one.__module__ for one in start.functions), *start.modules]
    loaded = [one for one in start.loaded if one.partition(":")[0]]
    closure = Closure((reader or CodeReader()).of([*named, *(one.partition(":")[0] for one in loaded)]))
    for name in named:
        if closure.reader.facts(name) is None:
            raise UsageError(f"the source of module {name} cannot be found, so no content key can cover it")
    for one in start.functions:
        closure.begin_at(one.__module__, one.__qualname__.partition(".")[0])
    for name in start.modules:
        closure.begin_with(name)
    for name in loaded:
        closure.begin_loaded(name)
    definitions = closure.hashes()
    functions = [f"{one.__module__}:{one.__qualname__}" for one in start.functions]
    libraries = installed_versions({library for top in closure.libraries() for library in distributions_of(top)})
    code = digest([functions, start.modules, definitions])
    return Code(start, code, definitions, libraries, tuple(closure.uncovered()))


def code_of(
    functions: Iterable[types.FunctionType | type], modules: Iterable[str] = (), reader: CodeReader | None = None
) -> dict[str, str]:
    """Return the code that functions, classes and whole modules can reach: hashes by `module:name` of each definition."""
    return dict(code_reached(Start(tuple(functions), tuple(modules)), reader).definitions)


def code_digest(*functions: types.FunctionType | type) -> str:
    """Return a hash of the code that functions and classes can reach, and of which of it they begin with."""
    return code_reached(Start(functions)).digest


def require_found(thing: types.FunctionType | type) -> None:
    """Raise UsageError for what its module does not hold under its name: no source tells the values it was made with."""
    found: Any = sys.modules.get(thing.__module__)
    for name in thing.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is not thing:
        raise UsageError(
            f"module {thing.__module__} does not hold this {thing.__qualname__} under its name, so the values it was made with "
            "are in no key; write it with def in a module and give it these values as parameters"
        )
