"""The DQN: what it learns, what it must not learn from, and that it is reproducible."""

import hashlib
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

from training.dqn import train_policy
from training.dqn_settings import DqnSettings
from training.environment import PORTFOLIO_FEATURES
from training.errors import TrainingError
from training.folds import Fold
from training.hindsight import hindsight_optimum
from training.market import market, path_profit
from training.networks import DuelingNetwork, plain_weights
from training.policy import greedy_actions
from training.shifted import shifted_features
from training.verdict import verdict

FOLD = Fold(0, (0, 12_000), (12_300, 15_800), (16_100, 20_000))
QUICK = DqnSettings(steps=600, batch=256, hidden=24, environments=32, looks=5)


def earned(policy, features, bars, rows, terms):
    table = market(bars, rows, *terms.all())
    return path_profit(table, greedy_actions(policy, features, table)[:-1])


def digest(policy):
    arrays = [getattr(policy, one.name) for one in fields(policy) if isinstance(getattr(policy, one.name), np.ndarray)]
    return hashlib.sha256(b"".join(one.tobytes() for one in arrays)).hexdigest()


def sine(make_bars, free, cost):
    """100 exp(.01 sin) with the phase as features; costs in basis points of the traded notional."""
    phase = 2 * np.pi * np.arange(6_000) / 40
    close = 100.0 * np.exp(0.01 * np.sin(phase))
    features = np.stack([np.sin(phase), np.cos(phase)], axis=1).astype(np.float32)
    bars = make_bars(np.concatenate([[100.0], close[:-1]]), close)
    return features, bars, replace(free, costs=replace(free.costs, fee_bps=cost))


@pytest.mark.parametrize(("cost", "share"), [(0.0, 0.95), (5.0, 0.9)])
def test_takes_the_optimum_of_a_predictable_series(make_bars, free, cost, share):
    features, bars, terms = sine(make_bars, free, cost)
    fold = Fold(0, (0, 3_000), (3_000, 4_500), (4_500, 6_000))
    settings = DqnSettings(steps=600, batch=256, hidden=32, weight_decay=0.01, n_step=4, looks=6, learning_rate=0.003)
    policy = train_policy(features, bars, fold, settings, 0, *terms.all())
    gross, paid = earned(policy, features, bars, fold.test, terms)
    assert gross.sum() - paid.sum() >= share * hindsight_optimum(bars, fold.test, *terms.all())


def test_costs_beyond_the_swing_stop_the_trading(make_bars, free):
    trades = []
    for cost in (0.0, 20.0, 200.0):
        features, bars, terms = sine(make_bars, free, cost)
        fold = Fold(0, (0, 3_000), (3_000, 4_500), (4_500, 6_000))
        settings = DqnSettings(steps=300, batch=256, hidden=16, weight_decay=0.01, n_step=4, looks=3)
        policy = train_policy(features, bars, fold, settings, 1, *terms.all())
        actions = greedy_actions(policy, features, market(bars, fold.test, *terms.all()))
        trades.append(np.count_nonzero(np.diff(actions)))
    assert trades == sorted(trades, reverse=True)
    assert trades[0] >= 70 and trades[2] == 0


def test_learns_a_returning_price_beyond_a_shifted_control(reverting, es):
    """Small form of the power check: a third of the oracle's gross, three standard errors above the control."""
    rows = FOLD.test
    table = market(reverting.bars, rows, *es.all())
    policy = train_policy(reverting.features, reverting.bars, FOLD, QUICK, 0, *es.all())
    moved = shifted_features(reverting.features, 240, 3)
    control = train_policy(moved, reverting.bars, FOLD, QUICK, 0, *es.all())
    gross, paid = earned(policy, reverting.features, reverting.bars, rows, es)
    control_gross, control_paid = earned(control, moved, reverting.bars, rows, es)
    band = 0.00046
    deviation = reverting.deviation[rows[0] : rows[1] - 1]
    signal = np.where(deviation > band, 0, np.where(deviation < -band, 2, -1))
    last = np.maximum.accumulate(np.where(signal >= 0, np.arange(len(signal)), 0))
    oracle = path_profit(table, np.where(signal[last] < 0, 1, signal[last]).astype(np.int8))[0]
    assert gross.sum() >= 0.3 * oracle.sum() > 0.0
    difference = ((gross - paid) - (control_gross - control_paid))[:3_800].reshape(20, -1).sum(axis=1)
    assert difference.mean() > 3.0 * difference.std(ddof=1) / np.sqrt(20)


