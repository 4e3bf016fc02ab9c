"""What a key needs to know of a module: its top-level statements, what each of them reads, and what importing it does."""

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pipelines.keying.code_effects import FIRST_PARTY, Effects, dotted
from pipelines.keying.normal_form import FUNCTIONS, rename_locals, strip_annotations, strip_docstrings

IMPORTERS = frozenset({"__import__", "import_module", "run_module", "run_path", "spec_from_file_location", "resolve_name"})
"""Names of what imports a module by a name that it is given."""
DYNAMIC = IMPORTERS | {
    "__builtins__", "__getattr__", "__globals__", "_getframe", "currentframe", "entry_points", "exec",
    "exec_module", "f_globals", "f_locals", "find_spec", "get_objects", "globals", "iter_modules", "load_module", "locate",
    "walk_packages", "cffi", "cloudpickle", "dill", "joblib", "pickle", "shelve",
}  # fmt: skip
"""Names of what finds code by a name that is made at run time."""
REFLECTIVE = frozenset({"__annotations__", "get_annotations", "get_type_hints", "getfullargspec", "signature"})
"""Names of what reads the annotations of functions."""
OPENERS = frozenset({
    "CDLL", "LoadLibrary", "files", "fromfile", "genfromtxt", "get_data", "glob", "iterdir", "listdir", "load", "load_library",
    "loadtxt", "open", "read_bytes", "read_csv", "read_feather", "read_json", "read_parquet", "read_text", "rglob", "safe_load",
    "scandir",
})  # fmt: skip
"""Names of what reads a file, or finds those of a folder."""
MAIN = "__main__"
LONGEST = 200  # characters of a text that may name a module or a file
_REFERENCE = re.compile(r"[A-Za-z_][\w.]*(\[[\w.,| \[\]]*\])?( \| [\w.]+)*")  # a string that may be an annotation or a name

Import = tuple[str, str, str]
"""Name it is bound to here, module, name in that module ("" for the module itself, "*" for all)."""


@dataclass(frozen=True)
class Unit:
    """A top-level statement: the names it binds, the hash of its normal source, what it reads.

    `annotations`: a hash of those of functions, which `source` leaves out; "" for none. `reads`: names and dotted names;
    `texts`: what may name a module or file; `imports`: those inside it. `acts`: it does something when the module is imported,
    whoever reads it. `makes`: calling it, where it is a function, does nothing but make what it returns. `dynamic`: it may
    reach code by a name that is made at run time; `computed`: a module. `reflects`: it may read annotations. `opens`: files.
    """

    names: tuple[str, ...]
    source: str
    annotations: str = ""
    reads: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    imports: tuple[Import, ...] = ()
    acts: bool = False
    makes: bool = False
    dynamic: bool = False
    computed: bool = False
    reflects: bool = False
    opens: bool = False


@dataclass(frozen=True)
class Facts:
    """A module: its units, its top-level imports, and those that are for type checkers only.

    `bases`: the dotted names of classes outside Python's own and well-known libraries that its classes build on, `.name` of its
    own. `hooks`: it may find a class by its having been defined, or do something whenever one is.
    """

    units: tuple[Unit, ...]
    imports: tuple[Import, ...] = ()
    typing: tuple[Import, ...] = ()
    bases: tuple[str, ...] = ()
    hooks: bool = False

    @cached_property
    def acts(self) -> bool:
        """Whether importing the module does anything but define; names from a star may hide any other."""
        return any(unit.acts for unit in self.units) or any(name == "*" for _, _, name in self.imports)

    @cached_property
    def places(self) -> dict[str, tuple[int, ...]]:
        """Where among the units each name is bound."""
        found: dict[str, list[int]] = {}
        for place, unit in enumerate(self.units):
            for name in unit.names:
                found.setdefault(name, []).append(place)
        return {name: tuple(places) for name, places in found.items()}

    @cached_property
    def executed(self) -> tuple[Import, ...]:
        """What importing the module imports."""
        return (*self.imports, *(each for unit in self.units if unit.acts for each in unit.imports))

    @cached_property
    def bindings(self) -> dict[str, tuple[Import, ...]]:
        """The imports of the module by the name they are bound to."""
        found: dict[str, list[Import]] = {}
        for each in (*self.executed, *self.typing):
            found.setdefault(each[0], []).append(each)
        return {name: tuple(imports) for name, imports in found.items()}

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """Imported names that nothing in the module reads: imported for what the import does."""
        read = {name.partition(".")[0] for unit in self.units for name in unit.reads}
        return tuple(dict.fromkeys(name for name, _, _ in self.executed if name not in read))

    @cached_property
    def all_imports(self) -> tuple[Import, ...]:
        """Every import anywhere in the module."""
        return (*self.imports, *self.typing, *(each for unit in self.units for each in unit.imports))


