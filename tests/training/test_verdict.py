"""The verdict: its words, and that its stated error rate holds without an edge."""

import numpy as np
import pytest
from scipy import stats

from training import verdict as module
from training.verdict import corrected_t, verdict


def losses_rare(generator, n):
    return 1.0 - generator.exponential(size=n)


def minutes_of_sessions(generator, n):
    """Session sums of 390 minutes that are correlated, heavy-tailed and share a volatility."""
    shocks = generator.standard_t(3, size=(n, 390)) * np.exp(generator.normal(0.0, 0.5, size=(n, 1)))
    return (shocks[:, 1:] + 0.4 * shocks[:, :-1]).sum(axis=1)


NULLS = {
    "normal": lambda g, n: g.normal(size=n),
    "student 2.5": lambda g, n: g.standard_t(2.5, size=n),
    "cauchy": lambda g, n: g.standard_cauchy(size=n),
    "mostly flat": lambda g, n: g.normal(size=n) * (g.random(n) < 0.3),
    "rare gains": lambda g, n: -losses_rare(g, n),
    "rare losses": losses_rare,
    "minutes": minutes_of_sessions,
}


@pytest.mark.parametrize("name", NULLS)
def test_error_rate_holds_without_an_edge(name, monkeypatch):
    monkeypatch.setattr(module, "RESAMPLES", 499)
    generator = np.random.default_rng(2024)
    cases = 600
    called = sum(verdict(NULLS[name](generator, n), 1).beats_flat for n in (18, 25) for _ in range(cases // 2))
    assert called <= stats.binom.ppf(0.999, cases, 0.025)


def test_rate_is_shared_among_models(monkeypatch):
    monkeypatch.setattr(module, "RESAMPLES", 1999)
    generator = np.random.default_rng(7)
    families, models = 150, 5
    called = sum(
        any(verdict(generator.normal(size=20), models).beats_flat for _ in range(models)) for _ in range(families)
    )
    assert called <= stats.binom.ppf(0.999, families, 0.025)


@pytest.mark.parametrize("trials", [500, 501, 2_530, 1_000_000])
def test_a_strong_model_beats_flat_however_many_were_tried(trials):
    noise = stats.zscore(np.random.default_rng(4).normal(size=250), ddof=1)
    profits = noise + 15.1 / np.sqrt(250)
    assert stats.ttest_1samp(profits, 0.0).statistic == pytest.approx(15.1)
    found = verdict(profits, trials)
    assert found.beats_flat and found.p_value < 1e-9


def test_a_weak_model_does_not_beat_flat_among_many():
    profits = np.random.default_rng(4).normal(0.25, 1.0, size=250)  # t near 4, p near 4e-5
    one = verdict(profits, 1)
    assert one.beats_flat and 1e-6 < one.p_value < 1e-3
    assert not verdict(profits, 100_000).beats_flat


def test_words():
    generator = np.random.default_rng(0)
    noise = generator.normal(0.0, 1.0, size=20)
    noise -= noise.mean()
    better = verdict(noise + 2.0, 5)
    assert better.words == "beats flat (one-sided error rate 2.5 %)"
    assert better.beats_flat and better.distinguishable and better.p_value <= better.threshold == pytest.approx(0.005)
    unclear = verdict(noise + 0.1, 1)
    assert unclear.words == "not distinguishable from flat on this much data"
    assert not unclear.beats_flat and not unclear.distinguishable
    slightly = verdict(noise - 0.1, 1)
    assert slightly.words == "does not beat flat after costs"
    assert not slightly.distinguishable
    worse = verdict(noise - 2.0, 1)
    assert worse.words == "does not beat flat after costs" and worse.distinguishable
    assert verdict(noise + 2.0, 1, confidence=0.99).words == "beats flat (one-sided error rate 1 %)"
    assert verdict(noise + 2.0, 5) == better


def test_a_model_that_never_trades_does_not_beat_flat():
    for sessions in (0, 1, 5, 20):
        found = verdict(np.zeros(sessions), 3)
        assert found.words == "does not beat flat after costs"
        assert (found.mean, found.p_value, found.distinguishable) == (0.0, 1.0, False)


def test_too_few_sessions_and_one_lucky_session_beat_nothing():
    assert verdict(np.arange(1.0, 10.0), 1).words == "not distinguishable from flat on this much data"
    lucky = np.zeros(20)
    lucky[3] = 1e6
    assert not verdict(lucky, 1).beats_flat


def test_p_value_is_that_of_the_t_test_for_symmetric_profits_that_alternate():
    ordered = stats.norm.ppf((np.arange(24) + 0.5) / 24)
    # High beside low: dependence narrows the bootstrap and must not lower the p-value.
    values = np.stack([ordered[:12], ordered[12:]], axis=1).ravel() + 0.3
    expected = stats.ttest_1samp(values, 0.0, alternative="greater").pvalue
    assert verdict(values, 1).p_value == pytest.approx(expected, rel=1e-9)
    trending = verdict(ordered + 0.3, 1)
    assert trending.p_value > expected + 0.02


def test_correction_lowers_t_for_rare_losses_only():
    gains = np.array([-1.0] * 9 + [15.0])
    error = gains.std(ddof=1) / np.sqrt(10)
    assert corrected_t(gains, error) == pytest.approx(gains.mean() / error)
    losses = np.array([1.0] * 9 + [-4.0])
    sd, skew = losses.std(ddof=1), np.mean((losses - losses.mean()) ** 3) / losses.std(ddof=1) ** 3
    z, g = losses.mean() / sd, 1.5 * skew
    by_hand = np.sqrt(10) * (z + g / 60 + g * z * z / 3)
    assert corrected_t(losses, sd / np.sqrt(10)) == pytest.approx(by_hand)
    assert by_hand < np.sqrt(10) * z


def test_surer_profits_are_never_called_less_sure():
    losses = np.array([3.0, 1.0, 2.0, 0.0, 1.5, 2.5, 1.0, 2.0, -5.0, 1.0, 2.0, 3.0])
    shape = losses - losses.mean()
    error = shape.std(ddof=1) / np.sqrt(len(shape))
    values = [corrected_t(shape + mean, error) for mean in np.linspace(0.01, 40.0, 400)]
    assert (np.diff(values) > -1e-12).all() and values[-1] > 10.0
    sure = verdict(np.tile(shape, 2) + 40.0, trials=5)
    assert sure.beats_flat and sure.p_value < 1e-4


def test_beyond_johnsons_turning_point_halls_cubic_goes_on():
    losses = np.array([10.0] * 9 + [5.0])
    sd, skew = losses.std(ddof=1), np.mean((losses - losses.mean()) ** 3) / losses.std(ddof=1) ** 3
    z, g = losses.mean() / sd, 1.5 * skew
    turn = -1.5 / g
    assert z > turn
    top = turn + g / 60 + g * turn**2 / 3
    # the integral of (1 + g z / 3)^2 from the turning point to z
    grown = ((1 + g * z / 3) ** 3 - (1 + g * turn / 3) ** 3) / g
    assert corrected_t(losses, sd / np.sqrt(10)) == pytest.approx(np.sqrt(10) * (top + grown))


def test_refusals():
    with pytest.raises(ValueError, match="trials = 0"):
        verdict(np.zeros(20), 0)
    with pytest.raises(ValueError, match=r"confidence = 2\.5"):
        verdict(np.zeros(20), 1, confidence=2.5)
    with pytest.raises(ValueError, match=r"session_profit\[0\] = inf"):
        verdict(np.array([np.inf, 1.0]), 1)
