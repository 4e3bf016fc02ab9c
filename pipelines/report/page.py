"""Writes the report: one self-contained HTML file and its JSON, from content that may be long computed.

Runs at every run, so it imports no table or plotting library; everything slow happened in `content`.
"""

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pipelines.report.document import ReportContent
from pipelines.report.errors import ReportError
from pipelines.report.overfitting import checked_ledger, overfitting, verdict
from pipelines.report.view import page_values

RUN_FIELDS = (
    "run",
    "created",
    "command",
    "configuration",
    "nodes",
    "executor",
    "fallback_reason",
    "versions",
    "seeds",
    "ledger",
)
RESOURCES = Path(__file__).parent / "resources"


def write_report(content: ReportContent, run: dict[str, Any], path: Path) -> None:
    """Write the report of `run` to `path` (HTML) and beside it as JSON (same name, suffix .json), each atomically.

    `run` holds run, created, command (text), configuration (resolved, nested), nodes ({"name", "key", "seconds",
    "cached"}), executor, fallback_reason (None: nothing fell back), versions, seeds and ledger ({"test_looks",
    "validation_trials", "test_trials", ...}). Raises ReportError naming a field that is missing.
    """
    missing = [name for name in RUN_FIELDS if name not in run]
    if missing:
        raise ReportError(f"report {path}: the run record lacks {', '.join(missing)}")
    ledger = checked_ledger(run["ledger"])
    report = {
        **content.document,
        "verdict": verdict(content.document, ledger),
        "overfitting": overfitting(content.document, ledger),
        "ledger": ledger,
        "run": {name: run[name] for name in run if name != "ledger"},
    }
    page = render(report, content.figures)
    path.parent.mkdir(parents=True, exist_ok=True)
    _write_atomically(
        path.with_suffix(".json"), json.dumps(report, allow_nan=False, indent=1, ensure_ascii=False) + "\n"
    )
    _write_atomically(path, page)


def render(report: Mapping[str, Any], figures: Mapping[str, Mapping[str, str]]) -> str:
    """The HTML page; every text is escaped but the style sheet and the figures, which are ours."""
    environment = Environment(
        loader=FileSystemLoader(RESOURCES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    drawn = {name: {shape: Markup(svg) for shape, svg in shapes.items()} for name, shapes in figures.items()}
    style = Markup((RESOURCES / "page.css").read_text(encoding="utf-8"))
    return environment.get_template("page.html").render(figures=drawn, style=style, **page_values(report))


def _write_atomically(path: Path, text: str) -> None:
    """Write beside `path`, then rename: a reader sees the old file or the new one, whole."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
