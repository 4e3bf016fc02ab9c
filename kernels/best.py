"""The rows of a sweep's table from best to worst, and the best of them."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.metrics import MetricError, ranking


def ranked(table: pd.DataFrame, metric: str) -> NDArray[np.int64]:
    """Rows of the table from best to worst; ties in the table's order; NaN is left out.

    Raises ``MetricError`` for a metric that the table lacks.
    """
    if metric not in table.columns:
        raise MetricError(f"metric {metric!r} is not in the table: it has {', '.join(table.columns)}")
    return ranking(metric, table[metric].to_numpy(dtype=np.float64))


def best_row(table: pd.DataFrame, metric: str, why: Callable[[str], str]) -> pd.Series:
    """The table's best row, its place as ``name``; raises ``MetricError`` where the metric is NaN throughout, with the
    reason that ``why`` gives for the metric.
    """
    order = ranked(table, metric)
    if len(order) == 0:
        raise MetricError(
            f"no best {metric}: it is NaN for all {len(table)} combinations ({why(metric)}); "
            "score more bars or rank by another metric"
        )
    return table.iloc[int(order[0])]
