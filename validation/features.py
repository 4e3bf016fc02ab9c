"""Layer 3: features bounded before anything is fitted to them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from validation.clamp import clamp_matrix
from validation.findings import Times


def bound_features(
    matrix: NDArray[np.floating], names: Sequence[str], ts: Times, limit: float = 5.0, in_place: bool = False
) -> tuple[NDArray[np.float64], pd.DataFrame]:
    """Clamp every feature to [-limit, limit]; one finding a clamped value.

    NaN stays NaN (warm-up; layer 5 refuses it on valid rows). An infinity is no large value but a broken one: it
    becomes NaN with a finding `non_finite`.

    Args:
        matrix: features [bars, F].
        names: F names.
        ts: [bars], timestamps or int64 nanoseconds UTC.
        limit: bound; the built-in features keep it by construction, a user's feature may not.
        in_place: change a float64 matrix itself and save the memory of a copy.

    Returns:
        bounded float64 [bars, F] (a copy unless in place), findings (`feature_bound` altered, `non_finite` masked).

    Raises:
        ValueError: shapes differ.
    """
    bounded = np.asarray(matrix, np.float64) if in_place else np.array(matrix, np.float64)
    return bounded, clamp_matrix(bounded, names, ts, limit, layer=3, rule="feature_bound")
