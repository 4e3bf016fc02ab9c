"""Formulas over the totals of a run: what the metrics are computed by, each a value a lane.

Undefined is NaN: no trade, too few periods, constant returns. A quotient of gains and losses without a loss is infinite:
better than any number. What is rounding of the account's own sums is zero. An account whose equity was at or below zero
at any close is ruined: from then on it is flat, and its return statistics are NaN.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernels.portfolio import Terms

Array: TypeAlias = NDArray[np.float64]

RELATIVE_SPREAD = 1e-12
"""Values whose variance is at most this part of their mean square are constant."""


@dataclass(frozen=True)
class Totals:
    """Final states of a run, each [lanes], and what they are measured against.

    ``blocks``: sums and sums of squares of the returns over blocks of periods [2, blocks, lanes] and each block's
    periods, where they were asked for.
    """

    states: Mapping[str, Array]
    capital: float
    bars: int
    periods: int
    periods_per_year: float
    terms: Terms
    blocks: tuple[Array, NDArray[np.int64]] | None = None

    def __getitem__(self, name: str) -> Array:
        return self.states[name]

    @property
    def years(self) -> float:
        """Scored time in years."""
        return self.periods / self.periods_per_year


def unrounded(t: Totals, money: Array) -> Array:
    """The money, 0 where it is the rounding of its own sums."""
    return np.where(np.abs(money) > float(t.terms.rounding), money, 0.0)


def gross(t: Totals) -> Array:
    """Profit before costs, money."""
    return unrounded(t, t["profit"])


def net(t: Totals) -> Array:
    """Profit after costs, money."""
    return unrounded(t, t["profit"] - t["costs"])


def final(t: Totals) -> Array:
    """Equity at the last close, money."""
    return t.capital + net(t)


def total_return(t: Totals) -> Array:
    """Growth of the capital, a fraction."""
    return final(t) / t.capital - 1.0


def solvent(t: Totals, values: Array) -> Array:
    """The values, NaN where the account is ruined."""
    return np.where(t["solvent"] > 0.0, values, np.nan)


def ratio(above: Array, below: Array | float) -> Array:
    """The quotient, NaN where the divisor is 0."""
    return np.where(np.asarray(below) != 0.0, above / below, np.nan)


def average(total: Array, count: Array, of: Array) -> Array:
    """Total over count; 0 where it counts none of some, NaN where there are none at all."""
    return np.where(of > 0.0, np.where(count > 0.0, total / count, 0.0), np.nan)


def over_losses(gains: Array, losses: Array) -> Array:
    """Gains over losses: infinite where there are gains without a loss, NaN where there is neither."""
    return np.where(losses != 0.0, gains / losses, np.where(gains > 0.0, np.inf, np.nan))


def drawdown(t: Totals) -> Array:
    """The worst fall below the peak, <= 0; 0 where it is rounding."""
    worst = t["drawdown"]
    return np.where(worst < -float(t.terms.rounding) / t.capital, worst, 0.0)


def longest_drawdown(t: Totals) -> Array:
    """Most bars below a peak, one that lasts to the end included."""
    return np.maximum(t["longest_drawdown"], t["since_peak"])


def calmar(t: Totals) -> Array:
    """Growth a year over the worst fall."""
    return over_losses(cagr(t), -drawdown(t))


def recovery_factor(t: Totals) -> Array:
    """Growth over the worst fall."""
    return over_losses(total_return(t), -drawdown(t))


def spread(total: Array, squares: Array, count: Array | int) -> Array:
    """Variance (ddof 1) from sum and sum of squares: 0 where it is rounding alone, NaN for fewer than two values."""
    found = (squares - total * total / count) / (np.asarray(count) - 1)
    return np.where(np.asarray(count) < 2, np.nan, np.where(found > RELATIVE_SPREAD * squares / count, found, 0.0))


def variance(t: Totals) -> Array:
    """Variance of the returns, ddof 1."""
    return spread(t["return_sum"], t["return_squares"], t.periods)


def volatility(t: Totals) -> Array:
    """Annualised standard deviation of the returns."""
    return solvent(t, np.sqrt(variance(t) * t.periods_per_year))


def t_statistic(t: Totals) -> Array:
    """Mean return over its standard error."""
    mean = t["return_sum"] / t.periods
    return solvent(t, ratio(mean, np.sqrt(variance(t))) * np.sqrt(float(t.periods)))


def sharpe(t: Totals) -> Array:
    """Annualised mean over standard deviation of the returns."""
    mean = t["return_sum"] / t.periods
    return solvent(t, ratio(mean, np.sqrt(variance(t))) * np.sqrt(t.periods_per_year))


def sortino(t: Totals) -> Array:
    """Annualised mean over downside deviation of the returns."""
    downside = np.sqrt(t["downside_squares"] / t.periods)
    defined = np.where(variance(t) > 0.0, downside, np.nan)
    return solvent(t, over_losses(t["return_sum"] / t.periods, defined) * np.sqrt(t.periods_per_year))


def cagr(t: Totals) -> Array:
    """Growth a year."""
    growth = solvent(t, final(t)) / t.capital
    # one lane after the other: a vector power may round differently at another place in the array
    return np.array([np.float64(g) ** (1.0 / t.years) - 1.0 for g in growth])


def omega(t: Totals) -> Array:
    """Sum of positive over sum of negative returns."""
    return solvent(t, over_losses(t["gain_sum"], -t["loss_sum"]))


def _central(t: Totals) -> tuple[Array, Array, Array]:
    """Central moments 2 to 4 of the returns, population form; NaN where they are constant."""
    n = t.periods
    mean, two, three, four = (
        t[name] / n for name in ("return_sum", "return_squares", "return_cubes", "return_fourths")
    )
    m2 = np.where(variance(t) > 0.0, two - mean * mean, np.nan)
    m3 = three - 3.0 * mean * two + 2.0 * mean * mean * mean
    m4 = four - 4.0 * mean * three + 6.0 * mean * mean * two - 3.0 * mean * mean * mean * mean
    return m2, m3, m4


def skew(t: Totals) -> Array:
    """Bias-corrected skewness G1 of the returns."""
    n = float(t.periods)
    if n < 3:
        return np.full_like(t["return_sum"], np.nan)
    m2, m3, _ = _central(t)
    return solvent(t, np.sqrt(n * (n - 1)) / (n - 2) * m3 / (m2 * np.sqrt(m2)))


def kurtosis(t: Totals) -> Array:
    """Bias-corrected excess kurtosis G2 of the returns."""
    n = float(t.periods)
    if n < 4:
        return np.full_like(t["return_sum"], np.nan)
    m2, _, m4 = _central(t)
    return solvent(t, (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (m4 / (m2 * m2) - 3.0) + 6.0))


def ulcer_index(t: Totals) -> Array:
    """Root mean square of the falls below the peak at the ends of periods."""
    found = np.sqrt(t["fall_squares"] / t.periods)
    return solvent(t, np.where(found > float(t.terms.rounding) / t.capital, found, 0.0))


def beta(t: Totals) -> Array:
    """Slope of the returns on those of buy and hold."""
    x, y, n = t["benchmark_sum"], t["return_sum"], t.periods
    varies = spread(x, t["benchmark_squares"], n) > 0.0
    common = t["benchmark_product"] - x * y / n
    return solvent(t, np.where(varies, common / (t["benchmark_squares"] - x * x / n), np.nan))


def alpha(t: Totals) -> Array:
    """Intercept of the returns on those of buy and hold, × periods a year."""
    intercept = t["return_sum"] / t.periods - beta(t) * t["benchmark_sum"] / t.periods
    return intercept * t.periods_per_year


def sqn(t: Totals) -> Array:
    """Mean net profit of round trips over its standard error."""
    count = t["trades"]
    gained = t["won"] + t["lost"]
    deviation = np.sqrt(spread(gained, t["trade_squares"], count))
    return ratio(gained / count, deviation) * np.sqrt(count)


def fees(t: Totals) -> Array:
    """Fees paid, money."""
    return t["contracts_traded"] * float(t.terms.fee_per_contract) + t["notional_traded"] * float(t.terms.fee_rate)


def slippage(t: Totals) -> Array:
    """Slippage paid, money."""
    per_contract, rate = float(t.terms.slippage_per_contract), float(t.terms.slippage_rate)
    return t["contracts_traded"] * per_contract + t["notional_traded"] * rate
