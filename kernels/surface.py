"""The surface a metric makes over the parameters: heat maps, and how stable a combination is among its neighbours."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.metrics import ALL_METRICS, MetricError


def heat_map(table: pd.DataFrame, parameters: Sequence[str], x: str, y: str, metric: str) -> pd.DataFrame:
    """The metric over two parameters: a row a value of ``y``, a column a value of ``x``, both ascending.

    Where other parameters were swept too, the best value over them; NaN where no combination has one. Raises
    ``MetricError`` for a name that is not in the table, or the same parameter twice.
    """
    _require(table, parameters, metric, x, y)
    if x == y:
        raise MetricError(f"heat map of {x!r} against itself: choose two parameters")
    grouped = table.groupby([y, x], sort=True)[metric]
    best = grouped.max() if ALL_METRICS[metric].more_is_better else grouped.min()
    return best.unstack(x).sort_index(axis=0).sort_index(axis=1)


def neighbours(table: pd.DataFrame, parameters: Sequence[str], row: int) -> pd.DataFrame:
    """The combinations one step from that of ``row`` along one parameter, the others equal: at most two a parameter.

    Columns: ``row`` in the table, ``parameter``, ``step`` (-1 or 1), then the table's. A step leads to the next value that
    the table holds; where no combination stands there (a constraint, a sample) it is left out. Choices have no order, so
    that no step leads from one to another; nor does one from a parameter that is not read. Raises
    ``MetricError`` for a parameter called like one of the columns.
    """
    _require_own_names(parameters, "neighbours", ("row", "parameter", "step"))
    named = [not pd.api.types.is_numeric_dtype(table[name]) for name in parameters]
    columns = [pd.factorize(table[name])[0] if text else table[name] for name, text in zip(parameters, named, strict=True)]
    values = np.array([np.asarray(column, dtype=np.float64) for column in columns]).reshape(len(columns), len(table)).T
    own = values[row]
    found = []
    for place, name in enumerate(parameters):
        if named[place] or np.isnan(own[place]):
            continue
        levels = np.unique(values[:, place])
        at = int(np.searchsorted(levels, own[place]))
        for step in (-1, 1):
            if 0 <= at + step < len(levels):
                wanted = own.copy()
                wanted[place] = levels[at + step]
                same = (values == wanted) | (np.isnan(values) & np.isnan(wanted))
                found += [(int(hit), name, step) for hit in np.flatnonzero(same.all(axis=1))[:1]]
    rows = [hit for hit, _, _ in found]
    beside = pd.DataFrame(
        {
            "row": np.array(rows, dtype=np.int64),
            "parameter": pd.Series([name for _, name, _ in found], dtype="str"),
            "step": np.array([step for _, _, step in found], dtype=np.int64),
        }
    )
    return pd.concat([beside, table.iloc[rows].reset_index(drop=True)], axis=1)


def stability(table: pd.DataFrame, parameters: Sequence[str], metric: str, rows: NDArray[np.int64]) -> pd.DataFrame:
    """How the metric of some rows compares with that of their neighbours: a row each.

    Columns: ``row``, the parameters, the metric, ``neighbours`` (how many have a value), ``mean``, ``worst`` and ``best``
    of them, and ``lead``: the metric less the neighbours' mean, in the direction in which more is better. A peak that no
    neighbour shares has a large lead, one whose neighbours are all as infinite as it none. NaN without neighbours.
    """
    _require(table, parameters, metric)
    names = ["row", metric, "neighbours", "mean", "worst", "best", "lead"]
    _require_own_names(parameters, "stability", names)
    sign = 1.0 if ALL_METRICS[metric].more_is_better else -1.0
    found = []
    for row in rows:
        around = neighbours(table, parameters, int(row))[metric].to_numpy(dtype=np.float64)
        around = around[~np.isnan(around)] * sign
        own = float(table[metric].iloc[int(row)])
        mean, worst, best = (_mean(around), around.min(), around.max()) if len(around) else (float("nan"),) * 3
        lead = 0.0 if sign * own == mean else sign * own - mean
        found.append((int(row), own, len(around), sign * mean, sign * worst, sign * best, lead))
    frame = pd.DataFrame(found, columns=names)
    chosen = table[list(parameters)].iloc[frame["row"].to_numpy()].reset_index(drop=True)
    return pd.concat([frame[["row"]], chosen, frame[names[1:]]], axis=1)


def _require_own_names(parameters: Sequence[str], table: str, columns: Sequence[str]) -> None:
    for name in parameters:
        if name in columns:
            raise MetricError(f"{name!r} is a parameter of the sweep and a column of {table}: rename the parameter")


def _mean(values: NDArray[np.float64]) -> float:
    """The mean; NaN where values at both infinite ends have none."""
    with np.errstate(invalid="ignore"):
        return float(values.mean())


def _require(table: pd.DataFrame, parameters: Sequence[str], metric: str, *axes: str) -> None:
    for name in axes:
        if name not in parameters:
            raise MetricError(f"{name!r} is no parameter of the sweep: it has {', '.join(parameters) or 'none'}")
    if metric not in table.columns or metric not in ALL_METRICS:
        known = [name for name in table.columns if name in ALL_METRICS]
        raise MetricError(f"metric {metric!r} is not in the table: it has {', '.join(known)}")
