"""Imports point one way: pipelines → loaders, validation, kernels, training; training → kernels; Dask only in pipelines."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
ALLOWED = {
    "pipelines": {"pipelines", "loaders", "validation", "kernels", "training"},
    "training": {"training", "kernels"},
    "loaders": {"loaders"},
    "validation": {"validation"},
    "kernels": {"kernels"},
}
SHARED = "kernels.compiled"
"""The one file that loaders and validation import from below: all compiled functions are cached by one rule."""
DASK = {"dask", "distributed", "dask_cuda", "dask_cudf"}
OPTIONAL = {"cupy", "cudf", "dask_cuda", "dask_cudf"}


def imported(tree: ast.AST) -> list[str]:
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute, so that a search finds every user of a module"
            names.append(node.module or "")
    return names


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_a_package_imports_only_what_lies_below_it(package):
    wrong = []
    for path in sorted((REPOSITORY / package).rglob("*.py")):
        for module in imported(ast.parse(path.read_text(encoding="utf-8"))):
            name = module.partition(".")[0]
            if module == SHARED and package in ("loaders", "validation"):
                continue
            if name in ALLOWED and name not in ALLOWED[package]:
                wrong.append(f"{path.relative_to(REPOSITORY)} imports {module}")
            if name in DASK and package != "pipelines":
                wrong.append(f"{path.relative_to(REPOSITORY)} imports {module}: only pipelines knows Dask")
    assert wrong == []


@pytest.mark.parametrize("package", sorted(ALLOWED))
def test_optional_packages_are_imported_inside_functions(package):
    wrong = []
    for path in sorted((REPOSITORY / package).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        top = ast.Module([node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)], [])
        wrong += [f"{path.relative_to(REPOSITORY)}: {name}" for name in imported(top) if name.partition(".")[0] in OPTIONAL]
    assert wrong == []


@pytest.mark.parametrize("package", ["loaders", "validation", "kernels", "training"])
def test_importing_a_package_loads_neither_dask_nor_a_gpu_library(package):
    modules = [
        ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
        for path in sorted((REPOSITORY / package).rglob("*.py"))
        if path.name != "__init__.py"
    ]
    script = (
        f"import importlib, sys\nfor name in {modules!r}: importlib.import_module(name)\n"
        f"print(sorted({DASK | OPTIONAL!r} & set(sys.modules)))"
    )
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


def test_the_six_hops_of_the_architecture_page_exist():
    page = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    hops = [
        line.split("`")[1]
        for line in page.splitlines()
        if line[:1].isdigit() and "`" in line and ":" in line.split("`")[1]
    ]
    assert len(hops) == 6
    for hop in hops:
        path, name = hop.split(":")
        tree = ast.parse((REPOSITORY / path).read_text(encoding="utf-8"))
        defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        assert name in defined, f"{hop} is in docs/architecture.md but not in the code"
