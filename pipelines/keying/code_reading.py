"""Finds the project's modules and reads what keys need of them; each state of a file is parsed once a machine."""

import hashlib
import importlib.util
import json
import os
import site
import sys
import sysconfig
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from kernels.program_cache import default_cache
from pipelines.keying import code_facts
from pipelines.keying.code_facts import Facts, Unit, facts_of_source

FIRST_PARTY = ("kernels", "loaders", "pipelines", "training", "validation")
MOST_STORED = 5_000  # states of modules; then the file begins anew


class CodeReader:
    """Reads modules as they are on disk now; made anew for each graph, so that an edit is always seen.

    The project's are walkfold's packages, those asked about, and any that lie outside the folders of installed ones.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._read: dict[str, Facts | None] = {}
        self._own: dict[str, bool] = dict.fromkeys(FIRST_PARTY, True)
        self._facts = _stored_facts((folder or default_cache().parent) / "code-facts.json")

    def of(self, modules: Iterable[str]) -> Callable[[str], Facts | None]:
        """Return the reader with the packages of these modules among the project's."""
        for name in modules:
            top = name.partition(".")[0]
            if not self._own.get(top, False):
                self._own[top] = True
                self._read = {}
        return self.facts

    def facts(self, name: str) -> Facts | None:
        """Return what is to know of a module of the project; None where the name is no such module."""
        if name not in self._read:
            self._read[name] = self._find(name)
        return self._read[name]

    def save(self) -> None:
        """Keep what was parsed for the next process."""
        self._facts.save()

    def _find(self, name: str) -> Facts | None:
        top = name.partition(".")[0]
        if top not in self._own:
            self._own[top] = _is_project(top)
        if not top or not self._own[top]:
            return None
        path = source_file(name)
        if path is None or path.suffix != ".py":
            return None
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        return self._facts.of(self.source(name, path), package)

    def source(self, name: str, path: Path) -> bytes:
        """Return what a module's file holds."""
        return path.read_bytes()


class _StoredFacts:
    """Facts by the hash of the source they were parsed from: they cannot be stale, and a damaged file is no file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, Any] | None = None
        self._new: dict[str, Any] = {}
        self._parsed: dict[str, Facts] = {}

    def of(self, source: bytes, package: str) -> Facts:
        key = hashlib.sha256(package.encode() + b"\0" + source).hexdigest()
        if key not in self._parsed:
            stored = self._load().get(key)
            facts = _revived(stored) if stored else facts_of_source(source.decode("utf-8"), package)
            if not stored:
                self._new[key] = asdict(facts)
            self._parsed[key] = facts
        return self._parsed[key]

    def save(self) -> None:
        if not self._new:
            return
        known = {**self._load(), **self._new} if len(self._load()) < MOST_STORED else self._new
        text = json.dumps({"format": _format(), "facts": known}, separators=(",", ":"))
        fresh = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(self._path)
        except OSError:
            fresh.unlink(missing_ok=True)  # a folder that cannot be written costs the next process a second
        self._known, self._new = known, {}

    def _load(self) -> dict[str, Any]:
        if self._known is None:
            try:
                stored = json.loads(self._path.read_bytes())
                self._known = dict(stored["facts"]) if stored["format"] == _format() else {}
            except (OSError, ValueError, KeyError, TypeError):
                self._known = {}
        return self._known


@lru_cache(maxsize=16)
def _stored_facts(path: Path) -> _StoredFacts:
    return _StoredFacts(path)


def _revived(stored: Any) -> Facts:
    units = tuple(
        Unit(
            names=tuple(one["names"]),
            source=one["source"],
            reads=tuple(one["reads"]),
            imports=tuple(tuple(each) for each in one["imports"]),
            acts=one["acts"],
            dynamic=one["dynamic"],
        )
        for one in stored["units"]
    )
    return Facts(units, tuple(tuple(each) for each in stored["imports"]), stored["hooks"])


@lru_cache(maxsize=1)
def _format() -> list[Any]:
    """Facts depend on what finds them, and on the parser, and so on the version of Python."""
    return [hashlib.sha256(Path(code_facts.__file__).read_bytes()).hexdigest(), *sys.version_info[:3]]


def _is_project(top: str) -> bool:
    """Whether a package lies outside the folders of Python and of installed packages."""
    if top in sys.builtin_module_names or top in sys.stdlib_module_names:
        return False
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return False
    places = [spec.origin, *(spec.submodule_search_locations or ())] if spec else []
    return any((place and place.endswith(".py")) or Path(place or "").is_dir() for place in places) and not any(
        Path(place).resolve().is_relative_to(folder) for place in places if place for folder in _installed()
    )


@lru_cache(maxsize=1)
def _installed() -> tuple[Path, ...]:
    """The folders of Python and of packages, those of `pip install --target` on the path included."""
    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths += [path for path in sys.path if next(Path(path or ".").glob("*.dist-info"), None) is not None]
    return tuple({Path(path).resolve() for path in [*paths, *site.getsitepackages(), site.getusersitepackages()] if path})


def source_file(name: str) -> Path | None:
    """Return the file of a module, or None where the name is a class or function of one; imports nothing."""
    loaded = getattr(sys.modules.get(name), "__file__", None)
    if loaded is not None:
        return Path(loaded)
    top, *rest = name.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None or not rest:
        return Path(spec.origin) if spec and spec.origin and spec.has_location else None
    for place in spec.submodule_search_locations or ():
        base = Path(place).joinpath(*rest)
        for candidate in (base.with_suffix(".py"), base / "__init__.py"):
            if candidate.is_file():
                return candidate
    return None
