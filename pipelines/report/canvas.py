"""Figures as small, deterministic SVG text that follows the page's colours: the drawing surface of the report."""

import io
import re
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from pipelines.report.palette import COLOURS

LIGHT = {name: values[0] for name, values in COLOURS.items()}
_SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "walkfold",
    "svg.image_inline": True,
    "path.simplify_threshold": 0.2,
}
_VARIABLES = {values[0]: f"var(--{name})" for name, values in COLOURS.items()}
_NO_DATES = {"Date": None, "Creator": None, "Format": None, "Type": None}


@dataclass(frozen=True)
class Shape:
    """Width of a figure in page pixels and its font size; `narrow` is the shape for a phone."""

    name: str
    width: float
    font: float

    @property
    def narrow(self) -> bool:
        """Whether there is room for one column and few labels only."""
        return self.name == "narrow"


SHAPES = (Shape("wide", 960.0, 12.0), Shape("narrow", 358.0, 10.5))


class Canvas:
    """A figure of a shape and a height in pixels whose panels are placed by pixel margins."""

    def __init__(self, shape: Shape, height: float) -> None:
        self.shape = shape
        self.height = height
        self.figure = Figure(figsize=(shape.width / 72.0, height / 72.0), dpi=72, facecolor="none")
        FigureCanvasSVG(self.figure)

    def panel(self, left: float, right: float, top: float, bottom: float, share: Any = None) -> Any:
        """Axes with these distances in pixels from the figure's edges; `share` gives its x axis."""
        width, height = self.shape.width, self.height
        box = (left / width, bottom / height, 1.0 - (left + right) / width, 1.0 - (top + bottom) / height)
        panel = self.figure.add_axes(box, facecolor="none", sharex=share)
        for side in ("top", "right", "left"):
            panel.spines[side].set_visible(False)
        panel.spines["bottom"].set(color=LIGHT["line"], linewidth=1.0)
        panel.tick_params(
            labelsize=self.shape.font, labelcolor=LIGHT["soft"], color=LIGHT["line"], length=3, width=1.0, left=False
        )
        panel.set_axisbelow(True)
        return panel

    def title(self, panel: Any, text: str) -> None:
        """A panel's title at its left edge: what is drawn and in which unit."""
        panel.set_title(text, loc="left", fontsize=self.shape.font, color=LIGHT["soft"], pad=7)

    def svg(self, name: str, label: str) -> str:
        """The figure as an <svg> element for inline use; `name` keeps its ids apart, `label` is read aloud."""
        text = io.StringIO()
        with mpl.rc_context(_SETTINGS):
            self.figure.savefig(text, format="svg", metadata=_NO_DATES, dpi=72)
        return _inline(text.getvalue(), f"{name}-{self.shape.name}", label)


def grid(panel: Any, axis: str) -> None:
    """Hairlines across a panel at the ticks of `axis` ("x" or "y")."""
    panel.grid(axis=axis, color=LIGHT["faint"], linewidth=1.0)


def plain_text(text: str) -> str:
    """`text` for a figure: its dollar signs are money, not the borders of a formula."""
    return text.replace("$", r"\$")


def _inline(svg: str, name: str, label: str) -> str:
    body = svg[svg.index("<svg") :]
    body = re.sub(r"\s*<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    box = re.search(r'viewBox="([^"]*)"', body)
    if box is None:
        raise ValueError(f"figure {name}: the SVG has no viewBox")
    head = f'<svg viewBox="{box[1]}" role="img" aria-label="{_escaped(label)}">'
    body = head + body[body.index(">") + 1 :]
    # Ids of groups serve nobody; those of clip paths and markers must differ between figures of one page.
    body = re.sub(r'<g id="[^"]*"', "<g", body)
    body = re.sub(r'\bid="([^"]*)"', rf'id="{name}-\1"', body)
    body = re.sub(r'xlink:href="#', f'href="#{name}-', body).replace("xlink:href=", "href=")
    body = body.replace("url(#", f"url(#{name}-")
    body = re.sub(r"(\d+\.\d\d)\d+", r"\1", body)
    body = re.sub(r"#[0-9a-f]{6}\b", lambda match: _VARIABLES.get(match[0], match[0]), body)
    # The page's own typeface: one family for text and figures.
    body = re.sub(r"'DejaVu Sans'[^;\"]*", "var(--sans)", body)
    body = re.sub(r'base64,[^"]*', lambda match: "".join(match[0].split()), body)
    return re.sub(r"\n\s*", "\n", body).strip()


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
