"""Where the boxes of a directed acyclic graph go: layers by longest path, few crossings, neighbours near each other.

The method is Sugiyama's: an edge over several layers passes through a point in each, points and boxes of a layer are
ordered by the mean place of their neighbours, and coordinates are the least squares towards them that keep the gaps.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ROUNDS = 24
GAP = 28.0  # between boxes of a layer
POINT = 10.0  # width of the point where an edge passes a layer


@dataclass(frozen=True)
class Layout:
    """Centres of the boxes along a layer; the layers from top to bottom; for each edge the centres it passes on its way."""

    centres: Mapping[str, float]
    layers: tuple[tuple[str, ...], ...]
    paths: Mapping[tuple[str, str], tuple[float, ...]]
    width: float


def implied(edges: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the edges that a longer way says as well."""
    after = _followers(edges)
    reach: dict[str, set[str]] = {}

    def reached(node: str) -> set[str]:
        if node not in reach:
            reach[node] = set(after.get(node, ())).union(*(reached(one) for one in after.get(node, ())))
        return reach[node]

    return {(a, b) for a, b in edges if any(other != b and b in reached(other) for other in after[a])}


def layered(names: Sequence[str], edges: Sequence[tuple[str, str]], widths: Mapping[str, float]) -> Layout:
    """Lay out the boxes `names`, in an order in which each comes after what it reads, with the edges (from, to)."""
    depth = _depths(names, edges)
    rows: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name in names:
        rows[depth[name]].append(name)
    sizes = dict(widths)
    links: list[tuple[str, str]] = []
    through: dict[tuple[str, str], list[str]] = {}
    for a, b in edges:
        points = [f"{a}→{b}@{level}" for level in range(depth[a] + 1, depth[b])]
        through[a, b] = points
        for at, point in enumerate(points):
            rows[depth[a] + 1 + at].append(point)
            sizes[point] = POINT
        chain = [a, *points, b]
        links += list(itertools.pairwise(chain))
    rows = _ordered(rows, links)
    centres = _placed(rows, links, sizes)
    left = min((centres[name] - sizes[name] / 2 for name in centres), default=0.0)
    centres = {name: value - left for name, value in centres.items()}
    return Layout(
        centres={name: centres[name] for name in names},
        layers=tuple(tuple(name for name in row if name in depth) for row in rows),
        paths={edge: tuple(centres[point] for point in points) for edge, points in through.items()},
        width=max((centres[name] + sizes[name] / 2 for name in centres), default=0.0),
    )


def _depths(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Longest way from a source; a source itself stands just above the first that reads it."""
    before: dict[str, list[str]] = {}
    for a, b in edges:
        before.setdefault(b, []).append(a)
    depth: dict[str, int] = {}
    for name in names:
        depth[name] = max((depth[one] + 1 for one in before.get(name, ())), default=0)
    after = _followers(edges)
    for name in names:
        if name not in before and after.get(name):
            depth[name] = min(depth[one] for one in after[name]) - 1
    return depth


def _ordered(rows: list[list[str]], links: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Order each layer by the mean place of neighbours, down and up in turn; keep the order with the fewest crossings."""
    down, up = _followers([(b, a) for a, b in links]), _followers(links)
    best, fewest = [list(row) for row in rows], _crossings(rows, up)
    for turn in range(ROUNDS):
        near = down if turn % 2 == 0 else up
        for row in rows if turn % 2 == 0 else reversed(rows):
            place = {name: at for other in rows for at, name in enumerate(other)}
            means = {
                name: sum(place[one] for one in near[name]) / len(near[name]) if near.get(name) else float(place[name])
                for name in row
            }
            row.sort(key=lambda name: (means[name], place[name]))
        crossings = _crossings(rows, up)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _crossings(rows: Sequence[Sequence[str]], up: Mapping[str, Sequence[str]]) -> int:
    count = 0
    for upper, lower in itertools.pairwise(rows):
        place = {name: at for at, name in enumerate(lower)}
        ends = [end for name in upper for end in sorted(place[one] for one in up.get(name, ()) if one in place)]
        count += sum(ends[i] > ends[j] for i in range(len(ends)) for j in range(i + 1, len(ends)))
    return count


def _placed(rows: Sequence[Sequence[str]], links: Sequence[tuple[str, str]], sizes: Mapping[str, float]) -> dict[str, float]:
    """Move boxes towards their neighbours, layer by layer, down and up in turn."""
    down, up = _followers([(b, a) for a, b in links]), _followers(links)
    centres: dict[str, float] = {}
    for row in rows:
        offsets = _offsets(row, sizes)
        centres |= {name: offset - offsets[-1] / 2 for name, offset in zip(row, offsets, strict=True)}
    for turn in range(ROUNDS):
        near = down if turn % 2 == 0 else up
        for row in rows if turn % 2 == 0 else reversed(rows):
            wanted = [_mean([centres[one] for one in near.get(name, ())], centres[name]) for name in row]
            offsets = _offsets(row, sizes)
            flat = _rising([want - offset for want, offset in zip(wanted, offsets, strict=True)])
            centres |= {name: value + offset for name, value, offset in zip(row, flat, offsets, strict=True)}
    return centres


def _offsets(row: Sequence[str], sizes: Mapping[str, float]) -> list[float]:
    """Centres of a layer's boxes packed side by side from 0."""
    found = [0.0]
    for a, b in itertools.pairwise(row):
        found.append(found[-1] + (sizes[a] + sizes[b]) / 2 + GAP)
    return found[: len(row)] if row else [0.0]


def _rising(values: Sequence[float]) -> list[float]:
    """Return the rising sequence nearest to the values in least squares (pool adjacent violators)."""
    pools: list[tuple[float, int]] = []
    for value in values:
        pools.append((value, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (b, m), (a, n) = pools.pop(), pools.pop()
            pools.append(((a * n + b * m) / (n + m), n + m))
    return [mean for mean, count in pools for _ in range(count)]


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _followers(edges: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for a, b in edges:
        found.setdefault(a, []).append(b)
    return found
