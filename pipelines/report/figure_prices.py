"""Figure of the continuous series: daily range and close, volume, rolls and rejected bars."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from pipelines.report.canvas import LIGHT, Canvas, Shape, grid
from pipelines.report.data_days import calendar_date
from pipelines.report.figure_curves import time_axis
from pipelines.report.figure_days import spans
from pipelines.report.formats import number


def prices(document: Mapping[str, Any], shape: Shape) -> str:
    """Adjusted high, low and close of every trade date above its volume; triangles: rolls, circles: rejected bars."""
    days = document["days"]
    canvas = Canvas(shape, 380.0 if shape.narrow else 440.0)
    left, right = (48.0, 8.0) if shape.narrow else (62.0, 14.0)
    upper = canvas.panel(left, right, 44.0, 128.0)
    lower = canvas.panel(left, right, canvas.height - 100.0, 26.0, share=upper)
    spanned = _spanned(days, shape)
    dates, known = _dates(spanned["session"]), np.isfinite(spanned["close"])
    high, low = spanned["high"][known], spanned["low"][known]
    upper.fill_between(dates[known], low, high, color=LIGHT["blue"], alpha=0.3, linewidth=0, step="mid")
    upper.plot(dates[known], spanned["close"][known], color=LIGHT["ink"], linewidth=1.1)
    lower.fill_between(dates, 0.0, spanned["volume"], color=LIGHT["grey"], alpha=0.7, linewidth=0, step="mid")
    if known.any():
        upper.set_ylim(bottom=float(low.min()) - 0.2 * float(high.max() - low.min() or 1.0))
    _marks(upper, dates, spanned["masked"], 0.11, "D", "purple")
    _marks(upper, dates, spanned["rejected"], 0.04, "o", "orange")
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


def _spanned(days: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """Range, last close, mean volume and counts of each span of trade dates: of every date where there are few."""
    starts = spans(len(days["session"]), shape)
    length = np.diff(starts, append=len(days["session"]))
    column = {name: np.array(days[name], dtype=float) for name in ("high", "low", "close", "volume", "masked", "rejected")}
    closed = np.maximum.accumulate(np.where(np.isfinite(column["close"]), np.arange(len(days["session"])), 0))
    return {
        "session": [days["session"][start] for start in starts],
        "high": np.fmax.reduceat(column["high"], starts),
        "low": np.fmin.reduceat(column["low"], starts),
        "close": column["close"][closed[starts + length - 1]],
        "volume": np.add.reduceat(column["volume"], starts) / length,
        **{name: np.add.reduceat(column[name], starts) for name in ("masked", "rejected")},
    }


def _marks(panel: Any, dates: Any, counts: Any, height: float, marker: str, colour: str) -> None:
    """A mark near the foot of the panel at every date with a count, larger from 10 and from 100 on."""
    for least, most, size in ((1, 10, 4.5), (10, 100, 6.5), (100, np.inf, 9.0)):
        places = np.flatnonzero((counts >= least) & (counts < most))
        panel.plot(
            dates[places], np.full(len(places), height), marker, color=LIGHT[colour], markersize=size,
            markeredgewidth=0, transform=panel.get_xaxis_transform(), zorder=3,
        )  # fmt: skip


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
