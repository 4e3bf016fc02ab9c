"""Colours of the report, light and dark, and how each model's line looks.

The hues are Okabe and Ito's eight, which stay apart for every common kind of colour blindness, and two more for seeds,
which their dashes tell apart too; dark variants are lightened to keep contrast. Figures are drawn in the light colours,
each of which is replaced by its CSS variable.
"""

from collections.abc import Sequence
from dataclasses import dataclass

# name -> (light, dark). Light values are unique: they are the key by which a figure's colours become CSS variables.
COLOURS: dict[str, tuple[str, str]] = {
    "paper": ("#fdfdfc", "#14171b"),
    "panel": ("#f5f5f2", "#1c2025"),
    "ink": ("#1a1d21", "#e8e6e1"),
    "soft": ("#5b6169", "#a3a9b1"),
    "line": ("#d9d9d4", "#343a42"),
    "faint": ("#ebebe7", "#262b31"),
    "blue": ("#0072b2", "#62b5e8"),
    "green": ("#00805d", "#3cc39b"),
    "purple": ("#a8558a", "#df9cc4"),
    "sky": ("#3a8fbf", "#9ad2f2"),
    "orange": ("#c95400", "#f58f4a"),
    "rose": ("#c2255c", "#f783ac"),
    "brown": ("#7a4b21", "#cf9f73"),
    "amber": ("#947000", "#e3bd3e"),
    "grey": ("#6b7178", "#9ba1a9"),
    "bad": ("#b94a00", "#f2925a"),
}
_STRATEGY_HUES = ("blue", "green", "purple", "sky")
_POLICY_HUES = ("orange", "rose", "brown")
_DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2), (1.5, 1.5), (7, 2, 1.5, 2), (3, 1), (9, 3))


@dataclass(frozen=True)
class LineStyle:
    """Colour name, dash pattern in units of the line's width (empty: solid) and width in points of a model's line."""

    colour: str
    dash: tuple[float, ...]
    width: float


def _style(kind: str, order: int) -> LineStyle:
    if kind == "strategy":
        return LineStyle(_STRATEGY_HUES[order % len(_STRATEGY_HUES)], _DASHES[order // len(_STRATEGY_HUES) % 6], 1.5)
    if kind == "policy":
        return LineStyle(_POLICY_HUES[order % len(_POLICY_HUES)], _DASHES[order % 6], 1.7)
    if kind == "linear":
        return LineStyle("amber", _DASHES[order % 6], 1.5)
    return LineStyle("ink" if order == 0 else "grey", _DASHES[(order + 1) % 6], 1.3)


def line_styles(models: Sequence[tuple[str, str]]) -> dict[str, LineStyle]:
    """Style by model for (model, kind) pairs in report order: a hue a strategy, a warm hue and a dash a seed."""
    seen: dict[str, int] = {}
    styles = {}
    for model, kind in models:
        styles[model] = _style(kind, seen.get(kind, 0))
        seen[kind] = seen.get(kind, 0) + 1
    return styles


def css_variables() -> tuple[str, str]:
    """Declarations of all colours as CSS variables: for the light and for the dark scheme."""
    light = "".join(f"--{name}:{values[0]};" for name, values in COLOURS.items())
    dark = "".join(f"--{name}:{values[1]};" for name, values in COLOURS.items())
    return light, dark
