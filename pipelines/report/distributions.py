"""How a feature is distributed and how far two samples of it lie apart; numpy only, for the page's writer uses it too.

The population stability index (PSI) of a sample against a reference is the sum over bins of (s - r) ln(s / r), s and r
their shares of rows in the bin; the bins are the reference's deciles. Half a row is added to every bin, so that an empty
one has a logarithm. The Kolmogorov-Smirnov distance (KS) is the largest distance between the two cumulative
distributions. No p-values: rows a minute apart are far from independent, any test would call everything different.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

NOTICEABLE, LARGE = 0.1, 0.25  # the usual reading of PSI: below, the same; above, another distribution
KNOTS = 100
DECILES = 10
QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


@dataclass(frozen=True)
class Sorted:
    """A feature's values in rising order [n] (finite), the row each came from, and the same on a decimal grid.

    Features differ in the last digits where they mean the same (a close at the high is 0.9998 or 0.9999 of the range), so
    samples are compared on a grid of about a thousandth of the range; `ends` marks where a run of equal values on it ends.
    """

    values: NDArray[np.float64]
    order: NDArray[np.int64]
    grid: NDArray[np.float64]
    ends: NDArray[np.bool_]

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> "Sorted":
        """Sort a column [n]; raises ValueError for an empty one."""
        if not len(values):
            raise ValueError("a distribution needs at least one row")
        order = np.argsort(values, kind="stable")  # the order of ties would follow the processor
        ordered = values[order] + 0.0  # so would which of two zeros comes first
        grid = on_grid(ordered)
        return cls(ordered, order, grid, np.append(grid[1:] != grid[:-1], True))

    def part(self, member: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Values of the rows that are `member` [n], in rising order."""
        return self.values[member[self.order]]


def on_grid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values in rising order, rounded to the power of ten that is 1/3000 to 1/300 of their 1 % to 99 % range.

    A power of ten, so that two sets of about the same range are rounded alike.
    """
    low, high = quantiles(values, (0.01, 0.99))
    if not high > low:
        low, high = float(values[0]), float(values[-1])
    if not high > low:
        return values
    return np.round(values, -int(np.floor(np.log10((high - low) / 300.0)))) + 0.0


def quantile_edges(values: NDArray[np.float64], parts: int) -> NDArray[np.float64]:
    """Upper edges of `parts` bins of equal weight, from values in rising order.

    Bins are closed on the right. Edges that coincide count once and the largest value is no edge, so that every bin holds
    rows of the reference; a constant has no edge at all.
    """
    ranks = -(-np.arange(1, parts) * len(values) // parts) - 1
    edges: NDArray[np.float64] = np.unique(values[ranks]) if len(values) else np.empty(0)
    return edges[edges < values[-1]] if len(values) else edges


def bin_counts(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rows in each of the len(edges) + 1 bins (closed on the right), of values in rising order."""
    places = np.searchsorted(values, edges, side="right")
    return np.diff(places, prepend=0, append=len(values)).astype(np.int64)


def stability_index(reference: NDArray[Any], sample: NDArray[Any]) -> float:
    """PSI of counts by bin; NaN where either has no rows."""
    if not reference.sum() or not sample.sum():
        return float("nan")
    r = (reference + 0.5) / (reference.sum() + 0.5 * len(reference))
    s = (sample + 0.5) / (sample.sum() + 0.5 * len(sample))
    return float(np.sum((s - r) * np.log(s / r)))


def compare(feature: Sorted, reference: NDArray[np.bool_]) -> dict[str, float]:
    """PSI and KS of all other rows against the `reference` rows [n]; NaN where either has none."""
    member = reference[feature.order]
    count = int(member.sum())
    if not 0 < count < len(member):
        return {"psi": float("nan"), "ks": float("nan")}
    edges = quantile_edges(feature.grid[member], DECILES)
    counts = bin_counts(feature.grid[member], edges)
    psi = stability_index(counts, bin_counts(feature.grid, edges) - counts)
    here = np.cumsum(member)[feature.ends]
    below = np.flatnonzero(feature.ends) + 1
    ks = np.abs(here / count - (below - here) / (len(member) - count)).max()
    return {"psi": psi, "ks": float(ks)}


