"""No file and no function grows past what fits on a screen or two; the reviewed exceptions are in docs/exceptions.md."""

import ast
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGES = ("pipelines", "loaders", "validation", "kernels", "training")
FILE_LINES = 300
BODY_LINES = 40
EMPTY_NAMES = {"util", "utils", "helper", "helpers", "common", "misc", "manager", "managers"}


def sources():
    return [path for package in PACKAGES for path in sorted((REPOSITORY / package).rglob("*.py"))]


def exceptions() -> str:
    page = REPOSITORY / "docs" / "exceptions.md"
    return page.read_text(encoding="utf-8") if page.is_file() else ""


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_files_and_functions_stay_small(path):
    name = str(path.relative_to(REPOSITORY))
    text = path.read_text(encoding="utf-8")
    found = []
    if text.count("\n") > FILE_LINES:
        found.append(name)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            if node.end_lineno - node.body[0].lineno + 1 > BODY_LINES:
                found.append(f"{name}:{node.name}")
    allowed = exceptions()
    assert [place for place in found if f"`{place}`" not in allowed] == []


def test_names_say_what_a_file_is_for():
    words = [path for path in sources() if EMPTY_NAMES & set(path.stem.split("_"))]
    assert words == []


def test_every_module_says_its_one_job_first():
    silent = [path for path in sources() if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))]
    assert silent == []


def test_every_test_asserts_something():
    silent = []
    for path in sorted((REPOSITORY / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                inside = list(ast.walk(node))
                words = [item.attr for item in inside if isinstance(item, ast.Attribute)]
                words += [item.id for item in inside if isinstance(item, ast.Name)]
                asserts = any(isinstance(item, ast.Assert) for item in inside)
                if not asserts and not any(
                    word.startswith(("assert", "raises", "warns", "check", "expect")) for word in words
                ):
                    silent.append(f"{path.name}:{node.name}")
    assert silent == []
