"""The hindsight optimum against the closed-form table and brute force."""

import itertools

import numpy as np
import pytest

from training.hindsight import best_profit, hindsight_optimum
from training.market import market, path_profit

POSITIONS = np.array([-1.0, 0.0, 1.0])
FREE = np.ascontiguousarray(np.broadcast_to(np.arange(3, dtype=np.int8), (1, 3, 3)))


def log_rewards(log_price, cost):
    """Position times log return, cost per unit of turnover; one decision more than returns, to get out."""
    returns = np.append(np.diff(log_price), 0.0)
    turnover = np.abs(POSITIONS[None, :] - POSITIONS[:, None])
    return POSITIONS[None, None, :] * returns[:, None, None] - cost * turnover[None]


def optimum(log_price, cost):
    net = log_rewards(log_price, cost)
    return best_profit(net, np.repeat(FREE, len(net), axis=0), flat_at_end=True)


@pytest.mark.parametrize(
    ("cost", "expected"),
    [(0.0, 1.0), (1e-4, 0.9898), (5e-4, 0.949), (1e-3, 0.898), (5e-3, 0.49), (1e-2, 0.0), (2e-2, 0.0)],
)
def test_sine_table(cost, expected):
    log_price = np.log(100.0) + 0.01 * np.sin(2 * np.pi * np.arange(1001) / 40)
    assert optimum(log_price, cost) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("cost", "expected"), [(0.0, 1.0), (1e-4, 0.8), (4e-4, 0.2), (6e-4, 0.0)])
def test_alternating_table(cost, expected):
    log_price = np.concatenate([[0.0], np.cumsum(0.001 * (-1.0) ** np.arange(1000))])
    assert optimum(log_price, cost) == pytest.approx(expected, abs=1e-3)


def test_equals_brute_force_over_all_paths_with_masks_and_a_roll(make_bars, es):
    generator = np.random.default_rng(3)
    close = 100.0 + np.round(generator.normal(0.0, 1.0, size=8) * 4) / 4
    opened = close + np.round(generator.normal(0.0, 0.5, size=8) * 4) / 4
    bars = make_bars(opened, close, (4,), (close[3] + 0.25,), (6,))
    table = market(bars, (0, 8), *es.all())
    best = max(
        float(np.subtract(*path_profit(table, np.array(actions, dtype=np.int8))).sum())
        for actions in itertools.product(range(3), repeat=7)
    )
    assert best > 0.0
    assert hindsight_optimum(bars, (0, 8), *es.all()) == pytest.approx(best, abs=1e-9)
