"""Content keys: a hash over the code a node uses, its configuration, its inputs and the library versions that matter."""

import hashlib
import importlib.metadata
import json
import types
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pipelines.code_closure import Closure
from pipelines.code_reading import CodeReader
from pipelines.errors import UsageError

DISPATCHED = ("exp", "log", "log1p", "power", "sin", "cos", "tanh")  # numpy has several kernels of each
FORMAT = 1  # of artefacts on disk; raise it when an old artefact could be misread


def digest(value: Any) -> str:
    """Return the sha256 of a JSON value in canonical form (sorted keys, no spaces, floats by repr)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


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


def arithmetic() -> dict[str, str]:
    """Return what rounds a float64 result here: the back end, and for each function whose last bit depends on the processor
    the instruction set that numpy runs it on.

    Where a feature set is computed on two kinds of processor, each has its own.
    """
    import numpy as np

    found = np.lib.introspect.opt_func_info(func_name=f"^({'|'.join(DISPATCHED)})$", signature="float64")
    used = {name: signature["current"] for name, kinds in found.items() for signature in kinds.values()}
    return {"back end": "numpy", **dict(sorted(used.items()))}


def code_of(
    functions: Iterable[types.FunctionType | type], modules: Iterable[str] = (), reader: CodeReader | None = None
) -> dict[str, str]:
    """Return the code that functions, classes and whole modules can reach: hashes by `module:name` of each definition.

    What it can reach says pipelines.code_closure. Comments, docstrings and layout do not count, nor does code beside it that
    nothing reaches. Raises UsageError for a module without source.
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


def reached_digest(functions: Iterable[types.FunctionType | type], modules: Iterable[str], code: Mapping[str, str]) -> str:
    """Return a hash of the code that functions, classes and whole modules reach, as `code_of` found it."""
    return digest([[f"{one.__module__}:{one.__qualname__}" for one in functions], list(modules), code])


def code_digest(*functions: types.FunctionType | type) -> str:
    """Return a hash of the code that functions and classes can reach, and of which of it they begin with."""
    return digest([[function.__qualname__ for function in functions], code_of(functions)])


def modules_digest(names: Iterable[str]) -> str:
    """Return a hash of modules and of all code of the project that they can reach."""
    return digest(code_of((), names))
