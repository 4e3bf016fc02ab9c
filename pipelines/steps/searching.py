"""What a strategy's sweep tries: the whole grid, or a sample of it, and which combinations overfitting is judged on."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.grid import BLOCK, lattice
from kernels.sampling import random_combinations, sobol_combinations
from kernels.strategies import named_strategy
from kernels.sweep import warm_up

GRID = "grid"
SAMPLERS = {"random": random_combinations, "sobol": sobol_combinations}
SEARCHES = (GRID, *SAMPLERS)

Grid = Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class SweepSearch:
    """The combinations of one strategy, by number: in a grid the place in the product of its axes, else in the sample.

    `table` holds a sample, and is empty for a grid, which is enumerated where it is needed. `size` counts the numbers,
    `combinations` those that fulfil the constraint and so are tried; `start` is the warm-up of all of them. `judged` are
    the numbers whose session returns are kept for the probability of overfitting. `words` say what is searched.
    """

    table: pd.DataFrame
    size: int
    combinations: int
    start: int
    judged: NDArray[np.int64]
    words: str


def own_grid(grid: Grid, place: Mapping[str, int | str]) -> dict[str, tuple[float, ...]]:
    """Return the axes that the strategy at this place declares: the values of others do not touch its sweep."""
    declared = named_strategy(str(place["strategy"])).parameters
    return {name: tuple(grid[name]) for name in declared}


def search_size(strategy: str, grid: Grid, search: str, samples: int) -> int:
    """Return how many numbers the search has, those that break the constraint included."""
    names = named_strategy(strategy).parameters
    return math.prod(len(grid[name]) for name in names) if search == GRID else samples


def sweep_search(strategy: str, grid: Grid, search: str, samples: int, seed: int, judged: int) -> SweepSearch:
    """Say what is tried: nothing of the data is known here.

    At most `judged` combinations, drawn with the seed from all that are tried, each as likely as any other, are judged
    for overfitting. Raises GridError where the constraint leaves none, or not as many as a sample wants.
    """
    made, total = named_strategy(strategy), math.prod(len(grid[name]) for name in named_strategy(strategy).parameters)
    table = pd.DataFrame()
    words = f"every combination of the grid that the strategy allows, of {total:,}"
    if search != GRID:
        table = SAMPLERS[search](made, grid, samples, seed)
        words = f"{samples:,} {search} combinations (seed {seed}) of a grid of {total:,}"
    size = search_size(strategy, grid, search, samples)
    counts, start = [], 0
    for _, block in _blocks(strategy, grid, table, size):
        counts.append(len(block))
        start = max(start, warm_up(made, block)) if len(block) else start
    tried = sum(counts)
    # places among those tried, then their numbers: the grid is enumerated twice and never held
    drawn = np.sort(np.random.default_rng(seed).choice(tried, min(judged, tried), replace=False))
    found, before = [], 0
    for count, (numbers, _) in zip(counts, _blocks(strategy, grid, table, size), strict=True):
        found.append(numbers[drawn[(drawn >= before) & (drawn < before + count)] - before])
        before += count
    return SweepSearch(table, size, tried, start, np.concatenate(found), words)


def numbered(
    strategy: str, grid: Grid, table: pd.DataFrame, low: int, high: int
) -> tuple[NDArray[np.int64], pd.DataFrame]:
    """Return numbers and parameters of the combinations numbered [low, high); `table` is the sample, if it is one."""
    if len(table.columns) == 0:
        return lattice(grid, named_strategy(strategy)).numbered(low, high)
    rows = table.iloc[low:high].reset_index(drop=True)
    return np.arange(low, low + len(rows), dtype=np.int64), rows


def _blocks(
    strategy: str, grid: Grid, table: pd.DataFrame, size: int
) -> Iterator[tuple[NDArray[np.int64], pd.DataFrame]]:
    for low in range(0, size, BLOCK):
        yield numbered(strategy, grid, table, low, min(low + BLOCK, size))