def test_without_an_edge_no_market_gives_a_winner_and_gross_is_zero(without_edge, es):
    """Small form of the edge=0 check."""
    settings, called, gross = replace(QUICK, steps=200, looks=2), 0, []
    for seed in range(6):
        market_of = without_edge(seed)
        policy = train_policy(market_of.features, market_of.bars, FOLD, settings, seed, *es.all())
        earned_by_bar, paid = earned(policy, market_of.features, market_of.bars, FOLD.test, es)
        session = (np.arange(FOLD.test[0] + 1, FOLD.test[1]) // 390) - FOLD.test[0] // 390
        called += verdict(np.bincount(session, earned_by_bar - paid), trials=1).beats_flat
        gross.append(np.bincount(session, earned_by_bar))
    assert called <= stats.binom.ppf(0.999, 6, 0.025)
    pooled = np.concatenate(gross)
    assert pooled.std() > 0.0
    assert abs(pooled.mean()) <= 3.0 * pooled.std(ddof=1) / np.sqrt(len(pooled))


def test_history_counts_every_look_and_keeps_the_best(reverting, es):
    policy = train_policy(reverting.features, reverting.bars, FOLD, QUICK, 1, *es.all())
    assert policy.looks == len(policy.history) == 5
    assert [entry["step"] for entry in policy.history] == [120, 240, 360, 480, 600]
    best = max(policy.history, key=lambda entry: entry["validation_profit"])
    assert policy.chosen_step == best["step"]
    gross, paid = earned(policy, reverting.features, reverting.bars, FOLD.validation, es)
    assert gross.sum() - paid.sum() == pytest.approx(best["validation_profit"])
    assert set(best) == {"step", "loss", "reward", "exploration", "validation_profit", "validation_costs"}
    assert policy.settings["n_step"] == 10


def test_rows_outside_train_and_validation_are_not_read(reverting, es):
    settings = replace(QUICK, steps=40, looks=2)
    features, bars = reverting.features.copy(), reverting.bars.copy()
    features[FOLD.test[0] :] = 9.0
    features[FOLD.train[1] : FOLD.validation[0]] = 9.0
    bars.loc[FOLD.test[0] :, ["open", "close"]] *= 2.0
    changed = train_policy(features, bars, FOLD, settings, 0, *es.all())
    same = train_policy(reverting.features, reverting.bars, FOLD, settings, 0, *es.all())
    assert digest(changed) == digest(same) and changed.history == same.history
    other = train_policy(reverting.features, reverting.bars, FOLD, settings, 1, *es.all())
    assert digest(other) != digest(same)


SCRIPT = """
import hashlib, sys
import numpy as np, pandas as pd
from kernels.execution import Costs, Execution, Instrument
from training.dqn import train_policy
from training.dqn_settings import DqnSettings
from training.folds import Fold
generator = np.random.default_rng(0)
close = 5000 + np.cumsum(generator.normal(size=900))
bars = pd.DataFrame({"open": close + 0.25, "close": close})
features = generator.normal(size=(900, 5)).astype(np.float32)
policy = train_policy(
    features, bars, Fold(0, (0, 500), (510, 700), (710, 900)),
    DqnSettings(steps=60, batch=128, hidden=16, environments=8, looks=3), 5,
    Instrument("ES", 0.25, 50.0), Costs(slippage_ticks=1), Execution(),
)
arrays = (policy.first, policy.first_bias, policy.second, policy.second_bias, policy.head, policy.head_bias)
print(hashlib.sha256(b"".join(one.tobytes() for one in arrays)).hexdigest(), policy.history)
"""


def test_two_fresh_processes_give_the_same_bits():
    root = Path(__file__).resolve().parents[2]
    found = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, cwd=root,
            env={"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": threads, "PATH": "", "HOME": str(Path.home())},
        ).stdout
        for seed, threads in (("1", "1"), ("2", "2"))
    ]
    assert found[0] == found[1] and len(found[0]) > 64


def test_dueling_head_and_its_plain_weights():
    network = DuelingNetwork(4, 8, torch.Generator().manual_seed(3))
    state = torch.randn(20, 4 + PORTFOLIO_FEATURES, generator=torch.Generator().manual_seed(4))
    with torch.no_grad():
        network.advantage.bias.copy_(torch.tensor([1.0, -2.0, 0.5]))
        found = network(state)
        layer = torch.relu(network.second(torch.relu(network.first(state))))
        # Over actions, advantages cancel: what is left is the state's value.
        assert torch.allclose(found.mean(dim=1, keepdim=True), network.value(layer), atol=1e-6)
    plain = plain_weights(network)
    hidden = np.maximum(state.numpy() @ plain["first"] + plain["first_bias"], 0.0)
    hidden = np.maximum(hidden @ plain["second"] + plain["second_bias"], 0.0)
    assert hidden @ plain["head"] + plain["head_bias"] == pytest.approx(found.numpy(), abs=1e-6)


def test_policy_carries_known_costs_and_shapes(reverting, es):
    policy = train_policy(reverting.features, reverting.bars, FOLD, replace(QUICK, steps=5, looks=1), 0, *es.all())
    assert policy.first.shape == (7 + PORTFOLIO_FEATURES, 24) and policy.head.shape == (24, 3)
    assert policy.costs[0, 2] == pytest.approx(29.2 / policy.scale[0], rel=1e-6)


def test_global_random_state_is_left_alone(reverting, es):
    torch.manual_seed(1)
    before = torch.get_rng_state().clone()
    np_state = np.random.get_state()[1].copy()
    train_policy(reverting.features, reverting.bars, FOLD, replace(QUICK, steps=5, looks=1), 0, *es.all())
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(np.random.get_state()[1], np_state)


def test_refusals(reverting, es):
    with pytest.raises(ValueError, match=r"dqn.batch = 0"):
        DqnSettings(batch=0)
    with pytest.raises(ValueError, match=r"dqn.discount = 1\.5: must lie in \[0, 1\]"):
        DqnSettings(discount=1.5)
    with pytest.raises(ValueError, match=r"dqn.looks = 10: more than dqn.steps = 5"):
        DqnSettings(steps=5)
    with pytest.raises(TrainingError, match="features have 10 rows, bars 20000"):
        train_policy(reverting.features[:10], reverting.bars, FOLD, QUICK, 0, *es.all())
    with pytest.raises(TrainingError, match="has features and can execute"):
        train_policy(np.full_like(reverting.features, np.nan), reverting.bars, FOLD, QUICK, 0, *es.all())
    with pytest.raises(TrainingError, match=r"seed 0, step \d+: loss = (inf|nan); lower dqn.learning_rate"):
        huge = reverting.features * np.float32(1e30)
        train_policy(huge, reverting.bars, FOLD, QUICK, 0, *es.all())
