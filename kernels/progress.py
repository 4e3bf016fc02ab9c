"""How far a sweep is: what is done, how fast, how long it still takes; and a line of it for a person to read."""

import sys
from dataclasses import dataclass, field
from typing import TextIO


@dataclass(frozen=True)
class Progress:
    """Combinations ``done`` of ``total``, the bar-steps that took, in so many seconds."""

    done: int
    total: int
    bar_steps: int
    seconds: float

    @property
    def rate(self) -> float:
        """Bar-steps a second so far."""
        return self.bar_steps / max(self.seconds, 1e-9)

    @property
    def remaining(self) -> float:
        """Seconds left at the rate so far; NaN before anything is done."""
        return self.seconds * (self.total - self.done) / self.done if self.done else float("nan")

    def __str__(self) -> str:
        """E.g. ``1,024 of 4,096 combinations, 310 M bar-steps/s, 12 s left``."""
        rate = f"{self.rate / 1e6:.0f} M bar-steps/s"
        return f"{self.done:,} of {self.total:,} combinations, {rate}, {self.remaining:.0f} s left"


@dataclass
class ProgressLines:
    """Prints progress to ``stream`` at most every ``every`` seconds: ``sweep(..., progress=ProgressLines())``."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    every: float = 1.0
    _printed: float = 0.0

    def __call__(self, progress: Progress) -> None:
        """Print the line where it is time, and always the last one."""
        if progress.seconds - self._printed >= self.every or progress.done == progress.total:
            self._printed = progress.seconds
            self.stream.write(f"{progress}\n")
            self.stream.flush()
