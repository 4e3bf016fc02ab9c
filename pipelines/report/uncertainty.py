"""Intervals and the p-value of each model on its test sessions: the part of the statistics that knows no ledger."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.report.types import Evaluation, Ranking
from pipelines.steps.sweep_summary import middle
from training.bootstrap import Interval, mean_interval, standard_error
from training.statistics import moments, sharpe_ratio
from training.verdict import verdict

RESAMPLES = 4_999
CONFIDENCE = 0.95


def session_returns(sessions: pd.DataFrame) -> NDArray[np.float64] | None:
    """Net profit of each session over the equity it began with; None once the account began a session at or below 0."""
    profit = sessions["profit"].to_numpy(dtype=np.float64)
    before = sessions["equity"].to_numpy(dtype=np.float64) - profit
    return profit / before if (before > 0.0).all() else None


def sharpe_interval(returns: NDArray[np.float64], sessions_per_year: float) -> Interval:
    """Interval of the yearly Sharpe ratio of session returns [n]: Student's t times Mertens' standard error.

    se^2 = (1 - g3 SR + (g4 - 1)/4 SR^2) / n with SR a session, skewness g3 and raw kurtosis g4, never below 1/n, and
    widened for dependence between sessions as the mean's is. At 19 sessions it holds the ratio in 93 to 98 of 100 draws
    (docs/acceptance.md). NaN bounds for fewer than five returns; all
    NaN for returns that do not vary. Source: Mertens (2002), "Comments on variance of the IID estimator in Lo (2002)".
    """
    from scipy.special import stdtrit  # not at module level: importing it takes longer than the report needs to start

    year, count = math.sqrt(sessions_per_year), len(returns)
    method = f"Student's t with Mertens' standard error, widened for dependence, {CONFIDENCE:.1%} two-sided"
    ratio = sharpe_ratio(returns)
    if count < 5 or ratio == 0.0:
        return Interval(ratio * year if ratio != 0.0 else math.nan, math.nan, math.nan, CONFIDENCE, count, method)
    skew, kurtosis = moments(returns)
    spread = math.sqrt(max(1.0, 1.0 - skew * ratio + (kurtosis - 1.0) / 4.0 * ratio * ratio))
    widened = standard_error(returns) / float(returns.std(ddof=1))
    reach = float(stdtrit(count - 1, (1.0 + CONFIDENCE) / 2.0)) * spread * widened
    return Interval(ratio * year, (ratio - reach) * year, (ratio + reach) * year, CONFIDENCE, count, method)


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
        intervals["sharpe"] = sharpe_interval(returns, evaluation.sessions_per_year)
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
