"""Where the files of a module are: its source, the modules in its package, the data files beside it that its code names."""

import hashlib
import importlib.metadata
import importlib.util
import inspect
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

FILE = "file"  # how a data file is labelled among definitions
MOST_FOLDERS = 200  # that texts name, one inside another
_NO_DATA = ("/proc/", "/sys/", "/dev/")  # what stands there is another on each machine


def source_file(name: str) -> Path | None:
    """Return the file of a module, or None where the name is a class or function of one; imports nothing.

    It may be source, bytecode, an extension, or the archive that holds it.
    """
    path = _loaded(name, "__file__")
    if path is None:
        spec = _spec(name)
        path = spec.origin if spec is not None and spec.has_location else None
    if not path:
        return None
    return next((each for each in (Path(path), *Path(path).parents) if each.is_file()), None)


def places_of(package: str) -> list[str]:
    """Return the folders of a package, as it is loaded or would be; none for a module."""
    loaded = _loaded(package, "__path__")
    if loaded is not None:
        return list(loaded)
    spec = None if package in sys.modules else _spec(package)
    if spec is not None and (spec.origin or "." not in package):
        return list(spec.submodule_search_locations or ())
    parent, _, name = package.rpartition(".")
    folders = [Path(folder) / name for folder in (places_of(parent) if parent else ())]
    return [str(folder) for folder in folders if folder.is_dir()]


def modules_beside(name: str) -> list[str]:
    """Return the modules in the package that holds a module, subpackages included; without one those in its folder."""
    package = name if places_of(name) else name.rpartition(".")[0]
    if package:
        return sorted({each for place in places_of(package) for each in _modules_in(Path(place), f"{package}.")} | {package})
    file = source_file(name)
    names = (inspect.getmodulename(str(each)) for each in file.parent.iterdir()) if file else ()
    return sorted({each for each in names if each})


def is_project(top: str) -> bool:
    """Whether a package is neither Python's nor that of an installed distribution, whose version counts."""
    if top in sys.builtin_module_names:
        return False
    spec = _spec(top)
    places = [spec.origin, *(spec.submodule_search_locations or ())] if spec else []
    files = [Path(place).resolve() for place in places if place and Path(place).exists()]
    if not files:  # in an archive
        return spec is not None and spec.has_location and top not in sys.stdlib_module_names
    if _within(files, _installed(tuple(sys.path))):
        return not distributions_of(top)
    return not _within(files, _pythons())


def distributions_of(top: str) -> tuple[str, ...]:
    """Return the names of the installed distributions that have brought a package."""
    try:
        if importlib.metadata.version(top):
            return (top,)
    except (LookupError, ImportError, OSError):  # it has another name, or its metadata is no metadata
        pass
    return tuple(_distributions().get(top, ()))


class BesideFiles:
    """The files that texts in code name: looked for from a module's folder up to the one its package is found in."""

    def __init__(self) -> None:
        self._listed: dict[Path, frozenset[str]] = {}
        self._digests: dict[Path, str] = {}

    def digests(self, modules: Mapping[str, Iterable[str]]) -> dict[str, str]:
        """Return the sha256 of each file that the texts of modules name, by its place beside the modules of its package."""
        found: dict[str, str] = {}
        for top in sorted({name.partition(".")[0] for name in modules}):
            of = [name for name in modules if name.partition(".")[0] == top]
            named = sorted({text for name in of for text in modules[name] if text.strip("./\\ ")})
            folders = _folders(of)
            for folder in (*folders, *self._named_folders(folders, named)):
                for path in (path for text in named for path in self._matches(folder, text)):
                    found[f"{top}:{FILE} {_shown(path, folders)}"] = self._digest(path)
        return found

    def _named_folders(self, folders: list[Path], texts: list[str]) -> list[Path]:
        """Folders that texts name, be it in one another."""
        inner: list[Path] = []
        waiting = list(folders)
        while waiting and len(inner) < MOST_FOLDERS:
            folder = waiting.pop()
            for text in texts:
                path = folder / text
                if not text.startswith("/") and self._has(folder, text) and path.is_dir() and path not in (*inner, *folders):
                    inner.append(path)
                    waiting.append(path)
        return inner

    def _matches(self, folder: Path, text: str) -> list[Path]:
        if "*" in text and not text.startswith("/") and "**" not in text:
            return [path for path in sorted(folder.glob(text)) if path.is_file()]
        path = folder / text
        return [path] if self._has(folder, text) and path.is_file() else []

    def _has(self, folder: Path, text: str) -> bool:
        """Say at once, of almost all texts, that they name nothing here."""
        if text.startswith("/"):
            return not text.startswith(_NO_DATA)
        if folder not in self._listed:
            try:
                self._listed[folder] = frozenset(path.name for path in folder.iterdir())
            except OSError:
                self._listed[folder] = frozenset()
        first = text.replace("\\", "/").partition("/")[0]
        return first in ("..", ".") or first in self._listed[folder]

    def _digest(self, path: Path) -> str:
        if path not in self._digests:
            with path.open("rb") as stream:
                self._digests[path] = hashlib.file_digest(stream, "sha256").hexdigest()
        return self._digests[path]


def _spec(name: str) -> ModuleSpec | None:
    parent = name.rpartition(".")[0]
    try:
        if not parent:
            return importlib.util.find_spec(name)
        places = places_of(parent)
        return PathFinder.find_spec(name, places) if places else None
    except (ImportError, ValueError, AttributeError, KeyError):  # KeyError: a folder in a package that is not loaded
        return None


def _loaded(name: str, attribute: str) -> Any:
    """What a loaded module has by itself: its own `__getattr__` is not asked."""
    return getattr(sys.modules.get(name), "__dict__", {}).get(attribute)


def _modules_in(folder: Path, prefix: str) -> Iterator[str]:
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir() and path.name.isidentifier() and path.name != "__pycache__":
            yield f"{prefix}{path.name}"
            yield from _modules_in(path, f"{prefix}{path.name}.")
        elif (name := inspect.getmodulename(str(path))) and name != "__init__":
            yield f"{prefix}{name}"


def _folders(modules: list[str]) -> list[Path]:
    """The folders of modules of one package, and those above them up to where the package is found."""
    found: dict[Path, None] = {}
    for name in modules:
        path = source_file(name)
        if path is not None:
            depth = name.count(".") + (path.stem == "__init__")
            found |= dict.fromkeys(path.parents[: depth + 1])
    return list(found)


def _shown(path: Path, folders: list[Path]) -> str:
    """A file's place from the outermost folder: the same wherever the package lies."""
    root = min(folders, key=lambda folder: len(folder.parts))
    return os.path.relpath(path, root) if path.is_relative_to(root) else path.name


def _within(files: list[Path], folders: Iterable[Path]) -> bool:
    return any(file.is_relative_to(folder) for file in files for folder in folders)


@lru_cache(maxsize=1)
def _pythons() -> tuple[Path, ...]:
    return tuple({Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")})


@lru_cache(maxsize=16)
def _installed(searched: tuple[str, ...]) -> tuple[Path, ...]:
    """The folders of installed packages, those of `pip install --target` on the path included."""
    paths = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
    paths += [path for path in searched if next(Path(path or ".").glob("*.dist-info"), None) is not None]
    return tuple({Path(path).resolve() for path in [*paths, *site.getsitepackages(), site.getusersitepackages()] if path})


@lru_cache(maxsize=1)
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()
