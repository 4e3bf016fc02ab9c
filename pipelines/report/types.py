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

    `table` has the best, best first: the columns named in `parameters` (in the order of the grid's axes), then metrics;
    `metric` names the column the ranking sorts by, larger is better where `more_is_better`; `sessions_per_year`
    annualised the metrics.
    """

    @property
    def table(self) -> pd.DataFrame:
        """A row for each of the best combinations."""

    @property
    def more_is_better(self) -> bool:
        """Whether larger is better."""

    @property
    def trials(self) -> int:
        """The number of combinations tried."""

    @property
    def undefined(self) -> int:
        """For how many the metric has no value."""

    @property
    def positive(self) -> int:
        """For how many it is above 0."""

    @property
    def median(self) -> float:
        """Its median over those that have a value; NaN where none has."""

    @property
    def sharpes(self) -> pd.DataFrame:
        """How many Sharpe ratios fall into each bucket (bucket, count; `pipelines.steps.sweep_summary`)."""

    @property
    def cells(self) -> pd.DataFrame:
        """The metric's best value (value, NaN for none) at values of the first two parameters (x, y)."""

    @property
    def search(self) -> str:
        """What was searched, in words."""

    @property
    def parameters(self) -> Sequence[str]:
        """The parameters' columns."""

    @property
    def metric(self) -> str:
        """The column ranked by."""

    @property
    def sessions_per_year(self) -> float:
        """Sessions a year that its metrics were annualised with."""
