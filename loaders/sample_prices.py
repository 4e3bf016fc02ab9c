"""Price process of the sample data set: a fair value that cannot be predicted plus a deviation that returns to zero.

log level = fair + d. The fair value is a driftless random walk with a daily volatility pattern and mild volatility
clustering; d is an Ornstein-Uhlenbeck process in trading minutes, dd = -d/tau dt + noise. Whoever knows d earns from
its return to zero; whoever does not can only estimate it. The size of d decides the edition.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from loaders.sample_calendar import MinuteGrid

STEPS_PER_MINUTE = 8
FIRST_LEVEL = 5_100.0
FORECAST_MINUTES = 60
# Minutes since the 17:00 open, and the relative volatility there: Asia, Europe, the cash open, lunch, the cash close.
PATTERN_MINUTES = (0, 30, 360, 540, 600, 860, 930, 945, 1080, 1140, 1290, 1320, 1335, 1380)
PATTERN_VOLATILITY = (0.7, 0.4, 0.4, 0.8, 0.7, 0.9, 2.6, 2.2, 1.4, 1.1, 1.9, 1.6, 0.6, 0.4)
GAP_VOLATILITY = 0.12  # of a session's volatility, when the market opens again; twice that after a weekend


@dataclass(frozen=True)
class Edition:
    """Size of what can be learnt. Standard deviations are of log prices; `band` is the oracle's hysteresis in d.

    The band is the best one for a cost of 0.292 points a side (a tick of slippage and 2.10 dollars): an oracle that
    turns at -band and +band earns 2(band - cost) a turn, and turns every tau sqrt(2 pi) x integral of exp(x^2/2) from
    0 to band/sd minutes.
    """

    fair_sd: float
    deviation_sd: float
    time_constant: float
    band: float
    label: str


GENERATED = "generated data, no price is real: "

EDITIONS = {
    "real": Edition(
        0.0075,
        0.00008,
        60.0,
        0.000116,
        f"{GENERATED}an edge of realistic size, which honest tests on this much data cannot tell from none",
    ),
    "power": Edition(0.0020, 0.00100, 30.0, 0.000460, f"{GENERATED}a power check: learnable edge, not realistic"),
    "0": Edition(0.0075, 0.0, 60.0, 0.0, f"{GENERATED}no edge, prices are a martingale"),
}


@dataclass(frozen=True)
class PricePath:
    """Level of the first contract in points [minutes, steps]; log deviation at each minute's last step [minutes]."""

    level: NDArray[np.float64]
    deviation: NDArray[np.float64]


def autoregression(rng: np.random.Generator, count: int, time_constant: float, sd: float) -> NDArray[np.float64]:
    """Stationary first-order autoregression: standard deviation sd, correlation exp(-lag / time_constant)."""
    decay = np.exp(-1.0 / time_constant)
    noise = rng.standard_normal(count) * (sd * np.sqrt(1.0 - decay * decay))
    noise[0] *= 1.0 / np.sqrt(1.0 - decay * decay)
    return np.asarray(lfilter([1.0], [1.0, -decay], noise), dtype=np.float64)


def _minute_volatility(grid: MinuteGrid, fair_sd: float, rng: np.random.Generator) -> NDArray[np.float64]:
    full_day = np.interp(np.arange(1380), PATTERN_MINUTES, PATTERN_VOLATILITY)
    pattern = full_day / np.sqrt(np.sum(full_day**2))
    by_session = autoregression(rng, len(grid.sessions), 10.0, 0.25)
    by_minute = autoregression(rng, grid.ts.size, 120.0, 0.25)
    # exp(x - sd^2) has mean square 1, so clustering leaves the average variance as it is.
    clustering: NDArray[np.float64] = np.exp(by_session[grid.session] + by_minute - 2 * 0.25**2)
    return np.asarray(fair_sd * pattern[grid.since_open] * clustering, dtype=np.float64)


def _fair(grid: MinuteGrid, fair_sd: float, rng: np.random.Generator) -> NDArray[np.float64]:
    volatility = _minute_volatility(grid, fair_sd, rng)
    steps = rng.standard_normal((grid.ts.size, STEPS_PER_MINUTE))
    steps *= (volatility / np.sqrt(STEPS_PER_MINUTE))[:, None]
    weekend = np.array([1.0 + (one.trade_date.weekday() == 0) for one in grid.sessions])
    gaps = rng.standard_normal(len(grid.sessions)) * weekend * (GAP_VOLATILITY * fair_sd)
    gaps[0] = 0.0
    steps[grid.since_open == 0, 0] += gaps
    return np.cumsum(steps.ravel()).reshape(steps.shape)


def price_path(
    grid: MinuteGrid, edition: Edition, fair_rng: np.random.Generator, deviation_rng: np.random.Generator
) -> PricePath:
    """Prices on every step of every open minute; the deviation does not move while the market is closed."""
    fair = _fair(grid, edition.fair_sd, fair_rng)
    deviation = np.zeros_like(fair)
    if edition.deviation_sd > 0.0:
        steps = autoregression(deviation_rng, fair.size, edition.time_constant * STEPS_PER_MINUTE, edition.deviation_sd)
        deviation = steps.reshape(fair.shape)
    return PricePath(FIRST_LEVEL * np.exp(fair + deviation), deviation[:, -1].copy())


def expected_return(deviation: NDArray[np.float64], edition: Edition) -> NDArray[np.float64]:
    """Expected log return over the next 60 trading minutes given d: d (exp(-60/tau) - 1)."""
    return deviation * float(np.expm1(-FORECAST_MINUTES / edition.time_constant))


def oracle_position(deviation: NDArray[np.float64], band: float) -> NDArray[np.int8]:
    """Position wanted at each close by one who knows d: short above +band, long below -band, else as before."""
    signal = np.where(deviation > band, -1, np.where(deviation < -band, 1, 0)).astype(np.int8)
    last_signal = np.maximum.accumulate(np.where(signal != 0, np.arange(signal.size), 0))
    return signal[last_signal]
