"""Figures of the data and the search: funnel, folds in time, heat maps, information coefficients."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import MaxNLocator

from pipelines.report.canvas import LIGHT, Canvas, Shape, grid, plain_text
from pipelines.report.figure_curves import instants, time_axis
from pipelines.report.formats import number, parameter, share
from pipelines.report.metrics_table import metric_row

# Orange below zero, blue above: apart for every kind of colour blindness. Not page colours: a cell keeps its
# colour in both schemes, for the scale beside it does too.
DIVERGING = LinearSegmentedColormap.from_list("orange-blue", ["#a84300", "#f0a868", "#f4f2ee", "#7db8dd", "#00558a"])


def funnel(document: Mapping[str, Any], shape: Shape) -> str:
    """Rows left after every stage as bars, with their number and share of the records."""
    data = document["funnel"]
    names = ["records", *(stage["name"] for stage in data["stages"])]
    rows = [data["records"], *(stage["rows"] for stage in data["stages"])]
    canvas = Canvas(shape, 12.0 + 30.0 * len(rows))
    panel = canvas.panel(104.0 if shape.narrow else 130.0, 104.0 if shape.narrow else 150.0, 4.0, 4.0)
    top = max(rows[0], 1)
    panel.barh(range(len(rows)), [top] * len(rows), color=LIGHT["faint"], height=0.62)
    panel.barh(range(len(rows)), rows, color=LIGHT["blue"], height=0.62)
    for row, count in enumerate(rows):
        text = f"{number(count, 'count')} · {share(count, top)}"
        panel.annotate(
            text,
            (1.0, row),
            xycoords=("axes fraction", "data"),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=shape.font,
            color=LIGHT["ink"],
            annotation_clip=False,
        )
    panel.set_yticks(range(len(rows)), [plain_text(name) for name in names])
    panel.tick_params(axis="y", labelcolor=LIGHT["ink"])
    panel.set(xlim=(0, top), ylim=(len(rows) - 0.5, -0.5), xticks=[])
    panel.spines["bottom"].set_visible(False)
    return canvas.svg("funnel", "Rows left after every stage of loading and sanitation")


def folds(document: Mapping[str, Any], shape: Shape) -> str:
    """Train, validation and test rows of every fold over time; the fold reported at full strength."""
    entries, this = document["folds"], document["fold"]
    canvas = Canvas(shape, 34.0 + 26.0 * len(entries))
    panel = canvas.panel(56.0, 14.0, 4.0, 26.0)
    for row, entry in enumerate(entries):
        for part, colour in (("train", "grey"), ("validation", "sky"), ("test", "orange")):
            first, last = (panel.convert_xunits(value) for value in _dates(panel, entry[part]))
            panel.barh(
                row,
                last - first,
                left=first,
                height=0.55,
                color=LIGHT[colour],
                alpha=1.0 if entry["fold"] == this else 0.35,
            )
    panel.set_yticks(range(len(entries)), [f"fold {entry['fold']}" for entry in entries])
    for label, entry in zip(panel.get_yticklabels(), entries, strict=True):
        label.set(
            color=LIGHT["ink" if entry["fold"] == this else "soft"],
            fontweight="bold" if entry["fold"] == this else "normal",
        )
    panel.set_ylim(len(entries) - 0.5, -0.5)
    time_axis(panel, shape)
    grid(panel, "x")
    return canvas.svg("folds", "Train, validation and test rows of every fold over time")


def _dates(panel: Any, part: Mapping[str, Any]) -> tuple[Any, Any]:
    panel.xaxis.update_units(instants([part["first_ns"]]))
    return instants([part["first_ns"]])[0], instants([part["last_ns"]])[0]


def heat_map(ranking: Mapping[str, Any], name: str, shape: Shape) -> str:
    """Validation metric over the first two parameters, best over the others; the best cell is framed. An infinite cell has
    the colour of the scale's end.
    """
    chart = ranking["heat_map"]
    cells = np.array([[np.nan if value is None else value for value in row] for row in chart["values"]], dtype=float)
    rows = len(chart["y"]["values"])
    height = 70.0 + min(max(rows * 22.0, 60.0), 320.0)
    canvas = Canvas(_map_shape(shape), height)
    panel = canvas.panel(62.0, 66.0, 26.0, 44.0)
    limit = float(np.abs(cells[np.isfinite(cells)]).max(initial=0.0)) or 1.0
    image = panel.imshow(
        np.ma.masked_invalid(np.clip(cells, -limit, limit)),
        cmap=DIVERGING,
        vmin=-limit,
        vmax=limit,
        aspect="auto",
        origin="lower",
        interpolation="none",
    )
    panel.set_facecolor(LIGHT["line"])
    if chart["best"] is not None:
        x, y = chart["best"]
        panel.plot(
            [x - 0.5, x + 0.5, x + 0.5, x - 0.5, x - 0.5],
            [y - 0.5, y - 0.5, y + 0.5, y + 0.5, y - 0.5],
            color="#000000",
            linewidth=2.2,
            clip_on=False,
        )
    _labels(panel.xaxis, chart["x"], 7 if shape.narrow else 14, shape)
    _labels(panel.yaxis, chart["y"], 10, shape)
    box = panel.get_position()
    bar = canvas.figure.add_axes((box.x1 + 12.0 / canvas.shape.width, box.y0, 12.0 / canvas.shape.width, box.height))
    scale = canvas.figure.colorbar(image, cax=bar)
    scale.outline.set_visible(False)
    bar.tick_params(labelsize=shape.font, labelcolor=LIGHT["soft"], length=0)
    bar.yaxis.set_major_locator(MaxNLocator(5 if rows > 4 else 2, steps=[1, 2, 5, 10]))
    bar.yaxis.set_major_formatter(lambda value, _: number(value, "ratio" if limit < 10 else "count"))
    canvas.title(panel, f"{metric_row(ranking['metric']).title} on validation rows")
    return canvas.svg(name, f"Heat map of {ranking['strategy']} over {chart['x']['name']} and {chart['y']['name']}")


def _map_shape(shape: Shape) -> Shape:
    """A figure of few marks stays narrower than the page."""
    return shape if shape.narrow else Shape(shape.name, 640.0, shape.font)


def _labels(axis: Any, side: Mapping[str, Any], most: int, shape: Shape) -> None:
    step = -(-len(side["values"]) // most)
    places = list(range(0, len(side["values"]), step))
    axis.set_ticks(places, [parameter(side["values"][place]) for place in places])
    axis.set_label_text(plain_text(side["name"]), fontsize=shape.font, color=LIGHT["soft"])


def information(document: Mapping[str, Any], shape: Shape) -> str:
    """Information coefficient by horizon with its interval; zero is no information."""
    rows = document["information"]
    canvas = Canvas(_map_shape(shape), 220.0)
    panel = canvas.panel(58.0, 14.0, 26.0, 40.0)
    panel.axhline(0.0, color=LIGHT["soft"], linewidth=1.0)
    for place, row in enumerate(rows):
        if row["low"] is not None and row["high"] is not None:
            panel.plot(
                [place, place], [row["low"], row["high"]], color=LIGHT["amber"], linewidth=3.0, solid_capstyle="butt"
            )
        if row["ic"] is not None:
            panel.plot([place], [row["ic"]], "o", color=LIGHT["amber"], markersize=7)
    panel.set_xticks(range(len(rows)), [number(row["horizon"], "count") for row in rows])
    panel.set_xlim(-0.6, len(rows) - 0.4)
    panel.margins(y=0.1)
    panel.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    panel.set_xlabel("horizon, bars", fontsize=shape.font, color=LIGHT["soft"])
    panel.yaxis.set_major_formatter(lambda value, _: number(value, "fine"))
    grid(panel, "y")
    canvas.title(panel, "Rank correlation of forecast and outcome on test rows")
    return canvas.svg("information", "Information coefficient of the linear baseline by horizon with its interval")