def block_indices(feature: Sorted, blocks: NDArray[np.int64], number: int) -> list[float]:
    """PSI of each block of rows (`blocks` [n]: 0 … number - 1) against all rows."""
    edges = quantile_edges(feature.grid, DECILES)
    places = [0, *np.searchsorted(feature.grid, edges, side="right").tolist(), len(feature.grid)]
    ordered = blocks[feature.order]
    counts = np.array([np.bincount(ordered[start:stop], minlength=number) for start, stop in pairwise(places)])
    return [stability_index(counts.sum(axis=1), counts[:, block]) for block in range(number)]


def quantiles(values: NDArray[np.float64], at: Sequence[float] = QUANTILES) -> list[float]:
    """Quantiles of values in rising order, linear between neighbours (numpy's default)."""
    return [float(value) for value in np.interp(np.array(at) * (len(values) - 1), np.arange(len(values)), values)]


def sketch(values: NDArray[np.float64]) -> dict[str, list[Any]]:
    """A distribution in at most 101 points, from values on a grid in rising order: for sets that are no longer at hand.

    `at` are the values at the percentiles (and the least); `at_most` and `below` the rows up to and below each, so that
    a value many rows share keeps its step.
    """
    ranks = -(-np.arange(1, KNOTS + 1) * len(values) // KNOTS) - 1
    at = np.unique(np.concatenate((values[:1], values[ranks])))
    return {
        "at": at.tolist(),
        "at_most": np.searchsorted(values, at, side="right").tolist(),
        "below": np.searchsorted(values, at, side="left").tolist(),
    }


def compare_sketches(reference: Mapping[str, Any], sample: Mapping[str, Any]) -> dict[str, float]:
    """PSI and KS of two sketches; each share read off a sketch is within 1 % of the rows, exact at its own points."""
    both = np.union1d(reference["at"], sample["at"])
    rows, other = reference["at_most"][-1], sample["at_most"][-1]
    steps = [np.abs(_share(reference, both, end) - _share(sample, both, end)).max() for end in ("at_most", "below")]
    at_most = np.array(reference["at_most"])
    ranks = -(-np.arange(1, DECILES) * rows // DECILES)
    edges = np.unique(np.array(reference["at"])[np.searchsorted(at_most, ranks)])
    edges = edges[edges < reference["at"][-1]]
    counts = [
        np.diff(_share(each, edges, "at_most"), prepend=0.0, append=1.0) * total
        for each, total in ((reference, rows), (sample, other))
    ]
    return {"psi": stability_index(*counts), "ks": float(max(steps))}


def _share(of: Mapping[str, Any], at: NDArray[np.float64], end: str) -> NDArray[np.float64]:
    """Share of a sketch's rows at most (or below) each value: exact at its points, linear between them."""
    knots = np.array(of["at"])
    place = np.searchsorted(knots, at, side="left")
    exact = np.minimum(place, len(knots) - 1)
    found = np.array(of[end], dtype=np.float64)[exact]
    left, right = np.maximum(place - 1, 0), exact
    low, high = np.array(of["at_most"], dtype=np.float64)[left], np.array(of["below"], dtype=np.float64)[right]
    width = np.where(right > left, knots[right] - knots[left], 1.0)
    between = low + (high - low) * np.clip((at - knots[left]) / width, 0.0, 1.0)
    inside = np.where(knots[exact] == at, found, between)
    total = float(of["at_most"][-1])
    shares: NDArray[np.float64] = np.where(at < knots[0], 0.0, np.where(at > knots[-1], total, inside)) / total
    return shares
