"""Learning targets against numbers worked by hand and against stepping the environment."""

import numpy as np
import pytest

from training.backup import double_targets, holding, next_portfolios
from training.environment import Environments, Portfolios
from training.market import FLAT, Market, market


def rewards_market(rewards):
    """A market in which holding long earns the given rewards and nothing else earns or costs."""
    gross = np.zeros((len(rewards), 3, 3))
    gross[:, :, 2] = np.asarray(rewards)[:, None]
    after = np.broadcast_to(np.arange(3, dtype=np.int8), gross.shape)
    return Market(0, gross, np.zeros_like(gross), np.ascontiguousarray(after))


def test_n_step_by_hand_and_the_actual_power_at_the_end():
    windows = holding(rewards_market([1.0, 2.0, 3.0, 4.0]), 1.0, 0.9, 3)
    assert windows.reward[0, FLAT, 2] == pytest.approx(1 + 1.8 + 2.43)
    assert windows.power[0] == pytest.approx(0.9**3)
    # Two rows from the end only two bars are left: the bootstrap is discounted by two, and nothing is cut to zero.
    assert windows.bars.tolist() == [3, 3, 2, 1]
    assert windows.reward[2, FLAT, 2] == pytest.approx(3 + 0.9 * 4)
    assert windows.power[2] == pytest.approx(0.81)
    assert windows.reward[3, FLAT, 2] == 4.0
    long = holding(rewards_market([1.0, 2.0]), 2.0, 0.5, 50)
    assert long.reward[0, 0, 2] == pytest.approx((1 + 0.5 * 2) / 2)


def test_case_f01_truncation_bootstraps():
    targets = double_targets(
        np.array([1.0, 1.0], np.float32), np.array([0.99, 0.99], np.float32),
        np.array([[0.0, 10.0, 0.0], [4.0, 0.0, 0.0]], np.float32),
        np.array([[0.0, 10.0, 0.0], [4.0, 0.0, 0.0]], np.float32),
    )
    # F01: 1 + 0.99 x 10, not 1. F02: the state after the last action (4), not the next episode's first (100).
    assert targets == pytest.approx([10.9, 4.96])


def test_double_dqn_takes_the_online_choice_at_the_target_value():
    online = np.array([[1.0, 5.0, 2.0], [3.0, 0.0, 2.9]], np.float32)
    target = np.array([[9.0, 0.5, 7.0], [-1.0, 8.0, 8.0]], np.float32)
    found = double_targets(np.array([0.25, 1.0], np.float32), np.array([0.5, 0.81], np.float32), online, target)
    assert found == pytest.approx([0.25 + 0.5 * 0.5, 1.0 - 0.81])


@pytest.mark.parametrize("n_step", [1, 4])
def test_every_action_s_outcome_equals_stepping_the_environment(rough_bars, es, n_step):
    table = market(rough_bars, (0, 400), *es.all())
    scale, discount = 70.0, 0.97
    windows = holding(table, scale, discount, n_step)
    generator = np.random.default_rng(9)
    rows = np.flatnonzero(windows.usable)
    row = generator.choice(rows, size=60).astype(np.int32)
    row[:2] = [rows[-1], rows[-2]]
    position = generator.integers(0, 3, size=60).astype(np.int8)
    invested = position != FLAT
    before = Portfolios(
        position, np.where(invested, generator.normal(0, 100, size=60), 0.0),
        np.where(invested, generator.integers(1, 50, size=60), 0).astype(np.int32),
    )
    after = next_portfolios(table, windows, row, before)
    for lane in range(60):
        for action in range(3):
            environments = Environments(table, scale, 1, 10_000, seed=0)
            environments.row[:] = row[lane]
            environments.portfolio = Portfolios(*(
                np.array([one[lane]]) for one in (before.position, before.unrealised, before.held)
            ))
            total = 0.0
            for bar in range(windows.bars[row[lane]]):
                last = environments.row[0] + 1 == table.decisions
                earned = environments.table.net[environments.row[0], environments.portfolio.position[0], action] / scale
                assert not last or bar == windows.bars[row[lane]] - 1
                if not last:
                    earned = float(environments.step(np.array([action], np.int8)).reward[0])
                total += discount**bar * earned
            assert windows.reward[row[lane], position[lane], action] == pytest.approx(total, abs=2e-5)
            if not last:
                seen, place = environments.portfolio, lane * 3 + action
                assert after.position[place] == seen.position[0] == action
                assert after.unrealised[place] == pytest.approx(seen.unrealised[0], abs=1e-6)
                assert after.held[place] == seen.held[0]


def test_rows_whose_fill_waits_are_not_usable(rough_bars, es):
    windows = holding(market(rough_bars, (0, 400), *es.all()), 1.0, 0.99, 3)
    assert np.flatnonzero(~windows.usable).tolist() == [6, 79, 80, 299, 349]
