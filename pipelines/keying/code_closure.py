"""Which code a function can reach: definitions by name through the project's modules, whole modules where names do not tell.

The unit is a top-level statement. Reached are: the definition itself; what it names, directly or through imports; and every
module that is imported on the way and does anything but define, as a whole. A module that is passed on as a value counts
whole; a package that is, or is star-imported, or asked for a name that it has not, with all modules in it. Where code is found
by a name made at run time (`globals`, `eval`, `import_module`), the module counts whole, and all that it imports; where that
may be a module, the package that holds it, too. Files that reached code names count by their bytes. So a change is never
missed but for what `uncovered` says; a change beside the code may be counted as one.

walkfold's own modules act on nothing but themselves: the user's code that imports one reaches what it names of it.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pipelines.keying.code_effects import FIRST_PARTY, LIBRARIES
from pipelines.keying.code_facts import Import, Unit
from pipelines.keying.code_reading import CodeReader

_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+(:[^\W\d]\w*)?")  # a text that may name a module or something in one


ORDER, ANNOTATIONS = "order", "annotations of"
"""Labels of what counts beside definitions, which depends on where the walk began."""


def is_walkfolds(module: str) -> bool:
    """Whether a module is one of walkfold's own."""
    return module.partition(".")[0] in FIRST_PARTY


