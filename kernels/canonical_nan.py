"""One NaN: the sign and payload that arithmetic leaves in a NaN follow the processor and the value's place in its array."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 2**16  # values looked at together: they stay in the cache


def canonical(values: NDArray[Any]) -> NDArray[Any]:
    """The values with every NaN replaced by numpy's own; in place."""
    values[np.isnan(values)] = np.nan
    return values


def with_canonical_nan(values: NDArray[Any]) -> NDArray[Any]:
    """The values with no NaN but numpy's own: the array itself where it has no other, else a copy.

    Args:
        values: of any shape and dtype; only float16, float32 and float64 hold a NaN whose bits are looked at.
    """
    if values.dtype.kind != "f" or values.dtype.itemsize not in (2, 4, 8):
        return values
    flat, bits = np.ravel(values), np.dtype(f"i{values.dtype.itemsize}")
    only = np.full(1, np.nan, values.dtype).view(bits)[0]
    for start in range(0, flat.size, BLOCK):
        block = flat[start : start + BLOCK]
        if (np.isnan(block) & (block.view(bits) != only)).any():
            return canonical(np.array(values, order="C"))
    return values
