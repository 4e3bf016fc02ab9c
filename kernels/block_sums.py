"""Sums of the returns of periods over blocks of periods, for each combination: the raw material of overfitting statistics.

Two tallies, ``block_sum`` and ``block_squares``, add up the returns of a block; between blocks the run stops, they are
read and set to 0, and it goes on from its state. So any number of blocks costs two states a lane in the program and
2 x blocks numbers a lane in the result, and every other total keeps its bits.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.executor import Execute, Inputs, Run
from kernels.metrics import MetricError
from kernels.program import Program

Array = NDArray[np.float64]

TALLIES = ("block_sum", "block_squares")


@dataclass(frozen=True, eq=False)
class BlockSums:
    """``sums`` and ``squares`` [combinations, blocks] of the returns in each block, ``counts`` [blocks] of its periods."""

    sums: Array
    squares: Array
    counts: NDArray[np.int64]

    def __getitem__(self, rows: NDArray[np.int64] | slice) -> "BlockSums":
        """The sums of some combinations."""
        return BlockSums(self.sums[rows], self.squares[rows], self.counts)


def block_edges(ends: NDArray[np.bool_], window: tuple[int, int], blocks: int) -> tuple[list[int], NDArray[np.int64]]:
    """(bars after the last one of each block [blocks], periods of each block [blocks]) of a window.

    ``ends``: whether a period ends with each bar. The blocks follow one another; their numbers of periods differ by one
    at most. Raises ``MetricError`` for fewer than two periods a block.
    """
    begin, stop = window
    last = np.flatnonzero(ends[begin:stop]) + begin
    if blocks < 1 or len(last) < 2 * blocks:
        raise MetricError(
            f"blocks={blocks}: {len(last)} return periods are too few for {blocks} blocks: give at least {2 * blocks}"
        )
    cuts = np.arange(blocks + 1, dtype=np.int64) * len(last) // blocks
    return (last[cuts[1:] - 1] + 1).tolist(), np.diff(cuts)


def run_in_blocks(
    execute: Execute, program: Program, inputs: Inputs, begin: int, edges: list[int], states: Array
) -> tuple[Run, Array]:
    """(the run from ``begin`` to the last edge, what the block tallies held at each edge [2, blocks, lanes])."""
    names = [state.name for state in program.states]
    kept = [row for row, name in enumerate(TALLIES) if name in names]  # none where no account can ever trade
    places = [names.index(TALLIES[row]) for row in kept]
    found = np.zeros((len(TALLIES), len(edges), states.shape[1]))
    run = Run(states, np.empty((0, 0, states.shape[1])))
    for block, (first, last) in enumerate(itertools.pairwise([begin, *edges])):
        if last <= first:
            continue  # the window's first bar alone, before which no account runs
        run = execute(program, inputs, first, last, run.states)
        found[kept, block] = run.states[places]
        run.states[places] = 0.0
    return run, found


def joined(parts: list[BlockSums]) -> BlockSums:
    """Combinations one after another; all parts are of the same blocks."""
    return BlockSums(
        np.concatenate([part.sums for part in parts]),
        np.concatenate([part.squares for part in parts]),
        parts[0].counts,
    )
