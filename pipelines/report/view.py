"""The report's values as text, ready for the page: nothing is computed here but wording and number formats."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.report.formats import instant, number, significant
from pipelines.report.holes import holes
from pipelines.report.palette import line_styles
from pipelines.report.view_data import data_values, this_fold
from pipelines.report.view_models import model_values
from pipelines.report.view_run import run_values
from pipelines.report.view_terms import annual_sentences, terms

GAP = "\N{NO-BREAK SPACE}"


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
        "annual": annual_sentences(report),
        "equity_caption": equity_caption(report),
        **model_values(report),
        **data_values(report),
        **run_values(report),
    }


def verdict_values(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """The verdict box: headline, looks at the test rows, models and p-values by their words, the test in a sentence."""
    groups: dict[str, list[str]] = {}
    for entry in sorted(verdict["models"], key=lambda entry: not entry["beats_flat"]):
        p_value = entry["p_value"]
        shown = number(p_value, "ratio") if p_value >= 0.01 else significant(p_value, 2)
        judged = f"{entry['model']} (p = {shown})".replace(" ", GAP)
        groups.setdefault(entry["words"], []).append(judged)
    test = ""
    if verdict["method"] is not None:
        rate, trials = number(verdict["error_rate"], "fraction"), number(verdict["trials"], "count")
        test = (
            f"Tested: mean net profit of the test sessions above zero, {verdict['method']}. The error rate of {rate} "
            f"is shared among the {trials} trials on test rows: "
            f"a model needs p{GAP}≤{GAP}{verdict['threshold']:.2g}."
        )
    return {"headline": verdict["headline"], "looks": verdict["looks"], "groups": list(groups.items()), "test": test}


def legend(models: Sequence[Mapping[str, Any]]) -> list[Swatch]:
    """One swatch a model, as its line is drawn in every figure."""
    styles = line_styles([(entry["model"], entry["kind"]) for entry in models])
    return [
        Swatch(model, style.colour, " ".join(f"{part * 2:g}" for part in style.dash)) for model, style in styles.items()
    ]


def equity_caption(report: Mapping[str, Any]) -> str:
    """What the lines and marks of the equity figure are; triangles are named only where a roll is in view."""
    test = this_fold(report)["test"]
    first, last = (int(test[end][:10].replace("-", "")) for end in ("first", "last"))
    rolled = any(first <= roll["session"] <= last for roll in report["rolls"])
    curves = (entry["curve"]["ts_event"] for entry in report["models"])
    broken = any(holes(times) for times in curves)
    return (
        "After fees and slippage, marked to each bar's close. The line at zero is always flat. "
        f"{'Lines break where bars are missing for more than four days. ' if broken else ''}"
        f"{'Triangles: rolls. ' if rolled else ''}Dotted lines: a fold's test rows begin or end."
    )
