"""Buy and hold: what one contract earns, held over the bars and rolled; the accounts' yardstick for alpha and beta."""

import numpy as np
from numpy.typing import NDArray

from kernels.portfolio import BarInputs

Array = NDArray[np.float64]


def buy_and_hold_points(inputs: BarInputs, marks: Array) -> Array:
    """Points that one contract has earned at each close [bars], held from the first close on and rolled at ``old_price``
    into the open. A bar that cannot execute keeps them. ``marks``: the last close before each bar [bars].
    """
    roll = np.where(inputs.rolled, inputs.open - inputs.old_price, 0.0)
    earned = np.where(inputs.executable, inputs.close - marks - roll, 0.0)
    points: Array = np.cumsum(earned)
    return points


def buy_and_hold_returns(points: Array, marks: Array, ends: NDArray[np.bool_], begin: int) -> Array:
    """Return of buy and hold over the period that ends with each bar [bars]; 0 where none ends.

    It is what the contract earned in the period over the price of the contract held at the close before it (of a window's
    first period: at the close of ``begin``, its first bar): prices that were traded, never an adjusted level. NaN where
    that price is not above 0: a percentage of it says nothing.
    """
    last = np.flatnonzero(ends)
    last = last[last > begin]
    first = np.concatenate([[begin], last])[: len(last)]
    price = marks[first + 1]
    returns = np.zeros(len(points))
    with np.errstate(divide="ignore", invalid="ignore"):
        returns[last] = np.where(price > 0.0, (points[last] - points[first]) / price, np.nan)
    return returns
