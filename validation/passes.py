"""One compiled pass over a matrix of features each: what is beyond a bound, location and scale, z-scores."""

import numpy as np
from numpy.typing import NDArray

from kernels.compiled import compiled

ROWS = 512  # of a block whose sums are made before they join the total, so that rounding stays that of the block


@compiled
def rows_beyond(matrix: NDArray[np.float64], limit: float) -> NDArray[np.bool_]:
    """Rows of [rows, F] in which any |value| > limit; an infinity is, NaN is not."""
    beyond = np.zeros(matrix.shape[0], np.bool_)
    for row in range(matrix.shape[0]):
        hits = 0
        for column in range(matrix.shape[1]):
            hits += abs(matrix[row, column]) > limit
        beyond[row] = hits > 0
    return beyond


@compiled
def all_within(matrix: NDArray[np.floating], valid: NDArray[np.bool_], limit: float) -> bool:
    """Whether every value of the valid rows of [rows, F] has |value| <= limit; NaN has not."""
    for row in range(matrix.shape[0]):
        if valid[row]:
            kept = 0
            for column in range(matrix.shape[1]):
                kept += abs(matrix[row, column]) <= limit
            if kept < matrix.shape[1]:
                return False
    return True


@compiled
def moments(
    matrix: NDArray[np.float64], valid: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Number, mean and sum of squared deviations of each column's finite values on the valid rows of [rows, F].

    Values are measured from the column's first one, so that neither a level far from zero nor a long table costs digits;
    blocks of rows are summed in two passes and merged by the differences of their means.
    """
    rows, width = matrix.shape
    pivot = _first_values(matrix, valid)
    count, mean, spread = np.zeros(width, np.int64), np.zeros(width), np.zeros(width)
    for start in range(0, rows, ROWS):
        stop = min(start + ROWS, rows)
        seen, total, apart = np.zeros(width, np.int64), np.zeros(width), np.zeros(width)
        for row in range(start, stop):
            if valid[row]:
                for column in range(width):
                    value = matrix[row, column] - pivot[column]
                    finite = value - value == 0.0
                    seen[column] += finite
                    total[column] += value if finite else 0.0
        middle = total / np.maximum(seen, 1)
        for row in range(start, stop):
            if valid[row]:
                for column in range(width):
                    value = matrix[row, column] - pivot[column] - middle[column]
                    apart[column] += value * value if value - value == 0.0 else 0.0
        for column in range(width):
            both = count[column] + seen[column]
            if seen[column]:
                gap = middle[column] - mean[column]
                mean[column] += gap * (seen[column] / both)
                spread[column] += apart[column] + gap * gap * (count[column] * seen[column] / both)
                count[column] = both
    return count, pivot + mean, spread


@compiled
def _first_values(matrix: NDArray[np.float64], valid: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The first finite value of each column on a valid row, 0 where there is none."""
    rows, width = matrix.shape
    first = np.zeros(width)
    for column in range(width):
        for row in range(rows):
            value = matrix[row, column]
            if valid[row] and value - value == 0.0:
                first[column] = value
                break
    return first


@compiled
def zscores(
    matrix: NDArray[np.float64],
    mean: NDArray[np.float64],
    scale: NDArray[np.float64],
    valid: NDArray[np.bool_],
    limit: float,
    z: NDArray[np.float32],
) -> NDArray[np.bool_]:
    """Write (value - mean) / scale of valid rows and NaN of others into z; the rows with any beyond the limit."""
    beyond = np.zeros(matrix.shape[0], np.bool_)
    for row in range(matrix.shape[0]):
        if valid[row]:
            hits = 0
            for column in range(matrix.shape[1]):
                value = (matrix[row, column] - mean[column]) / scale[column]
                hits += abs(value) > limit
                z[row, column] = value
            beyond[row] = hits > 0
        else:
            for column in range(matrix.shape[1]):
                z[row, column] = np.nan
    return beyond
