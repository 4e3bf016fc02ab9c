"""The action-value network: a small dueling perceptron."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from training.environment import PORTFOLIO_FEATURES

Weights = NDArray[np.float32]


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


class PlainWeights(TypedDict):
    """A network as arrays, by the names of `training.policy.Policy`; matrices have inputs first."""

    first: Weights
    first_bias: Weights
    second: Weights
    second_bias: Weights
    head: Weights
    head_bias: Weights


def plain_weights(network: DuelingNetwork) -> PlainWeights:
    """The network as arrays, both dueling streams in one head.

    relu(relu(s @ first + first_bias) @ second + second_bias) @ head + head_bias is the network's output.
    """
    advantage, bias = network.advantage.weight, network.advantage.bias
    return {
        "first": _array(network.first.weight.T),
        "first_bias": _array(network.first.bias),
        "second": _array(network.second.weight.T),
        "second_bias": _array(network.second.bias),
        "head": _array((network.value.weight + advantage - advantage.mean(dim=0, keepdim=True)).T),
        "head_bias": _array(network.value.bias + bias - bias.mean()),
    }


def _array(part: Tensor) -> Weights:
    # A copy: training goes on in the network's own memory.
    return np.array(part.detach().numpy(), dtype=np.float32, order="C")


def _linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    # skip_init leaves torch's global random state alone.
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, inputs, outputs)
    bound = inputs**-0.5
    with torch.no_grad():
        layer.weight.uniform_(-bound, bound, generator=generator)
        layer.bias.zero_()
    return layer
