"""Reads what keys need of the project's modules and of the files beside them; each source is parsed once a machine."""

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

from kernels.program_cache import default_cache
from pipelines.keying import code_effects, code_facts, normal_form
from pipelines.keying.code_effects import FIRST_PARTY
from pipelines.keying.code_facts import MAIN, Facts, Unit, facts_of_bytes, facts_of_source
from pipelines.keying.module_files import BesideFiles, is_project, modules_beside, places_of, source_file

MOST_STORED = 5_000  # states of modules; then the file begins anew


class CodeReader:
    """Reads modules as they are on disk now; made anew for each graph, so that an edit is always seen.

    The project's are walkfold's packages, those asked about, and any that no installed distribution has brought.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._read: dict[str, Facts | None] = {}
        self._own: dict[str, bool] = dict.fromkeys(FIRST_PARTY, True)
        self._facts = _stored_facts((folder or default_cache().parent) / "code-facts.json")
        self._beside = BesideFiles()

    def of(self, modules: Iterable[str]) -> "CodeReader":
        """Return the reader with the packages of these modules among the project's."""
        for name in modules:
            top = name.partition(".")[0]
            if not self._own.get(top, False):
                self._own[top] = True
                self._read = {}
        return self

    def facts(self, name: str) -> Facts | None:
        """Return what is to know of a module of the project; None where the name is no such module."""
        if name not in self._read:
            self._read[name] = self._find(name)
        return self._read[name]

    def is_package(self, name: str) -> bool:
        """Say whether a name is that of a package of the project, with or without code of its own."""
        return self.is_own(name) and bool(places_of(name))

    def beside(self, name: str) -> list[str]:
        """Return the modules of the project in a module's package, subpackages included; without one, those in its folder."""
        return [one for one in modules_beside(name) if self.facts(one) is not None]

    def files(self, modules: Mapping[str, Iterable[str]]) -> dict[str, str]:
        """Return the sha256 of the files beside modules that texts in them name."""
        return self._beside.digests(modules)

    def save(self) -> None:
        """Keep what was parsed for the next process."""
        self._facts.save()

    def _find(self, name: str) -> Facts | None:
        path = source_file(name) if self.is_own(name) else None
        if path is None:
            return None
        source = self.source(name, path)
        if path.suffix != ".py":
            return facts_of_bytes(source)
        package = name if path.name == "__init__.py" or name == MAIN else name.rpartition(".")[0]
        return self._facts.of(source, package)

    def is_own(self, name: str) -> bool:
        """Say whether something of this dotted name is the project's."""
        top = name.partition(".")[0]
        if top not in self._own:
            self._own[top] = bool(top) and is_project(top)
        return self._own[top]

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
            facts = _revived(stored) if stored else facts_of_source(source, package)
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
    units = tuple(Unit(**{name: _tuples(value) for name, value in one.items()}) for one in stored["units"])
    return Facts(units, _tuples(stored["imports"]), _tuples(stored["typing"]), _tuples(stored["bases"]), stored["hooks"])


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


@lru_cache(maxsize=1)
def _format() -> list[Any]:
    """Facts depend on what finds them, and on the parser, and so on the version of Python."""
    found_by = [Path(str(module.__file__)).read_bytes() for module in (code_facts, code_effects, normal_form)]
    return [hashlib.sha256(b"\0".join(found_by)).hexdigest(), *sys.version_info[:3]]
