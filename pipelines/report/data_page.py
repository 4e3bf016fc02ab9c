"""Writes the data report: one self-contained HTML file and its JSON, with the drift against the previous set if any.

Runs at every run, so it imports no table or plotting library; everything slow happened in `data_content`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipelines.report.distributions import compare_sketches
from pipelines.report.document import ReportContent, finite
from pipelines.report.errors import ReportError
from pipelines.report.view_data_report import data_page_values
from pipelines.report.writing import render_page, write_page

RUN_FIELDS = ("run", "created", "feature_set", "content")
_OF_A_DAY = ("bars", "volume", "contract", "traded_close")


def write_data_report(
    content: ReportContent, run: Mapping[str, Any], path: Path, previous: Mapping[str, Any] | None = None
) -> None:
    """Write the data report to `path` (HTML) and beside it as JSON, each atomically.

    `run` holds run, created, feature_set and content (content keys). `previous` is {"feature_set", "run", "document"}
    of the set before, or None where there is none: drift is then that of the second half of the data against the first.
    Raises ReportError naming a field that is missing.
    """
    missing = [name for name in RUN_FIELDS if name not in run]
    if missing:
        raise ReportError(f"data report {path}: the run record lacks {', '.join(missing)}")
    compared = None if previous is None else against(content.document, previous)
    report = {**content.document, "previous": compared, "run": dict(run)}
    write_page(path, render_page("data.html", data_page_values(report), content.figures), report, indent=None)


def against(document: Mapping[str, Any], previous: Mapping[str, Any]) -> dict[str, Any]:
    """What changed since the previous set: trade dates added, gone and revised, and the drift of every feature.

    Features are compared by their sketches, each share within 1 % of the rows. A revised date has another number of
    bars, volume, contract or close.
    """
    before = previous["document"]
    days, old = _by_date(document["days"]), _by_date(before["days"])
    common = sorted(set(days) & set(old))
    sketches = {entry["name"]: entry.get("sketch") for entry in before["features"]}
    drift = {}
    for entry in document["features"]:
        then, now = sketches.get(entry["name"]), entry.get("sketch")
        if then is not None and now is not None:
            drift[entry["name"]] = {name: finite(value) for name, value in compare_sketches(then, now).items()}
    return {
        "feature_set": previous["feature_set"],
        "run": previous["run"],
        "first": min(old, default=None),
        "last": max(old, default=None),
        "bars": sum(before["days"]["bars"]),
        "added": sorted(set(days) - set(old)),
        "gone": sorted(set(old) - set(days)),
        "revised": [date for date in common if days[date] != old[date]],
        "drift": drift,
    }


def _by_date(days: Mapping[str, Any]) -> dict[int, tuple[Any, ...]]:
    return dict(zip(days["session"], zip(*(days[name] for name in _OF_A_DAY), strict=True), strict=True))
