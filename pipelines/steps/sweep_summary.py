"""What is kept of a sweep's combinations: the best, counts, distributions, the heat map. Joins do not depend on the parts.

Parts may be cut anywhere and joined in any order: counts are integers, extremes are extremes, and of the values
themselves only counts in fixed buckets are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.metrics import ALL_METRICS, ranking

NUMBER = "combination"
"""Column of a combination's number in the search."""

DROPPED_BITS = 42
"""Low bits of a float64 that its bucket forgets: 10 bits of the mantissa stay, so a bucket is 0.1 % wide."""

CELLS = 100
"""Most values of a heat map's axis: of a finer one neighbouring values share a cell."""

_INFINITE = int(np.array(np.inf).view(np.int64))

Axes = Sequence[tuple[float, ...]]


@dataclass(frozen=True)
class SweepSummary:
    """`best`: the best combinations by the metric, best first, NUMBER, parameters, metrics; ties go to the lower number.

    `combinations` were tried, for `undefined` of which the metric has no value; `positive` have one above 0. `values` and
    `sharpes` (bucket int64, count int64) are the distributions of the metric, infinite values included, and of the Sharpe
    ratio; see `middle`.
    `cells` (x, y, value) is the best value of the metric, NaN where there is none, over the first two parameters.
    """

    best: pd.DataFrame
    combinations: int
    undefined: int
    positive: int
    values: pd.DataFrame
    sharpes: pd.DataFrame
    cells: pd.DataFrame


def summary(table: pd.DataFrame, parameters: Sequence[str], axes: Axes, metric: str, keep: int) -> SweepSummary:
    """Summarise combinations: NUMBER, parameters, metrics. `axes` are all values of each parameter in the search."""
    scores = table[metric].to_numpy(dtype=np.float64)
    defined = scores[~np.isnan(scores)]
    sharpes = table["sharpe"].to_numpy(dtype=np.float64) if "sharpe" in table else np.empty(0)
    return SweepSummary(
        best=_best(table, metric, keep),
        combinations=len(table),
        undefined=len(scores) - len(defined),
        positive=int((defined > 0.0).sum()),
        values=_counted(defined),
        sharpes=_counted(sharpes[np.isfinite(sharpes)]),
        cells=_cells(table, parameters, axes, metric),
    )


def joined(parts: Sequence[SweepSummary], metric: str, keep: int) -> SweepSummary:
    """Join the summaries of parts: what `summary` says of all their combinations; parts without any change nothing."""
    some = [part for part in parts if part.combinations] or list(parts[:1])

    def together(name: str) -> pd.DataFrame:
        return pd.concat([getattr(part, name) for part in some], ignore_index=True)

    return SweepSummary(
        best=_best(together("best"), metric, keep),
        combinations=sum(part.combinations for part in some),
        undefined=sum(part.undefined for part in some),
        positive=sum(part.positive for part in some),
        values=_added(together("values")),
        sharpes=_added(together("sharpes")),
        cells=_best_cells(together("cells"), metric),
    )


def bucket(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The bucket of each value that is not NaN: sign, exponent and 10 bits of the mantissa, in the order of the values."""
    bits = np.abs(values).view(np.int64) >> DROPPED_BITS
    return np.where(values < 0.0, -1 - bits, bits)


def middle(buckets: NDArray[np.int64]) -> NDArray[np.float64]:
    """The value in the middle of each bucket: within 0.05 % of all that fall into it; infinite values are their bucket's."""
    negative = buckets < 0
    bits = np.where(negative, -1 - buckets, buckets) << DROPPED_BITS
    half = np.where((bits == 0) | (bits == _INFINITE), 0, 1 << (DROPPED_BITS - 1))
    values = (bits | half).view(np.float64)
    found: NDArray[np.float64] = np.where(negative, -values, values)
    return found


def median(counted: pd.DataFrame) -> float:
    """The median of a distribution; NaN for an empty one."""
    counts = np.cumsum(counted["count"].to_numpy(dtype=np.int64))
    if not len(counts):
        return float("nan")
    places = np.searchsorted(counts, [(counts[-1] - 1) // 2, counts[-1] // 2], side="right")
    return float(middle(counted["bucket"].to_numpy(dtype=np.int64)[places]).mean())


def better(metric: str) -> bool:
    """Whether more of the metric is better."""
    return ALL_METRICS[metric].more_is_better


def _best(table: pd.DataFrame, metric: str, keep: int) -> pd.DataFrame:
    table = table.sort_values(NUMBER, kind="stable", ignore_index=True)
    scores = table[metric].to_numpy(dtype=np.float64)
    return table.iloc[ranking(metric, scores)[:keep]].reset_index(drop=True)


def _counted(values: NDArray[np.float64]) -> pd.DataFrame:
    found, counts = np.unique(bucket(values), return_counts=True)
    return pd.DataFrame({"bucket": found.astype(np.int64), "count": counts.astype(np.int64)})


def _added(counted: pd.DataFrame) -> pd.DataFrame:
    return counted.groupby("bucket", sort=True, as_index=False)["count"].sum()


def _cells(table: pd.DataFrame, parameters: Sequence[str], axes: Axes, metric: str) -> pd.DataFrame:
    pairs = list(zip(parameters, axes, strict=True))[:2]
    places = [_coarse(table[name].to_numpy(dtype=np.float64), axis) for name, axis in pairs]
    places += [np.zeros(len(table))] * (2 - len(places))
    values = table[metric].to_numpy(dtype=np.float64)
    return _best_cells(pd.DataFrame({"x": places[0], "y": places[1], "value": values}), metric)


def _best_cells(cells: pd.DataFrame, metric: str) -> pd.DataFrame:
    groups = cells.groupby(["x", "y"], sort=True, as_index=False)["value"]
    return groups.max() if better(metric) else groups.min()


def _coarse(values: NDArray[np.float64], axis: tuple[float, ...]) -> NDArray[np.float64]:
    """The first of the neighbouring axis values that share a cell with each value."""
    ordered = np.unique(np.asarray(axis, dtype=np.float64))
    cells = min(len(ordered), CELLS)
    first = -(-np.arange(cells) * len(ordered) // cells)
    cell = np.searchsorted(first, np.searchsorted(ordered, values), side="right") - 1
    found: NDArray[np.float64] = ordered[first[cell]]
    return found
