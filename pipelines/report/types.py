"""Inputs of the report: how one model did on the test rows, and how all combinations of a strategy ranked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pandas as pd

KINDS = ("strategy", "policy", "linear", "benchmark")


@dataclass(frozen=True)
class Evaluation:
    """One model on the test rows.

    `metrics` holds floats by metric name (NaN where undefined). `sessions` has the columns session (int32 yyyymmdd),
    profit (float64, money, after costs), gross (float64, money, before costs) and equity (float64, money, at the
    session's end). `curve` has ts_event (datetime64[ns, UTC]), equity (float64, money) and position (float64,
    contracts). `sessions_per_year` is the number the metrics were annualised with.
    """

    model: str
    kind: str
    parameters: dict[str, float | int | str | bool | None]
    metrics: dict[str, float]
    sessions: pd.DataFrame
    curve: pd.DataFrame
    sessions_per_year: float

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(
                f"evaluation of {self.model}: kind {self.kind!r} is unknown; use one of {', '.join(KINDS)}"
            )


class Ranking(Protocol):
    """All combinations of one strategy on the validation rows.

    `table` has a row a combination: the columns named in `parameters` (in the order of the grid's axes), then metrics;
    `metric` names the column the ranking sorts by, larger is better; `sessions_per_year` annualised the metrics.
    """

    @property
    def table(self) -> pd.DataFrame:
        """A row a combination."""

    @property
    def parameters(self) -> Sequence[str]:
        """The parameters' columns."""

    @property
    def metric(self) -> str:
        """The column ranked by."""

    @property
    def sessions_per_year(self) -> float:
        """Sessions a year that its metrics were annualised with."""
