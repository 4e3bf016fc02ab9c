"""Sort orders of tables that mostly are in order already, as files of market data are."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def order_by(*keys: NDArray[Any]) -> NDArray[np.int64]:
    """Rows sorted by the first key, among equal ones by the next, and so on; stable, np.lexsort(keys[::-1]).

    Only rows whose earlier keys are equal are looked at again, and keys that rise already cost no sort.

    Args:
        keys: [n] each, numbers without NaN.
    """
    order = np.arange(len(keys[0]))
    tied = np.arange(len(order))  # places whose rows have equals so far
    group = np.zeros(len(order), np.int64)  # of each tied row: those whose earlier keys are equal
    for key in keys if len(order) > 1 else ():
        rows = order[tied]
        values = key[rows]
        same_group = group[1:] == group[:-1]
        if (same_group & (values[1:] < values[:-1])).any():
            moved = np.lexsort((values, group))  # groups stay where they are
            order[tied], values = rows[moved], values[moved]
        equal = np.append(False, same_group & (values[1:] == values[:-1]))
        again = equal | np.append(equal[1:], False)
        tied, group = tied[again], np.cumsum(~equal)[again]
        if not len(tied):
            break
    return order


def taken(table: pd.DataFrame, order: NDArray[np.int64]) -> pd.DataFrame:
    """The rows of the table in this order, indexed from 0; nothing is copied where they stand so already."""
    standing = len(order) == len(table) and bool((order == np.arange(len(order))).all())
    return (table if standing else table.iloc[order]).reset_index(drop=True)
