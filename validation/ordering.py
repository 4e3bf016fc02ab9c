"""The order of rows by several keys, without sorting what is sorted."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def lexical_order(keys: Sequence[NDArray[np.int64]]) -> NDArray[np.intp]:
    """np.lexsort(keys), the last key first and stable; rows in order already, as a file's mostly are, cost no sort.

    Args:
        keys: int64 [n] each, at least one; differences of neighbours must fit int64.
    """
    in_order = np.ones(max(len(keys[0]) - 1, 0), bool)
    for key in keys:
        step = np.diff(key)
        in_order = (step > 0) | ((step == 0) & in_order)
    return np.arange(len(keys[0])) if in_order.all() else np.lexsort(keys)
