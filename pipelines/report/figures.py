"""All figures of the report: name -> drawing function, each drawn for a page and for a phone."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pipelines.report import figure_curves, figure_data
from pipelines.report.canvas import SHAPES, Shape

Drawing = Callable[[Mapping[str, Any], Shape], str]


def draw_figures(document: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """SVG text of every figure the document has data for, by name and shape; heat maps are heat_map_0, heat_map_1, …"""
    drawings: dict[str, Drawing] = {"funnel": figure_data.funnel, "folds": figure_data.folds}
    if document["models"]:
        drawings |= {"equity": figure_curves.equity, "intervals": figure_curves.intervals}
    if document["training"]:
        drawings["learning"] = figure_curves.learning
    if document["information"]:
        drawings["information"] = figure_data.information
    for place, ranking in enumerate(document["rankings"]):
        if ranking["heat_map"] is not None:
            drawings[f"heat_map_{place}"] = partial(_heat_map, place=place)
    return {name: {shape.name: draw(document, shape) for shape in SHAPES} for name, draw in drawings.items()}


def _heat_map(document: Mapping[str, Any], shape: Shape, place: int) -> str:
    return figure_data.heat_map(document["rankings"][place], f"heat_map_{place}", shape)
