"""Names, units and reasons of the metrics the report shows: one row a metric."""

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class MetricRow:
    """A metric's title, its unit (a name known to `formats`), why it has no value when it has none, and why it is infinite
    when it is.
    """

    title: str
    unit: str
    reason: str = "not enough data"
    infinite: str = "beyond the numbers of a computer"


NO_TRADE = "no closed trade"
METRICS: dict[str, MetricRow] = {
    "net_profit": MetricRow("Net profit", "signed_cents"),
    "gross_profit": MetricRow("Gross profit", "signed_cents"),
    "fees": MetricRow("Fees", "cents"),
    "slippage": MetricRow("Slippage", "cents"),
    "costs": MetricRow("Costs", "cents"),
    "final_equity": MetricRow("Final equity", "cents"),
    "total_return": MetricRow("Total return", "signed_fraction"),
    "cagr": MetricRow("CAGR", "signed_fraction", "the account was ruined"),
    "volatility": MetricRow("Volatility (annual)", "fraction", "fewer than two sessions"),
    "sharpe": MetricRow("Sharpe (annual)", "ratio", "session returns do not vary"),
    "sortino": MetricRow("Sortino (annual)", "ratio", "session returns do not vary", "no session lost"),
    "calmar": MetricRow("Calmar", "ratio", "neither a gain nor a drawdown", "no drawdown"),
    "max_drawdown": MetricRow("Max drawdown", "fraction"),
    "max_drawdown_duration": MetricRow("Longest drawdown, bars", "count"),
    "trades": MetricRow("Round trips", "count"),
    "win_rate": MetricRow("Win rate", "fraction", NO_TRADE),
    "profit_factor": MetricRow("Profit factor", "ratio", "no trade won or lost", "no losing trade"),
    "expectancy": MetricRow("Net per round trip", "signed_cents", NO_TRADE),
    "avg_trade": MetricRow("Average trade", "signed_cents", NO_TRADE),
    "exposure": MetricRow("Time in the market", "fraction"),
    "turnover": MetricRow("Turnover (annual)", "ratio"),
    "sqn": MetricRow("SQN", "ratio", "fewer than two closed trades"),
    "skew": MetricRow("Skew", "ratio", "session returns do not vary"),
    "kurtosis": MetricRow("Excess kurtosis", "ratio", "session returns do not vary"),
    "var_95": MetricRow("VaR 95%", "fraction"),
    "cvar_95": MetricRow("CVaR 95%", "fraction"),
    "tail_ratio": MetricRow("Tail ratio", "ratio", "both tails are zero", "the lower tail is zero"),
    "omega": MetricRow("Omega", "ratio", "no session won or lost", "no session lost"),
    "ulcer_index": MetricRow("Ulcer index", "fraction"),
}


def metric_row(name: str) -> MetricRow:
    """The row of a metric; a metric without one is shown under its own name as a plain ratio."""
    return METRICS.get(name, MetricRow(name.replace("_", " "), "ratio"))


def undefined_reason(name: str, metrics: Mapping[str, float]) -> str:
    """Why metric `name` of a model has no finite value, in words; other metrics tell the cases apart."""
    if math.isinf(metrics[name]):
        return f"infinite: {metric_row(name).infinite}"
    if metrics.get("trades") == 0.0 and name in ("win_rate", "profit_factor", "expectancy", "avg_trade", "sqn"):
        return NO_TRADE
    return metric_row(name).reason
