"""Figures of the features: distributions as small multiples, drift over time, clustered correlations."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from pipelines.report.canvas import LIGHT, Canvas, Shape, plain_text
from pipelines.report.data_days import calendar_date
from pipelines.report.distributions import LARGE, NOTICEABLE
from pipelines.report.figure_data import DIVERGING
from pipelines.report.figure_days import plain_panel, tinted
from pipelines.report.formats import significant

_CUT = 2.5  # times the second highest bin: where a bin is cut off that would flatten all others


def distributions(document: Mapping[str, Any], shape: Shape) -> str:
    """A small histogram a feature: train rows filled, all other rows as a line."""
    entries = document["features"]
    across = 3 if shape.narrow else 6
    width, height = shape.width / across, 84.0 if shape.narrow else 96.0
    canvas = Canvas(shape, height * -(-len(entries) // across))
    panel = plain_panel(canvas)
    fills, lines, cuts = [], [], []
    for place, entry in enumerate(entries):
        left, top = place % across * width, place // across * height
        inner = (left + 2.0, top + 20.0, width - (10.0 if shape.narrow else 20.0), height - 40.0)
        fills.append(_steps(entry["histogram"]["train"], entry["histogram"], inner, closed=True))
        lines.append(_steps(entry["histogram"]["rest"], entry["histogram"], inner, closed=False))
        cuts += _cut_marks(entry["histogram"], inner)
        _small_labels(panel, entry, inner, shape)
    panel.add_patch(PathPatch(_joined(fills), facecolor=LIGHT["blue"], alpha=0.4, linewidth=0))
    panel.add_patch(PathPatch(_joined(lines), facecolor="none", edgecolor=LIGHT["orange"], linewidth=1.1))
    if cuts:
        x, y = np.array(cuts).T
        panel.scatter(x, y, marker="^", s=16, color=LIGHT["soft"], linewidth=0, zorder=3)
    return canvas.svg("distributions", "Histogram of every feature on train rows and on all other rows")


def _ceiling(histogram: Mapping[str, Any]) -> float:
    """The share at the top of a panel: the highest bin, or a multiple of the second highest where that is far lower."""
    shares = np.sort(np.maximum(histogram["train"], histogram["rest"]))
    return float(min(shares[-1], _CUT * shares[-2]) if shares[-2] > 0.0 else shares[-1]) or 1.0


def _steps(shares: Sequence[float], histogram: Mapping[str, Any], inner: Any, closed: bool) -> Any:
    left, top, width, height = inner
    heights = np.minimum(np.array(shares) / _ceiling(histogram), 1.0)
    x = left + np.repeat(np.linspace(0.0, width, len(shares) + 1), 2)[1:-1]
    y = top + height * (1.0 - np.repeat(heights, 2))
    if closed:
        bottom = top + height
        x, y = np.concatenate(([left], x, [left + width])), np.concatenate(([bottom], y, [bottom]))
    return np.stack([x, y], axis=1)


def _joined(lines: Sequence[Any]) -> Path:
    codes = [[Path.MOVETO] + [Path.LINETO] * (len(line) - 1) for line in lines]
    return Path(np.concatenate(lines), np.concatenate(codes))


def _cut_marks(histogram: Mapping[str, Any], inner: Any) -> list[tuple[float, float]]:
    left, top, width, _ = inner
    shares = np.maximum(histogram["train"], histogram["rest"])
    cut = np.flatnonzero(shares > _ceiling(histogram) * 1.000001)
    return [(left + (place + 0.5) * width / len(shares), top - 3.0) for place in cut]


def _small_labels(panel: Any, entry: Mapping[str, Any], inner: Any, shape: Shape) -> None:
    """Name, PSI when it is worth a look, the ends of the axis and a line under the histogram."""
    left, top, width, height = inner
    small = shape.font - 2.0
    panel.text(left, top - 7.0, plain_text(entry["name"]), fontsize=shape.font - 0.5, color=LIGHT["ink"])
    psi = entry["drift"]["train"]["psi"]
    if psi is not None and psi >= NOTICEABLE and not shape.narrow:
        colour = LIGHT["bad" if psi > LARGE else "amber"]
        panel.text(left + width, top - 7.0, f"{psi:.2f}", fontsize=small, color=colour, ha="right")
    panel.plot([left, left + width], [top + height] * 2, color=LIGHT["line"], linewidth=1.0)
    for x, value, side in ((left, "low", "left"), (left + width, "high", "right")):
        text = significant(round(entry["histogram"][value], 6) + 0.0, 2)
        panel.text(x, top + height + 11.0, text, fontsize=small, color=LIGHT["soft"], ha=side)


def drift(document: Mapping[str, Any], shape: Shape) -> str:
    """PSI of every feature in every span of time against the whole set, the features that moved most at the top."""
    entries = sorted(document["features"], key=lambda entry: -max(value or 0.0 for value in entry["blocks"]))
    values = np.array([[value or 0.0 for value in entry["blocks"]] for entry in entries])
    canvas = Canvas(shape, 60.0 + len(entries) * (12.0 if shape.narrow else 14.5))
    panel = canvas.panel(100.0 if shape.narrow else 130.0, 8.0 if shape.narrow else 14.0, 26.0, 26.0)
    image = tinted(np.clip(values / (2.0 * LARGE), 0.0, 1.0), "orange")
    panel.imshow(image, aspect="auto", interpolation="none", extent=(-0.5, values.shape[1] - 0.5, len(entries) - 0.5, -0.5))
    panel.set_yticks(range(len(entries)), [plain_text(entry["name"]) for entry in entries])
    panel.tick_params(axis="y", labelcolor=LIGHT["ink"], labelsize=shape.font - (1.5 if shape.narrow else 1.0))
    if not shape.narrow and values.shape[1] <= 16:
        for row, column in np.argwhere(values >= NOTICEABLE):
            look = {"ha": "center", "va": "center", "fontsize": shape.font - 2.0, "color": LIGHT["ink"]}
            panel.text(column, row, f"{values[row, column]:.2f}", **look)
    blocks = [calendar_date(session) for session in document["blocks"]]
    step = -(-len(blocks) // (4 if shape.narrow else 10))
    panel.set_xticks(range(0, len(blocks), step), [f"{day:%d %b %y}".lstrip("0") for day in blocks[::step]])
    canvas.title(panel, "PSI against the whole set, spans of equal length")
    return canvas.svg("drift", "Population stability index of every feature over time")


def correlation(document: Mapping[str, Any], shape: Shape) -> str:
    """Correlation of every pair of features, alike features beside each other."""
    chart = document["correlation"]
    names = [plain_text(name) for name in chart["names"]]
    values = np.array([[np.nan if value is None else value for value in row] for row in chart["values"]], dtype=float)
    label = shape.font - (2.5 if shape.narrow else 1.5)
    below = 26.0 if shape.narrow else 110.0
    canvas = Canvas(shape if shape.narrow else Shape(shape.name, 760.0, shape.font), 40.0 + below + 12.5 * len(names))
    panel = canvas.panel(96.0 if shape.narrow else 112.0, 44.0 if shape.narrow else 66.0, 26.0, below)
    image = panel.imshow(
        np.ma.masked_invalid(values), cmap=DIVERGING, vmin=-1.0, vmax=1.0, aspect="auto", interpolation="none"
    )
    panel.set_yticks(range(len(names)), names)
    if shape.narrow:
        panel.set_xticks([])
    else:
        panel.set_xticks(range(len(names)), names, rotation=90)
    panel.tick_params(labelsize=label, labelcolor=LIGHT["ink"], length=0)
    panel.spines["bottom"].set_visible(False)
    box = panel.get_position()
    bar = canvas.figure.add_axes((box.x1 + 10.0 / canvas.shape.width, box.y0, 10.0 / canvas.shape.width, box.height))
    scale = canvas.figure.colorbar(image, cax=bar)
    scale.outline.set_visible(False)
    bar.tick_params(labelsize=label, labelcolor=LIGHT["soft"], length=0)
    bar.yaxis.set_major_formatter(lambda value, _: significant(value))
    canvas.title(panel, "Correlation of features, alike ones side by side")
    return canvas.svg("correlation", "Correlation of every pair of features, clustered")
