"""A node's work in pieces, one after another, where all of it at once does not fit into memory."""

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

OUT_OF_MEMORY = ("MemoryError", "OutOfMemoryError", "OutOfMemory")  # Python and numpy; torch and cupy; others


@dataclass(frozen=True)
class Pieces:
    """How a node's work can be done piece by piece with the same result.

    `cut(arguments, count)` returns the arguments of `count` or more pieces in order, fewer where the work has no more;
    `join(arguments, results)` makes their results one. `added` names the noted facts that are summed over the pieces.
    """

    cut: Callable[[Mapping[str, Any], int], Sequence[Mapping[str, Any]]]
    join: Callable[[Mapping[str, Any], Sequence[Any]], Any]
    added: tuple[str, ...] = ()


def out_of_memory(error: BaseException) -> bool:
    """Say whether memory of the host or of a device ran out."""
    return any(kind.__name__ in OUT_OF_MEMORY for kind in type(error).__mro__)


def computed(
    function: Callable[..., Any], arguments: Mapping[str, Any], pieces: Pieces | None, count: int, facts: dict[str, Any]
) -> Any:
    """Call the function, in `count` pieces; where memory runs out, in twice as many, down to what cannot be cut.

    `facts` are what the function notes; the number of pieces is added where there is more than one.
    """
    parts = [arguments] if pieces is None or count == 1 else list(pieces.cut(arguments, count))
    while True:
        try:
            return _joined(function, arguments, parts, pieces, facts)
        except Exception as error:
            if pieces is None or not out_of_memory(error):
                raise
            smaller = list(pieces.cut(arguments, 2 * len(parts)))
            if len(smaller) <= len(parts):
                raise
        # here, and not in the handler: the error holds the frames, and they what did not fit
        gc.collect()
        parts = smaller


def _joined(
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    parts: Sequence[Mapping[str, Any]],
    pieces: Pieces | None,
    facts: dict[str, Any],
) -> Any:
    if pieces is None or len(parts) == 1:
        return function(**parts[0])
    values = []
    sums = dict.fromkeys(pieces.added, 0)
    for part in parts:
        values.append(function(**part))
        sums = {name: total + facts.get(name, 0) for name, total in sums.items()}
    facts.update({name: total for name, total in sums.items() if name in facts}, pieces=len(parts))
    return pieces.join(arguments, values)
