"""Content keys: a hash over the code a node uses, its configuration, its inputs and the library versions that matter."""

import dataclasses
import hashlib
import importlib.metadata
import json
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


def code_of(
    functions: Iterable[types.FunctionType | type], modules: Iterable[str] = (), reader: CodeReader | None = None
) -> dict[str, str]:
    """Return the code that functions, classes and whole modules can reach: hashes by `module:name` of each definition.

    What it can reach says pipelines.keying.code_closure. Comments, docstrings and layout do not count, nor does code
    beside it that nothing reaches. Raises UsageError for a module without source.
    """
    starts, wholes = tuple(functions), tuple(modules)
    closure = Closure((reader or CodeReader()).of([*(start.__module__ for start in starts), *wholes]))
    for name in [*(start.__module__ for start in starts), *wholes]:
        if closure.read(name) is None:
            raise UsageError(f"the source of module {name} cannot be found, so no content key can cover it")
    for start in starts:
        closure.begin_at(start.__module__, start.__qualname__.partition(".")[0])
    for name in wholes:
        closure.begin_with(name)
    return closure.hashes()


@dataclass(frozen=True)
class Code:
    """The code in a key: where it begins, its hash, and the hash of each definition, which says later what changed."""

    functions: tuple[types.FunctionType | type, ...]
    modules: tuple[str, ...]
    digest: str
    definitions: Mapping[str, str]


def code_reached(
    functions: Iterable[types.FunctionType | type], modules: Iterable[str] = (), reader: CodeReader | None = None
) -> Code:
    """Return what `code_of` finds with its hash, which holds where it begins, too."""
    starts, wholes = tuple(functions), tuple(modules)
    definitions = code_of(starts, wholes, reader)
    names = [f"{one.__module__}:{one.__qualname__}" for one in starts]
    return Code(starts, wholes, digest([names, wholes, definitions]), definitions)


def code_digest(*functions: types.FunctionType | type) -> str:
    """Return a hash of the code that functions and classes can reach, and of which of it they begin with."""
    return code_reached(functions).digest


def modules_digest(names: Iterable[str]) -> str:
    """Return a hash of modules and of all code of the project that they can reach."""
    return digest(code_of((), names))


def imported_versions(names: Iterable[str], reader: CodeReader | None = None) -> dict[str, str]:
    """Return the versions of the installed libraries that modules import, by themselves or through their own packages."""
    chosen = tuple(names)
    tops = {name.partition(".")[0] for name in chosen}
    closure = Closure((reader or CodeReader()).of(chosen))
    for name in chosen:
        closure.begin_with(name)
    found = {top for module, top in closure.libraries() if module.partition(".")[0] in tops}
    installed = _distributions()
    return installed_versions({library for top in found for library in installed.get(top, ())})


@lru_cache(maxsize=1)
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()
