"""Says whether a statement of a module only gives names to things or does something: a module that acts counts whole.

What only defines is known by its form: functions and classes with decorators, defaults and bases that do nothing, values made
of constants, of calls that do nothing, and of operators on objects that are the module's own or of libraries whose operators
do nothing. All else acts.
"""

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kernels.compiled import compiled
from kernels.features.user import feature
from pipelines.execution.pieces import Pieces
from pipelines.graphs.flow_table import Flow, replaced
from pipelines.graphs.node import Node, Resources, Retries
from pipelines.keying.normal_form import Function

FIRST_PARTY = ("kernels", "loaders", "pipelines", "training", "validation")
LIBRARIES = sys.stdlib_module_names | {"numpy", "pandas", "pyarrow", "numba", "torch", *FIRST_PARTY}
"""Packages whose classes may be bases, and whose objects may stand beside an operator, without anything being done."""


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` of a chain of attributes that begins with a name, else ""."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _names_of(things: Iterable[Any]) -> frozenset[str]:
    return frozenset(f"{one.__module__}.{one.__qualname__}" for one in things)


HOLDING = _names_of((Node, Resources, Retries, Pieces, Flow, replaced))
"""Calls that keep what they are given and do nothing with it."""
PURE_CALLS = frozenset({
    "abs", "bool", "bytes", "complex", "dict", "enumerate", "filter", "float", "frozenset", "int", "len", "list", "max", "min",
    "range", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip", "dataclasses.field", "pathlib.Path",
    "types.MappingProxyType", "typing.TypeVar", "typing.NewType", "re.compile", "collections.namedtuple", "math.log",
    "math.sqrt", "datetime.date", "datetime.time", "datetime.timedelta", "zoneinfo.ZoneInfo", "decimal.Decimal",
    "numpy.array", "numpy.arange", "numpy.dtype", "numpy.float32", "numpy.float64", "numpy.int32", "numpy.int64",
    "numpy.uint64", "numpy.finfo", "numpy.iinfo", "numpy.timedelta64", "numpy.datetime64",
})  # fmt: skip
"""Calls that do nothing but make what they return of the values they are given."""
PURE_METHODS = frozenset({
    "as_posix", "format", "items", "joinpath", "join", "keys", "lower", "resolve", "split", "splitlines", "strip", "union",
    "upper", "values", "with_name", "with_suffix",
})  # fmt: skip
FILLING = frozenset({"append", "extend", "insert", "add", "update"})
"""Methods that change a list, dict or set, which a function may have made itself."""
PURE_DECORATORS = _names_of((feature, compiled)) | {
    "property", "staticmethod", "classmethod", "dataclasses.dataclass", "functools.lru_cache", "functools.cache",
    "functools.cached_property", "functools.wraps", "contextlib.contextmanager", "typing.overload", "typing.final",
    "typing.runtime_checkable", "abc.abstractmethod", "enum.unique", "numba.njit", "numba.jit",
}  # fmt: skip
"""Decorators that change nothing elsewhere. A feature enters a table that only nodes which name its module read."""
_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Constant)
_STEPS = (ast.If, ast.While, ast.Pass, ast.Break, ast.Continue, ast.Raise, ast.Assert)


class Effects:
    """Judges the top-level statements of one module, in their order.

    `bound` maps each name of the module to what it stands for: `.name` where the module itself defines it, the dotted name of
    what is imported else; a name that is missing is a built-in one. `makers`: the module's functions that do nothing but make
    what they return, where they are `judged`.
    """

    def __init__(self, body: Sequence[ast.stmt], bound: Mapping[str, str], judged: bool = True) -> None:
        self.bound = bound
        self._body = body
        self._strange: set[str] = set()  # own names of objects of which an operator may do something
        self._locals: frozenset[str] = frozenset()
        self._fresh: frozenset[str] = frozenset()
        self.makers: frozenset[str] = frozenset()
        for node in body:
            self.acts(node)  # finds what is strange before functions are judged by it
        functions = [node for node in body if isinstance(node, ast.FunctionDef) and not node.decorator_list and judged]
        while (found := frozenset(node.name for node in functions if self._only_makes(node))) != self.makers:
            self.makers = found  # each may call those found before

    def acts(self, node: ast.stmt) -> bool:
        """Say whether a statement does anything but define; statements are asked about in the order of the module."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return not self._defines(node)
        if isinstance(node, ast.ClassDef):
            return not self._quiet_class(node)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if not self._pure(node.value, applied=True):
                self._strange.update(name.id for each in targets for name in ast.walk(each) if isinstance(name, ast.Name))
            return not (all(map(_is_plain_target, targets)) and self._pure(node.value))
        if isinstance(node, ast.AnnAssign):
            return not isinstance(node.target, ast.Name)
        return not (isinstance(node, ast.Pass) or type(node).__name__ == "TypeAlias")

    def decorated_quietly(self, node: Function | ast.ClassDef) -> bool:
        """Say whether decorators leave the rest of the world alone."""
        for each in node.decorator_list:
            call = each.func if isinstance(each, ast.Call) else each
            of_property = dotted(call) in {f"{node.name}.{one}" for one in ("setter", "getter", "deleter")}
            if not of_property and self._qualified(call) not in PURE_DECORATORS:
                return False
            if isinstance(each, ast.Call) and not all(map(self._pure, _arguments(each))):
                return False
        return True

    def _defines(self, node: Function) -> bool:
        defaults = [*node.args.defaults, *(each for each in node.args.kw_defaults if each)]
        annotations = [each.annotation for each in ast.walk(node.args) if isinstance(each, ast.arg) and each.annotation]
        annotations += [node.returns] if node.returns else []
        return self.decorated_quietly(node) and all(map(self._pure, defaults)) and not any(map(_calls, annotations))

    def bases(self) -> Iterator[str]:
        """What the module's classes build on, outside LIBRARIES: what defining a class does, its base may say."""
        for node in self._body:
            for each in node.bases if isinstance(node, ast.ClassDef) else ():
                name = self._qualified(each.value if isinstance(each, ast.Subscript) else each)
                if (name.partition(".")[0] or name) not in LIBRARIES and not hasattr(builtins, name):
                    yield name

    def _quiet_class(self, node: ast.ClassDef) -> bool:
        if not all(dotted(each.value if isinstance(each, ast.Subscript) else each) for each in node.bases):
            return False
        for each in node.body:
            value = each.value if isinstance(each, ast.Assign | ast.AnnAssign) else None
            given = value is None or self._pure(value, applied=True)  # an object may be told the name that it gets
            if not given or not (_is_constant(each) or not self.acts(each)):
                return False
        return not node.keywords and self.decorated_quietly(node)

    def _only_makes(self, function: ast.FunctionDef) -> bool:
        """Say whether calling a function changes nothing but the lists, dicts and sets that it makes itself."""
        parameters = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
        stored = [each for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
        plain = set()
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, _DISPLAYS):
                plain.add(id(node.targets[0]))
            elif isinstance(node, ast.AugAssign):
                plain.add(id(node.target))
        self._locals = frozenset({each.id for each in stored} | parameters)
        self._fresh = self._locals - parameters - {each.id for each in stored if id(each) not in plain}
        quiet = self._defines(function) and all(map(self._only_makes_step, function.body))
        self._locals = self._fresh = frozenset()
        return quiet

    def _only_makes_step(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Lambda):
            return True
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
            filled = node.value.func
            if filled.attr in FILLING and dotted(filled.value) in self._fresh:
                return all(map(self._pure, _arguments(node.value)))
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.For):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if not all(_is_plain_target(each) or self._is_fresh_item(each) for each in targets):
                return False
            inside = [*node.body, *node.orelse] if isinstance(node, ast.For) else []
            value = node.iter if isinstance(node, ast.For) else node.value
            return (value is None or self._pure(value, applied=True)) and all(map(self._only_makes_step, inside))
        if isinstance(node, ast.AugAssign):
            return dotted(node.target) in self._fresh and self._pure(node.value, applied=True)
        if isinstance(node, ast.Return):
            return node.value is None or self._pure(node.value)
        if isinstance(node, ast.expr):
            return self._pure(node, applied=True)
        return isinstance(node, _STEPS) and all(map(self._only_makes_step, ast.iter_child_nodes(node)))

    def _is_fresh_item(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Subscript) and dotted(node.value) in self._fresh and self._pure(node.slice, applied=True)

    def _pure(self, node: ast.AST, applied: bool = False) -> bool:
        """Say whether evaluating an expression changes nothing; what stands inside a lambda is not evaluated.

        `applied`: an operator, a loop or a conversion is applied to what the expression gives.
        """
        if isinstance(node, ast.Lambda):
            return all(map(self._pure, [*node.args.defaults, *(each for each in node.args.kw_defaults if each)]))
        if isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
            return False
        if isinstance(node, ast.Call):
            return self._pure_call(node)
        if isinstance(node, ast.Name):
            origin = self.bound.get(node.id, "builtins")
            own = origin.startswith(".") and node.id not in self._strange
            return not applied or node.id in self._fresh or own or origin.partition(".")[0] in LIBRARIES
        if isinstance(node, ast.Attribute):
            return self._pure(node.value, applied)
        holds = isinstance(node, ast.Tuple | ast.List | ast.Dict | ast.Set | ast.keyword)
        return all(self._pure(each, applied or not holds) for each in ast.iter_child_nodes(node))

    def _pure_call(self, node: ast.Call) -> bool:
        name, arguments = self._qualified(node.func), _arguments(node)
        if isinstance(node.func, ast.Name) and node.func.id in self._locals:
            return False
        if name in HOLDING:
            return all(self._pure(each, isinstance(each, ast.Starred)) for each in arguments)
        if isinstance(node.func, ast.Attribute) and node.func.attr in PURE_METHODS:
            arguments = [node.func.value, *arguments]
        elif name not in PURE_CALLS and name.removeprefix(".") not in self.makers:
            return False
        return all(self._pure(each, applied=True) for each in arguments)

    def _qualified(self, node: ast.AST) -> str:
        base, dot, rest = dotted(node).partition(".")
        return f"{self.bound.get(base, base)}{dot}{rest}"


def _arguments(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(each.value for each in node.keywords)]


def _calls(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Call | ast.NamedExpr) for each in ast.walk(node))


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_plain_target(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) or (isinstance(node, ast.Tuple) and all(map(_is_plain_target, node.elts)))
