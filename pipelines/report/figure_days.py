"""Figures of the trade dates: a calendar of coverage, bars by hour, rejected records by rule."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from pipelines.report.canvas import LIGHT, Canvas, Shape, plain_text
from pipelines.report.data_days import HOURS, calendar_date

# Share of the usual number of bars from which a level begins, its colour and its strength.
LEVELS = ((0.98, "blue", 0.85), (0.9, "blue", 0.5), (0.5, "amber", 0.8), (0.0, "orange", 0.9))
_DAY_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def rectangles(panel: Any, boxes: Sequence[tuple[float, float, float, float]], **look: Any) -> None:
    """Draw boxes (left, top, width, height) as one path: a small file however many there are."""
    if not boxes:
        return
    left, top, width, height = np.array(boxes, dtype=float).T
    corners = np.stack(
        [np.stack(point, axis=1) for point in (
            (left, top), (left + width, top), (left + width, top + height), (left, top + height), (left, top)
        )], axis=1,
    )  # fmt: skip
    panel.add_patch(PathPatch(Path.make_compound_path_from_polys(corners), **look))


def plain_panel(canvas: Canvas) -> Any:
    """A panel over the whole figure whose units are pixels, y downwards, without any axis."""
    panel = canvas.panel(0.0, 0.0, 0.0, 0.0)
    panel.set(xlim=(0.0, canvas.shape.width), ylim=(canvas.height, 0.0), xticks=[], yticks=[])
    panel.spines["bottom"].set_visible(False)
    return panel


def calendar(document: Mapping[str, Any], shape: Shape) -> str:
    """A cell a day, a column a week: how many of the usual bars it has; a dot where records were rejected."""
    days, usual = document["days"], document["coverage"]["usual"]
    bands = _bands(days["session"], 27 if shape.narrow else 54)
    across = max(len(bands[0]), 20 if shape.narrow else 42)
    rows = 7 if any(calendar_date(session).weekday() > 4 for session in days["session"]) else 5
    left, cell = 34.0, (shape.width - 40.0) / across
    height = cell * rows + 30.0
    canvas = Canvas(shape, height * len(bands) + 4.0)
    panel = plain_panel(canvas)
    count = dict(zip(days["session"], days["bars"], strict=True))
    rejected = dict(zip(days["session"], days["rejected"], strict=True))
    boxes: dict[int, list[tuple[float, float, float, float]]] = {level: [] for level in range(len(LEVELS) + 1)}
    dots = []
    gap = max(1.0, cell * 0.12)
    for band, mondays in enumerate(bands):
        top = band * height + 22.0
        _band_labels(panel, mondays, left, top, cell, rows, shape)
        for column, row, day in _cells(mondays, rows, days["session"]):
            x, y = left + column * cell, top + row * cell
            boxes[_level(count.get(day, 0), usual)].append((x, y, cell - gap, cell - gap))
            if rejected.get(day):
                dots.append((x + (cell - gap) / 2.0, y + (cell - gap) / 2.0))
    for level, (_, colour, strength) in enumerate(LEVELS):
        rectangles(panel, boxes[level], facecolor=LIGHT[colour], alpha=strength, linewidth=0)
    rectangles(panel, boxes[len(LEVELS)], facecolor="none", edgecolor=LIGHT["grey"], linewidth=0.8)
    if dots:
        x, y = np.array(dots).T
        panel.scatter(x, y, s=(cell * 0.36) ** 2, color=LIGHT["paper"], linewidth=0, zorder=3)
    return canvas.svg("calendar", "Bars of every trade date as a calendar; dots mark dates with rejected records")


def _bands(sessions: Sequence[int], weeks: int) -> list[list[date]]:
    """Mondays of all weeks that hold a trade date or lie between two, cut into rows of at most `weeks`."""
    first, last = calendar_date(sessions[0]), calendar_date(sessions[-1])
    monday = first - timedelta(days=first.weekday())
    mondays = [monday + timedelta(days=7 * week) for week in range((last - monday).days // 7 + 1)]
    each = -(-len(mondays) // -(-len(mondays) // weeks))
    return [mondays[start : start + each] for start in range(0, len(mondays), each)]


def _cells(mondays: Sequence[date], rows: int, sessions: Sequence[int]) -> list[tuple[int, int, int]]:
    """(column, row, yyyymmdd) of the days of a band between the first and the last trade date."""
    found = []
    for column, monday in enumerate(mondays):
        for row in range(rows):
            day = monday + timedelta(days=row)
            number = day.year * 10_000 + day.month * 100 + day.day
            if sessions[0] <= number <= sessions[-1]:
                found.append((column, row, number))
    return found


def _level(bars: int, usual: float) -> int:
    if not bars:
        return len(LEVELS)
    return next(level for level, (least, _, _) in enumerate(LEVELS) if bars >= least * usual)


def _band_labels(
    panel: Any, mondays: Sequence[date], left: float, top: float, cell: float, rows: int, shape: Shape
) -> None:
    """The months above a band and the days of the week beside it."""
    look = {"fontsize": shape.font - 1.0, "color": LIGHT["soft"]}
    for row in range(0, rows, 2):
        panel.text(0.0, top + (row + 0.45) * cell, _DAY_NAMES[row], va="center", **look)
    months = [(monday + timedelta(days=4)).replace(day=1) for monday in mondays]  # a week belongs to its Friday's month
    firsts = [column for column in range(len(months)) if not column or months[column] != months[column - 1]]
    if len(firsts) > 1 and firsts[1] < 4:
        firsts = firsts[1:]  # no room for the name of a month of which only the end is shown
    for column in firsts:
        with_year = column == firsts[0] or months[column].month == 1
        name = f"{months[column]:%b %Y}" if with_year else f"{months[column]:%b}"
        panel.text(left + column * cell, top - 6.0, name, va="bottom", **look)


def hours(document: Mapping[str, Any], shape: Shape) -> str:
    """Share of an hour's minutes with a bar, an hour a row and a trade date a column: holes inside a day."""
    starts = spans(len(document["hours"]["bars"]), shape)
    counts = np.minimum.reduceat(np.array(document["hours"]["bars"], dtype=float), starts).T
    canvas = Canvas(shape, 190.0)
    panel = canvas.panel(48.0 if shape.narrow else 62.0, 8.0 if shape.narrow else 14.0, 26.0, 26.0)
    image = tinted(np.clip(counts / max(float(np.median(counts[counts > 0])), 1.0), 0.0, 1.0) * 0.85, "sky")
    panel.imshow(image, aspect="auto", interpolation="none", extent=(-0.5, counts.shape[1] - 0.5, HOURS, 0.0))
    begin = int(str(document["hours"]["turns_at"])[:2])
    places = range(0, HOURS + 1, 6)
    panel.set_yticks(list(places), [f"{(begin + hour) % HOURS:02d}:{document['hours']['turns_at'][3:]}" for hour in places])
    session_axis(panel, [document["days"]["session"][start] for start in starts], shape)
    canvas.title(panel, f"Bars by hour of the session, {document['hours']['timezone']}")
    return canvas.svg("hours", "Share of the minutes with a bar by hour and trade date")


