"""The action-value network: a small dueling perceptron."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from training.environment import PORTFOLIO_FEATURES


class DuelingNetwork(nn.Module):  # type: ignore[misc]
    """Q(s, a) = V(s) + A(s, a) - mean over actions of A, on two hidden layers of `hidden` rectified units.

    Input [N, features + 3] float32: normalised market features, then the portfolio's three numbers. Output [N, 3].
    Initial weights come from `generator` alone: uniform in +-1/sqrt(inputs), biases zero. Source: Wang et al. (2016).
    """

    def __init__(self, features: int, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        self.first = _linear(features + PORTFOLIO_FEATURES, hidden, generator)
        self.second = _linear(hidden, hidden, generator)
        self.value = _linear(hidden, 1, generator)
        self.advantage = _linear(hidden, 3, generator)

    def forward(self, state: Tensor) -> Tensor:
        """Action values [N, 3] of the states."""
        layer = torch.relu(self.second(torch.relu(self.first(state))))
        advantage: Tensor = self.advantage(layer)
        values: Tensor = self.value(layer) + advantage - advantage.mean(dim=1, keepdim=True)
        return values


def _linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    # skip_init leaves torch's global random state alone.
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, inputs, outputs)
    bound = inputs**-0.5
    with torch.no_grad():
        layer.weight.uniform_(-bound, bound, generator=generator)
        layer.bias.zero_()
    return layer
