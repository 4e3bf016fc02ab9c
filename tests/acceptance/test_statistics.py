"""What intervals cover and verdicts cost in error, as docs/acceptance.md states it, over thousands of draws."""

import math

import numpy as np
import pytest
from scipy import stats

from pipelines.report.uncertainty import sharpe_interval
from training import verdict as module
from training.bootstrap import mean_interval
from training.verdict import verdict

pytestmark = pytest.mark.acceptance
DRAWN = 3_000


def autoregressive(weight):
    def draw(generator, n):
        values = generator.normal(size=n + 50)
        for row in range(1, n + 50):
            values[row] += weight * values[row - 1]
        return values[50:]

    return draw


def mostly_flat(generator, n):
    return generator.normal(size=n) * (generator.random(n) < 0.3)


# Every mean is zero.
DRAWS = {
    "normal": lambda g, n: g.normal(size=n),
    "Student 3": lambda g, n: g.standard_t(3, size=n),
    "Student 2.5": lambda g, n: g.standard_t(2.5, size=n),
    "mostly flat": mostly_flat,
    "exponential gains": lambda g, n: g.exponential(size=n) - 1.0,
    "exponential losses": lambda g, n: 1.0 - g.exponential(size=n),
    "lognormal losses": lambda g, n: math.exp(0.5) - g.lognormal(size=n),
    "autocorrelation 0.3": autoregressive(0.3),
    "autocorrelation 0.5": autoregressive(0.5),
}
SESSIONS = (19, 25, 60, 250)
# What docs/acceptance.md states, in per cent, at so many sessions: how often the interval of the mean and that of the
# Sharpe ratio hold the truth where 95 is stated, and how often a verdict says "beats flat" where 2.5 is.
MEAN = {
    "normal": (96.7, 96.1, 95.9, 96.0),
    "Student 3": (97.2, 96.4, 96.2, 96.0),
    "Student 2.5": (97.0, 97.2, 96.7, 96.2),
    "mostly flat": (98.5, 97.7, 96.3, 96.2),
    "exponential gains": (94.7, 94.8, 95.5, 95.5),
    "exponential losses": (94.3, 95.6, 96.5, 95.6),
    "lognormal losses": (91.0, 92.1, 94.0, 95.0),
    "autocorrelation 0.3": (92.4, 92.6, 94.5, 95.3),
    "autocorrelation 0.5": (91.0, 92.0, 92.7, 95.4),
}
SHARPE = {
    "normal": (97.4, 97.1, 96.1, 95.8),
    "Student 3": (97.5, 96.7, 96.3, 96.0),
    "Student 2.5": (97.2, 97.3, 96.8, 96.1),
    "mostly flat": (98.5, 97.7, 96.4, 96.0),
    "exponential gains": (97.1, 97.1, 96.7, 96.4),
    "exponential losses": (96.8, 97.5, 97.5, 96.4),
    "lognormal losses": (94.9, 95.6, 96.0, 96.2),
    "autocorrelation 0.3": (94.4, 93.9, 95.2, 95.2),
    "autocorrelation 0.5": (93.1, 93.7, 93.7, 95.5),
}
RATE = {
    "normal": (1.2, 1.7, 2.2, 2.4),
    "Student 3": (1.5, 1.7, 1.7, 2.3),
    "Student 2.5": (1.6, 1.5, 1.5, 2.1),
    "mostly flat": (0.7, 1.1, 2.1, 1.9),
    "exponential gains": (0.4, 0.6, 1.0, 1.5),
    "exponential losses": (1.9, 1.7, 1.3, 1.8),
    "lognormal losses": (3.5, 2.5, 2.0, 2.1),
    "autocorrelation 0.3": (3.3, 3.2, 2.5, 2.3),
    "autocorrelation 0.5": (3.7, 3.6, 3.6, 2.5),
}


def seeded(name: str, sessions: int) -> np.random.Generator:
    return np.random.default_rng([sessions, *name.encode()])


def at_least(count: int, stated: float) -> bool:
    """Whether a count of DRAWN is no smaller than 99.9 % of binomial draws of the stated per cent."""
    return count >= stats.binom.ppf(0.001, DRAWN, stated / 100.0)


@pytest.mark.parametrize("name", DRAWS)
def test_intervals_cover_what_the_page_states(name):
    for place, sessions in enumerate(SESSIONS):
        generator, mean, sharpe = seeded(name, sessions), 0, 0
        for seed in range(DRAWN):
            data = DRAWS[name](generator, sessions)
            found = mean_interval(data, seed=seed, resamples=399)
            mean += found.low <= 0.0 <= found.high
            yearly = sharpe_interval(data, 252.0)
            sharpe += not yearly.low > 0.0 and not yearly.high < 0.0
        print(f"{name}, {sessions} sessions: mean {100 * mean / DRAWN:.1f} %, Sharpe {100 * sharpe / DRAWN:.1f} %")
        assert at_least(mean, MEAN[name][place]) and at_least(sharpe, SHARPE[name][place])


@pytest.mark.parametrize("name", DRAWS)
def test_verdicts_err_as_rarely_as_the_page_states(name, monkeypatch):
    monkeypatch.setattr(module, "RESAMPLES", 999)
    for place, sessions in enumerate(SESSIONS):
        generator = seeded(name, sessions)
        called = sum(verdict(DRAWS[name](generator, sessions), 1).beats_flat for _ in range(DRAWN))
        print(f"{name}, {sessions} sessions: called better than flat in {100 * called / DRAWN:.2f} %")
        assert called <= stats.binom.ppf(0.999, DRAWN, RATE[name][place] / 100.0)
