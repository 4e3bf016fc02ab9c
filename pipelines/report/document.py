"""The artefact between computing the report and writing it: JSON values and SVG text, readable without pandas."""

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ReportContent:
    """What the data, folds, sweeps and models say; nothing of it depends on the run that asks.

    `document` is strict JSON (no NaN: an undefined number is null with its reason beside it; an infinite one in a table of a
    sweep is the text "Infinity", which float() reads). `figures` maps a
    figure's name to its SVG text in two shapes: {"wide": ..., "narrow": ...}.
    """

    document: dict[str, Any]
    figures: dict[str, dict[str, str]]


def ranked_value(value: float) -> float | str | None:
    """`value` of a ranking for JSON: None when it is NaN; an infinite one as text, for it stands at an end of the ranking."""
    return ("Infinity" if value > 0.0 else "-Infinity") if math.isinf(value) else finite(value)


def finite(value: float) -> float | None:
    """`value` for JSON: None when it is NaN or infinite, for strict JSON has no word for either."""
    return float(value) if math.isfinite(value) else None
