"""Writes the report: one self-contained HTML file and its JSON, from content that may be long computed.

Runs at every run, so it imports no table or plotting library; everything slow happened in `content`.
"""

from pathlib import Path
from typing import Any

from pipelines.report.document import ReportContent
from pipelines.report.errors import ReportError
from pipelines.report.overfitting import checked_ledger, overfitting, verdict
from pipelines.report.view import page_values
from pipelines.report.writing import render_page, write_page

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
    "data_report",
)


def write_report(content: ReportContent, run: dict[str, Any], path: Path) -> None:
    """Write the report of `run` to `path` (HTML) and beside it as JSON (same name, suffix .json), each atomically.

    `run` holds run, created, command (text), configuration (resolved, nested), nodes ({"name", "key", "seconds",
    "cached"}), executor, fallback_reason (None: nothing fell back), versions, seeds, ledger ({"test_looks",
    "validation_trials", "test_trials", ...}) and data_report (where the data report lies, as a link from `path`).
    Raises ReportError naming a field that is missing.
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
    write_page(path, render_page("page.html", page_values(report), content.figures), report)
