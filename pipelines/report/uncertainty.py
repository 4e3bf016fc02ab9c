"""Intervals and the p-value of each model on its test sessions: the part of the statistics that knows no ledger."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.report.types import Evaluation, Ranking
from pipelines.steps.sweep_summary import middle
from training.bootstrap import Interval, block_length, mean_interval, stationary_rows
from training.statistics import sharpe_ratio
from training.verdict import verdict

RESAMPLES = 4_999
CONFIDENCE = 0.95


def session_returns(sessions: pd.DataFrame) -> NDArray[np.float64] | None:
    """Net profit of each session over the equity it began with; None once the account began a session at or below 0."""
    profit = sessions["profit"].to_numpy(dtype=np.float64)
    before = sessions["equity"].to_numpy(dtype=np.float64) - profit
    return profit / before if (before > 0.0).all() else None


def sharpe_interval(returns: NDArray[np.float64], sessions_per_year: float, seed: int) -> Interval:
    """Percentile interval of the yearly Sharpe ratio by the stationary bootstrap of session returns [n].

    NaN bounds for fewer than five returns; all NaN for returns that do not vary.
    """
    year, block, count = math.sqrt(sessions_per_year), block_length(len(returns)), len(returns)
    method = (
        f"stationary bootstrap percentile, {CONFIDENCE:.1%} two-sided, mean block {block}, {RESAMPLES} resamples, "
        f"seed {seed}"
    )
    estimate = sharpe_ratio(returns) * year
    if count < 5 or estimate == 0.0:
        return Interval(estimate if estimate != 0.0 else math.nan, math.nan, math.nan, CONFIDENCE, count, method)
    drawn = returns[stationary_rows(count, block, RESAMPLES, np.random.default_rng(seed))]
    deviation = drawn.std(axis=1, ddof=1)
    ratios = drawn.mean(axis=1)[deviation > 0.0] / deviation[deviation > 0.0] * year
    low, high = np.quantile(ratios, [(1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0], method="inverted_cdf")
    return Interval(estimate, float(low), float(high), CONFIDENCE, count, method)


def model_intervals(
    evaluation: Evaluation, reference: Evaluation | None, seed: int
) -> dict[str, dict[str, Any]]:
    """Named intervals of one model as JSON values: mean net and gross profit, Sharpe, mean profit above `reference`.

    `reference` is rolled buy-and-hold: the difference is taken session by session and left out where the two were not
    scored on the same sessions.
    """
    profit = evaluation.sessions["profit"].to_numpy(dtype=np.float64)
    gross = evaluation.sessions["gross"].to_numpy(dtype=np.float64)
    intervals = {
        "net_a_session": mean_interval(profit, CONFIDENCE, seed, RESAMPLES),
        "gross_a_session": mean_interval(gross, CONFIDENCE, seed, RESAMPLES),
    }
    returns = session_returns(evaluation.sessions)
    if returns is not None:
        intervals["sharpe"] = sharpe_interval(returns, evaluation.sessions_per_year, seed)
    if reference is not None and np.array_equal(reference.sessions["session"], evaluation.sessions["session"]):
        above = profit - reference.sessions["profit"].to_numpy(dtype=np.float64)
        intervals["above_reference_a_session"] = mean_interval(above, CONFIDENCE, seed, RESAMPLES)
    return {name: _values(interval) for name, interval in intervals.items()}


def _values(interval: Interval) -> dict[str, Any]:
    """An interval's fields, None for what is undefined, and the reason of it."""
    values = {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in vars(interval).items()
    }
    few = interval.observations < 5
    undefined = values["low"] is None or values["high"] is None
    reason = "fewer than 5 sessions" if few else "session returns do not vary"
    return values | {"reason": reason if undefined else None}


def profit_test(evaluation: Evaluation, seed: int) -> dict[str, Any]:
    """Mean, standard error and one-sided p-value of "mean net session profit > 0" as plain values.

    The error rate is shared among trials later, by whoever can read the ledger.
    """
    judged = verdict(evaluation.sessions["profit"].to_numpy(dtype=np.float64), trials=1, seed=seed)
    return {
        "mean": judged.mean,
        "standard_error": judged.standard_error,
        "p_value": judged.p_value,
        "sessions": judged.sessions,
        "method": judged.method.partition(", error rate shared among")[0],
    }


def trial_sharpe_deviation(rankings: Mapping[str, Ranking]) -> float | None:
    """Standard deviation (ddof=1) of all combinations' Sharpe ratios on validation rows, per session, within 0.1 %.

    Rankings hold how many yearly ratios fall into each bucket, each of its own number of sessions a year. None when
    fewer than two combinations have one.
    """
    ratios = [
        middle(ranking.sharpes["bucket"].to_numpy(dtype=np.int64)) / math.sqrt(ranking.sessions_per_year)
        for ranking in rankings.values()
    ]
    counts = [ranking.sharpes["count"].to_numpy(dtype=np.int64) for ranking in rankings.values()]
    ratio, count = (np.concatenate(parts) if parts else np.empty(0) for parts in (ratios, counts))
    if count.sum() < 2:
        return None
    mean = float(ratio @ count) / float(count.sum())
    return math.sqrt(float((ratio - mean) ** 2 @ count) / float(count.sum() - 1))
