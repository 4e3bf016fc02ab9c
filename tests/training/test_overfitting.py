"""The probability of backtest overfitting: by brute force, about one half on noise, about zero on a real edge."""

import itertools

import numpy as np
import pytest
from scipy import stats

from training.overfitting import (
    OverfittingError,
    block_edges,
    block_sums,
    probability_of_backtest_overfitting,
)


def noise(seed: int, combinations: int, periods: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, 0.01, (combinations, periods))


def probability(returns: np.ndarray, blocks: int = 16) -> float:
    return probability_of_backtest_overfitting(*block_sums(returns, blocks)).probability


def test_against_brute_force_over_the_returns_themselves():
    returns = noise(1, 7, 50) + np.linspace(0, 0.004, 7)[:, np.newaxis]
    edges = block_edges(50, 6)
    pieces = [np.arange(a, b) for a, b in itertools.pairwise(edges)]
    below, losses, logits = [], [], []
    for half in itertools.combinations(range(6), 3):
        inside = np.concatenate([pieces[n] for n in half])
        outside = np.concatenate([pieces[n] for n in range(6) if n not in half])
        history, later = returns[:, inside], returns[:, outside]
        best = np.argmax(history.mean(axis=1) / history.std(axis=1, ddof=1))
        rank = stats.rankdata(later.mean(axis=1) / later.std(axis=1, ddof=1))[best] / 8
        below.append(1.0 if rank < 0.5 else 0.5 if rank == 0.5 else 0.0)
        losses.append(later[best].mean() < 0)
        logits.append(np.log(rank / (1 - rank)))
    found = probability_of_backtest_overfitting(*block_sums(returns, 6))
    assert found.probability == np.mean(below) and found.loss == np.mean(losses)
    np.testing.assert_allclose(found.logits, logits, rtol=1e-12)


def test_noise_is_a_coin_and_an_edge_is_found():
    coin = np.mean([probability(noise(seed, 40, 320)) for seed in range(12)])
    assert 0.4 < coin < 0.6  # one draw scatters widely, their mean does not
    edge = noise(3, 40, 320)
    edge[17] += 0.008  # a Sharpe ratio of 0.8 a session
    found = probability_of_backtest_overfitting(*block_sums(edge))
    assert len(found.logits) == 12_870
    assert found.probability < 0.001 and found.loss < 0.001


def test_chasing_what_reverses_is_always_overfitting():
    # what earns in one half of the blocks loses as much in the other
    draw = np.random.default_rng(0)
    drift = np.where(np.arange(16)[np.newaxis, :] < 8, 1.0, -1.0) * np.array([[1.0], [-1.0]])
    returns = np.repeat(drift, 4, axis=1) + draw.normal(0, 0.1, (2, 64))
    assert probability(returns) > 0.9


def test_a_flat_combination_is_never_chosen_and_counts_as_zero():
    returns = noise(5, 3, 64)
    returns[1] = 0.0
    found = probability_of_backtest_overfitting(*block_sums(returns))
    assert np.isfinite(found.logits).all()
    losing = np.stack([noise(5, 1, 64)[0] - 0.02, np.zeros(64)])
    always = probability_of_backtest_overfitting(*block_sums(losing))
    assert always.probability == 1.0 and always.loss == 1.0  # the only one that can be chosen ranks below flat


def test_blocks_cover_the_periods_once():
    assert block_edges(35, 16).tolist() == [n * 35 // 16 for n in range(17)]
    returns = noise(2, 3, 35)
    sums, squares, counts = block_sums(returns)
    assert counts.sum() == 35 and counts.max() - counts.min() == 1
    np.testing.assert_allclose(sums.sum(axis=1), returns.sum(axis=1), atol=1e-15)
    np.testing.assert_allclose(squares.sum(axis=1), (returns**2).sum(axis=1))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s, q, c: (s[:1], q[:1], c), "a choice needs at least two"),
        (lambda s, q, c: (s[:, :15], q[:, :15], c[:15]), "15 blocks"),
        (lambda s, q, c: (s, q[:, :15], c), "must be"),
        (lambda s, q, c: (s * np.nan, q, c), "not finite"),
        (lambda s, q, c: (s * 0.0, q * 0.0, c), "none traded there"),
    ],
)
def test_what_has_no_probability_is_refused(change, message):
    with pytest.raises(OverfittingError, match=message):
        probability_of_backtest_overfitting(*change(*block_sums(noise(0, 3, 64))))
    with pytest.raises(OverfittingError, match="give at least 32"):
        block_edges(31)
