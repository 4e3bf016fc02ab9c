"""A trained policy as plain arrays, and its greedy walk through a market."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.compiled import compiled
from training.environment import HELD_LIMIT, UNREALISED_LIMIT, advance
from training.errors import TrainingError
from training.market import FLAT, Market

Weights = NDArray[np.float32]


@dataclass(frozen=True)
class Policy:
    """Weights of the action-value network, the unit of its money, and how it was trained.

    `first` [features + 3, hidden], `second` [hidden, hidden], `head` [hidden, 3] (dueling streams merged) with their
    biases, float32. `costs` [3, 3] float32: known cost of going from a position to an action, in units of `scale`; the
    value of an action is the network's output less that. `scale` float64 [1]: one bar's standard deviation of profit on
    the train rows, in money. `history`: one entry a look at the validation rows (step, loss, reward, exploration,
    validation profit and costs in money). `chosen_step`: the look with the best validation profit, whose weights these
    are. `looks`: how often the validation rows were evaluated; each is a trial for the ledger.
    """

    first: Weights
    first_bias: Weights
    second: Weights
    second_bias: Weights
    head: Weights
    head_bias: Weights
    costs: Weights
    scale: NDArray[np.float64]
    seed: int
    chosen_step: int
    looks: int
    settings: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)


def greedy_actions(policy: Policy, features: NDArray[np.float32], table: Market) -> NDArray[np.int8]:
    """Action numbers [T + 1] of the greedy policy at the rows of `table`, starting flat; `features` [bars, F].

    The last one is decided at the market's last row and fills after it. The walk is sequential because the portfolio is
    part of the state. A row with a feature that is not finite keeps the position; equal values keep it too. Sums run in
    one fixed order, so an action depends on nothing after its row.
    """
    rows = features[table.start : table.start + table.decisions + 1]
    expected = (table.decisions + 1, policy.first.shape[0] - 3)
    if rows.shape != expected:
        raise TrainingError(
            f"features {features.shape}: the policy needs {expected[1]} of them, for rows up to "
            f"{table.start + table.decisions}"
        )
    actions: NDArray[np.int8] = _walk(
        np.array(rows, dtype=np.float32), table.gross, table.after, float(policy.scale[0]), *_weights(policy)
    )
    return actions


def _weights(policy: Policy) -> tuple[Weights, ...]:
    # Copies: arrays read from the store are read-only, for which numba would compile everything once more.
    parts = (policy.first, policy.first_bias, policy.second, policy.second_bias, policy.head, policy.head_bias)
    return tuple(np.array(part, dtype=np.float32) for part in (*parts, policy.costs))


@compiled
def _layer(inputs, weight, bias):  # type: ignore[no-untyped-def]
    # Inputs outside, outputs inside: vectorised without changing the order of any sum.
    result = bias.copy()
    for source in range(len(inputs)):
        value = inputs[source]
        if value != 0.0:
            for unit in range(len(result)):
                result[unit] += value * weight[source, unit]
    return result


@compiled
def _values(state, position, first, first_bias, second, second_bias, head, head_bias, costs):  # type: ignore[no-untyped-def]
    layer = np.maximum(_layer(state, first, first_bias), np.float32(0.0))
    layer = np.maximum(_layer(layer, second, second_bias), np.float32(0.0))
    return _layer(layer, head, head_bias) - costs[position]


@compiled
def _walk(rows, gross, after, scale, first, first_bias, second, second_bias, head, head_bias, costs):  # type: ignore[no-untyped-def]
    count, features = rows.shape
    actions = np.empty(count, np.int8)
    state = np.empty(features + 3, np.float32)
    position, unrealised, held = FLAT, 0.0, 0
    for row in range(count):
        action = position
        if np.isfinite(rows[row]).all():
            state[:features] = rows[row]
            spread = scale * np.sqrt(max(held, 1))
            state[features] = position - FLAT
            state[features + 1] = min(max(unrealised / spread, -UNREALISED_LIMIT), UNREALISED_LIMIT)
            state[features + 2] = min(held, HELD_LIMIT) / HELD_LIMIT
            values = _values(state, position, first, first_bias, second, second_bias, head, head_bias, costs)
            for other in range(3):
                if values[other] > values[action]:
                    action = other
        actions[row] = action
        if row == len(gross):
            break
        position, unrealised, held = advance(gross, after, row, position, unrealised, held, action)
    return actions
