"""Columns of a block of bars laid into the rows of the feature matrix."""

import numpy as np
from numpy.typing import NDArray

from kernels.compiled import compiled

Floats = NDArray[np.float64]


@compiled
def lay_columns(columns: Floats, matrix: Floats) -> None:
    """matrix[row, k] = columns[k, row], row after row: the matrix is long and not in the cache, the block is.

    Every NaN becomes numpy's own: a formula leaves one of either sign, by the width of the processor's vectors.
    """
    for row in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            value = columns[k, row]
            matrix[row, k] = value if value == value else np.nan
