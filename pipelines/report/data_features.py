"""The features of a data set as JSON values: distributions, drift between samples and over time, correlation."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipelines.report.distributions import QUANTILES, Sorted, block_indices, compare, quantiles, sketch
from pipelines.report.document import finite

BINS = 40
TAIL = 0.001  # of the rows on either side lie in a histogram's first and last bin
BLOCK_SESSIONS = 20
MOST_BLOCKS = 26
STRONG = 0.8
DECIMALS = 4  # of correlations: far above what the order of a sum can change
_COLUMNS = 8  # read at a time: a row of them fills a cache line
_ROWS = 8_192  # at a time: they fit the cache


def feature_entries(
    features: NDArray[np.floating],
    names: Sequence[str],
    rows: NDArray[np.int64],
    splits: dict[str, NDArray[np.bool_]],
    blocks: NDArray[np.int64],
) -> list[dict[str, Any]]:
    """One entry a feature over the `rows` of the matrix [bars, F] at which every feature exists.

    `splits`: name → member [rows]; each gives PSI and KS of the others against the members. "train" is also drawn.
    `blocks` [rows] numbers spans of time. Undefined values are null.
    """
    entries = []
    number = int(blocks.max()) + 1 if len(blocks) else 0
    for name, column in zip(names, _columns(features), strict=True):
        entry: dict[str, Any] = {"name": str(name), "undefined_rows": int(np.count_nonzero(~np.isfinite(column)))}
        if len(rows):
            feature = Sorted.of(np.ascontiguousarray(column[rows]))
            entry |= _moments(feature, splits["train"])
            entry["histogram"] = histogram(feature, splits["train"])
            entry["drift"] = {
                split: {key: finite(value) for key, value in compare(feature, member).items()}
                for split, member in splits.items()
            }
            entry["blocks"] = [finite(value) for value in block_indices(feature, blocks, number)]
            entry["sketch"] = sketch(feature.grid)
        entries.append(entry)
    return entries


def _columns(features: NDArray[np.floating]) -> Iterator[NDArray[np.float64]]:
    for start in range(0, features.shape[1], _COLUMNS):
        yield from np.ascontiguousarray(features[:, start : start + _COLUMNS].T)


def _moments(feature: Sorted, train: NDArray[np.bool_]) -> dict[str, Any]:
    values, number = feature.values, len(feature.values)
    ends = np.flatnonzero(feature.ends)
    runs = np.diff(ends, prepend=-1)
    inside = feature.part(train)
    return {
        "mean": float(values.mean()),
        "deviation": finite(float(values.std(ddof=1))) if number > 1 else None,
        "train_mean": float(inside.mean()) if len(inside) else None,
        "train_deviation": float(inside.std(ddof=1)) if len(inside) > 1 else None,
        "quantiles": dict(zip(map(str, QUANTILES), quantiles(values), strict=True)),
        "most_frequent": float(feature.grid[ends[np.argmax(runs)]]),
        "most_frequent_share": float(runs.max()) / number,
        "constant": bool(values[0] == values[-1]),
    }


def histogram(feature: Sorted, train: NDArray[np.bool_]) -> dict[str, Any]:
    """Shares of train and of all other rows in bins of equal width; the first and the last bin hold the tails too."""
    low, high = quantiles(feature.values, (TAIL, 1.0 - TAIL))
    if not high > low:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, BINS + 1)
    places = np.concatenate(([0], np.searchsorted(feature.values, edges[1:-1]), [len(feature.values)]))
    inside = np.concatenate(([0], np.cumsum(train[feature.order])))[places]
    counts, mine = np.diff(places), np.diff(inside)
    others = counts - mine
    return {
        "low": float(low),
        "high": float(high),
        "train": (mine / max(int(mine.sum()), 1)).round(6).tolist(),
        "rest": (others / max(int(others.sum()), 1)).round(6).tolist(),
    }


def session_blocks(session: NDArray[np.int32]) -> tuple[NDArray[np.int64], list[int]]:
    """Number spans of about 20 trade dates (at most 26 spans): of each row [n], and the first trade date of each span."""
    dates, place = np.unique(session, return_inverse=True)
    number = max(1, min(len(dates) // BLOCK_SESSIONS, MOST_BLOCKS))
    block = np.arange(len(dates)) * number // max(len(dates), 1)
    firsts = dates[np.searchsorted(block, np.arange(number))] if len(dates) else dates
    return block[place].astype(np.int64), [int(date) for date in firsts]


def correlation(features: NDArray[np.floating], names: Sequence[str], rows: NDArray[np.int64]) -> dict[str, Any]:
    """Pearson correlations over `rows`, features in the order of an average-linkage tree on 1 - |correlation|.

    `values` are null where a feature is constant; `strong` lists the pairs beyond ±0.8, strongest first.
    """
    matrix = pearson(features, rows)
    order = cluster_order(np.nan_to_num(matrix))
    first, second = np.triu_indices(len(names), 1)
    strength = np.abs(matrix[first, second])
    chosen = np.flatnonzero(strength > STRONG)
    chosen = chosen[np.argsort(-strength[chosen], kind="stable")]
    return {
        "threshold": STRONG,
        "names": [str(names[place]) for place in order],
        "values": [[finite(value) for value in row] for row in matrix[np.ix_(order, order)].tolist()],
        "strong": [
            {"first": str(names[i]), "second": str(names[j]), "correlation": float(matrix[i, j])}
            for i, j in zip(first[chosen], second[chosen], strict=True)
        ],
    }


def pearson(features: NDArray[np.floating], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Correlation matrix [F, F] over `rows`, in chunks of rows; NaN beside a constant or without two rows."""
    width = features.shape[1]
    if len(rows) < 2:
        return np.full((width, width), np.nan)
    chunks = [rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS)]
    mean = np.sum([features[chunk].sum(axis=0) for chunk in chunks], axis=0) / len(rows)
    products, constant = np.zeros((width, width)), np.ones(width, dtype=np.bool_)
    for chunk in chunks:
        constant &= (features[chunk] == features[rows[0]]).all(axis=0)
        centred = features[chunk] - mean
        products += np.einsum("ij,ik->jk", centred, centred)
    scale = np.where(constant, np.nan, np.sqrt(np.diag(products)))
    matrix: NDArray[np.float64] = np.clip(products / scale[:, None] / scale[None, :], -1.0, 1.0)
    return matrix.round(DECIMALS)


def cluster_order(matrix: NDArray[np.float64]) -> list[int]:
    """Order of the leaves of an average-linkage tree on 1 - |correlation|, alike features beside each other."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(matrix) < 2:
        return list(range(len(matrix)))
    distance = 1.0 - np.abs(matrix)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform((distance + distance.T) / 2.0, checks=False), "average", optimal_ordering=True)
    return [int(leaf) for leaf in leaves_list(tree)]
