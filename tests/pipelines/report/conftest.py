"""Synthetic inputs of a report and the content computed from them once."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipelines.report.content import report_content
from pipelines.report.data_content import data_report_content
from pipelines.report.document import ReportContent
from pipelines.report.page import write_report


def _beside(name: str) -> ModuleType:
    """A builder beside this file; tests are no package, so it is loaded by its path."""
    specification = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def synthetic() -> ModuleType:
    return _beside("synthetic_content")


@pytest.fixture(scope="session")
def dataset() -> ModuleType:
    return _beside("synthetic_data")


@pytest.fixture(scope="session")
def data_content(dataset: ModuleType) -> ReportContent:
    return data_report_content(**dataset.inputs())


@pytest.fixture(scope="session")
def content(synthetic: ModuleType) -> ReportContent:
    return report_content(**synthetic.inputs())


@pytest.fixture
def page(content: ReportContent, synthetic: ModuleType, tmp_path: Path) -> Callable[..., tuple[str, str]]:
    """Write a report, by default the synthetic one, and return its HTML and JSON text."""

    def write(made: ReportContent = content, **changes: Any) -> tuple[str, str]:
        path = tmp_path / "report.html"
        write_report(made, synthetic.run_record() | changes, path)
        return path.read_text(encoding="utf-8"), path.with_suffix(".json").read_text(encoding="utf-8")

    return write
