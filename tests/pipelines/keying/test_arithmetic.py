"""A node's key names what rounds on this machine, unless the node says that nothing does: and then no code of it may."""

import ast
import importlib
from functools import cache
from pathlib import Path

import pytest

from pipelines.graphs.node import Node
from pipelines.keying.arithmetic import SIDE, arithmetic
from pipelines.keying.keys import code_of
from pipelines.nodes import NODES
from tests.pipelines.execution.squares import Squares, graph_of, squares

NUMPY = {
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "cbrt", "convolve", "corrcoef", "correlate",
    "cos", "cosh", "cov", "dot", "einsum", "exp", "exp2", "expm1", "fft", "float_power", "hypot", "inner", "linalg",
    "log", "log10", "log1p", "log2", "logaddexp", "matmul", "outer", "polyfit", "power", "sin", "sinh", "tan", "tanh",
    "tensordot", "vdot",
}  # fmt: skip
MATH = {"cos", "erf", "exp", "expm1", "gamma", "hypot", "lgamma", "log", "log10", "log1p", "log2", "pow", "sin", "tan", "tanh"}
PANDAS = {"corr", "cov", "ewm", "kurt", "rolling", "sem", "skew"}
LIBRARIES = {"scipy", "sklearn", "torch"}
WHOLE_POWERS = {"kernels.features.merges:merge_four"}  # of numbers of rows


def inexact(tree):
    """What in a definition rounds otherwise on another machine, or in another number of threads."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if (owner == "np" and node.attr in NUMPY) or (owner == "math" and node.attr in MATH) or node.attr in PANDAS:
                yield f"{owner}.{node.attr}"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield "@"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            if not isinstance(node.left, ast.Constant) and not (isinstance(node.right, ast.Constant) and node.right.value == 2):
                yield "**"
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = [one.name for one in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from (name for name in modules if name.partition(".")[0] in LIBRARIES)


@cache
def definitions(module: str) -> dict[str, list[str]]:
    """What rounds in each definition of a module."""
    tree = ast.parse(Path(importlib.import_module(module).__file__).read_text(encoding="utf-8"))
    found: dict[str, list[str]] = {}
    for one in tree.body:
        for name in names_of(one):
            found.setdefault(name, []).extend(inexact(one))
    return found


def reached(node: Node) -> dict[str, list[str]]:
    """The definitions that a node can reach and that round, each with what does."""
    found = {}
    for key in code_of([one for one in (node.function, node.split) if one]):
        module, _, name = key.partition(":")
        if key in WHOLE_POWERS:
            continue
        if rounds := definitions(module).get(name):
            found[key] = rounds
    return found


def names_of(statement):
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    return {one.id for one in ast.walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


@pytest.mark.parametrize("node", [node for node in NODES if node.exact], ids=lambda node: node.name)
def test_a_node_that_calls_itself_exact_reaches_nothing_that_rounds(node):
    assert reached(node) == {}


def test_nodes_before_the_features_are_exact_and_their_artefacts_the_same_on_every_machine():
    assert [node.name for node in NODES if node.exact] == [
        "outright_parts", "traded_bars", "outrights", "open_interest", "rolled", "sanitised", "bars", "exogenous", "file_flow",
        "order_flow",
    ]  # fmt: skip


def test_the_search_finds_what_rounds():
    """A check of the check."""
    by_name = {node.name: node for node in NODES}
    assert "np.log" in reached(by_name["feature_days"])["kernels.features.returns:log_returns"]
    assert "scipy.special" in reached(by_name["pooled"])["training.verdict:_p_values"]


@pytest.mark.parametrize("name", ["exp", "C library", "BLAS"])
def test_another_rounding_is_another_key_unless_the_node_is_exact(name, monkeypatch):
    def keys(exact):
        return [task.key for task in graph_of(squares, Squares("nowhere"), 2, exact=exact).tasks if task.node.name == "squares"]

    mine, before, exact = arithmetic(), keys(False), keys(True)
    assert mine[name] and before != exact
    monkeypatch.setattr("pipelines.graphs.graph.arithmetic", lambda libraries: {**mine, name: "another"})
    assert not set(keys(False)) & set(before) and keys(True) == exact


def test_torch_also_goes_by_the_processor():
    assert "processor" not in arithmetic(("scipy",)) and arithmetic(("torch",))["processor"]


def test_what_blas_is_asked_fits_one_thread():
    """A driver has many threads and a worker one; OpenBLAS takes a second from 4 · 65536 multiplications on."""
    assert SIDE**3 < 4 * 65536
