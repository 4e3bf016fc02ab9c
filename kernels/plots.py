"""Pictures of a sweep with matplotlib: a heat map, parallel coordinates, and the stability of the best combinations.

Each function draws on the axes it is given, or on a new figure's, and returns them; it shows and saves nothing.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.metrics import ALL_METRICS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAD = "#d9d9d9"
"""Colour of a cell without a value."""


def plot_heat_map(grid: pd.DataFrame, metric: str, axes: "Axes | None" = None) -> "Axes":
    """``result.heat_map(x, y, metric)`` as colours, a label a value, cells without a value grey; infinite ones have the
    colour of their end.
    """
    axes = _axes(axes)
    import matplotlib

    colours = matplotlib.colormaps[_colours(metric)].with_extremes(bad=BAD)
    cells = _bounded(grid.to_numpy(dtype=np.float64))
    image = axes.imshow(np.ma.masked_invalid(cells), cmap=colours, origin="lower", aspect="auto")
    axes.set_xticks(range(grid.shape[1]), [_label(value) for value in grid.columns], rotation=90)
    axes.set_yticks(range(grid.shape[0]), [_label(value) for value in grid.index])
    axes.set_xlabel(str(grid.columns.name))
    axes.set_ylabel(str(grid.index.name))
    axes.figure.colorbar(image, ax=axes, label=metric)
    return axes


def plot_parallel(table: pd.DataFrame, parameters: Sequence[str], metric: str, axes: "Axes | None" = None) -> "Axes":
    """A line a combination across its parameters and the metric, each scaled to its own range; the best are on top.

    Choices stand in the order of the table. Combinations without a value are left out; a line has a gap where it does not
    read a parameter.
    """
    axes = _axes(axes)
    import matplotlib

    names, table = [*parameters, metric], table[table[metric].notna()]
    columns = [_numbers(table[name]) for name in names]
    values = _bounded(np.stack([numbers for numbers, _ in columns], axis=1))
    sign = 1.0 if ALL_METRICS[metric].more_is_better else -1.0
    values = values[np.argsort(sign * values[:, -1], kind="stable")]
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    scaled = (values - low) / np.where(high > low, high - low, 1.0)
    colours = matplotlib.colormaps[_colours(metric)](scaled[:, -1])
    for line, colour in zip(scaled, colours, strict=True):
        axes.plot(range(len(names)), line, color=colour, linewidth=0.8)
    labels = [
        f"{name}\n{', '.join(options)}" if options else f"{name}\n{a:g} to {b:g}"
        for name, (_, options), a, b in zip(names, columns, low, high, strict=True)
    ]
    axes.set_xticks(range(len(names)), labels)
    axes.set_yticks([])
    return axes


def plot_stability(found: pd.DataFrame, metric: str, axes: "Axes | None" = None) -> "Axes":
    """``result.stability(metric)``: each of the best as a point, the range and mean of its neighbours beside it; infinite
    values stand at the end of the finite ones.
    """
    axes = _axes(axes)
    places = np.arange(len(found))
    names = [metric, "mean", "worst", "best"]
    values = found[names].to_numpy(dtype=np.float64)
    found = found.assign(**dict(zip(names, _bounded(values.reshape(-1, 1)).reshape(values.shape).T, strict=True)))
    middle = found["mean"].to_numpy()
    low, high = (found[["worst", "best"]].min(axis=1).to_numpy(), found[["worst", "best"]].max(axis=1).to_numpy())
    axes.errorbar(places, middle, yerr=[middle - low, high - middle], fmt="o", mfc="none", label="neighbours")
    axes.plot(places, found[metric].to_numpy(), "s", label="combination")
    axes.set_xticks(places, [str(row) for row in found["row"]])
    axes.set_xlabel("row of the table, best first")
    axes.set_ylabel(metric)
    axes.legend()
    return axes


def _bounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Infinite values as the largest or least finite one of their column, 1 or -1 where there is none."""
    finite = np.where(np.isfinite(values), values, np.nan)
    some = ~np.isnan(finite).all(axis=0)
    low, high = np.full(values.shape[1], -1.0), np.ones(values.shape[1])
    low[some], high[some] = np.nanmin(finite[:, some], axis=0), np.nanmax(finite[:, some], axis=0)
    return np.clip(values, low, high)


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    from matplotlib.figure import Figure

    return Figure(layout="constrained").add_subplot()


def _label(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _numbers(column: pd.Series) -> tuple[NDArray[np.float64], list[str]]:
    """A column as numbers; names are numbered, and given too."""
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64), []
    places, names = pd.factorize(column)
    return np.where(places < 0, np.nan, places.astype(np.float64)), list(names)


def _colours(metric: str) -> str:
    return "viridis" if ALL_METRICS[metric].more_is_better else "viridis_r"
