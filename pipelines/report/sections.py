"""The tables of the report as JSON values: data, folds, rolls, rankings, training, information."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from pipelines.report.document import finite, ranked_value
from pipelines.report.errors import ReportError
from pipelines.report.types import Ranking
from pipelines.steps.selecting import SelectionOverfitting
from pipelines.steps.sweep_summary import NUMBER
from validation.findings import finding_lines

FIRST_FINDINGS = 20
DIGITS = 10  # of a finding's value: more than any price has
BEST_ROWS = 5


def plain(value: Any) -> Any:
    """A table's cell as a JSON value: numpy scalars become Python's, NaN and infinities None."""
    value = value.item() if isinstance(value, np.generic) else value
    return finite(value) if isinstance(value, float) else value


def minute(nanoseconds: int) -> str:
    """An int64 UTC time as 2024-03-15T09:31Z."""
    return str(np.datetime64(nanoseconds, "ns").astype("datetime64[m]")) + "Z"


def first_findings(findings: pd.DataFrame) -> list[str]:
    """The first findings as lines of text: when, which contract, the rule, what was found, the layer, what was done."""
    head = findings.head(FIRST_FINDINGS)
    short = {name: [float(f"{value:.{DIGITS}g}") for value in head[name]] for name in ("value", "limit")}
    lines = []
    for line, row in zip(finding_lines(head.assign(**short), FIRST_FINDINGS), head.itertuples(index=False), strict=True):
        place, _, found = line.removeprefix("bar ").partition(": ")
        lines.append(f"{place} {row.rule}: {found.removesuffix(')')}, {row.action})")
    return lines


def findings_section(findings: pd.DataFrame, quarantined: int) -> dict[str, Any]:
    """Findings counted by layer, rule and action, the first ones as text, and the number of rows in quarantine."""
    counts = findings.groupby(["layer", "rule", "action"], sort=True).size()
    return {
        "total": len(findings),
        "quarantined": int(quarantined),
        "counts": [
            {"layer": int(layer), "rule": str(rule), "action": str(action), "findings": int(count)}
            for (layer, rule, action), count in counts.items()
        ],
        "first": first_findings(findings),
    }


def folds_section(folds: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every fold as described by `training.folds.fold_report`, its number called fold, int64 nanosecond times added."""
    ranges = []
    for entry in folds:
        parts = {
            part: {
                **entry[part],
                "first_ns": _nanoseconds(entry[part]["first"]),
                "last_ns": _nanoseconds(entry[part]["last"]),
            }
            for part in ("train", "validation", "test")
        }
        others = {name: value for name, value in entry.items() if name != "index" and name not in parts}
        ranges.append({"fold": int(entry["index"]), **parts, **others})
    return ranges


def _nanoseconds(text: str) -> int:
    return int(np.datetime64(text.removesuffix("Z"), "ns").astype(np.int64))


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """A table's rows as JSON objects, columns in order."""
    names = [str(name) for name in table.columns]
    return [dict(zip(names, map(plain, row), strict=True)) for row in table.itertuples(index=False, name=None)]


def ranking_section(strategy: str, ranking: Ranking) -> dict[str, Any]:
    """One strategy's sweep: counts, the best rows and the heat map (best value over all other parameters).

    Raises ReportError naming the columns its table lacks.
    """
    missing = [name for name in (*ranking.parameters, ranking.metric) if name not in ranking.table.columns]
    if missing:
        raise ReportError(f"ranking of {strategy}: columns {missing} are not among {list(ranking.table.columns)}")
    shown = ranking.table[[name for name in ranking.table.columns if name != NUMBER]]
    return {
        "strategy": strategy,
        "metric": ranking.metric,
        "parameters": list(ranking.parameters),
        "sessions_per_year": float(ranking.sessions_per_year),
        "search": ranking.search,
        "combinations": ranking.trials,
        "undefined": ranking.undefined,
        "positive": ranking.positive,
        "median": ranked_value(ranking.median),
        "best_rows": [
            {str(name): ranked_value(value) if isinstance(value, float) else plain(value) for name, value in row.items()}
            for row in shown.head(BEST_ROWS).to_dict("records")
        ],
        "heat_map": heat_map(ranking),
    }


def heat_map(ranking: Ranking) -> dict[str, Any] | None:
    """Best value of the metric on the grid of the first two parameters (one: a single row); None without parameters.

    `values` [y][x] is None where every combination of the cell is undefined, text where it is infinite; `best` is [x index,
    y index].
    """
    if not ranking.parameters:
        return None
    names = ranking.parameters[:2]
    keys = [ranking.cells[side].to_numpy(dtype=np.float64) for side in ("x", "y")]
    axes: list[Any] = [np.unique(key) for key in keys]
    cells = np.full([len(axis) for axis in axes], np.nan)
    cells[tuple(np.searchsorted(axis, key) for axis, key in zip(axes, keys, strict=True))] = ranking.cells["value"]
    axes = [[int(value) if value.is_integer() else value for value in axis.tolist()] for axis in axes]
    best = None
    if not np.isnan(cells).all():
        place = np.nanargmax(cells if ranking.more_is_better else -cells)
        best = [int(index) for index in np.unravel_index(place, cells.shape)]
    return {
        "x": {"name": names[0], "values": axes[0]},
        "y": {"name": names[1], "values": axes[1]} if len(names) > 1 else {"name": "", "values": [""]},
        "values": [[ranked_value(float(cell)) for cell in row] for row in cells.T],
        "best": best,
    }


def selection_section(strategy: str, selection: SelectionOverfitting) -> dict[str, Any]:
    """The probability that the choice of a strategy's best combination overfits, as JSON values."""
    return {"strategy": strategy, **asdict(selection)}


def training_section(training: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each seed's learning curve: lists of steps, losses and validation profits (None where undefined).

    `chosen_step` is the one whose weights were evaluated.
    """
    return [
        {
            "seed": int(entry["seed"]),
            "chosen_step": int(entry["chosen_step"]),
            "step": [int(point["step"]) for point in entry["history"]],
            "loss": [finite(point["loss"]) for point in entry["history"]],
            "validation_profit": [finite(point["validation_profit"]) for point in entry["history"]],
        }
        for entry in training
    ]
