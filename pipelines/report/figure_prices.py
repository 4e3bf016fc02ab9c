"""Figure of the continuous series: daily range and close, volume, rolls and rejected bars."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from pipelines.report.canvas import LIGHT, Canvas, Shape, grid
from pipelines.report.data_days import calendar_date
from pipelines.report.figure_curves import time_axis
from pipelines.report.formats import number


def prices(document: Mapping[str, Any], shape: Shape) -> str:
    """Adjusted high, low and close of every trade date above its volume; triangles: rolls, circles: rejected bars."""
    days = document["days"]
    canvas = Canvas(shape, 380.0 if shape.narrow else 440.0)
    left, right = (48.0, 8.0) if shape.narrow else (62.0, 14.0)
    upper = canvas.panel(left, right, 44.0, 128.0)
    lower = canvas.panel(left, right, canvas.height - 100.0, 26.0, share=upper)
    known = [place for place, close in enumerate(days["close"]) if close is not None]
    dates = _dates(days["session"])
    high, low, close = (np.array([days[name][place] for place in known]) for name in ("high", "low", "close"))
    upper.fill_between(dates[known], low, high, color=LIGHT["blue"], alpha=0.3, linewidth=0, step="mid")
    upper.plot(dates[known], close, color=LIGHT["ink"], linewidth=1.1)
    volume = np.array(days["volume"], dtype=float)
    lower.fill_between(dates, 0.0, volume, color=LIGHT["grey"], alpha=0.7, linewidth=0, step="mid")
    room = 0.14 * float(high.max() - low.min()) if known else 0.0
    if room:
        upper.set_ylim(bottom=float(low.min()) - 1.4 * room)
    _marks(upper, dates, days["masked"], 0.11, "D", "purple")
    _marks(upper, dates, days["rejected"], 0.04, "o", "orange")
    _rolls(document, (upper, lower), shape)
    canvas.title(lower, "Volume, contracts")
    upper.set_title(
        "Adjusted level: range of the day, close", loc="left", fontsize=shape.font, color=LIGHT["soft"], pad=24
    )
    for panel in (upper, lower):
        panel.yaxis.set_major_locator(MaxNLocator(6 if panel is upper else 2))
        panel.yaxis.set_major_formatter(_short_number)
        grid(panel, "y")
        panel.margins(x=0.01)
    lower.set_ylim(bottom=0.0)
    time_axis(lower, shape)
    upper.tick_params(labelbottom=False)
    return canvas.svg("prices", "Daily price range, close and volume with rolls and rejected bars")


def _short_number(value: float, _: Any) -> str:
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    return number(value, "count") if value == round(value) else f"{value:g}"


def _dates(sessions: Any) -> Any:
    return np.array([calendar_date(int(session)) for session in sessions], dtype="datetime64[D]")


def _marks(panel: Any, dates: Any, counts: Sequence[int], height: float, marker: str, colour: str) -> None:
    """A mark near the foot of the panel at every trade date with a count, larger where there are more."""
    places = [place for place, rows in enumerate(counts) if rows]
    if places:
        panel.scatter(
            dates[places],
            np.full(len(places), height),
            s=[16.0 + 8.0 * np.log2(counts[place]) for place in places],
            marker=marker,
            color=LIGHT[colour],
            linewidth=0,
            transform=panel.get_xaxis_transform(),
            zorder=3,
        )


def _rolls(document: Mapping[str, Any], panels: Any, shape: Shape) -> None:
    """A line at every roll and, where there is room, the contract entered above it."""
    rolls = document["rolls"]
    named = len(rolls) <= (6 if shape.narrow else 16)
    for roll in rolls:
        place = panels[0].convert_xunits(_dates([roll["session"]])[0])
        for panel in panels:
            panel.axvline(place, color=LIGHT["soft"], linewidth=0.9, linestyle=(0, (2, 3)))
        panels[0].plot(
            [place], [1.0], marker="v", markersize=6, color=LIGHT["ink"], clip_on=False,
            transform=panels[0].get_xaxis_transform(),
        )  # fmt: skip
        if named:
            panels[0].annotate(
                roll["entered"], (place, 1.0), xycoords=panels[0].get_xaxis_transform(), xytext=(0, 6),
                textcoords="offset points", ha="center", fontsize=shape.font - 1.0, color=LIGHT["ink"],
            )  # fmt: skip