@dataclass
class Closure:
    """Walks the code from where it is told to begin; `units` are what it has reached, by module and place in it."""

    reader: CodeReader
    units: dict[tuple[str, int], Unit] = field(default_factory=dict)
    imported: set[str] = field(default_factory=set)
    bound: dict[tuple[str, str], tuple[Import, ...]] = field(default_factory=dict)
    _signed: set[tuple[str, int]] = field(default_factory=set)
    _hooked: bool = False
    _whole: set[str] = field(default_factory=set)
    _unbounded: set[str] = field(default_factory=set)
    _waiting: list[tuple[str, Unit]] = field(default_factory=list)
    _reexported: list[tuple[str, str]] = field(default_factory=list)
    _named: set[tuple[str, str, tuple[str, ...]]] = field(default_factory=set)

    def begin_at(self, module: str, name: str) -> None:
        """Reach a function or class by its name at the top level of its module; its annotations count."""
        self._import(module)
        if not self._reach_name(module, name) or module == "__main__":
            self._reach_whole(module)
        facts = self.reader.facts(module)
        self._signed.update((module, place) for place in (facts.places.get(name, ()) if facts else ()))
        self._run()

    def begin_with(self, module: str) -> None:
        """Reach all of a module."""
        self._reach_whole(module)
        self._run()

    def begin_loaded(self, named: str) -> None:
        """Reach what a module of the user's does when it is imported; of `module:name` also what calling the function does."""
        module, _, name = named.partition(":")
        if is_walkfolds(module):
            return
        self._import(module)
        facts = self.reader.facts(module)
        while facts is not None and name in facts.bindings and name not in facts.places:
            _, module, name = facts.bindings[name][-1]  # made elsewhere
            facts = self.reader.facts(module)
        for place in facts.places.get(name, ()) if facts else ():
            unit = facts.units[place] if facts else None
            if unit is not None and not unit.makes:
                self._reach_name(module, name)
            for _, target, other in unit.imports if unit else ():
                self._import_both(target, other, module)
        self._run()

    def hashes(self) -> dict[str, str]:
        """Map `module:name` of each reached definition to a hash of all statements that bind it, in their order.

        An imported name counts by what it stands for: another function of a library is another one. Where a module counts
        whole, so does the order of its statements. Annotations count where the walk began, in modules that
        count whole, and everywhere as soon as something reached may read them.
        """
        found: dict[str, str] = {f"{module}:import {name}": str(to) for (module, name), to in sorted(self.bound.items())}
        reflects = any(unit.reflects for unit in self.units.values())
        for module, place in sorted(self.units):
            unit = self.units[module, place]
            name = unit.names[0] if unit.names else "code"
            _chain(found, f"{module}:{name}", unit.source)
            if module in self._whole:
                _chain(found, f"{module}:{ORDER}", unit.source)
            if unit.annotations and (reflects or module in self._whole or (module, place) in self._signed):
                _chain(found, f"{module}:{ANNOTATIONS} {name}", unit.annotations)
        return found | self.files

    def libraries(self) -> set[str]:
        """The packages outside the project that the user's modules import, anywhere in them."""
        found = set()
        for module in self.imported:
            facts = self.reader.facts(module) if not is_walkfolds(module) else None
            for _, target, _ in facts.all_imports if facts else ():
                top = target.partition(".")[0]
                if self.reader.facts(top) is None and self.reader.facts(target) is None:
                    found.add(top)
        return found

    def uncovered(self) -> list[str]:
        """Say in words what reached code of the user's may depend on that no walk can see."""
        found = []
        read = {name.partition(":")[0] for name in self.files}
        for (module, _), unit in sorted(self.units.items()):
            top, package = module.partition(".")[0], module.rpartition(".")[0] or "its folder"
            where = f"{module}:{unit.names[0]}" if unit.names else module
            if is_walkfolds(module):
                continue
            if unit.computed and unit.reads:
                found.append(f"{where} imports modules by names made at run time: those outside {package} are in no key")
            if unit.acts and unit.opens and top not in read:
                found.append(f"{where} reads files when it is imported, which no text in the code names: they are in no key")
        return found

    @cached_property
    def files(self) -> dict[str, str]:
        """The digests of the data files that reached code of the user's names, once all is reached."""
        own: dict[str, list[str]] = {}
        for (module, _), unit in self.units.items():
            if not is_walkfolds(module):
                own.setdefault(module, []).extend(unit.texts)
        return self.reader.files(own)

    def _run(self) -> None:
        while self._waiting or self._reexported:
            if self._reexported:
                self._reach_name(*self._reexported.pop())
                continue
            module, unit = self._waiting.pop()
            if unit.dynamic:
                self._reach_unbounded(module)
            for each in self.reader.beside(module) if unit.computed and not is_walkfolds(module) else ():
                self._reach_unbounded(each)
            for _, target, name in unit.imports:
                self._follow(target, name, [])
            local = {bound: (target, name) for bound, target, name in unit.imports}
            for read in unit.reads:
                base, *rest = read.split(".")
                if base in local:
                    self._follow(*local[base], rest, bound=base)
                self._reach_name(module, base, rest)
            if not is_walkfolds(module):
                for text in filter(_DOTTED.fullmatch, unit.texts):
                    self._reach_text(text.replace(":", "."))

    def _reach_text(self, text: str) -> None:
        """Reach what a text names where it is a module of the user's, or something in one."""
        module = text
        rest: list[str] = []
        while module and self.reader.facts(module) is None:
            module, _, last = module.rpartition(".")
            rest.insert(0, last)
        if module and not is_walkfolds(module):
            self._import(module)
            if not (rest and self._reach_name(module, rest[0], rest[1:])):
                self._reach_whole(module)

    def _reach_name(self, module: str, name: str, rest: Sequence[str] = ()) -> bool:
        """Reach what a name of a module stands for; say whether the module has it."""
        facts = self.reader.facts(module)
        if facts is None:
            return False
        known = name in facts.places or name in facts.bindings
        if (module, name, tuple(rest)) in self._named:  # two modules may import a name from each other
            return known
        self._named.add((module, name, tuple(rest)))
        for place in facts.places.get(name, ()):
            self._reach(module, place, facts.units[place])
        if name in facts.bindings:
            self.bound[module, name] = facts.bindings[name]
        for bound, target, other in facts.bindings.get(name, ()):
            self._follow(target, other, list(rest), bound)
        return known

    def _follow(self, target: str, name: str, rest: list[str], bound: str = "") -> None:
        """Reach what an import gives: a name of a module, a module, or by `rest` something in that module."""
        if name == "*":
            self._reach_package(target)
            return
        self._import(target)
        if name and self.reader.facts(f"{target}.{name}") is None:
            if not self._reach_name(target, name, rest):
                self._reach_package(target)
            return
        module = f"{target}.{name}" if name else target
        if not name and bound and "." in target and target.partition(".")[0] == bound:
            module = bound  # `import a.b` binds a
        self._import(module)
        while rest and self.reader.facts(f"{module}.{rest[0]}") is not None:
            module, rest = f"{module}.{rest[0]}", rest[1:]
            self._import(module)
        if bound and not (rest and self._reach_name(module, rest[0], rest[1:])):
            self._reach_package(module)

    def _reach(self, module: str, place: int, unit: Unit) -> None:
        if (module, place) not in self.units:
            self.units[module, place] = unit
            self._waiting.append((module, unit))

    def _reach_package(self, module: str) -> None:
        """Reach a module whole and, of a package, all modules in it."""
        inside = self.reader.beside(module) if self.reader.is_package(module) else ()
        for each in (module, *(one for one in inside if one.startswith(f"{module}."))):
            self._reach_whole(each)

    def _reach_whole(self, module: str) -> None:
        facts = self.reader.facts(module)
        if module in self._whole or facts is None:
            return
        self._whole.add(module)
        self._import(module)
        for place, unit in enumerate(facts.units):
            self._reach(module, place, unit)
        # what it imports can be had from it; later, since modules may stand in a long line
        self._reexported += [(module, name) for name in facts.bindings]

    def _reach_unbounded(self, module: str) -> None:
        """Reach all that a module could find by a name: itself, what it imports, and so on; of walkfold's, itself."""
        facts = self.reader.facts(module)
        if module in self._unbounded or facts is None:
            return
        self._unbounded.add(module)
        self._reach_whole(module)
        if is_walkfolds(module):
            return
        for _, target, name in facts.all_imports:
            for each in (target, f"{target}.{name}"):
                if not is_walkfolds(each):
                    self._reach_unbounded(each)

    def _import(self, module: str) -> None:
        """Import a module, as the interpreter would: its packages first, what it imports; whole where any of that acts."""
        facts = self.reader.facts(module)
        if module in self.imported or facts is None:
            return
        self.imported.add(module)
        parts = module.split(".")
        for length in range(1, len(parts)):
            self._import(".".join(parts[:length]))
        for _, target, name in facts.executed:
            self._import_both(target, name, module)
        for name in facts.unread:
            outside = [one for one in facts.bindings[name] if self.reader.facts(one[1].partition(".")[0]) is None]
            if any(one[1].partition(".")[0] not in LIBRARIES for one in outside):
                self.bound[module, name] = facts.bindings[name]
        if facts.hooks and not self._hooked:
            self._hooked = True
            for each in sorted(self.imported):
                self._reach_subclasses(each)
        if facts.acts:
            self._reach_whole(module)
        self._reach_subclasses(module)

    def _reach_subclasses(self, module: str) -> None:
        """Reach a module whole whose classes do something, or may be found, by being defined."""
        facts = self.reader.facts(module)
        for base in facts.bases if facts else ():
            if self._hooked or not (base.startswith(".") or self.reader.is_own(base)):
                self._reach_whole(module)

    def _import_both(self, target: str, name: str, importer: str) -> None:
        """Import a module and what may be a module in it, unless it is walkfold's and who imports it is not."""
        if is_walkfolds(importer) or not is_walkfolds(target):
            self._import(target)
            if name:
                self._import(f"{target}.{name}")


def _chain(found: dict[str, str], label: str, code: str) -> None:
    found[label] = hashlib.sha256((found.get(label, "") + code).encode()).hexdigest()[:24]
