"""From values and figures to files: the templates of the pages, and writes that leave either the old page or the new."""

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pipelines.report.palette import css_variables

RESOURCES = Path(__file__).parent / "resources"


def render_page(template: str, values: Mapping[str, Any], figures: Mapping[str, Mapping[str, str]]) -> str:
    """The HTML of a page; every text is escaped but the style sheet and the figures, which are ours."""
    environment = Environment(
        loader=FileSystemLoader(RESOURCES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    drawn = {name: {shape: Markup(svg) for shape, svg in shapes.items()} for name, shapes in figures.items()}
    style = Markup((RESOURCES / "page.css").read_text(encoding="utf-8"))
    light, dark = css_variables()
    return environment.get_template(template).render(figures=drawn, style=style, light=light, dark=dark, **values)


def write_page(path: Path, html: str, report: Mapping[str, Any], indent: int | None = 1) -> None:
    """Write a page and beside it the same content as JSON (suffix .json), each atomically; `indent` is the JSON's."""
    text = json.dumps(report, allow_nan=False, indent=indent, ensure_ascii=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    _write_atomically(path.with_suffix(".json"), text)
    _write_atomically(path, html)


def write_html(path: Path, html: str) -> None:
    """Write a page alone, atomically."""
    _write_atomically(path, html)


def _write_atomically(path: Path, text: str) -> None:
    """Write beside `path`, then rename: a reader sees the old file or the new one, whole."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
