"""The report's values as text, ready for the page: nothing is computed here but wording and number formats."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.report.formats import instant, number, parameter
from pipelines.report.palette import line_styles
from pipelines.report.view_data import data_values, this_fold
from pipelines.report.view_models import model_values
from pipelines.report.view_run import run_values
from pipelines.report.view_tables import Table


@dataclass(frozen=True)
class Swatch:
    """A legend entry: a model's name and how its line looks (colour name, SVG dash pattern)."""

    model: str
    colour: str
    dash: str


def page_values(report: Mapping[str, Any]) -> dict[str, Any]:
    """Everything the template names, from the report's JSON values."""
    instrument = report["instrument"].get("symbol", "")
    test = this_fold(report)["test"]
    return {
        "title": f"{instrument} fold {report['fold']}: out-of-sample report",
        "instrument": instrument,
        "fold": report["fold"],
        "test_first": instant(test["first"]),
        "test_last": instant(test["last"]),
        "test_rows": number(test["bars"], "count"),
        "data_report": report["run"]["data_report"],
        "edge": report["edge"],
        "cautions": report["cautions"],
        "verdict": verdict_values(report["verdict"]),
        "legend": legend(report["models"]),
        "seed_legend": legend([{"model": f"seed {entry['seed']}", "kind": "policy"} for entry in report["training"]]),
        "terms": terms(report),
        **model_values(report),
        **data_values(report),
        **run_values(report),
    }


def verdict_values(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict box: headline, looks at the test rows, models grouped by their words, the test in one sentence."""
    groups: dict[str, list[str]] = {}
    for entry in sorted(verdict["models"], key=lambda entry: not entry["beats_flat"]):
        groups.setdefault(entry["words"], []).append(entry["model"])
    test = ""
    if verdict["method"] is not None:
        rate, trials = number(verdict["error_rate"], "fraction"), number(verdict["trials"], "count")
        test = (
            f"Tested: mean net profit of the test sessions above zero, {verdict['method']}. The error rate of {rate} "
            f"is shared among the {trials} trials on test rows: "
            f"a model needs p\N{NO-BREAK SPACE}≤\N{NO-BREAK SPACE}{verdict['threshold']:.2g}."
        )
    return {"headline": verdict["headline"], "looks": verdict["looks"], "groups": list(groups.items()), "test": test}


def legend(models: Sequence[Mapping[str, Any]]) -> list[Swatch]:
    """One swatch a model, as its line is drawn in every figure."""
    styles = line_styles([(entry["model"], entry["kind"]) for entry in models])
    return [
        Swatch(model, style.colour, " ".join(f"{part * 2:g}" for part in style.dash)) for model, style in styles.items()
    ]


def terms(report: Mapping[str, Any]) -> Table:
    """What is traded and on which terms: capital, then the instrument's own fields."""
    rows = [["capital", number(report["capital"], "money", report["currency"])]]
    rows += [[name.replace("_", " "), parameter(value)] for name, value in report["instrument"].items()]
    return Table(("Term", "Value"), rows)
