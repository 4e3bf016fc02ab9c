"""Layer 1, records of one bar: which of several records with the same key is kept."""

import numpy as np
from numpy.typing import NDArray

KEPT, EQUAL_COPY, OTHER_VALUES = 0, 1, 2


def judge_duplicates(
    same_as_before: NDArray[np.bool_], preference: list[NDArray[np.int64]], source_row: NDArray[np.int64]
) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Judge rows sorted by key, so that records of one bar stand together.

    Kept is the record with the largest first preference (volume), ties by the next (close, high, low, open), full ties
    by the smallest source row: the order of the rows does not matter. Two revisions are never merged nor summed.

    Args:
        same_as_before: bool [n]; the row has the key of the row before it.
        preference: int64 [n] each, most important first.
        source_row: int64 [n].

    Returns:
        verdict int8 [n]: KEPT, EQUAL_COPY (of the kept one) or OTHER_VALUES; kept int64 [n]: the row that is kept.
    """
    rows = len(same_as_before)
    verdict, kept = np.full(rows, KEPT, np.int8), np.arange(rows)
    in_run = same_as_before.copy()
    in_run[:-1] |= same_as_before[1:]
    members = np.flatnonzero(in_run)
    if not len(members):
        return verdict, kept
    run = np.cumsum(~same_as_before[members])
    # ~value reverses the order of int64 without the overflow of a minus sign.
    order = np.lexsort([source_row[members], *(~values[members] for values in reversed(preference)), run])
    ranked = members[order]
    first = np.flatnonzero(np.diff(run[order], prepend=-1))
    best = np.repeat(ranked[first], np.diff(first, append=len(ranked)))
    equal = np.logical_and.reduce([values[ranked] == values[best] for values in preference])
    verdict[ranked] = np.where(ranked == best, KEPT, np.where(equal, EQUAL_COPY, OTHER_VALUES))
    kept[ranked] = best
    return verdict, kept
