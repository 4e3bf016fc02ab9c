"""What a key needs to know of a module: its top-level definitions, what each of them reads, and what importing it does."""

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

PURE_CALLS = frozenset({
    "abs", "bool", "bytes", "dict", "enumerate", "filter", "float", "frozenset", "int", "len", "list", "map", "max", "min",
    "range", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip", "dataclasses.field", "pathlib.Path",
    "types.MappingProxyType", "typing.TypeVar", "re.compile", "numpy.array", "numpy.arange", "numpy.dtype", "numpy.float32",
    "numpy.float64", "numpy.int32", "numpy.int64", "numpy.finfo", "numpy.iinfo", "pipelines.graphs.node.Node",
    "pipelines.graphs.node.Resources",
    "pipelines.graphs.node.Retries", "pipelines.execution.pieces.Pieces",
    "pipelines.graphs.flow_table.Flow", "pipelines.graphs.flow_table.replaced",
})  # fmt: skip
"""Calls that change nothing but what they return: a constant made by one is read by its name or not at all."""
PURE_DECORATORS = frozenset({
    "property", "staticmethod", "classmethod", "dataclasses.dataclass", "functools.lru_cache", "functools.cache",
    "functools.cached_property", "functools.wraps", "contextlib.contextmanager", "typing.overload", "typing.final",
    "typing.runtime_checkable", "abc.abstractmethod", "enum.unique", "numba.njit", "numba.jit",
})  # fmt: skip
DYNAMIC = frozenset({"globals", "eval", "exec", "__import__", "sys.modules"})
"""Names of things that find code by a name made at run time; `import_module` is one by whatever name it is reached."""
HOOKS = frozenset({"__init_subclass__", "__set_name__", "__subclasses__", "metaclass", "type.__new__"})
"""Names of things that run, or are found, because a class was defined somewhere."""
_REFERENCE = re.compile(r"[A-Za-z_][\w.]*(\[[\w.,| \[\]]*\])?( \| [\w.]+)*")  # a string that may be an annotation or a name
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

Import = tuple[str, str, str]
"""Name it is bound to here, module, name in that module ("" for the module itself, "*" for all)."""


@dataclass(frozen=True)
class Unit:
    """A top-level statement: the names it binds, the hash of its normal source, the names and dotted names it reads.

    `imports` are those inside it. `acts`: it does something when the module is imported, whoever reads it. `dynamic`: it may
    reach code by a name that is made at run time.
    """

    names: tuple[str, ...]
    source: str
    reads: tuple[str, ...]
    imports: tuple[Import, ...]
    acts: bool
    dynamic: bool


@dataclass(frozen=True)
class Facts:
    """A module: its units, its top-level imports, and whether classes defined anywhere may matter to it."""

    units: tuple[Unit, ...]
    imports: tuple[Import, ...]
    hooks: bool

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
        for each in self.executed:
            found.setdefault(each[0], []).append(each)
        return {name: tuple(imports) for name, imports in found.items()}

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """Imported names that nothing in the module reads: imported for what the import does."""
        read = {name.partition(".")[0] for unit in self.units for name in unit.reads}
        return tuple(name for name in self.bindings if name not in read)


def facts_of_source(source: str, package: str) -> Facts:
    """Parse a module; `package` is what its relative imports start from. Comments, docstrings and layout do not count."""
    tree = ast.parse(source)
    strip_docstrings(tree)
    imports = tuple(each for node in tree.body for each in _imports(node, package))
    bound = {name: f"{module}.{other}".rstrip(".") for name, module, other in imports}
    for node in tree.body:
        bound |= {name: f".{name}" for name in _names(node)}  # a name of the module's own hides a built-in one
    units = tuple(_unit(node, package, bound) for node in tree.body if not _is_import(node) and not _is_constant(node))
    words = {word for unit in units for read in unit.reads for word in (read, read.rpartition(".")[2])}
    defined = {node.name for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)}
    keywords = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    return Facts(units, imports, bool(HOOKS & (words | defined | keywords)) or "type" in _bases(tree))


