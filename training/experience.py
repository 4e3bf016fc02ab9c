"""Experience: transitions collected by stepping environments over a fold's train rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.environment import Environments, Portfolios
from training.replay import Replay

Values = Callable[[NDArray[np.int32], Portfolios], NDArray[np.float32]]
"""Action values [N, 3] for the rows [N] (counted from the market's start) and portfolios of N environments."""


@dataclass(frozen=True)
class Collected:
    """Figures of one round of collection: transitions, episodes ended, mean reward a step (in money scales)."""

    transitions: int
    episodes: int
    reward: float


def collect(
    environments: Environments,
    values: Values,
    usable: NDArray[np.bool_],
    exploration: float,
    steps: int,
    generator: np.random.Generator,
    replay: Replay,
) -> Collected:
    """Step the environments `steps` times with an epsilon-greedy policy and store the transitions.

    With probability `exploration` an action is uniform over the three. At rows that are not `usable` (no features, or
    the next bar is masked) the position is held. Only the environments, the generator and the replay change.
    """
    episodes, reward = 0, 0.0
    count = len(environments.row)
    for _ in range(steps):
        row, portfolio = environments.row, environments.portfolio
        greedy = values(row, portfolio).argmax(axis=1)
        explore = generator.random(count) < exploration
        action = np.where(explore, generator.integers(0, 3, size=count), greedy)
        action = np.where(usable[row], action, portfolio.position).astype(np.int8)
        step = environments.step(action)
        replay.add(step)
        episodes += int(step.truncated.sum())
        reward += float(step.reward.mean())
    return Collected(transitions=steps * count, episodes=episodes, reward=reward / steps)
