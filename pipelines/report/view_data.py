"""Text of the data's part of the page: funnel, layers, findings, rolls, folds."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.report.formats import instant, number, session_date, share
from pipelines.report.view_tables import Table

LAYERS = {
    1: "bar sanity",
    2: "log-return clamp",
    3: "feature bound before normalising",
    4: "z-score clamp",
    5: "normalised-feature gate",
}
ACTIONS = ("rejected", "altered", "masked", "noted")


def data_values(report: Mapping[str, Any]) -> dict[str, Any]:
    """Tables and lines of everything that happened to the data before a model saw it."""
    findings = report["findings"]
    return {
        "funnel": funnel_table(report["funnel"]),
        "accounted": accounted(report["funnel"]),
        "layers": layer_table(findings["counts"]),
        "rules": rule_table(findings["counts"]),
        "quarantined": number(findings["quarantined"], "count"),
        "finding_lines": findings["first"],
        "finding_total": number(findings["total"], "count"),
        "rolls": roll_table(report["rolls"]),
        "folds": fold_table(this_fold(report)),
        "gaps": gaps(this_fold(report)),
    }


def funnel_table(funnel: Mapping[str, Any]) -> Table:
    """A row a reason: where it was dropped, how many rows, of how many records."""
    rows = [
        [stage["name"], reason.replace("_", " "), number(count, "count"), share(count, funnel["records"])]
        for stage in funnel["stages"]
        for reason, count in stage["dropped"].items()
        if count
    ]
    return Table(("Not in stage", "Reason", "Rows", "Of records"), rows, words=(0, 1))


def accounted(funnel: Mapping[str, Any]) -> str:
    """The sum that was checked, in one sentence."""
    lost = sum(stage["lost"] for stage in funnel["stages"])
    last = funnel["stages"][-1]["rows"] if funnel["stages"] else funnel["records"]
    return (
        f"Checked: {number(funnel['records'], 'count')} records = {number(last, 'count')} kept + "
        f"{number(lost, 'count')} dropped for a named reason."
    )


def layer_table(counts: Sequence[Mapping[str, Any]], last: int = max(LAYERS)) -> Table:
    """A row a layer up to the `last`, zeros included: findings by what was done."""
    rows = [
        [
            f"{layer}",
            title,
            *(
                number(
                    sum(entry["findings"] for entry in counts if entry["layer"] == layer and entry["action"] == action),
                    "count",
                )
                for action in ACTIONS
            ),
        ]
        for layer, title in LAYERS.items()
        if layer <= last
    ]
    return Table(("Layer", "What it checks", *(action.capitalize() for action in ACTIONS)), rows, words=(0, 1))


def rule_table(counts: Sequence[Mapping[str, Any]]) -> Table:
    """A row a rule that found something."""
    rows = [
        [str(entry["layer"]), entry["rule"].replace("_", " "), entry["action"], number(entry["findings"], "count")]
        for entry in counts
    ]
    return Table(("Layer", "Rule", "Action", "Findings"), rows, words=(0, 1, 2))


def roll_table(rolls: Sequence[Mapping[str, Any]]) -> Table:
    """A row a roll: from which session on which contract is followed, and the volumes that decided it."""
    rows = [
        [
            session_date(roll["session"]),
            roll["left"],
            roll["entered"],
            number(roll["volume_left"], "count"),
            number(roll["volume_entered"], "count"),
        ]
        for roll in rolls
    ]
    return Table(("From session", "Left", "Entered", "Volume left", "Volume entered"), rows, words=(0, 1, 2))


def this_fold(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fold reported."""
    return next(entry for entry in report["folds"] if entry["fold"] == report["fold"])


def fold_table(this: Mapping[str, Any]) -> Table:
    """A row a part of the fold reported: first and last bar and the number of rows."""
    rows = [
        [part, instant(this[part]["first"]), instant(this[part]["last"]), number(this[part]["bars"], "count")]
        for part in ("train", "validation", "test")
    ]
    return Table((f"Fold {this['fold']}", "First bar", "Last bar", "Bars"), rows, words=(0, 1, 2))


def gaps(this: Mapping[str, Any]) -> str:
    """The rows between the parts, with their unit."""
    purge, embargo = number(this["purge_bars"], "count"), number(this["embargo_bars"], "count")
    return (
        f"Walk-forward, {this['mode']}. The gaps are a purge of {purge} bars and an embargo of {embargo} bars, "
        "which no part may use."
    )
