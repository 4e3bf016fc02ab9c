"""Learning on the sample data set: a real edge is found, no edge is not reported as one."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kernels.execution import Costs, Execution, Instrument
from kernels.features.selection import FeatureSettings
from loaders.continuous import continuous_bars
from loaders.files import list_data_files
from loaders.outrights import outright_bars
from loaders.roll import RollSettings, rolled_bars
from loaders.sample import write_sample
from loaders.sessions import SessionRule
from pipelines.steps.feature_set import clamped_returns, feature_matrix, feature_set
from pipelines.steps.fold_rows import fold_table, normalised_features
from training.bootstrap import mean_interval
from training.dqn import train_policy
from training.dqn_settings import DqnSettings
from training.evaluation import policy_positions
from training.folds import Fold, FoldSettings
from training.linear import LinearSettings, fit_linear, linear_positions
from training.market import market, path_profit
from training.shifted import shifted_features
from training.verdict import verdict
from validation.sanitise import BarRules, sanitise_rolled

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(1800)]

TERMS = (Instrument("ES", 0.25, 50.0), Costs(fee_per_contract=2.1, slippage_ticks=1), Execution())
SEEDS = (0, 1, 2)
MARKETS = 20


@dataclass(frozen=True)
class Prepared:
    """One edition of the sample, from its files to the normalised features of its first fold."""

    bars: pd.DataFrame
    z: np.ndarray
    fold: Fold
    oracle: np.ndarray

    def sessions(self, positions):
        """Gross and net money of each test session for target positions [bars], by the outcome tables."""
        table = market(self.bars, self.fold.test, *TERMS)
        start, stop = self.fold.test
        gross, paid = path_profit(table, (positions[start : stop - 1] + 1).astype(np.int8))
        frame = pd.DataFrame(
            {"session": self.bars["session"].to_numpy()[start + 1 : stop], "gross": gross, "net": gross - paid}
        )
        total = frame.groupby("session")[["gross", "net"]].sum()
        return total["gross"].to_numpy(), total["net"].to_numpy()

    def dqn(self, seed, features=None):
        """Session profits of one trained seed on the test rows."""
        z = self.z if features is None else features
        policy = train_policy(z, self.bars, self.fold, DqnSettings(), seed, *TERMS)
        return self.sessions(policy_positions(policy, z, self.bars, self.fold.test, *TERMS))

    def linear(self):
        """Session profits of the linear baseline on the test rows."""
        model = fit_linear(self.z, self.bars, self.fold, LinearSettings(), *TERMS)
        return self.sessions(linear_positions(model, self.z, self.fold.test))


def prepared(directory, edge, seed):
    write_sample(directory, seed=seed, edge=edge)
    files = list_data_files(directory)
    definitions = tuple(one.path for one in files if one.kind == "definitions")
    parts = [
        outright_bars(one.path, definitions, "ES", ordinal)
        for ordinal, one in enumerate(one for one in files if one.kind == "bars")
    ]
    rolled = rolled_bars(parts, SessionRule(), RollSettings())
    bars = continuous_bars(sanitise_rolled(rolled.bars, BarRules(tick_size=0.25)).accepted)
    clamped = clamped_returns(bars, 0.1)
    whole = feature_set(bars, clamped, feature_matrix(bars, clamped.returns, FeatureSettings(), "America/Chicago"), 5.0, 0.1)
    fold = fold_table(whole, FoldSettings()).folds[0]
    known = pd.read_parquet(directory / "oracle.parquet")
    oracle = whole.bars[["ts_event"]].merge(known, on="ts_event", how="left")["position"].fillna(0.0)
    return Prepared(whole.bars, normalised_features(whole, fold, 20.0).z, fold, oracle.to_numpy(np.float64))


def test_a_learnable_edge_is_learned_and_the_shifted_control_is_far_behind(tmp_path):
    power = prepared(tmp_path / "power", "power", 7)
    moved = shifted_features(power.z, 254, seed=1)
    oracle_gross, oracle_net = power.sessions(power.oracle)
    models = [power.dqn(seed) for seed in SEEDS]
    controls = [power.dqn(seed, moved) for seed in SEEDS]
    share = [gross.sum() / oracle_gross.sum() for gross, _ in models]
    difference = np.mean([net for _, net in models], axis=0) - np.mean([net for _, net in controls], axis=0)
    errors = difference.mean() / (difference.std(ddof=1) / np.sqrt(len(difference)))
    print(
        f"oracle gross {oracle_gross.sum():,.0f} net {oracle_net.sum():,.0f}; share of gross "
        f"{', '.join(f'{one:.1%}' for one in share)}; net {[round(net.sum()) for _, net in models]}, shifted "
        f"{[round(net.sum()) for _, net in controls]}; {errors:.1f} standard errors over {len(difference)} sessions"
    )
    assert oracle_net.mean() >= 6.0 * oracle_net.std(ddof=1) / np.sqrt(len(oracle_net))
    assert np.mean(share) >= 0.3 and min(share) > 0.2
    assert errors > 3.0
    assert all(verdict(net, trials=len(SEEDS)).beats_flat for _, net in models)


def test_an_edge_of_realistic_size_is_not_distinguishable(tmp_path):
    real = prepared(tmp_path / "real", "real", 7)
    for net in [real.dqn(seed)[1] for seed in SEEDS] + [real.linear()[1]]:
        found = verdict(net, trials=len(SEEDS) + 1)
        print(f"{found.words}: mean {found.mean:,.0f} a session, p = {found.p_value:.3f}")
        assert not found.distinguishable


def test_without_an_edge_the_error_rate_holds_and_gross_is_zero(tmp_path):
    called, gross = [], []
    for seed in range(MARKETS):
        none = prepared(tmp_path / "zero", "0", 100 + seed)
        results = [none.dqn(0), none.linear()]
        called += [verdict(net, trials=1).beats_flat for _, net in results]
        gross.append(np.mean([one for one, _ in results], axis=0))
    pooled = np.concatenate(gross)
    error = pooled.std(ddof=1) / np.sqrt(len(pooled))
    interval = mean_interval(pooled)
    print(
        f"{sum(called)} of {len(called)} models called better than flat; pooled gross {pooled.mean():,.1f} a session, "
        f"{pooled.mean() / error:.2f} standard errors, {interval.low:,.1f} to {interval.high:,.1f} ({interval.method})"
    )
    assert sum(called) <= stats.binom.ppf(0.999, len(called), 0.025)
    assert abs(pooled.mean()) <= 3.0 * error