def facts_of_bytes(code: bytes) -> Facts:
    """A module that is no text, an extension or bytecode: it counts by its bytes, and may do and import anything."""
    digest = hashlib.sha256(code).hexdigest()
    return Facts((Unit((), digest, acts=True, dynamic=True, computed=True),))


def facts_of_source(source: bytes, package: str) -> Facts:
    """Parse a module; `package` is what its relative imports start from. Comments, docstrings and layout do not count.

    The source may be in any encoding that it declares. One that Python cannot read counts by its bytes.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return facts_of_bytes(source)
    strip_docstrings(tree)
    typing = [node for node in tree.body if _is_for_checkers(node)]
    body = [node for node in tree.body if node not in typing and not (package != MAIN and _is_of_a_script(node))]
    imports = tuple(each for node in body for each in _imports(node, package))
    only_typing = tuple(each for node in typing for child in ast.walk(node) for each in _imports(child, package))
    bound = {name: f"{module}.{other}".rstrip(".") for name, module, other in (*imports, *only_typing)}
    for node in body:
        # a name of the module's own hides a built-in one
        bound |= {name: f".{name}" for name in _names(node, list(ast.walk(node)))}
    body = [node for node in body if not isinstance(node, ast.Import | ast.ImportFrom | ast.Pass) and not _is_constant(node)]
    effects = Effects(body, bound, judged=package.partition(".")[0] not in FIRST_PARTY)
    bases, hooks = tuple(sorted(set(effects.bases()))), any(map(_is_hook, ast.walk(tree)))
    return Facts(tuple(_unit(node, package, effects) for node in body), imports, only_typing, bases, hooks)


def _unit(node: ast.stmt, package: str, effects: Effects) -> Unit:
    nodes = list(ast.walk(node))
    names, reads, texts = _names(node, nodes), tuple(sorted(set(_reads(node)))), tuple(sorted(set(_texts(nodes))))
    inside = tuple(found for each in nodes for found in _imports(each, package))
    words = set(_words(nodes, effects.bound)) | {word for _, module, name in inside for word in (*module.split("."), name)}
    dynamic = bool(DYNAMIC & {*words, *texts, *names}) or {"sys", "modules"} <= words or any(map(_finds_code, nodes))
    acts, makes = effects.acts(node), not isinstance(node, FUNCTIONS) or node.name in effects.makers
    computed = bool(words & IMPORTERS) and not _names_its_modules(nodes)
    if not dynamic:
        rename_locals(node)
    removed = strip_annotations(node, lambda function: not effects.decorated_quietly(function))
    return Unit(
        tuple(names), _digest(ast.unparse(node)), _digest("\n".join(removed)) if removed else "", reads, texts, inside,
        acts, makes, dynamic, computed, bool(words & REFLECTIVE), bool(words & OPENERS),
    )  # fmt: skip


def _words(nodes: Sequence[ast.AST], bound: Mapping[str, str]) -> Iterator[str]:
    """The names in a statement, attributes too; of an imported one also what it stands for."""
    for each in nodes:
        if isinstance(each, ast.Attribute):
            yield each.attr
        elif isinstance(each, ast.Name):
            yield from (each.id, *bound.get(each.id, "").split("."))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _is_hook(node: ast.AST) -> bool:
    words = ("__init_subclass__", "__mro_entries__", "__subclasses__", "metaclass")
    if isinstance(node, ast.ClassDef):
        return any(dotted(base) == "type" for base in node.bases)
    said = getattr(node, "name", None) or getattr(node, "attr", None) or getattr(node, "arg", None)
    return said in words or (isinstance(node, ast.Constant) and node.value in words)


def _finds_code(node: ast.AST) -> bool:
    """`vars()`, `locals()` and `dir()` of where they stand; `eval` and `query`, as a method only with a text of code."""
    if isinstance(node, ast.Call) and not node.args and dotted(node.func) in ("vars", "locals", "dir"):
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("eval", "query"):
        return bool(node.args or node.keywords)
    return isinstance(node, ast.Name) and node.id == "eval"


def _names_its_modules(nodes: Sequence[ast.AST]) -> bool:
    """Say whether all that is imported by name is named by texts, which are followed."""
    calls = [each for each in nodes if isinstance(each, ast.Call)]
    by_name = [each for each in calls if isinstance(each.func, ast.Name | ast.Attribute) and _last(each.func) in IMPORTERS]
    firsts = [each.args[0] if each.args else None for each in by_name]
    return bool(by_name) and all(isinstance(one, ast.Constant) and not str(one.value).startswith(".") for one in firsts)


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _reads(node: ast.AST) -> Iterator[str]:
    """Names that are read, each attribute chain of one as a whole, and strings that could name something."""
    waiting: list[ast.AST] = [node]
    while waiting:
        current = waiting.pop()
        chain = dotted(current)
        if chain:
            yield chain
            continue
        if isinstance(current, ast.Constant) and isinstance(current.value, str):
            if len(current.value) < LONGEST and _REFERENCE.fullmatch(current.value):
                yield from re.findall(r"[A-Za-z_][\w.]*", current.value)
        elif isinstance(current, ast.Global):
            yield from current.names
        waiting.extend(ast.iter_child_nodes(current))


def _texts(nodes: Sequence[ast.AST]) -> Iterator[str]:
    for each in nodes:
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            text = each.value
            if 1 < len(text) < LONGEST and text.isprintable():
                yield text


def _names(node: ast.AST, nodes: Sequence[ast.AST]) -> list[str]:
    """Names that a top-level statement binds, those that functions in it set in the module with `global` among them."""
    names = [name for child in nodes if isinstance(child, ast.Global) for name in child.names]
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return list(dict.fromkeys([node.name, *names]))
    for child in nodes:
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store | ast.Del):
            names.append(child.id)
        elif isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.append(child.name)
        elif isinstance(child, ast.ExceptHandler | ast.MatchAs | ast.MatchStar | ast.MatchMapping):
            name = child.rest if isinstance(child, ast.MatchMapping) else child.name
            names += [name] if name else []
    return list(dict.fromkeys(names))


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_for_checkers(node: ast.AST) -> bool:
    """`if TYPE_CHECKING:` with imports in it: never done, but annotations may name what it imports."""
    return (
        isinstance(node, ast.If) and dotted(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING") and not node.orelse
        and all(isinstance(each, ast.Import | ast.ImportFrom) for each in node.body)
    )  # fmt: skip


def _is_of_a_script(node: ast.AST) -> bool:
    """`if __name__ == "__main__":`, which an import does not do."""
    return isinstance(node, ast.If) and not node.orelse and ast.unparse(node.test) == "__name__ == '__main__'"


def _imports(node: ast.AST, package: str) -> list[Import]:
    if isinstance(node, ast.Import):
        return [
            (alias.asname, alias.name, "") if alias.asname else (alias.name.partition(".")[0], alias.name, "")
            for alias in node.names
        ]
    if isinstance(node, ast.ImportFrom):
        module = _absolute(node, package)
        return [(alias.asname or alias.name, module, alias.name) for alias in node.names]
    return []


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    parts = parts[: len(parts) - node.level + 1]
    return ".".join(parts + ([node.module] if node.module else []))
