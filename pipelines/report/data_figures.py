"""All figures of the data report: name -> drawing function, each drawn for a page and for a phone."""

from collections.abc import Mapping
from typing import Any

from pipelines.report import figure_data, figure_days, figure_features, figure_prices
from pipelines.report.canvas import SHAPES
from pipelines.report.figures import Drawing


def draw_data_figures(document: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """SVG text of every figure the document has data for, by name and shape."""
    drawings: dict[str, Drawing] = {"funnel": figure_data.funnel}
    if document["rows"]["bars"]:
        drawings |= {"prices": figure_prices.prices, "calendar": figure_days.calendar, "hours": figure_days.hours}
    if document["rejected"]:
        drawings["rejected"] = figure_days.rejected
    if document["rows"]["valid"]:
        drawings |= {
            "distributions": figure_features.distributions,
            "drift": figure_features.drift,
            "correlation": figure_features.correlation,
        }
    return {name: {shape.name: draw(document, shape) for shape in SHAPES} for name, draw in drawings.items()}
