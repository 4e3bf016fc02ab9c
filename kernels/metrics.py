"""The metrics of a sweep: one row each, with its definition, its source, when it is undefined and what it reads.

Fractions, not percent; money in the instrument's currency. Returns are simple returns of whole periods (sessions or
bars; a session that a window cuts counts whole); A = periods a year, counted from the calendar of the data
(``kernels.annualisation``); n = periods; years = n / A.

Undefined is NaN, for the reason that the row gives, and stands in no ranking; gains over losses without a loss are
infinite, and stand above any number. Constant returns have no Sharpe ratio: a spread below 1e-6 of their root mean square
is rounding, not risk; a profit within the rounding of its own sums is zero (``Terms.rounding``). An account whose equity
was at or below zero at any close is ruined: from then on it is flat, and its return statistics are NaN.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels import statistics as st
from kernels.canonical_nan import canonical
from kernels.order_statistics import NAMES
from kernels.statistics import Array, Totals

__all__ = [
    "ALL_METRICS", "METRICS", "ORDER_METRICS", "STANDARD", "Metric", "MetricError", "Totals", "compute",
    "metrics_markdown", "ordered", "ranking", "reads",
]  # fmt: skip


class MetricError(ValueError):
    """An unknown metric, or a ranking in which no combination has a value."""


@dataclass(frozen=True)
class Metric:
    """``compute`` gives one value a lane; ``more_is_better`` is the direction of a ranking; ``undefined`` says when the
    value is NaN, empty where it never is.
    """

    doc: str
    source: str
    undefined: str
    reads: tuple[str, ...]
    compute: Callable[[Totals], Array]
    more_is_better: bool = True


_MONEY = ("profit", "costs")
_VOLUME = ("contracts_traded", "notional_traded")
_RETURNS = ("return_sum", "return_squares", "solvent")
_MOMENTS = (*_RETURNS, "return_cubes", "return_fourths")
_BENCHMARK = ("return_sum", "solvent", "benchmark_sum", "benchmark_squares", "benchmark_product")
_TRIPS = ("won", "lost", "trades")

RUIN = "ruined account"
_FLAT = f"{RUIN}, fewer than 2 periods, constant returns"
_NO_TRADE = "no closed round trip"
_NEITHER = "neither a gain nor a loss"
_HELD = "buy and hold constant, a period that starts at a price of 0 or below"
_WIDE = "industry standard"
_EMP, _PANDAS, _OWN = "as empyrical", "as pandas", "our definition"

METRICS: dict[str, Metric] = {
    "total_return": Metric("final equity / capital - 1", _WIDE, "", _MONEY, st.total_return),
    "cagr": Metric(
        "(final equity / capital)^(1 / years) - 1; infinite beyond float64", _EMP, RUIN, (*_MONEY, "solvent"), st.cagr
    ),
    "volatility": Metric("std(returns, ddof=1) · √A", _EMP, _FLAT.replace(", constant returns", ""), _RETURNS,
                         st.volatility, more_is_better=False),
    "sharpe": Metric("mean(returns) / std(returns, ddof=1) · √A, risk-free rate 0", _EMP, _FLAT, _RETURNS, st.sharpe),
    "sortino": Metric(
        "mean(returns) / √mean(min(returns, 0)²) · √A, all n in the mean; infinite without a losing period", _EMP, _FLAT,
        (*_RETURNS, "downside_squares"), st.sortino,
    ),
    "calmar": Metric(
        "cagr / |max_drawdown|; infinite for a gain without a drawdown", _EMP, f"{RUIN}, {_NEITHER}",
        (*_MONEY, "solvent", "drawdown"), st.calmar,
    ),
    "omega": Metric(
        "sum of returns above 0 / |sum of returns below 0|; infinite without a losing period",
        "as empyrical, threshold 0", f"{RUIN}, {_NEITHER}", ("gain_sum", "loss_sum", "solvent"), st.omega,
    ),
    "max_drawdown": Metric(
        "least equity / highest equity so far - 1 over all closes, the capital being the first peak; <= 0", _WIDE, "",
        ("drawdown",), st.drawdown,
    ),
    "max_drawdown_duration": Metric(
        "most bars from the last touch of a peak to its recovery, or to the end", _WIDE, "",
        ("longest_drawdown", "since_peak"), st.longest_drawdown, more_is_better=False,
    ),
    "ulcer_index": Metric(
        "√mean((equity / peak - 1)²) at the ends of the n periods, the capital being the first peak; a fraction",
        "Martin 1987, n points", RUIN, ("fall_squares", "solvent"), st.ulcer_index, more_is_better=False,
    ),
    "skew": Metric("bias-corrected skewness G1 of the returns", _PANDAS, f"{_FLAT}, fewer than 3 periods", _MOMENTS,
                   st.skew),
    "kurtosis": Metric("bias-corrected excess kurtosis G2 of the returns", _PANDAS, f"{_FLAT}, fewer than 4 periods",
                       _MOMENTS, st.kurtosis, more_is_better=False),
    "t_stat": Metric("mean(returns) / std(returns, ddof=1) · √n", "Student", _FLAT, _RETURNS, st.t_statistic),
    "alpha": Metric(
        "(mean(returns) - beta · mean(buy and hold)) · A; buy and hold: one contract rolled at old_price, what it earns in "
        "a period over the own price of the contract held at the period's start", "least squares, risk-free rate 0",
        f"{RUIN}, {_HELD}", _BENCHMARK, st.alpha,
    ),
    "beta": Metric(
        "cov(returns, buy and hold) / var(buy and hold)", "least squares", f"{RUIN}, {_HELD}", _BENCHMARK, st.beta,
        more_is_better=False,
    ),
    "best_session": Metric("largest return of a period", _WIDE, RUIN, ("best_return", "solvent"),
                           lambda t: st.solvent(t, t["best_return"])),
    "worst_session": Metric("least return of a period", _WIDE, RUIN, ("worst_return", "solvent"),
                            lambda t: st.solvent(t, t["worst_return"])),
    "positive_sessions": Metric("periods with a return above 0 / n", _WIDE, RUIN, ("gains", "solvent"),
                                lambda t: st.solvent(t, t["gains"] / t.periods)),
    "recovery_factor": Metric(
        "total_return / |max_drawdown|; infinite for a gain without a drawdown",
        "as quantstats, of the compounded return", _NEITHER, (*_MONEY, "drawdown"), st.recovery_factor,
    ),
    "trades": Metric("closed round trips; one open at the end is not counted", _OWN, "", ("trades",),
                     lambda t: t["trades"]),
    "fills": Metric("times that something changed hands; a roll is one in each contract", _OWN, "", ("fills",),
                    lambda t: t["fills"], more_is_better=False),
    "open_trades": Metric("1 where a position is open at the last close, else 0", _OWN, "", ("position",),
                          lambda t: np.where(t["position"] != 0.0, 1.0, 0.0), more_is_better=False),
    "win_rate": Metric("closed round trips with net profit > 0 / trades", _WIDE, _NO_TRADE, ("wins", "trades"),
                       lambda t: st.ratio(t["wins"], t["trades"])),
    "profit_factor": Metric(
        "net profit of winning / |net loss of losing round trips|; infinite without a losing one", _WIDE, _NEITHER,
        ("won", "lost"), lambda t: st.over_losses(t["won"], -t["lost"]),
    ),
    "expectancy": Metric("mean net profit of a closed round trip, money", _WIDE, _NO_TRADE, _TRIPS,
                         lambda t: st.ratio(t["won"] + t["lost"], t["trades"])),
    "avg_trade": Metric(
        "mean of net profit / equity when last flat, over closed round trips", _OWN, _NO_TRADE,
        ("trade_returns", "trades"), lambda t: st.ratio(t["trade_returns"], t["trades"]),
    ),
    "avg_win": Metric("mean net profit of winning round trips, money; 0 where none wins", _WIDE, _NO_TRADE,
                      ("won", "wins", "trades"), lambda t: st.average(t["won"], t["wins"], t["trades"])),
    "avg_loss": Metric("mean net profit of losing round trips, money; 0 where none loses", _WIDE, _NO_TRADE,
                       ("lost", "losses", "trades"), lambda t: st.average(t["lost"], t["losses"], t["trades"])),
    "sqn": Metric(
        "√trades · mean / std(ddof=1) of the net profits of closed round trips", "Tharp, not capped",
        "fewer than 2 closed round trips, equal ones", (*_TRIPS, "trade_squares"), st.sqn,
    ),
    "holding_time": Metric(
        "mean number of bars at whose close a closed round trip was held", _OWN, _NO_TRADE, ("held_bars", "trades"),
        lambda t: st.ratio(t["held_bars"], t["trades"]), more_is_better=False,
    ),
    "rounded_to_zero": Metric(
        "bars whose target asked for a position that whole contracts rounded to none", _OWN, "", ("rounded",),
        lambda t: t["rounded"], more_is_better=False,
    ),
    "exposure": Metric("bars with a position at the close / scored bars", _WIDE, "", ("held_bars", "age"),
                       lambda t: (t["held_bars"] + t["age"]) / t.bars),
    "turnover": Metric(
        "notional traded, both sides / mean equity at the closes / years", _OWN, RUIN,
        ("notional_traded", "equity_sum", "solvent"),
        lambda t: st.solvent(t, t["notional_traded"] / (t["equity_sum"] / t.bars) / t.years), more_is_better=False,
    ),
    "fees": Metric("fees paid, money", _WIDE, "", _VOLUME, st.fees, more_is_better=False),
    "slippage": Metric("slippage paid, money", _WIDE, "", _VOLUME, st.slippage, more_is_better=False),
    "final_equity": Metric("capital + profit - costs, an open position at the last close, money", _WIDE, "", _MONEY,
                           st.final),
    "net_profit": Metric("final equity - capital, money", _WIDE, "", _MONEY, st.net),
    "gross_profit": Metric("profit before fees and slippage, money", _WIDE, "", ("profit",), st.gross),
}  # fmt: skip
"""The metrics that are streamed in the program."""

ORDER_METRICS: dict[str, Metric] = {
    "var_95": Metric("5th percentile of the returns, linear between neighbours", _EMP, RUIN,
                     ("percentile_5", "solvent"), lambda t: st.solvent(t, t["percentile_5"])),
    "cvar_95": Metric("mean of the lowest floor(0.05 (n - 1)) + 1 returns", _EMP, RUIN, ("worst_mean", "solvent"),
                      lambda t: st.solvent(t, t["worst_mean"])),
    "tail_ratio": Metric(
        "|95th percentile| / |5th percentile| of the returns; infinite where only the latter is 0", _EMP,
        f"{RUIN}, both percentiles 0", ("percentile_5", "percentile_95", "solvent"),
        lambda t: st.solvent(t, st.over_losses(np.abs(t["percentile_95"]), np.abs(t["percentile_5"]))),
    ),
}  # fmt: skip
"""Order statistics: computed from the kept returns, only where they are asked for by name."""

ALL_METRICS: dict[str, Metric] = {**METRICS, **ORDER_METRICS}

STANDARD = (
    "total_return", "cagr", "volatility", "sharpe", "sortino", "calmar", "max_drawdown", "win_rate", "profit_factor",
    "expectancy", "exposure", "turnover", "trades", "rounded_to_zero", "fees", "slippage", "final_equity", "net_profit",
    "gross_profit",
)  # fmt: skip
"""What a sweep computes where nothing is asked for: a program of all metrics takes three times as long to compile."""


def reads(names: Sequence[str]) -> frozenset[str]:
    """The states that the metrics read; raises ``MetricError`` for an unknown name, listing the known ones."""
    for name in names:
        if name not in ALL_METRICS:
            raise MetricError(f"metric {name!r} is unknown: use some of {', '.join(ALL_METRICS)}")
    return frozenset(state for name in names for state in ALL_METRICS[name].reads)


def ordered(states: Sequence[str]) -> bool:
    """Whether some of the states are order statistics."""
    return not set(NAMES).isdisjoint(states)


def compute(names: Sequence[str], totals: Totals) -> dict[str, Array]:
    """Each metric's values [lanes], numpy's own NaN where undefined."""
    with np.errstate(all="ignore"):
        return {name: canonical(np.array(ALL_METRICS[name].compute(totals), dtype=np.float64)) for name in names}


def ranking(name: str, values: Array) -> NDArray[np.int64]:
    """Places of the values from best to worst; ties in the order of the combinations; NaN is left out, an infinite value
    stands at its end.

    Raises ``MetricError`` for an unknown metric.
    """
    reads([name])
    order = np.argsort(-values if ALL_METRICS[name].more_is_better else values, kind="stable")
    return order[~np.isnan(values[order])].astype(np.int64)


def undefined(name: str) -> str:
    """When the metric is NaN, for messages."""
    found = ALL_METRICS[name].undefined
    return f"NaN for: {found}" if found else "no return is finite"


def metrics_markdown() -> str:
    """The page ``docs/metrics.md``."""
    lines = [
        "# Metrics",
        "",
        "Generated from `kernels/metrics.py` by `python docs/generate.py`. Fractions, not percent; money in the",
        "instrument's currency. Returns are simple returns of whole periods: sessions, or bars with `returns=\"bar\"`",
        "(`result.profile[\"returns\"]` says which); n periods, A of them a year by the calendar of the data, years = n / A.",
        "",
        "A value that is undefined is NaN, for the reason in the last column, and stands in no ranking. Gains over losses are",
        "infinite where there are gains and no loss, and stand above any number: a side that only wins comes before one that",
        "only loses, and what never trades stands nowhere. Trades are closed round trips: from flat or a change of side to",
        "flat or a change of side; adding, reducing and rolling stay inside.",
        "",
        "A profit within the rounding of its own sums is zero: at most 2⁻⁴⁰ (9e-13) of the capital and of what the contracts",
        "are worth at the first close; where the equity sets the size, of twice the capital. It is neither a win nor a loss,",
        "of a trade or of a period, and no drawdown.",
        "",
        "| metric | definition | source | better | NaN for |",
        "|---|---|---|---|---|",
    ]
    for name, metric in ALL_METRICS.items():
        better = "more" if metric.more_is_better else "less"
        lines.append(f"| `{name}` | {metric.doc.replace('|', '&#124;')} | {metric.source} | {better} | {metric.undefined} |")
    standard = ", ".join(f"`{name}`" for name in STANDARD)
    asked = ", ".join(f"`{name}`" for name in ORDER_METRICS)
    lines += [
        "",
        f"All but {asked} are streamed: computed while the program runs. Those three are exact order statistics of the",
        "returns, kept for a bounded number of combinations at a time; they are computed only where `metrics=` names them.",
        "",
        f"Without `metrics=` a sweep computes {standard}. Only what is asked for is in the program.",
    ]
    return "\n".join(lines) + "\n"
