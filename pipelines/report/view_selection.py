"""Text of how much choosing the best combination overfits: the probability of backtest overfitting of each strategy."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.report.formats import UNDEFINED, number
from pipelines.report.view_tables import Table


def selection_table(selections: Sequence[Mapping[str, Any]]) -> Table:
    """A row a strategy: PBO, how often the chosen one loses in the other half, and what both rest on."""
    rows = [
        [
            entry["strategy"],
            number(entry["probability"], "fraction"),
            number(entry["loss"], "fraction"),
            number(entry["blocks"], "count"),
            number(entry["sessions"], "count"),
            number(entry["halves"], "count"),
        ]
        for entry in selections
    ]
    return Table(("Strategy", "PBO", "Loses in the other half", "Blocks", "Sessions", "Halves"), rows)


def selection_notes(selections: Sequence[Mapping[str, Any]]) -> list[str]:
    """Of each strategy which combinations were judged, of how many that were tried, or why there is no probability."""
    return [f"{entry['strategy']}: {_judged(entry)}." for entry in selections]


def _judged(entry: Mapping[str, Any]) -> str:
    if entry["reason"] is not None:
        return f"PBO {UNDEFINED} ({entry['reason']})"
    tried = number(entry["combinations"], "count")
    if entry["judged"] == entry["combinations"]:
        return f"all {tried} combinations that were tried are judged"
    drawn = number(entry["judged"], "count")
    return (
        f"{drawn} of the {tried} combinations that were tried are judged, drawn at random, each as likely as any other; the "
        "best of all was chosen among more, so that its PBO may be higher"
    )
