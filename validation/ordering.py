"""The order of rows by several keys, without sorting what is sorted."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.compiled import compiled


def lexical_order(keys: Sequence[NDArray[np.int64]]) -> NDArray[np.intp]:
    """np.lexsort(keys), the last key first and stable; rows in order already, as a file's mostly are, cost no sort.

    Args:
        keys: int64 [n] each, at least one.
    """
    in_order = np.ones(max(len(keys[0]) - 1, 0), bool)
    for key in keys:
        _keep_order(in_order, np.ascontiguousarray(key))
    return np.arange(len(keys[0])) if in_order.all() else np.lexsort(keys)


@compiled
def _keep_order(in_order: NDArray[np.bool_], key: NDArray[np.int64]) -> None:
    """Whether neighbours are in order by this key, then by the keys before it."""
    for i in range(len(in_order)):
        in_order[i] = (key[i + 1] > key[i]) | ((key[i + 1] == key[i]) & in_order[i])
