"""The metrics of a sweep: one row each, with its definition, the tallies it reads and whether more is better.

Fractions, not percent; money in the instrument's currency. Returns are simple returns of whole periods (sessions or
bars; a session that a window cuts counts whole); A = periods a year, counted from the calendar of the data
(``kernels.annualisation``); n = periods; years = n / A.

Undefined is NaN and never wins a ranking: no trade, no loss, no drawdown, fewer than two periods, constant returns (a
spread below 1e-6 of their root mean square is rounding, not risk). An account whose equity was at or below zero at
any close is ruined: from then on it is flat, and its return statistics are NaN.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernels.portfolio import Terms

Array: TypeAlias = NDArray[np.float64]

RELATIVE_SPREAD = 1e-12
"""Returns whose variance is at most this part of their mean square are constant."""


class MetricError(ValueError):
    """An unknown metric, or a ranking in which no combination has a value."""


@dataclass(frozen=True)
class Totals:
    """Final states of a run, each [lanes], and what they are measured against."""

    states: Mapping[str, Array]
    capital: float
    bars: int
    periods: int
    periods_per_year: float
    terms: Terms

    def __getitem__(self, name: str) -> Array:
        return self.states[name]

    @property
    def years(self) -> float:
        """Scored time in years."""
        return self.periods / self.periods_per_year


@dataclass(frozen=True)
class Metric:
    """``compute`` gives one value a lane; ``more_is_better`` is the direction of a ranking."""

    doc: str
    reads: tuple[str, ...]
    compute: Callable[[Totals], Array]
    more_is_better: bool = True


def _net(t: Totals) -> Array:
    return t["profit"] - t["costs"]


def _final(t: Totals) -> Array:
    return t.capital + _net(t)


def _solvent(t: Totals, values: Array) -> Array:
    return np.where(t["lowest"] > 0.0, values, np.nan)


def _ratio(above: Array, below: Array | float) -> Array:
    return np.where(np.asarray(below) != 0.0, above / below, np.nan)


def _variance(t: Totals) -> Array:
    if t.periods < 2:
        return np.full_like(t["return_sum"], np.nan)
    total, squares = t["return_sum"], t["return_squares"]
    spread = (squares - total * total / t.periods) / (t.periods - 1)
    return np.where(spread > RELATIVE_SPREAD * squares / t.periods, spread, 0.0)


def _volatility(t: Totals) -> Array:
    return _solvent(t, np.sqrt(_variance(t) * t.periods_per_year))


def _sharpe(t: Totals) -> Array:
    mean = t["return_sum"] / t.periods
    return _solvent(t, _ratio(mean, np.sqrt(_variance(t))) * np.sqrt(t.periods_per_year))


def _sortino(t: Totals) -> Array:
    downside = np.sqrt(t["downside_squares"] / t.periods)
    defined = np.where(_variance(t) > 0.0, downside, np.nan)
    return _solvent(t, _ratio(t["return_sum"] / t.periods, defined) * np.sqrt(t.periods_per_year))


def _cagr(t: Totals) -> Array:
    growth = _solvent(t, _final(t)) / t.capital
    # one lane after the other: a vector power may round differently at another place in the array
    yearly = np.array([np.float64(g) ** (1.0 / t.years) - 1.0 for g in growth])
    return np.where(np.isfinite(yearly), yearly, np.nan)


def _fees(t: Totals) -> Array:
    return t["contracts_traded"] * float(t.terms.fee_per_contract) + t["notional_traded"] * float(t.terms.fee_rate)


def _slippage(t: Totals) -> Array:
    per_contract, rate = float(t.terms.slippage_per_contract), float(t.terms.slippage_rate)
    return t["contracts_traded"] * per_contract + t["notional_traded"] * rate


_MONEY = ("profit", "costs")
_VOLUME = ("contracts_traded", "notional_traded")
_RETURNS = ("return_sum", "return_squares", "lowest")

METRICS: dict[str, Metric] = {
    "total_return": Metric("final equity / capital - 1", _MONEY, lambda t: _final(t) / t.capital - 1.0),
    "cagr": Metric(
        "(final equity / capital)^(1 / years) - 1; NaN for a ruined account and beyond float64",
        (*_MONEY, "lowest"),
        _cagr,
    ),
    "volatility": Metric("std(returns, ddof=1) · √A", _RETURNS, _volatility, more_is_better=False),
    "sharpe": Metric("mean(returns) / std(returns, ddof=1) · √A, risk-free rate 0", _RETURNS, _sharpe),
    "sortino": Metric(
        "mean(returns) / √mean(min(returns, 0)²) · √A, all n in the mean; NaN without a losing period",
        (*_RETURNS, "downside_squares"),
        _sortino,
    ),
    "calmar": Metric(
        "cagr / |max_drawdown|; NaN without a drawdown",
        (*_MONEY, "lowest", "drawdown"),
        lambda t: _ratio(_cagr(t), -t["drawdown"]),
    ),
    "max_drawdown": Metric(
        "least equity / highest equity so far - 1 over all closes, the capital being the first peak; <= 0",
        ("drawdown",),
        lambda t: t["drawdown"],
    ),
    "win_rate": Metric(
        "closed round trips with net profit > 0 / trades", ("wins", "trades"), lambda t: _ratio(t["wins"], t["trades"])
    ),
    "profit_factor": Metric(
        "net profit of winning / |net loss of losing round trips|; NaN without a loss",
        ("won", "lost"),
        lambda t: _ratio(t["won"], -t["lost"]),
    ),
    "expectancy": Metric(
        "mean net profit of a closed round trip, money",
        ("won", "lost", "trades"),
        lambda t: _ratio(t["won"] + t["lost"], t["trades"]),
    ),
    "exposure": Metric(
        "bars with a position at the close / scored bars", ("exposed_bars",), lambda t: t["exposed_bars"] / t.bars
    ),
    "turnover": Metric(
        "notional traded, both sides / mean equity at the closes / years; NaN for a ruined account",
        ("notional_traded", "equity_sum", "lowest"),
        lambda t: _solvent(t, t["notional_traded"] / (t["equity_sum"] / t.bars) / t.years),
        more_is_better=False,
    ),
    "trades": Metric("closed round trips; one open at the end is not counted", ("trades",), lambda t: t["trades"]),
    "fees": Metric("fees paid, money", _VOLUME, _fees, more_is_better=False),
    "slippage": Metric("slippage paid, money", _VOLUME, _slippage, more_is_better=False),
    "final_equity": Metric("capital + profit - costs, an open position at the last close, money", _MONEY, _final),
    "net_profit": Metric("final equity - capital, money", _MONEY, _net),
    "gross_profit": Metric("profit before fees and slippage, money", ("profit",), lambda t: t["profit"]),
}


def reads(names: Sequence[str]) -> frozenset[str]:
    """The states that the metrics read; raises ``MetricError`` for an unknown name, listing the known ones."""
    for name in names:
        if name not in METRICS:
            raise MetricError(f"metric {name!r} is unknown: use some of {', '.join(METRICS)}")
    return frozenset(state for name in names for state in METRICS[name].reads)


def compute(names: Sequence[str], totals: Totals) -> dict[str, Array]:
    """Each metric's values [lanes], NaN where undefined."""
    with np.errstate(all="ignore"):
        return {name: np.asarray(METRICS[name].compute(totals), dtype=np.float64) for name in names}


def ranking(name: str, values: Array) -> NDArray[np.int64]:
    """Places of the values from best to worst; ties in the order of the combinations; NaN is left out.

    Raises ``MetricError`` for an unknown metric.
    """
    reads([name])
    order = np.argsort(-values if METRICS[name].more_is_better else values, kind="stable")
    return order[~np.isnan(values[order])].astype(np.int64)
