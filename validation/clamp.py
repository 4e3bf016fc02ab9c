"""A matrix clamped in place, every clamped value a finding: what layers 3 and 4 share."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from validation.findings import Times, findings_table, nanoseconds, no_findings
from validation.passes import rows_beyond

BLOCK = 8192  # rows looked at together: the block stays in the cache
Clamped = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


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
    found = []
    for start in range(0, len(matrix), BLOCK):
        block = matrix[start : start + BLOCK]
        rows, columns, raw = clamp_rows(block, np.flatnonzero(rows_beyond(block, limit)), limit)
        found.append((start + rows, columns, raw))
    return clamp_findings(found, names, ts, limit, layer, rule)


def clamp_rows(block: NDArray[np.floating], touched: NDArray[np.int64], limit: float) -> Clamped:
    """Clamp the touched rows of a block in place; row, column and value of each value beyond, by rows, then columns."""
    rows, columns = np.nonzero(np.abs(block[touched]) > limit)  # infinities included, NaN not
    rows = touched[rows]
    raw = block[rows, columns].astype(np.float64)
    block[rows, columns] = np.where(np.isinf(raw), np.nan, np.copysign(limit, raw))
    return rows, columns, raw


def clamp_findings(
    found: Sequence[Clamped], names: Sequence[str], ts: Times, limit: float, layer: int, rule: str
) -> pd.DataFrame:
    """One findings table of clamped values; an infinity is `non_finite`, masked."""
    if not any(len(rows) for rows, _, _ in found):
        return no_findings()
    rows, columns, raw = (np.concatenate(parts) for parts in zip(*found, strict=True))
    infinite = np.isinf(raw)
    return findings_table(
        ts_event=nanoseconds(ts)[rows],
        contract=[""] * len(rows),
        layer=layer,
        rule=np.where(infinite, "non_finite", rule),
        column=np.asarray(names)[columns],
        value=raw,
        limit=np.where(infinite, np.nan, np.copysign(limit, raw)),
        action=np.where(infinite, "masked", "altered"),
    )
