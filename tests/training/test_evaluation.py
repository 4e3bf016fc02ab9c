"""Policy walks: against a slow walk, against the sweep, and without a look ahead."""

import numpy as np
import pytest

from kernels.bars import bar_inputs
from kernels.portfolio import START, BarInputs, portfolio_step, terms
from kernels.strategies import positions
from kernels.sweep import sweep
from training.errors import TrainingError
from training.evaluation import policy_positions
from training.hindsight import hindsight_optimum
from training.market import market, path_profit
from training.policy import Policy, greedy_actions

FEATURES = 6


def random_policy(seed=0, scale=100.0, cost=0.1):
    generator = np.random.default_rng(seed)

    def draw(*shape):
        return generator.normal(0.0, 0.6, size=shape).astype(np.float32)

    costs = np.abs(np.subtract.outer(np.arange(3), np.arange(3))).astype(np.float32) * np.float32(cost)
    # Units count for and against every action alike, so that no action always wins.
    head = draw(4, 3)
    return Policy(
        draw(FEATURES + 3, 8), draw(8), draw(8, 8), draw(8), np.concatenate([head, -head]), np.zeros(3, np.float32),
        costs, np.array([scale]), seed, 1, 1,
    )


@pytest.fixture
def features():
    z = np.random.default_rng(6).normal(size=(400, FEATURES)).astype(np.float32)
    z[:20] = np.nan
    z[200, 3] = np.nan
    return z


def plain_values(policy, state, position):
    layer = np.maximum(state.astype(np.float64) @ policy.first + policy.first_bias, 0.0)
    layer = np.maximum(layer @ policy.second + policy.second_bias, 0.0)
    return layer @ policy.head + policy.head_bias - policy.costs[position]


def slow_walk(policy, features, bars, rows, es):
    """Bar by bar with the scalar portfolio step and matrix products."""
    columns, agreed = bar_inputs(bars), terms(es.costs, es.instrument, es.execution)
    account, entered, held, targets = START, 0.0, 0, []
    for row in range(rows[0], rows[1]):
        position = int(account.position)
        action = position
        if np.isfinite(features[row]).all():
            unrealised = (account.profit - entered) / (policy.scale[0] * np.sqrt(max(held, 1)))
            own = [position, np.clip(unrealised, -5, 5) if position else 0.0, min(held, 240) / 240]
            state = np.concatenate([features[row], own])
            action = int(np.argmax(plain_values(policy, state, position + 1))) - 1
        targets.append(float(action))
        if row + 1 == rows[1]:
            break
        bar = BarInputs(*(column[row + 1].item() for column in columns))
        after = portfolio_step(account, bar, float(action), agreed)
        if after.position != account.position:
            fresh = portfolio_step(START, bar, after.position, agreed)
            entered, held = after.profit - fresh.profit, 0
        held = held + 1 if after.position else 0
        account = after
    return targets


@pytest.mark.parametrize("rows", [(0, 400), (30, 390)])
def test_the_walk_equals_a_slow_one_on_floats(rough_bars, features, es, rows):
    policy = random_policy()
    found = policy_positions(policy, features, rough_bars, rows, *es.all())
    assert found[slice(*rows)].tolist() == slow_walk(policy, features, rough_bars, rows, es)
    assert found.dtype == np.float64 and found.shape == (400,)
    assert not found[: rows[0]].any() and not found[rows[1] :].any()
    assert {-1.0, 1.0} <= set(found[slice(*rows)])
    assert not found[: max(rows[0], 20)].any()  # no features yet: flat
    assert found[200] == found[199]  # a missing feature keeps the position


@pytest.mark.parametrize("rows", [(0, 400), (30, 390)])
def test_rewards_equal_the_equity_change_of_the_sweep(rough_bars, features, es, rows):
    policy = random_policy(2)
    targets = policy_positions(policy, features, rough_bars, rows, *es.all())
    result = sweep(
        positions(), rough_bars.assign(target=targets), instrument=es.instrument, costs=es.costs, windows=[rows],
        executor="numpy", metrics=["net_profit"],
    )
    table = market(rough_bars, rows, *es.all())
    gross, paid = path_profit(table, greedy_actions(policy, features, table)[:-1])
    assert gross.sum() != 0.0
    assert result.table["net_profit"].iloc[0] == pytest.approx(gross.sum() - paid.sum(), abs=1e-6)


def test_past_positions_do_not_change_with_the_future(rough_bars, features, es):
    policy, rows, cut = random_policy(1), (10, 400), 260
    whole = policy_positions(policy, features, rough_bars, rows, *es.all())
    other, other_bars = features.copy(), rough_bars.copy()
    other[cut:] = np.random.default_rng(99).normal(size=other[cut:].shape)
    for column in ("open", "close"):
        other_bars.loc[cut:, column] *= 1.01
    changed = policy_positions(policy, other, other_bars, rows, *es.all())
    assert changed[:cut].tobytes() == whole[:cut].tobytes()
    assert changed[cut:].tobytes() != whole[cut:].tobytes()
    shorter = policy_positions(policy, features[:cut], rough_bars.iloc[:cut], (10, cut), *es.all())
    assert shorter.tobytes() == whole[:cut].tobytes()


def test_known_costs_hold_a_position_back(rough_bars, features, es):
    traded = []
    for cost in (0.0, 0.1, 0.5, 2.0, 50.0):
        positions = policy_positions(random_policy(1, cost=cost), features, rough_bars, (0, 400), *es.all())
        traded.append(np.count_nonzero(np.diff(positions)))
    assert traded == sorted(traded, reverse=True)
    assert traded[0] > 100 and traded[-1] == 0


def test_no_policy_beats_hindsight(rough_bars, features, es):
    most = hindsight_optimum(rough_bars, (0, 400), *es.all())
    table = market(rough_bars, (0, 400), *es.all())
    for seed in range(5):
        gross, paid = path_profit(table, greedy_actions(random_policy(seed), features, table)[:-1])
        assert gross.sum() - paid.sum() < most


def test_refusals(rough_bars, features, es):
    with pytest.raises(TrainingError, match="features have 399 rows, bars 400"):
        policy_positions(random_policy(), features[:399], rough_bars, (0, 400), *es.all())
    with pytest.raises(TrainingError, match="the policy needs 6 of them"):
        policy_positions(random_policy(), features[:, :5], rough_bars, (0, 400), *es.all())