def tinted(strength: Any, colour: str) -> Any:
    """An RGBA image of one colour whose opacity [rows, columns] is the value: it sits on light and dark paper alike."""
    red, green, blue = (int(LIGHT[colour][place : place + 2], 16) / 255.0 for place in (1, 3, 5))
    image = np.empty((*np.shape(strength), 4))
    image[..., 0], image[..., 1], image[..., 2], image[..., 3] = red, green, blue, strength
    return image


def session_axis(panel: Any, sessions: Sequence[int], shape: Shape) -> None:
    """Months at the x ticks of a panel whose columns are trade dates."""
    firsts = [
        place for place, session in enumerate(sessions) if not place or session // 100 != sessions[place - 1] // 100
    ]
    step = -(-len(firsts) // (5 if shape.narrow else 12))
    shown = firsts[::step] if len(firsts) < 2 or firsts[1] > len(sessions) * 0.05 else firsts[1::step]
    names = [calendar_date(sessions[place]) for place in shown]
    years = [not at or name.year != names[at - 1].year for at, name in enumerate(names)]
    panel.set_xticks(shown, [f"{name:%b %Y}" if year else f"{name:%b}" for name, year in zip(names, years, strict=True)])


def rejected(document: Mapping[str, Any], shape: Shape) -> str:
    """A strip a rule, a column a trade date: how many records were rejected, stronger where there are more."""
    entries, sessions = document["rejected"], document["days"]["session"]
    rules = sorted({entry["rule"] for entry in entries})
    counts = np.zeros((len(rules), len(sessions)))
    for entry in entries:
        counts[rules.index(entry["rule"]), sessions.index(entry["session"])] += entry["rows"]
    starts = spans(len(sessions), shape)
    counts = np.add.reduceat(counts, starts, axis=1)
    strength = np.where(counts > 0, 0.55 + 0.45 * np.log1p(counts) / np.log1p(counts.max()), 0.0)
    canvas = Canvas(shape, 36.0 + 22.0 * len(rules))
    panel = canvas.panel(118.0 if shape.narrow else 150.0, 8.0 if shape.narrow else 14.0, 4.0, 26.0)
    panel.imshow(tinted(strength, "orange"), aspect="auto", interpolation="none")
    panel.set_yticks(range(len(rules)), [plain_text(rule.replace("_", " ")) for rule in rules])
    panel.tick_params(axis="y", labelcolor=LIGHT["ink"])
    for row in range(1, len(rules)):
        panel.axhline(row - 0.5, color=LIGHT["faint"], linewidth=1.0)
    session_axis(panel, [sessions[start] for start in starts], shape)
    return canvas.svg("rejected", "Rejected records by trade date and rule")


def spans(dates: int, shape: Shape) -> Any:
    """Starts of spans of equally many trade dates, one a date where there is room for all: they bound a figure's size."""
    return np.arange(0, dates, -(-dates // (260 if shape.narrow else 520)))
