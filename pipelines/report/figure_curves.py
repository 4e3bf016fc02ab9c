"""Figures of the models: profit and drawdown over the test rows, intervals, learning curves."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import MaxNLocator

from pipelines.report.canvas import LIGHT, Canvas, Shape, grid, plain_text
from pipelines.report.formats import number
from pipelines.report.holes import holes
from pipelines.report.palette import LineStyle, line_styles


def model_styles(document: Mapping[str, Any]) -> dict[str, LineStyle]:
    """The line style of every model of the document, in its order."""
    return line_styles([(entry["model"], entry["kind"]) for entry in document["models"]])


def money_axis(panel: Any, currency: str, unit: str = "signed_money") -> None:
    """Money with currency sign and thousands separators at the y ticks, over hairlines."""
    panel.yaxis.set_major_formatter(lambda value, _: number(value, unit, currency))
    grid(panel, "y")


def time_axis(panel: Any, shape: Shape) -> None:
    """Dates at the x ticks, as few words as say it."""
    locator = AutoDateLocator(minticks=3, maxticks=5 if shape.narrow else 10)
    panel.xaxis.set_major_locator(locator)
    formats = ["%Y", "%b", "%-d %b", "%H:%M", "%H:%M", "%S.%f"]
    zeros = ["", "%Y", "%-d %b", "%-d %b", "%H:%M", "%H:%M"]
    panel.xaxis.set_major_formatter(
        ConciseDateFormatter(locator, formats=formats, zero_formats=zeros, show_offset=False)
    )


def instants(nanoseconds: Sequence[int]) -> Any:
    """int64 UTC nanoseconds as datetime64 for an axis of time."""
    return np.asarray(nanoseconds, dtype=np.int64).view("datetime64[ns]")


def broken(nanoseconds: Sequence[int], values: Sequence[float]) -> tuple[Any, Any]:
    """The points of a line that breaks at the holes in its times, instead of drawing a way there that nobody has seen."""
    times, after = instants(nanoseconds), holes(nanoseconds)
    return np.insert(times, after, times[after]), np.insert(np.asarray(values, dtype=np.float64), after, np.nan)


def equity(document: Mapping[str, Any], shape: Shape) -> str:
    """Net profit in money and drawdown of every model over the test rows, with rolls and fold boundaries."""
    styles, currency = model_styles(document), document["currency"]
    canvas = Canvas(shape, 420.0 if shape.narrow else 540.0)
    left, right = (62.0, 8.0) if shape.narrow else (76.0, 200.0)
    upper = canvas.panel(left, right, 26.0, 196.0)
    lower = canvas.panel(left, right, canvas.height - 142.0, 26.0, share=upper)
    for entry in document["models"]:
        style, curve = styles[entry["model"]], entry["curve"]
        look = {"color": LIGHT[style.colour], "linewidth": style.width, "linestyle": (0, style.dash or None)}
        for panel, name in ((upper, "profit"), (lower, "drawdown")):
            panel.plot(*broken(curve["ts_event"], curve[name]), **look)
    upper.axhline(0.0, color=LIGHT["grey"], linewidth=0.8)
    drawn = upper.dataLim.intervalx
    _boundaries(document, (upper, lower))
    _roll_marks(document, upper, *drawn)
    canvas.title(upper, f"Net profit, {currency}")
    canvas.title(lower, f"Drawdown, {currency}")
    money_axis(upper, currency)
    money_axis(lower, currency)
    time_axis(lower, shape)
    upper.tick_params(labelbottom=False)
    lower.set_ylim(top=0.0)
    if not shape.narrow:
        _end_labels(document, upper, styles)
    return canvas.svg("equity", "Net profit and drawdown of every model over the test rows")


def _boundaries(document: Mapping[str, Any], panels: Sequence[Any]) -> None:
    """A dashed line where a fold's test rows begin or end inside the time drawn."""
    low, high = panels[0].get_xlim()
    times = {entry["test"][end] for entry in document["folds"] for end in ("first_ns", "last_ns")}
    for time in sorted(times):
        place = panels[0].convert_xunits(instants([time])[0])
        if low <= place <= high:
            for panel in panels:
                panel.axvline(place, color=LIGHT["soft"], linewidth=0.8, linestyle=(0, (2, 3)))


def _roll_marks(document: Mapping[str, Any], panel: Any, low: float, high: float) -> None:
    """A small mark on the time axis at every roll between the first and the last bar drawn."""
    shown = panel.get_xlim()
    for roll in document["rolls"]:
        day = f"{roll['session'] // 10000:04d}-{roll['session'] // 100 % 100:02d}-{roll['session'] % 100:02d}"
        place = panel.convert_xunits(np.datetime64(day))
        if low <= place <= high:
            panel.plot(
                [place],
                [0.0],
                marker="^",
                markersize=6,
                color=LIGHT["ink"],
                clip_on=False,
                transform=panel.get_xaxis_transform(),
            )
    panel.set_xlim(shown)


