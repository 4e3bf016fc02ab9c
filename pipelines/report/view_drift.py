"""Text of the drift table: the previous set where there is one, else half against half, and what noise alone shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.report.distributions import LARGE, NOTICEABLE
from pipelines.report.formats import number, session_date

BAR_END = 2.0 * LARGE  # PSI at which a bar is as long as it gets
SHOWN = 12
TRAIN, HALVES, ALTERNATE, PREVIOUS = "train", "halves", "alternate", "previous"


@dataclass(frozen=True)
class DriftRow:
    """A feature: its PSI as a bar (0 to 100, a colour of the page) and the cells beside it."""

    name: str
    length: float
    colour: str
    cells: list[str]


def drift_values(report: Mapping[str, Any]) -> dict[str, Any]:
    """Title, explanation, titles of the columns and rows of the drift table, the features that moved most first."""
    previous = report["previous"]
    by = HALVES if previous is None else PREVIOUS
    columns = [by, TRAIN, ALTERNATE] if previous is None else [by, TRAIN, HALVES, ALTERNATE]
    rows = [_row(entry, columns, previous) for entry in _in_order(report["features"], by, previous)]
    names = {PREVIOUS: "previous set", HALVES: "half to half", TRAIN: "train to rest", ALTERNATE: "alternate dates"}
    return {
        "drift_title": "Drift against the previous set" if previous else "Drift, first half against second half",
        "drift_words": _against_previous(previous) if previous else _halves(report["split"]),
        "drift_titles": [title for column in columns for title in (f"PSI, {names[column]}", "KS")],
        "drift_rows": rows[:SHOWN],
        "drift_more": rows[SHOWN:],
        "noticeable": f"{NOTICEABLE:g}",
        "large": f"{LARGE:g}",
        "bar_end": f"{BAR_END:g}",
    }


def _in_order(features: Any, by: str, previous: Any) -> list[Mapping[str, Any]]:
    return sorted(features, key=lambda entry: -(_values(entry, by, previous)["psi"] or 0.0))


def _values(entry: Mapping[str, Any], column: str, previous: Any) -> Mapping[str, Any]:
    found = previous["drift"].get(entry["name"]) if column == PREVIOUS else entry.get("drift", {}).get(column)
    return found or {"psi": None, "ks": None}


def _row(entry: Mapping[str, Any], columns: list[str], previous: Any) -> DriftRow:
    psi = _values(entry, columns[0], previous)["psi"] or 0.0
    colour = "orange" if psi > LARGE else "amber" if psi > NOTICEABLE else "sky"
    cells = [
        number(_values(entry, column, previous)[name], "fine") for column in columns for name in ("psi", "ks")
    ]
    return DriftRow(entry["name"], round(100.0 * min(psi / BAR_END, 1.0), 2), colour, cells)


def _halves(split: Mapping[str, Any]) -> str:
    begin = split["second_half_from"]
    where = "" if begin is None else f" The second half begins on {session_date(begin)}."
    return f"The store holds no earlier set of this instrument and these features, so the data is compared with itself.{where}"


def _against_previous(previous: Mapping[str, Any]) -> str:
    span = "without trade dates"
    if previous["first"] is not None:
        span = f"{session_date(previous['first'])} to {session_date(previous['last'])}"
    changes = ", ".join(f"{number(len(previous[name]), 'count')} {name}" for name in ("added", "gone", "revised"))
    return (
        f"The previous set, {span} with {number(previous['bars'], 'count')} bars, was first reported by run "
        f"{previous['run']} (feature set {previous['feature_set'][:12]}). Trade dates since: {changes}. Both sets are "
        "compared by 101 quantiles a feature, so that shares are within 1%."
    )
