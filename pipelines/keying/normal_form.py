"""Brings code into a form in which what changes no result does not show: docstrings, names of locals, annotations."""

import ast
import re
from collections.abc import Callable, Iterator

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_WORD = re.compile(r"[^\W\d]\w*")


def strip_docstrings(tree: ast.AST) -> None:
    """Remove the docstrings of a module, its classes and its functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0].value if isinstance(node.body[0], ast.Expr) else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                node.body = node.body[1:] or [ast.Pass()]


def strip_annotations(node: ast.stmt, kept: Callable[[Function], bool]) -> list[str]:
    """Remove the annotations of functions and of their locals, in place; return those of functions as text.

    Those of a class's fields are code. `kept`: whether a function's own stay, since what it is given to may read them.
    """
    found = _Unannotated(kept)
    found.visit(node)
    return found.removed


class _Unannotated(ast.NodeTransformer):
    def __init__(self, kept: Callable[[Function], bool]) -> None:
        self.removed: list[str] = []
        self._kept = kept
        self._in_function = False

    def _inside(self, node: ast.AST, in_function: bool) -> ast.AST:
        before, self._in_function = self._in_function, in_function
        self.generic_visit(node)
        self._in_function = before
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._inside(node, False)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: Function) -> ast.AST:
        if not self._kept(node):
            self.removed += [f"{node.name} {ast.unparse(node.returns)}"] if node.returns else []
            node.returns = None
            for each in ast.walk(node.args):
                if isinstance(each, ast.arg) and each.annotation:
                    self.removed.append(f"{node.name} {each.arg} {ast.unparse(each.annotation)}")
                    each.annotation = None
        return self._inside(node, True)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if self._in_function and isinstance(node.target, ast.Name) and node.value is not None:
            return ast.copy_location(ast.Assign([node.target], node.value), node)
        return node


def rename_locals(node: ast.stmt) -> None:
    """Number the locals of each function, in place: those that only its own scope binds and that no text in it names."""
    for each in _outermost(node):
        numbers = {name: f"<{number}>" for number, name in enumerate(_own_locals(each))}
        for child in each.body:
            for found in ast.walk(child):
                if isinstance(found, ast.Name) and found.id in numbers:
                    found.id = numbers[found.id]


def _outermost(node: ast.AST) -> Iterator[Function]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _outermost(child)


def _own_locals(function: Function) -> list[str]:
    own: dict[str, None] = {}
    barred = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    for child in function.body:
        for node, nested in _scoped(child, False):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del) and not nested:
                own[node.id] = None
            else:
                barred.update(_otherwise_bound(node))
    return [name for name in own if name not in barred and not name.startswith("__")]


def _scoped(node: ast.AST, nested: bool) -> Iterator[tuple[ast.AST, bool]]:
    """All nodes in the order of the source, and whether each lies in a scope of its own inside the function."""
    yield node, nested
    for child in ast.iter_child_nodes(node):
        yield from _scoped(child, nested or isinstance(node, _SCOPES))


def _otherwise_bound(node: ast.AST) -> list[str]:
    """Names that a node binds in another way than a plain local, or that a text in it could mean."""
    if isinstance(node, ast.Name):
        return [node.id] if isinstance(node.ctx, ast.Store | ast.Del) else []
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    if isinstance(node, ast.Global | ast.Nonlocal):
        return node.names
    if isinstance(node, ast.alias):
        return [node.asname or node.name.partition(".")[0]]
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return [node.name] if node.name else []
    if isinstance(node, ast.MatchMapping):
        return [node.rest] if node.rest else []
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _WORD.findall(node.value)
    return []
