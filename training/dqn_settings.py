"""How one seed of the DQN is trained; apart from the learner, so that a configuration is read without loading torch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class DqnSettings:
    """How one seed is trained. Steps, bars and rows are counts; `discount` is per bar.

    `n_step`: bars an action is held in a learning target. `target_rate`: share of the online weights that the target
    network takes over at each step. `exploration` falls linearly to a fifth. `looks`: evaluations on the validation
    rows, spread evenly; the best one's weights are kept.
    """

    steps: int = 2000
    batch: int = 512
    hidden: int = 32
    learning_rate: float = 0.0015
    weight_decay: float = 3.0
    discount: float = 0.99
    n_step: int = 10
    target_rate: float = 0.02
    environments: int = 64
    episode: int = 512
    collect_every: int = 25
    collect_steps: int = 32
    exploration: float = 0.25
    replay: int = 131_072
    looks: int = 10

    def __post_init__(self) -> None:
        """Refuse values that train nothing."""
        for name in (
            "steps", "batch", "hidden", "n_step", "environments", "episode", "collect_every", "collect_steps", "replay",
            "looks",
        ):
            if getattr(self, name) < 1:
                raise ValueError(f"dqn.{name} = {getattr(self, name)}: must be at least 1")
        for name, low, high in (
            ("discount", 0.0, 1.0), ("exploration", 0.0, 1.0), ("target_rate", 0.0, 1.0), ("weight_decay", 0.0, 100.0),
            ("learning_rate", 0.0, 1.0),
        ):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"dqn.{name} = {getattr(self, name)}: must lie in [{low:g}, {high:g}]")
        if self.steps < self.looks:
            raise ValueError(f"dqn.looks = {self.looks}: more than dqn.steps = {self.steps}; lower it")
