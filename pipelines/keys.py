"""Content keys: a hash over the code a node uses, its configuration, its inputs and the library versions that matter."""

import ast
import hashlib
import importlib.metadata
import importlib.util
import json
import sys
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pipelines.errors import UsageError

FIRST_PARTY = ("kernels", "loaders", "pipelines", "training", "validation")
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


def code_digest(function: types.FunctionType) -> str:
    """Return a hash of the source of the function's module and of every first-party module it imports, transitively.

    First-party are walkfold's packages and the function's own. Comments, docstrings and layout do not count. A module is
    the unit: a changed formula always makes a new key, and so does a change beside it that the function does not call.
    """
    return digest({"function": function.__qualname__, "modules": _sources((function.__module__,))})


def modules_digest(names: Iterable[str]) -> str:
    """Return a hash of the source of modules and of every module of walkfold's or of their packages that they import."""
    return digest(_sources(tuple(names)))


def reached_modules(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Map every module that the given ones reach to the sha256 of its bytes and of its normal source."""
    found = _sources(tuple(names))
    paths = {name: source_file(name) for name in found}
    return {name: (file_digest(path), found[name]) for name, path in paths.items() if path is not None}


def normal_source(source: str) -> str:
    """Return the source without comments, docstrings and layout; equal over Python versions (unlike ast.dump)."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            value = first.value if isinstance(first, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _sources(starts: tuple[str, ...]) -> dict[str, str]:
    """Map every module that the given ones reach to the hash of its source."""
    packages = frozenset((*FIRST_PARTY, *(name.partition(".")[0] for name in starts)))
    modules = {name for start in starts for name in _closure(start, packages)}
    return {name: _read_module(name).source for name in sorted(modules)}


@dataclass(frozen=True)
class _Module:
    """What the key needs of a module: a hash of its normal source and the names it imports."""

    source: str
    imports: tuple[str, ...]


def _closure(start: str, packages: frozenset[str]) -> set[str]:
    """Walk the first-party imports from one module."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        current = waiting.pop()
        if current in found:
            continue
        found.add(current)
        names = _read_module(current).imports
        waiting.extend(name for name in names if name.partition(".")[0] in packages and source_file(name) is not None)
    return found


def _read_module(name: str) -> _Module:
    path = source_file(name)
    if path is None:
        raise UsageError(f"the source of module {name} cannot be found, so no content key can cover it")
    status = path.stat()
    return _parse_module(name, path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=2048)
def _parse_module(name: str, path: Path, changed: int, size: int) -> _Module:
    """Parse a module once for each state of its file."""
    source = path.read_text(encoding="utf-8")
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            names.add(base)
            names.update(f"{base}.{alias.name}" for alias in node.names)
    return _Module(hashlib.sha256(normal_source(source).encode()).hexdigest(), tuple(sorted(names)))


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    parts = parts[: len(parts) - node.level + 1]
    return ".".join(parts + ([node.module] if node.module else []))


def source_file(name: str) -> Path | None:
    """Return the file of a module, or None where the name is a class or function of one."""
    loaded = getattr(sys.modules.get(name), "__file__", None)
    if loaded is not None:
        return Path(loaded).resolve()
    top, *rest = name.split(".")
    origin = _package_file(top)
    if origin is None or not rest:
        return origin
    base = origin.parent.joinpath(*rest)
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def _package_file(top: str) -> Path | None:
    """Return the `__init__.py` of a package, or the file of a single module, without importing it."""
    spec = importlib.util.find_spec(top)
    return Path(spec.origin).resolve() if spec and spec.origin else None
