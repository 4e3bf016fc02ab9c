"""Double DQN with exact n-step backups of all actions, on one core, reproducible bit for bit."""

from __future__ import annotations

import copy
import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernels.execution import Costs, Execution, Instrument
from training.backup import Holding, double_targets, holding, next_portfolios
from training.dqn_settings import DqnSettings
from training.environment import Environments, Portfolios, portfolio_features
from training.errors import TrainingError
from training.experience import Collected, collect
from training.folds import Fold
from training.market import Market, market, money_scale, path_profit, switching_costs
from training.networks import DuelingNetwork, plain_weights
from training.policy import Policy, greedy_actions
from training.replay import Replay, portfolios


def train_policy(
    features: NDArray[np.float32],
    bars: pd.DataFrame,
    fold: Fold,
    settings: DqnSettings,
    seed: int,
    instrument: Instrument,
    costs: Costs,
    execution: Execution,
) -> Policy:
    """Train one seed on the fold's train rows and keep the weights with the best net profit on its validation rows.

    `features` [bars, F] float32: normalised with the fold's own normaliser, row i belongs to bar i of `bars`; rows with
    a value that is not finite are neither learned from nor acted at. Rows outside train and validation are not read.
    The result depends on the arguments alone, bit for bit. Torch is set to one thread in this process: parallelism is
    over seeds and folds. Raises TrainingError for shapes that do not match and for losses that are not finite.
    """
    if len(features) != len(bars):
        raise TrainingError(f"features have {len(features)} rows, bars {len(bars)}: pass the bars they were made from")
    torch.set_num_threads(1)
    table = market(bars, fold.train, instrument, costs, execution)
    validation = market(bars, fold.validation, instrument, costs, execution)
    learner = _Learner(features, table, settings, seed)
    history: list[dict[str, Any]] = []
    candidates: list[Policy] = []
    for look in range(settings.looks):
        first, last = (settings.steps * edge // settings.looks for edge in (look, look + 1))
        figures = learner.train(first, last)
        policy = learner.policy(last)
        gross, paid = path_profit(validation, greedy_actions(policy, features, validation)[:-1])
        profit = float(gross.sum() - paid.sum())
        history.append({"step": last, **figures, "validation_profit": profit, "validation_costs": float(paid.sum())})
        candidates.append(policy)
    profits = [entry["validation_profit"] for entry in history]
    return replace(candidates[profits.index(max(profits))], looks=settings.looks, history=history)


class _Learner:
    """Network, target network, optimiser, environments and replay of one seed."""

    def __init__(self, features: NDArray[np.float32], table: Market, settings: DqnSettings, seed: int) -> None:
        self.settings, self.seed, self.table = settings, seed, table
        self.scale = money_scale(table)
        self.costs = (switching_costs(table) / self.scale).astype(np.float32)
        rows = features[table.start : table.start + table.decisions + 1]
        finite = np.asarray(np.isfinite(rows).all(axis=1))
        self.rows = torch.from_numpy(np.where(finite[:, None], rows, np.float32(0.0)).astype(np.float32))
        self.windows: Holding = holding(table, self.scale, settings.discount, settings.n_step)
        later = finite[np.arange(table.decisions) + self.windows.bars]
        self.usable = self.windows.usable & finite[:-1]
        self.learnable = self.usable & later
        if not self.learnable.any():
            raise TrainingError(f"none of the {len(rows)} rows from row {table.start} has features and can execute")
        numpy_seed, env_seed, torch_seed = np.random.SeedSequence([seed, 0x64716E]).generate_state(3)
        self.generator = np.random.default_rng(numpy_seed)
        self.environments = Environments(table, self.scale, settings.environments, settings.episode, int(env_seed))
        self.network = DuelingNetwork(
            features.shape[1], settings.hidden, torch.Generator().manual_seed(int(torch_seed))
        )
        self.target = copy.deepcopy(self.network)
        self.optimiser = torch.optim.AdamW(
            self.network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay, foreach=True
        )
        self.replay = Replay(settings.replay)

    def train(self, first: int, last: int) -> dict[str, float]:
        """Gradient steps first..last-1 with collection between them; mean loss and reward for the history."""
        settings = self.settings
        losses, rounds = [], []
        exploration = settings.exploration
        for step in range(first, last):
            exploration = settings.exploration * (1.0 - 0.8 * step / settings.steps)
            if step % settings.collect_every == 0:
                rounds.append(self.collect(exploration))
            losses.append(self.update(step))
        reward = float(np.mean([one.reward for one in rounds])) if rounds else 0.0
        return {"loss": float(np.mean(losses)), "reward": reward, "exploration": exploration}

    def collect(self, exploration: float) -> Collected:
        """One round of experience with the online network."""
        settings = self.settings
        return collect(
            self.environments,
            self.values,
            self.usable,
            exploration,
            settings.collect_steps,
            self.generator,
            self.replay,
        )

    def values(self, row: NDArray[np.int32], portfolio: Portfolios) -> NDArray[np.float32]:
        """Online action values [N, 3]."""
        with torch.no_grad():
            after_costs: NDArray[np.float32] = self.network(self.state(row, portfolio)).numpy()
        return after_costs - self.costs[portfolio.position]

    def state(self, row: NDArray[np.int32], portfolio: Portfolios) -> Tensor:
        """Network input [N, features + 3]."""
        market_rows = self.rows[torch.from_numpy(row.astype(np.int64))]
        return torch.cat([market_rows, torch.from_numpy(portfolio_features(portfolio, self.scale))], dim=1)

    def update(self, step: int) -> float:
        """One gradient step on a sampled batch, towards the exact outcome of all three actions."""
        settings = self.settings
        drawn = self.replay.sample(settings.batch, self.generator)
        drawn = drawn[self.learnable[drawn["row"]]]
        if not len(drawn):
            return 0.0
        targets = torch.from_numpy(self.targets(drawn) + self.costs[drawn["position"]])
        loss = torch.nn.functional.mse_loss(self.network(self.state(drawn["row"], portfolios(drawn))), targets)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise TrainingError(f"seed {self.seed}, step {step}: loss = {value}; lower dqn.learning_rate")
        for group in self.optimiser.param_groups:
            group["lr"] = settings.learning_rate * (0.1 + 0.9 * 0.5 * (1.0 + math.cos(math.pi * step / settings.steps)))
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(self.target.parameters()), list(self.network.parameters()), settings.target_rate)
        return value

    def targets(self, drawn: NDArray[np.void]) -> NDArray[np.float32]:
        """Double-DQN targets [N, 3] of all actions at the drawn rows and portfolios."""
        row, before = drawn["row"], portfolios(drawn)
        windows = self.windows
        after = next_portfolios(self.table, windows, row, before)
        state = self.state(np.repeat(row + windows.bars[row], 3), after)
        with torch.no_grad():
            online, target = self.network(state).numpy(), self.target(state).numpy()
        known = self.costs[after.position]
        reward = windows.reward[row, before.position].astype(np.float32).ravel()
        power = np.repeat(windows.power[row], 3).astype(np.float32)
        return double_targets(reward, power, online - known, target - known).reshape(-1, 3)

    def policy(self, step: int) -> Policy:
        """The online network as plain arrays."""
        return Policy(
            **plain_weights(self.network),
            costs=self.costs,
            scale=np.array([self.scale]),
            seed=self.seed,
            chosen_step=step,
            looks=0,
            settings=asdict(self.settings),
        )
