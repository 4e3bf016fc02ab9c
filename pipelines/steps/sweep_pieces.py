"""A chunk of a sweep done in pieces, where all of its combinations at once do not fit into memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pipelines.execution.pieces import Pieces
from pipelines.steps.sweep_summary import joined
from pipelines.steps.sweeping import SweepChunk


def chunk_pieces(arguments: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """Cut a chunk into `count` or more chunks of fewer combinations, in the order of their numbers.

    Chunks begin at multiples of their size, so the size of a piece divides the chunk's.
    """
    size, chunk = int(arguments["chunk_combinations"]), int(arguments["chunk"])
    stop = min((chunk + 1) * size, int(arguments["searched"].size))
    most = max(1, (stop - chunk * size) // count)
    piece = next(one for one in range(most, 0, -1) if size % one == 0)
    starts = range(chunk * size, stop, piece)
    return [{**arguments, "chunk": start // piece, "chunk_combinations": piece} for start in starts]


def joined_pieces(arguments: Mapping[str, Any], pieces: Sequence[SweepChunk]) -> SweepChunk:
    """Make the pieces of a chunk, in order, the chunk."""
    some = [piece for piece in pieces if piece.summary.combinations] or list(pieces[:1])
    return replace(
        some[0],
        summary=joined([piece.summary for piece in pieces], arguments["rank_by"], arguments["keep"]),
        sums=np.concatenate([piece.sums for piece in some]),
        squares=np.concatenate([piece.squares for piece in some]),
    )


IN_PIECES = Pieces(chunk_pieces, joined_pieces, ("combinations", "bar_steps"))
