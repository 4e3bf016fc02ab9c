"""A matrix clamped in place, every clamped value a finding: what layers 3 and 4 share."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from validation.findings import Times, findings_table, joined_findings, nanoseconds
from validation.passes import any_beyond

BLOCK = 8192  # rows looked at together: the block stays in the cache


def clamp_matrix(
    matrix: NDArray[np.float64], names: Sequence[str], ts: Times, limit: float, layer: int, rule: str
) -> pd.DataFrame:
    """Clamp to [-limit, limit] in place; NaN stays NaN, an infinity becomes NaN.

    Returns:
        Findings in the order of rows, then columns: `rule` altered, `non_finite` masked.

    Raises:
        ValueError: the matrix has not a row a timestamp and a column a name.
    """
    if matrix.shape != (len(ts), len(names)):
        raise ValueError(
            f"features have shape {matrix.shape}, but there are {len(ts)} timestamps and {len(names)} names; "
            "compute all three from the same bars"
        )
    labels, times = np.asarray(names), nanoseconds(ts)
    tables = []
    for start in range(0, len(matrix), BLOCK):
        block = matrix[start : start + BLOCK]
        if not any_beyond(block, limit):
            continue
        rows, columns = np.nonzero(np.abs(block) > limit)  # infinities included, NaN not
        if len(rows):
            raw = block[rows, columns]
            infinite = np.isinf(raw)
            block[rows, columns] = np.where(infinite, np.nan, np.copysign(limit, raw))
            tables.append(_clamped(times[start + rows], labels[columns], raw, infinite, limit, layer, rule))
    return joined_findings(tables)


def _clamped(
    ts: NDArray[np.int64],
    names: NDArray[np.str_],
    raw: NDArray[np.float64],
    infinite: NDArray[np.bool_],
    limit: float,
    layer: int,
    rule: str,
) -> pd.DataFrame:
    return findings_table(
        ts_event=ts,
        contract=[""] * len(ts),
        layer=layer,
        rule=np.where(infinite, "non_finite", rule),
        column=names,
        value=raw,
        limit=np.where(infinite, np.nan, np.copysign(limit, raw)),
        action=np.where(infinite, "masked", "altered"),
    )
