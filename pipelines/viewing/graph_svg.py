"""The flow as one self-contained SVG: a box a node, its fan-out collapsed, coloured by what is cached; light and dark."""

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from pipelines.report.palette import css_variables
from pipelines.viewing.graph_layout import implied, layered
from pipelines.viewing.graph_state import NodeState

LETTER = 7.6  # mean width of a letter of the bold name, in pixels
SMALL_LETTER = 6.0
LONGEST = 34  # letters of a line; the rest stands in the box's title
LINE, PADDING, BETWEEN, MARGIN, HEAD = 15, 10, 46, 28, 64
COLOURS = {
    "cached": "green",
    "partly": "amber",
    "will run": "orange",
    "later": "orange",
    "none": "grey",
    "unknown": "line",
}
MEANINGS = {
    "cached": "cached", "partly": "partly cached", "will run": "will run", "later": "once the folds are counted",
    "none": "not in this run",
}  # fmt: skip


def graph_svg(states: Sequence[NodeState], title: str) -> str:
    """Draw the nodes; an edge that a longer way says as well is faint."""
    names = [one.name for one in _in_order(states)]
    by_name = {one.name: one for one in states}
    edges = [(read, one.name) for one in states for read in one.reads if read in by_name]
    thin = implied(edges)
    texts = {one.name: _texts(one) for one in states}
    widths = {name: _width(lines) for name, lines in texts.items()}
    drawn = layered(names, [edge for edge in edges if edge not in thin], widths)
    tops, top = {}, float(HEAD)
    for row in drawn.layers:
        for name in row:
            tops[name] = top
        top += max((_height(texts[name]) for name in row), default=0) + BETWEEN
    layer = {name: at for at, row in enumerate(drawn.layers) for name in row}
    heights = [max((_height(texts[name]) for name in row), default=0) for row in drawn.layers]
    level = [next((tops[name] for name in row), 0.0) for row in drawn.layers]
    x = {name: centre + MARGIN for name, centre in drawn.centres.items()}
    parts = []
    for a, b in sorted(thin):
        parts.append(_curve([(x[a], tops[a] + _height(texts[a])), (x[b], tops[b])], "thin"))
    for (a, b), passed in drawn.paths.items():
        points = [(x[a], tops[a] + _height(texts[a]))]
        for at, centre in enumerate(passed):
            below = layer[a] + 1 + at
            points += [(centre + MARGIN, level[below] - 8), (centre + MARGIN, level[below] + heights[below] + 8)]
        parts.append(_curve([*points, (x[b], tops[b])], "edge"))
    parts += [_box(by_name[name], texts[name], x[name], tops[name], widths[name]) for name in names]
    width, height = max(drawn.width + 2 * MARGIN, 640), top - BETWEEN + MARGIN
    return _document(parts, title, states, width, height)


def _in_order(states: Sequence[NodeState]) -> list[NodeState]:
    """Each node after what it reads, otherwise as in the table."""
    done: dict[str, NodeState] = {}
    waiting = list(states)
    known = {one.name for one in states}
    while waiting:
        ready = [one for one in waiting if all(read in done or read not in known for read in one.reads)]
        done |= {one.name: one for one in ready}
        waiting = [one for one in waiting if one.name not in done]
    return list(done.values())


def _texts(one: NodeState) -> list[str]:
    """The lines of a box: name, fan-out, files, state."""
    fan = " × ".join(one.per) + (f": {one.tasks} task{'s' * (one.tasks != 1)}" if one.known and one.per else "")
    files = f"files: {', '.join(one.files)}" if one.files else ""
    return [one.name, *(text for text in (fan, files) if text), *([one.words] if one.words else [])]


def _width(lines: Sequence[str]) -> float:
    small = max((min(len(line), LONGEST) for line in lines[1:]), default=0)
    return round(max(len(lines[0]) * LETTER, small * SMALL_LETTER) + 2 * PADDING, 1)


def _height(lines: Sequence[str]) -> int:
    return len(lines) * LINE + PADDING + 4


def _box(one: NodeState, lines: Sequence[str], x: float, y: float, width: float) -> str:
    colour = f"var(--{COLOURS[one.state]})"
    dash = ' stroke-dasharray="4 3"' if one.state == "none" else ""
    said = [one.name, one.function, *([f"reads {', '.join(one.reads)}"] if one.reads else [])]
    said += [f"looks at {one.evaluates} rows"] if one.evaluates else []
    said += [f"{count} × {reason}" for reason, count in one.reasons] or ([one.words] if one.words else [])
    rows = [f'<text class="name" x="{x:.1f}" y="{y + LINE + 2:.1f}">{escape(lines[0])}</text>']
    for at, line in enumerate(lines[1:], start=2):
        state = at == len(lines) and one.words
        fill = f' style="fill:{colour}"' if state and one.state != "none" else ""
        rows.append(f'<text x="{x:.1f}" y="{y + at * LINE + 2:.1f}"{fill}>{escape(_cut(line))}</text>')
    left = x - width / 2
    box = (
        f'<rect x="{left:.1f}" y="{y:.1f}" width="{width:.1f}" height="{_height(lines)}" rx="5" '
        f'style="stroke:{colour}"{dash}/>'
    )
    return f"<g><title>{escape(chr(10).join(said))}</title>{box}{''.join(rows)}</g>"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _curve(points: Sequence[tuple[float, float]], kind: str) -> str:
    """A smooth line through the points that leaves and enters downwards."""
    (x, y), *rest = points
    path = f"M{x:.1f} {y:.1f}"
    for to_x, to_y in rest:
        middle = (y + to_y) / 2
        path += f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}"
        x, y = to_x, to_y
    return f'<path class="{kind}" d="{path}"/>'


def _document(parts: Sequence[str], title: str, states: Sequence[NodeState], width: float, height: float) -> str:
    light, dark = css_variables()
    style = (
        f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
        "svg{background:var(--paper)}"
        'text{font:11px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:var(--soft);text-anchor:middle}'
        "text.name{font-size:12.5px;font-weight:600;fill:var(--ink)}text.left{text-anchor:start}"
        "text.title{font-size:17px;font-weight:600;fill:var(--ink);text-anchor:start}"
        "rect{fill:var(--panel);stroke-width:1.4}path{fill:none}"
        ".edge{stroke:var(--grey);stroke-width:1.3}.thin{stroke:var(--line);stroke-width:1}"
    )
    legend: list[str] = []
    at = MARGIN
    for state, meaning in MEANINGS.items():
        count = sum(one.state == state for one in states)
        if count:
            text = f"{count} {meaning}"
            legend.append(f'<rect x="{at}" y="37" width="10" height="10" rx="2" style="stroke:var(--{COLOURS[state]})"/>')
            legend.append(f'<text class="left" x="{at + 16}" y="46">{text}</text>')
            at += 16 + round(len(text) * SMALL_LETTER) + 22
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label={quoteattr(title)}>\n<style>{style}</style>\n'
        f'<text class="title" x="{MARGIN}" y="26">{escape(title)}</text>\n'
        + "\n".join([*legend, *parts])
        + "\n</svg>\n"
    )
