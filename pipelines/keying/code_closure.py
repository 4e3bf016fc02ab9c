"""Which code a function can reach: definitions by name through the project's modules, whole modules where names do not tell.

The unit is a top-level statement. Reached are: the definition itself; what it names, directly or through imports; and, of
every module that is imported on the way, the statements that act when it is imported (calls, decorators that are not known
to be pure, assignments to attributes) with what they name. A module that is passed on as a value, star-imported or handed
to `getattr` is reached whole; where code is found by a name made at run time (`import_module`, `globals`, `eval`), the
module and all that it imports are. So a change is never missed; a change beside the code may be counted as one.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pipelines.keying.code_facts import Facts, Import, Unit

Reader = Callable[[str], Facts | None]
"""Facts of a project's module by name; None for a name that is no module of the project."""


@dataclass
class Closure:
    """Walks the code from where it is told to begin; `units` are what it has reached, by module and place in it."""

    read: Reader
    units: dict[tuple[str, int], Unit] = field(default_factory=dict)
    imported: set[str] = field(default_factory=set)
    bound: dict[tuple[str, str], tuple[Import, ...]] = field(default_factory=dict)
    _whole: set[str] = field(default_factory=set)
    _unbounded: set[str] = field(default_factory=set)
    _hooked: bool = False
    _waiting: list[tuple[str, Unit]] = field(default_factory=list)
    _reexported: list[tuple[str, str]] = field(default_factory=list)
    _named: set[tuple[str, str, tuple[str, ...]]] = field(default_factory=set)

    def begin_at(self, module: str, name: str) -> None:
        """Reach a function or class by its name at the top level of its module."""
        self._import(module)
        if not self._reach_name(module, name):
            self._reach_whole(module)
        self._run()

    def begin_with(self, module: str) -> None:
        """Reach all of a module."""
        self._reach_whole(module)
        self._run()

    def hashes(self) -> dict[str, str]:
        """Map `module:name` of each reached definition to a hash of all statements that bind it, in their order.

        An imported name counts by what it stands for: another function of a library is another one.

        Where a statement acts, the order of all that is reached of its module counts too, as `module:order`.
        """
        found: dict[str, str] = {f"{module}:import {name}": str(to) for (module, name), to in sorted(self.bound.items())}
        acting = {module for (module, _), unit in self.units.items() if unit.acts}
        for module, place in sorted(self.units):
            unit = self.units[module, place]
            for label in [unit.names[0] if unit.names else "import", *(["order"] if module in acting else [])]:
                label = f"{module}:{label}"
                found[label] = hashlib.sha256((found.get(label, "") + unit.source).encode()).hexdigest()[:24]
        return found

    def libraries(self) -> set[tuple[str, str]]:
        """The packages outside the project that each imported module imports, anywhere in it."""
        found = set()
        for module in self.imported:
            facts = self.read(module)
            for _, target, _ in _all_imports(facts) if facts else ():
                top = target.partition(".")[0]
                if self.read(top) is None and self.read(target) is None:
                    found.add((module, top))
        return found

    def _run(self) -> None:
        while self._waiting or self._reexported:
            if self._reexported:
                self._reach_name(*self._reexported.pop())
                continue
            module, unit = self._waiting.pop()
            if unit.dynamic:
                self._reach_unbounded(module)
            for _, target, name in unit.imports:
                self._follow(target, name, [])
            local = {bound: (target, name) for bound, target, name in unit.imports}
            for read in unit.reads:
                base, *rest = read.split(".")
                if base in local:
                    self._follow(*local[base], rest, bound=base)
                self._reach_name(module, base, rest)

    def _reach_name(self, module: str, name: str, rest: Sequence[str] = ()) -> bool:
        """Reach what a name of a module stands for; say whether the module has it."""
        facts = self.read(module)
        if facts is None:
            return False
        known = name in facts.places or name in facts.bindings
        if (module, name, tuple(rest)) in self._named:  # two modules may import a name from each other
            return known
        self._named.add((module, name, tuple(rest)))
        for place in facts.places.get(name, ()):
            self._reach(module, place, facts.units[place])
        for _, target, _ in facts.bindings.get("*", ()):
            self._reach_whole(target)
        if name in facts.bindings:
            self.bound[module, name] = facts.bindings[name]
        for bound, target, other in facts.bindings.get(name, ()):
            self._follow(target, other, list(rest), bound)
        return known

    def _follow(self, target: str, name: str, rest: list[str], bound: str = "") -> None:
        """Reach what an import gives: a name of a module, a module, or by `rest` something in that module."""
        if name == "*":
            self._reach_whole(target)
            return
        self._import(target)
        if name and self.read(f"{target}.{name}") is None:
            if not self._reach_name(target, name, rest):
                self._reach_whole(target)
            return
        module = f"{target}.{name}" if name else target
        if not name and bound and "." in target and target.partition(".")[0] == bound:
            module = bound  # `import a.b` binds a
        self._import(module)
        while rest and self.read(f"{module}.{rest[0]}") is not None:
            module, rest = f"{module}.{rest[0]}", rest[1:]
            self._import(module)
        if bound and self.read(module) is not None and not (rest and self._reach_name(module, rest[0], rest[1:])):
            self._reach_whole(module)

    def _reach(self, module: str, place: int, unit: Unit) -> None:
        if (module, place) not in self.units:
            self.units[module, place] = unit
            self._waiting.append((module, unit))

    def _reach_whole(self, module: str) -> None:
        facts = self.read(module)
        if module in self._whole or facts is None:
            return
        self._whole.add(module)
        self._import(module)
        for place, unit in enumerate(facts.units):
            self._reach(module, place, unit)
        # what it imports can be had from it; later, since modules may stand in a long line
        self._reexported += [(module, name) for name in facts.bindings]

    def _reach_unbounded(self, module: str) -> None:
        """Reach a module and, whole, every module it imports anywhere, and so on."""
        facts = self.read(module)
        if module in self._unbounded or facts is None:
            return
        self._unbounded.add(module)
        self._reach_whole(module)
        for _, target, name in _all_imports(facts):
            self._reach_unbounded(target)
            self._reach_unbounded(f"{target}.{name}")

    def _import(self, module: str) -> None:
        """Import a module, as the interpreter would: its packages first, what it imports, and what acts on the way."""
        facts = self.read(module)
        if module in self.imported or facts is None:
            return
        self.imported.add(module)
        parts = module.split(".")
        for length in range(1, len(parts)):
            self._import(".".join(parts[:length]))
        for _, target, name in facts.executed:
            self._import(target)
            if name:
                self._import(f"{target}.{name}")
        for name in facts.unread:
            self.bound[module, name] = facts.bindings[name]
        for place, unit in enumerate(facts.units):
            if unit.acts:
                self._reach(module, place, unit)
        if facts.hooks or self._hooked:
            self._hook()

    def _hook(self) -> None:
        """Classes are found by being defined: take every module imported so far, and from now on, as a whole."""
        self._hooked = True
        for module in sorted(self.imported):
            self._reach_whole(module)


def _all_imports(facts: Facts) -> list[Import]:
    return [*facts.imports, *(each for unit in facts.units for each in unit.imports)]
