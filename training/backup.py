"""Learning targets: the exact n-step outcome of every action at a visited row and portfolio.

The agent is a price taker, so what an action would have earned is known for all three actions, not only for the one
taken, and without bias: each target row is the action held for n bars, then the value of the state it leads to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.environment import Portfolios
from training.market import FLAT, Market

ACTIONS = np.arange(3)


@dataclass(frozen=True)
class Holding:
    """Windowed outcomes of keeping an action, for every row of a market with T decisions.

    `reward` [T, 3, 3] float64: discounted reward of taking an action at a row and position and holding it for
    `bars` [T] bars (n, fewer where the rows end). `gross` [T, 3]: gross money of the bars after the first one.
    `power` [T]: discount ** bars. `usable` [T] bool: the first bar executes, so the action is the position afterwards.
    """

    reward: NDArray[np.float64]
    gross: NDArray[np.float64]
    bars: NDArray[np.int32]
    power: NDArray[np.float64]
    usable: NDArray[np.bool_]


def holding(table: Market, scale: float, discount: float, n_step: int) -> Holding:
    """Windows of `n_step` bars over `table`; rewards in units of `scale`. Nothing past the last row is read."""
    count = table.decisions
    keep = table.net[:, ACTIONS, ACTIONS] / scale
    keep_gross = table.gross[:, ACTIONS, ACTIONS]
    later, gross = np.zeros((count, 3)), np.zeros((count, 3))
    for bar in range(1, min(n_step, count)):
        later[: count - bar] += discount**bar * keep[bar:]
        gross[: count - bar] += keep_gross[bar:]
    bars = np.minimum(n_step, count - np.arange(count)).astype(np.int32)
    return Holding(
        reward=table.net / scale + later[:, None, :],
        gross=gross,
        bars=bars,
        power=np.power(discount, bars),
        usable=table.after[:, 0, 2] == 2,
    )


def next_portfolios(table: Market, windows: Holding, row: NDArray[np.int32], portfolio: Portfolios) -> Portfolios:
    """Portfolios [N * 3] after holding each action from `row` [N] and `portfolio` [N] for its window.

    Lane i * 3 + a belongs to action a. Rows must be usable.
    """
    position = np.broadcast_to(ACTIONS, (len(row), 3))
    kept = position == portfolio.position[:, None]
    from_flat = table.gross[row, FLAT]
    carried = portfolio.unrealised[:, None] + table.gross[row, portfolio.position]
    unrealised = np.where(kept, carried, from_flat) + windows.gross[row]
    held = np.where(kept, portfolio.held[:, None], 0) + windows.bars[row][:, None]
    invested = position != FLAT
    return Portfolios(
        position.astype(np.int8).ravel(),
        np.where(invested, unrealised, 0.0).ravel(),
        np.where(invested, held, 0).astype(np.int32).ravel(),
    )


def double_targets(
    reward: NDArray[np.float32],
    power: NDArray[np.float32],
    online_next: NDArray[np.float32],
    target_next: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Double-DQN targets [N] = reward + power x target_next[argmax online_next].

    `reward` and `power` (discount ** bars) [N], next-state values [N, 3] by the online and the target network. Every
    target bootstraps: rows end, accounts do not (truncation is not termination). Source: van Hasselt et al. (2016).
    """
    best = online_next.argmax(axis=1)
    return reward + power * np.take_along_axis(target_next, best[:, None], axis=1)[:, 0]