def _end_labels(document: Mapping[str, Any], panel: Any, styles: Mapping[str, LineStyle]) -> None:
    """Each model's name and final profit beside the end of its line, moved apart where they would overlap."""
    drawn = [entry for entry in document["models"] if entry["curve"]["profit"]]
    low, high = panel.get_ylim()
    height = panel.get_window_extent().height
    ends = [(entry["curve"]["profit"][-1] - low) / (high - low) * height for entry in drawn]
    places = spread(ends, 16.0, height)
    for entry, place in zip(drawn, places, strict=True):
        profit = number(entry["curve"]["profit"][-1], "signed_money", document["currency"])
        panel.annotate(
            f"{plain_text(entry['model'])}\N{EN SPACE}{plain_text(profit)}",
            (1.0, place / height),
            xycoords="axes fraction",
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=11.5,
            color=LIGHT[styles[entry["model"]].colour],
            annotation_clip=False,
        )


def spread(places: Sequence[float], gap: float, top: float) -> list[float]:
    """`places` moved to lie at least `gap` apart and, when they fit, within [0, top]; order is kept."""
    order = sorted(range(len(places)), key=lambda index: (places[index], -index))
    moved = [0.0] * len(places)
    floor = -float("inf")
    for index in order:
        moved[index] = max(places[index], floor, 0.0)
        floor = moved[index] + gap
    ceiling = top
    for index in reversed(order):
        moved[index] = min(moved[index], ceiling)
        ceiling = moved[index] - gap
    return moved


def intervals(document: Mapping[str, Any], shape: Shape) -> str:
    """Mean net profit a session of every model with its interval: a dot and a bar; zero is flat."""
    styles, models, currency = model_styles(document), document["models"], document["currency"]
    canvas = Canvas(shape, 52.0 + 24.0 * len(models))
    panel = canvas.panel(118.0 if shape.narrow else 170.0, 14.0, 26.0, 26.0)
    panel.axvline(0.0, color=LIGHT["soft"], linewidth=1.0)
    for row, entry in enumerate(models):
        interval, colour = entry["intervals"]["net_a_session"], LIGHT[styles[entry["model"]].colour]
        if interval["low"] is not None:
            panel.plot(
                [interval["low"], interval["high"]], [row, row], color=colour, linewidth=3.0, solid_capstyle="butt"
            )
        if interval["estimate"] is not None:
            panel.plot([interval["estimate"]], [row], "o", color=colour, markersize=7)
    panel.set_yticks(range(len(models)), [plain_text(entry["model"]) for entry in models])
    panel.tick_params(axis="y", labelcolor=LIGHT["ink"])
    panel.set_ylim(len(models) - 0.5, -0.5)
    panel.xaxis.set_major_locator(MaxNLocator(4 if shape.narrow else 8))
    panel.xaxis.set_major_formatter(lambda value, _: number(value, "signed_money", currency))
    grid(panel, "x")
    confidence = models[0]["intervals"]["net_a_session"]["confidence"] if models else 0.95
    canvas.title(panel, f"Net profit a session, {currency}, {confidence * 100:g}% interval")
    return canvas.svg("intervals", "Mean net profit a session of every model with its confidence interval")


def learning(document: Mapping[str, Any], shape: Shape) -> str:
    """Loss and validation profit of every seed over the training steps, with a dot at the step that was kept."""
    height = 400.0 if shape.narrow else 250.0
    canvas = Canvas(shape, height)
    if shape.narrow:
        panels = [canvas.panel(62.0, 10.0, 26.0, 236.0), canvas.panel(62.0, 10.0, 226.0, 36.0)]
    else:
        panels = [canvas.panel(64.0, 520.0, 26.0, 40.0), canvas.panel(544.0, 14.0, 26.0, 40.0)]
    styles = line_styles([(str(entry["seed"]), "policy") for entry in document["training"]])
    for entry in document["training"]:
        style = styles[str(entry["seed"])]
        for panel, series in zip(panels, ("loss", "validation_profit"), strict=True):
            values = np.array([np.nan if value is None else value for value in entry[series]], dtype=np.float64)
            panel.plot(
                entry["step"], values, color=LIGHT[style.colour], linewidth=1.5, linestyle=(0, style.dash or None)
            )
            kept = [place for place, step in enumerate(entry["step"]) if step == entry["chosen_step"]]
            panel.plot(
                [entry["step"][place] for place in kept], values[kept], "o", color=LIGHT[style.colour], markersize=7
            )
    grid(panels[0], "y")
    money_axis(panels[1], document["currency"])
    panels[1].axhline(0.0, color=LIGHT["grey"], linewidth=0.8)
    for panel, title in zip(panels, ("Loss", f"Net profit on validation rows, {document['currency']}"), strict=True):
        canvas.title(panel, title)
        panel.xaxis.set_major_locator(MaxNLocator(3 if shape.narrow else 5))
        panel.xaxis.set_major_formatter(lambda value, _: number(value, "count"))
        panel.margins(x=0.02)
        panel.set_xlabel("training step", fontsize=shape.font, color=LIGHT["soft"])
    return canvas.svg("learning", "Loss and validation profit of every seed over the training steps")
