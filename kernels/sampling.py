"""Samples of combinations where a Cartesian grid is too large: random draws and Sobol points, within the constraint.

An axis is a list of values or a ``Span``. A sample is a table of explicit combinations for ``sweep(grid=...)``: the
same seed gives the same table on every machine.
"""

import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.grid import GridError, allowed, axis_values, combination_bytes, require_axes, require_memory
from kernels.strategy import Strategy

MOST_DRAWS = 64
"""Points drawn for each combination wanted before a constraint, or too few distinct values, counts as too narrow."""

SMALLEST_DRAW = 16

Points: TypeAlias = Callable[[int], NDArray[np.float64]]
"""Number of points → that many more points [points, axes] of the unit cube."""


@dataclass(frozen=True)
class Span:
    """Numbers from ``low`` to ``high``, both included: any of them, or with ``step`` the multiples low + k · step.

    ``logarithmic`` spreads them evenly over the logarithm; it needs ``low`` > 0 and no step.
    """

    low: float
    high: float
    step: float | None = None
    logarithmic: bool = False

    def __post_init__(self) -> None:
        """Raises ``GridError`` for a span without numbers."""
        if not all(isinstance(end, numbers.Real) for end in (self.low, self.high)):
            raise GridError(f"{self}: low and high must be numbers")
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low <= self.high):
            raise GridError(f"{self}: low and high must be finite, low <= high")
        if self.step is not None and not self.step > 0:
            raise GridError(f"{self}: the step must be above 0, or None for every number")
        if self.logarithmic and (self.low <= 0 or self.step is not None):
            raise GridError(f"{self}: a logarithmic span needs low > 0 and no step")

    def at(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """The numbers that points of [0, 1) stand for."""
        numbers: NDArray[np.float64] = self.low + (self.high - self.low) * points
        if self.step is not None:
            count = np.floor((self.high - self.low) / self.step + 1e-9) + 1.0
            numbers = self.low + np.floor(points * count) * self.step
        elif self.logarithmic:
            numbers = self.low * (self.high / self.low) ** points
        return numbers


Axis: TypeAlias = Span | Sequence[Any]


def random_combinations(strategy: Strategy, axes: Mapping[str, Axis], count: int, seed: int) -> pd.DataFrame:
    """``count`` different combinations drawn evenly and independently, in the order of drawing.

    Raises ``GridError`` where the axes and the constraint do not leave that many, or memory does not hold them.
    """
    draw = np.random.default_rng(seed)
    return _sample(strategy, axes, count, lambda points: draw.random((points, len(axes))))


def sobol_combinations(strategy: Strategy, axes: Mapping[str, Axis], count: int, seed: int) -> pd.DataFrame:
    """``count`` different combinations at the points of a scrambled Sobol sequence (scipy.stats.qmc), in its order.

    They fill the space more evenly than random draws. Raises ``GridError`` as ``random_combinations`` does.
    """
    from scipy.stats import qmc

    sequence = qmc.Sobol(max(len(axes), 1), scramble=True, rng=np.random.default_rng(seed))

    def points(wanted: int) -> NDArray[np.float64]:
        # the sequence is balanced at powers of two: doubling keeps it so
        more = sequence.num_generated or 1 << (wanted - 1).bit_length()
        found: NDArray[np.float64] = sequence.random_base2(more.bit_length() - 1)
        return found

    return _sample(strategy, axes, count, points)


def _sample(strategy: Strategy, axes: Mapping[str, Axis], count: int, points: Points) -> pd.DataFrame:
    if isinstance(count, bool) or not isinstance(count, numbers.Integral) or count < 1:
        raise GridError(f"{strategy.name}: {count!r} combinations asked for; ask for a whole number, at least one")
    require_axes(axes, strategy)
    require_memory(f"{strategy.name}: combinations", count, combination_bytes(len(axes)), "ask for fewer")
    kept = pd.DataFrame({name: pd.Series(dtype=np.float64) for name in axes})
    drawn = 0
    while len(kept) < count:
        if drawn >= MOST_DRAWS * max(count, SMALLEST_DRAW):
            raise GridError(
                f"{strategy.name}: {drawn:,} points gave {len(kept):,} different combinations, {count:,} are asked for: "
                "ask for fewer, or widen the axes or the constraint"
            )
        cube = points(max(count, SMALLEST_DRAW))
        drawn += len(cube)
        found = pd.DataFrame({name: _values(strategy, name, axes[name], cube[:, n]) for n, name in enumerate(axes)})
        found = found[allowed(strategy, found)]
        kept = (found if kept.empty else pd.concat([kept, found])).drop_duplicates(ignore_index=True)
    return kept.iloc[:count].reset_index(drop=True)


def _values(strategy: Strategy, name: str, axis: Axis, points: NDArray[np.float64]) -> NDArray[Any]:
    if isinstance(axis, Span):
        return axis.at(points)
    values = axis_values(strategy, name, axis)
    return values[np.floor(points * len(values)).astype(np.int64)]