def strip_docstrings(tree: ast.AST) -> None:
    """Remove the docstrings of a module, its classes and its functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0].value if isinstance(node.body[0], ast.Expr) else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                node.body = node.body[1:] or [ast.Pass()]


def _unit(node: ast.stmt, package: str, bound: dict[str, str]) -> Unit:
    reads, dynamic = set(), False
    for name in _reads(node):
        reads.add(name)
        dynamic = dynamic or _finds_code(name.removeprefix("builtins."))
    inside = tuple(each for child in ast.walk(node) if isinstance(child, ast.stmt) for each in _imports(child, package))
    dynamic = dynamic or any((module, name) == ("sys", "modules") for _, module, name in inside)
    dynamic = dynamic or "__getattr__" in _names(node) or any(_lists_names(child) for child in ast.walk(node))
    digest = hashlib.sha256(ast.unparse(node).encode()).hexdigest()
    return Unit(tuple(_names(node)), digest, tuple(sorted(reads)), inside, not _is_quiet(node, bound), dynamic)


def _finds_code(name: str) -> bool:
    return name.rpartition(".")[2] == "import_module" or any(f"{name}.".startswith(f"{one}.") for one in DYNAMIC)


def _lists_names(node: ast.AST) -> bool:
    """`vars()`, `locals()` and `dir()` of where they stand."""
    return isinstance(node, ast.Call) and not node.args and _dotted(node.func) in ("vars", "locals", "dir")


def _reads(node: ast.AST) -> Iterator[str]:
    """Names that are read, each attribute chain of one as a whole, and strings that could name something."""
    waiting: list[ast.AST] = [node]
    while waiting:
        current = waiting.pop()
        chain = _dotted(current)
        if chain:
            yield chain
            continue
        if isinstance(current, ast.Constant) and isinstance(current.value, str):
            if len(current.value) < 200 and _REFERENCE.fullmatch(current.value):
                yield from re.findall(r"[A-Za-z_][\w.]*", current.value)
        elif isinstance(current, ast.Global):
            yield from current.names
        waiting.extend(ast.iter_child_nodes(current))


def _dotted(node: ast.AST) -> str:
    """Return `a.b.c` of a chain of attributes that begins with a name, else ""."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _names(node: ast.AST) -> list[str]:
    """Names that a top-level statement binds, those that functions in it set in the module with `global` among them."""
    names = [node.name] if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) else []
    for child in ast.walk(node):
        if isinstance(child, ast.Global):
            names += child.names
    if names and isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return list(dict.fromkeys(names))
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store | ast.Del):
            names.append(child.id)
        elif isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.append(child.name)
        elif isinstance(child, ast.ExceptHandler | ast.MatchAs | ast.MatchStar | ast.MatchMapping):
            name = child.rest if isinstance(child, ast.MatchMapping) else child.name
            names += [name] if name else []
    return list(dict.fromkeys(names))


def _is_import(node: ast.AST) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


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


def _bases(tree: ast.AST) -> set[str]:
    return {_dotted(base) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases}


def _is_quiet(node: ast.stmt, bound: dict[str, str]) -> bool:
    """Say whether a top-level statement only gives names to things, so that nothing depends on it but what reads them."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        signature = [node.args, *([node.returns] if node.returns else [])]
        return _decorated_quietly(node, bound) and all(_is_pure(each, bound) for each in signature)
    if isinstance(node, ast.ClassDef):
        inside = all(_is_constant(each) or isinstance(each, ast.Pass) or _is_quiet(each, bound) for each in node.body)
        bases = all(_is_pure(each, bound) for each in node.bases)
        return inside and bases and not node.keywords and _decorated_quietly(node, bound)
    if isinstance(node, ast.Assign):
        return all(_is_plain_target(each) for each in node.targets) and _is_pure(node.value, bound)
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name) and (node.value is None or _is_pure(node.value, bound))
    return False


def _is_plain_target(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) or (isinstance(node, ast.Tuple) and all(map(_is_plain_target, node.elts)))


def _decorated_quietly(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, bound: dict[str, str]) -> bool:
    for decorator in node.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        arguments = [*decorator.args, *(each.value for each in decorator.keywords)] if isinstance(decorator, ast.Call) else []
        if _qualified(call, bound) not in PURE_DECORATORS and not _dotted(call).endswith((".setter", ".getter", ".deleter")):
            return False
        if not all(_is_pure(each, bound) for each in arguments):
            return False
    return True


def _is_pure(node: ast.AST, bound: dict[str, str]) -> bool:
    """Say whether evaluating an expression changes nothing; what stands inside a lambda is not evaluated."""
    if isinstance(node, ast.Lambda):
        return True
    if isinstance(node, ast.Call) and _qualified(node.func, bound) not in PURE_CALLS:
        return False
    if isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
        return False
    return all(_is_pure(each, bound) for each in ast.iter_child_nodes(node))


def _qualified(node: ast.AST, bound: dict[str, str]) -> str:
    base, dot, rest = _dotted(node).partition(".")
    return f"{bound.get(base, base)}{dot}{rest}"
