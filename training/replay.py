"""Ring buffer of transitions: 23 bytes each, because market rows are looked up when a transition is sampled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from training.environment import Portfolios, Step

TRUNCATED = np.uint8(1)

TRANSITION = np.dtype(
    [
        ("row", np.int32),
        ("position", np.int8),
        ("unrealised", np.float64),
        ("held", np.int32),
        ("action", np.int8),
        ("reward", np.float32),
        ("flags", np.uint8),
    ]
)
"""A transition: the row decided at, the portfolio's three numbers before it, what was done, earned and flagged.

No next state is stored: it is row + 1 with the portfolio that the outcome tables give, so the slot at the write pointer
has no neighbour to be confused with, and a new episode's first state cannot be taken for an old one's last.
"""


class Replay:
    """The newest `capacity` transitions."""

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"replay capacity = {capacity}: must be at least 1 transition")
        self.slots = np.zeros(capacity, dtype=TRANSITION)
        self.written = 0

    def __len__(self) -> int:
        """Transitions stored."""
        return min(self.written, len(self.slots))

    def add(self, step: Step) -> None:
        """Store a step of N environments, over the oldest transitions where the ring is full."""
        count = len(step.row)
        if count > len(self.slots):
            raise ValueError(f"a step of {count} transitions: larger than the replay's capacity {len(self.slots)}")
        place = (self.written + np.arange(count)) % len(self.slots)
        new = np.empty(count, dtype=TRANSITION)
        new["row"], new["action"], new["reward"] = step.row, step.action, step.reward
        new["position"] = step.portfolio.position
        new["unrealised"], new["held"] = step.portfolio.unrealised, step.portfolio.held
        new["flags"] = np.where(step.truncated, TRUNCATED, np.uint8(0))
        self.slots[place] = new
        self.written += count

    def sample(self, count: int, generator: np.random.Generator) -> NDArray[np.void]:
        """`count` transitions drawn uniformly with replacement, as records of TRANSITION."""
        if len(self) == 0:
            raise ValueError("the replay is empty: collect experience before sampling")
        return self.slots[generator.integers(0, len(self), size=count)]


def portfolios(transitions: NDArray[np.void]) -> Portfolios:
    """The portfolios before the transitions' decisions."""
    return Portfolios(transitions["position"], transitions["unrealised"], transitions["held"])
