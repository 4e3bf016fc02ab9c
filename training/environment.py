"""Vectorised trading environment over the rows of a fold.

An action is the target position in {-1, 0, +1} (numbers 0, 1, 2), decided at the close of a bar and filled at the open
of the next bar that can execute. Reward is the change of equity on the bar after the decision, costs included, in units
of `money_scale`; it is linear in money, so it is finite at any equity, and never clamped. The task has no terminal
state: an episode ends by truncation only, and the value of the state it ended in still counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.compiled import compiled
from training.market import FLAT, Market

PORTFOLIO_FEATURES = 3
UNREALISED_LIMIT = 5.0
HELD_LIMIT = 240
"""Bars after which an entry no longer ages: the longest look-back of the return features."""


@dataclass
class Portfolios:
    """State of N accounts: position number int8, gross money since entry float64, bars since entry int32."""

    position: NDArray[np.int8]
    unrealised: NDArray[np.float64]
    held: NDArray[np.int32]

    @classmethod
    def flat(cls, count: int) -> Portfolios:
        """`count` accounts without a position."""
        return cls(np.full(count, FLAT, dtype=np.int8), np.zeros(count), np.zeros(count, dtype=np.int32))


@dataclass(frozen=True)
class Step:
    """What one step of N environments gave.

    `row` [N] int32: the decision's row counted from the market's start; `portfolio` is the state *before* it.
    `reward` [N] float32. `truncated` [N]: the episode ended after this step, in the state of row + 1.
    """

    row: NDArray[np.int32]
    portfolio: Portfolios
    action: NDArray[np.int8]
    reward: NDArray[np.float32]
    truncated: NDArray[np.bool_]


class Environments:
    """N environments that step through one market; the only mutable object of training besides the network.

    Each environment draws its episode starts from a generator of its own, spawned from `seed`, so no two share a
    sequence. An episode begins with a random position (entered at the row's close, at no cost) so that positions are
    met at rows where the current policy would not hold them, and is truncated after `episode` steps or at the last row.
    """

    def __init__(self, table: Market, scale: float, count: int, episode: int, seed: int) -> None:
        self.table = table
        self.scale = scale
        self.episode = min(episode, table.decisions)
        self.generators = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(count)]
        self.row = np.zeros(count, dtype=np.int32)
        self.age = np.zeros(count, dtype=np.int32)
        self.portfolio = Portfolios.flat(count)
        for lane in range(count):
            self._reset(lane)

    def step(self, action: NDArray[np.int8]) -> Step:
        """Take `action` [N] in every environment; those that end begin a new episode afterwards."""
        row, before = self.row.copy(), self.portfolio
        action = action.astype(np.int8)
        gross, costs, position, unrealised, held = advance_lanes(
            self.table.gross, self.table.costs, self.table.after, row, before.position, before.unrealised, before.held,
            action,
        )
        self.portfolio = Portfolios(position, unrealised, held)
        self.row = row + np.int32(1)
        self.age += 1
        truncated = (self.age >= self.episode) | (self.row >= self.table.decisions)
        reward = ((gross - costs) / self.scale).astype(np.float32)
        for lane in np.flatnonzero(truncated):
            self._reset(int(lane))
        return Step(row, before, action, reward, truncated)

    def _reset(self, lane: int) -> None:
        generator = self.generators[lane]
        self.row[lane] = generator.integers(0, self.table.decisions)
        self.portfolio.position[lane] = generator.integers(0, 3)
        self.portfolio.unrealised[lane] = 0.0
        self.portfolio.held[lane] = 0
        self.age[lane] = 0


def portfolio_features(portfolio: Portfolios, scale: float) -> NDArray[np.float32]:
    """The portfolio's three numbers [N, 3]: exposure in [-1, 1], unrealised profit, time since entry in [0, 1].

    Unrealised is gross money over `scale` x sqrt(bars held), clipped to +-5: the log form of the reference in money
    units, which stays finite for prices of zero or less. Time saturates at 240 bars.
    """
    result = np.empty((len(portfolio.position), PORTFOLIO_FEATURES), dtype=np.float32)
    result[:, 0] = portfolio.position - FLAT
    spread = scale * np.sqrt(np.maximum(portfolio.held, 1))
    result[:, 1] = np.clip(portfolio.unrealised / spread, -UNREALISED_LIMIT, UNREALISED_LIMIT)
    result[:, 2] = np.minimum(portfolio.held, HELD_LIMIT) / HELD_LIMIT
    return result


@compiled
def advance(gross, after, row, position, unrealised, held, action):  # type: ignore[no-untyped-def]
    """Position number, gross money since entry and bars held after the bar that follows `row`."""
    new = after[row, position, action]
    if new == FLAT:
        return new, 0.0, 0
    if new != position:
        # Seen from the new position alone: what the old one earned until the open is not its profit.
        return new, gross[row, FLAT, new], 1
    return new, unrealised + gross[row, position, new], held + 1


@compiled
def advance_lanes(gross, costs, after, row, position, unrealised, held, action):  # type: ignore[no-untyped-def]
    """`advance` for N lanes, with the money each one's bar earned and cost."""
    count = len(row)
    earned, paid = np.empty(count), np.empty(count)
    new_position, new_unrealised = np.empty(count, np.int8), np.empty(count)
    new_held = np.empty(count, np.int32)
    for lane in range(count):
        t, p, a = row[lane], position[lane], action[lane]
        earned[lane], paid[lane] = gross[t, p, a], costs[t, p, a]
        new_position[lane], new_unrealised[lane], new_held[lane] = advance(
            gross, after, t, p, unrealised[lane], held[lane], a
        )
    return earned, paid, new_position, new_unrealised, new_held
