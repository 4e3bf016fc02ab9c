"""Environments: rewards are equity changes, observations agree with the account, ends are truncations."""

import numpy as np
import pytest

from training.environment import Environments, Portfolios, portfolio_features
from training.experience import collect
from training.market import FLAT, market, path_profit
from training.replay import Replay


def test_rewards_sum_to_the_change_of_equity(rough_bars, es):
    table = market(rough_bars, (0, 400), *es.all())
    environments = Environments(table, 80.0, 1, 400, seed=3)
    environments.row[:], environments.portfolio = 0, Portfolios.flat(1)
    generator, rewards, actions = np.random.default_rng(0), [], []
    for _ in range(table.decisions):
        action = generator.integers(0, 3, size=1).astype(np.int8)
        step = environments.step(action)
        rewards.append(step.reward[0])
        actions.append(action[0])
    assert step.truncated[0]
    gross, paid = path_profit(table, np.array(actions, dtype=np.int8))
    assert 80.0 * np.sum(rewards, dtype=np.float64) == pytest.approx(gross.sum() - paid.sum(), abs=1e-2)


def test_case_f11_the_observed_position_is_the_account_even_where_a_fill_waits(make_bars, es):
    # Long from row 0; the bar of row 2 is masked, so the sale decided at row 1 waits and the agent still sees a long.
    bars = make_bars([100.0, 100.0, 90.0, 104.0, 104.0], [100.0, 102.0, 90.0, 105.0, 104.0], masked_at=(2,))
    table = market(bars, (0, 5), *es.all())
    environments = Environments(table, 1.0, 1, 10, seed=0)
    environments.row[:], environments.portfolio = 0, Portfolios.flat(1)
    seen = []
    for action in (2, FLAT, 2, FLAT):
        step = environments.step(np.array([action], dtype=np.int8))
        after = environments.portfolio
        seen.append((after.position[0], after.unrealised[0], after.held[0], round(float(step.reward[0]), 2)))
    # 100 -> 102 earns 100 dollars less 14.60; the masked bar books nothing; then 102 -> 105 is 150 dollars.
    assert seen[:3] == [(2, 100.0, 1, 85.4), (2, 100.0, 2, 0.0), (2, 250.0, 3, 150.0)]


def test_turning_starts_a_new_entry_with_its_own_profit(make_bars, es):
    bars = make_bars([100.0, 100.0, 103.0, 101.0], [100.0, 102.0, 101.0, 101.0])
    table = market(bars, (0, 4), *es.all())
    environments = Environments(table, 1.0, 1, 10, seed=0)
    environments.row[:], environments.portfolio = 0, Portfolios.flat(1)
    environments.step(np.array([2], dtype=np.int8))
    environments.step(np.array([0], dtype=np.int8))
    after = environments.portfolio
    # Short from 103 to 101: two points; the long's last point is not the short's.
    assert (after.position[0], after.unrealised[0], after.held[0]) == (0, 100.0, 1)


def test_portfolio_features_by_hand():
    portfolio = Portfolios(
        np.array([0, 1, 2, 2], dtype=np.int8), np.array([-160.0, 0.0, 1e9, 30.0]), np.array([4, 0, 600, 0], np.int32)
    )
    found = portfolio_features(portfolio, 40.0)
    assert found.tolist() == [
        [-1.0, -2.0, pytest.approx(4 / 240)], [0.0, 0.0, 0.0], [1.0, 5.0, 1.0], [1.0, 0.75, 0.0],
    ]
    assert found.dtype == np.float32


def test_case_f08_environments_do_not_share_their_starts(rough_bars, es):
    table = market(rough_bars, (0, 400), *es.all())

    def starts(seed):
        environments = Environments(table, 1.0, 4, 3, seed)
        first = environments.row.tolist()
        while True:
            if environments.step(np.full(4, FLAT, dtype=np.int8)).truncated.all():
                return first, environments.row.tolist()

    first, second = starts(7)
    assert len(set(first)) == 4 and all(one != two for one, two in zip(first, second, strict=True))
    assert starts(7) == (first, second)
    assert starts(8) != (first, second)


def test_episodes_are_truncated_at_their_length_and_at_the_last_row(rough_bars, es):
    table = market(rough_bars, (0, 400), *es.all())
    environments = Environments(table, 1.0, 2, 5, seed=1)
    environments.row[:] = [10, table.decisions - 2]
    ends = [environments.step(np.full(2, FLAT, dtype=np.int8)).truncated.tolist() for _ in range(5)]
    assert [one[1] for one in ends[:2]] == [False, True]
    assert [one[0] for one in ends] == [False, False, False, False, True]
    assert (environments.row < table.decisions).all()


def test_case_f10_rewards_stay_finite_when_the_account_would_be_gone(make_bars, es):
    bars = make_bars([5000.0, 5000.0, 10.0, -37.0], [5000.0, 5000.0, 10.0, -37.0])
    table = market(bars, (0, 4), *es.all())
    environments = Environments(table, 100.0, 1, 10, seed=0)
    environments.row[:], environments.portfolio = 0, Portfolios.flat(1)
    rewards = [float(environments.step(np.array([2], dtype=np.int8)).reward[0]) for _ in range(3)]
    # Never clamped: 4990 points are 249,500 dollars, whatever was left in the account.
    assert rewards == pytest.approx([-0.146, -2495.0, -23.5], rel=1e-6)


def test_collection_follows_the_policy_explores_and_holds_where_it_cannot_act(rough_bars, es):
    table = market(rough_bars, (0, 400), *es.all())

    def long_only(row, portfolio):
        return np.tile(np.array([0.0, 0.0, 1.0], dtype=np.float32), (len(row), 1))

    usable = np.ones(table.decisions, dtype=bool)
    usable[::2] = False
    replay = Replay(4096)
    environments = Environments(table, 1.0, 8, 64, seed=2)
    figures = collect(environments, long_only, usable, 0.0, 200, np.random.default_rng(0), replay)
    kept = replay.slots[: len(replay)]
    assert figures.transitions == len(replay) == 1600
    assert figures.episodes == kept["flags"].sum() >= 8 * 3
    assert (kept["action"][usable[kept["row"]]] == 2).all()
    held = ~usable[kept["row"]]
    assert np.array_equal(kept["action"][held], kept["position"][held])
    assert figures.reward == pytest.approx(kept["reward"].mean(), abs=1e-3)
    random = Replay(4096)
    collect(environments, long_only, np.ones_like(usable), 1.0, 400, np.random.default_rng(0), random)
    counts = np.bincount(random.slots["action"][:3200], minlength=3)
    assert abs(counts - 3200 / 3).max() < 120
