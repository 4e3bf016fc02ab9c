"""The most that positions in {-1, 0, +1} could have earned, knowing all prices: a yardstick, never a model."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.compiled import compiled
from kernels.execution import Costs, Execution, Instrument
from training.folds import Rows
from training.market import FLAT, market


def hindsight_optimum(
    bars: pd.DataFrame, rows: Rows, instrument: Instrument, costs: Costs, execution: Execution
) -> float:
    """Largest net profit in money over the rows [start, stop), decided with the prices of all of them.

    Same decisions, fills, rolls and costs as any model's: flat at `start`, the last position marked to the last close.
    """
    table = market(bars, rows, instrument, costs, execution)
    return best_profit(table.net, table.after, flat_at_end=False)


def best_profit(net: NDArray[np.float64], after: NDArray[np.int8], *, flat_at_end: bool) -> float:
    """Viterbi over positions: the largest sum of `net` [T, 3, 3] along a path of actions that starts flat.

    `after` [T, 3, 3]: the position an action leads to. `flat_at_end` admits only paths that end without a position.
    """
    worth = np.full(3, -np.inf) if flat_at_end else np.zeros(3)
    worth[FLAT] = 0.0
    return float(_backward(net, after, worth)[FLAT])


@compiled
def _backward(net, after, worth):  # type: ignore[no-untyped-def]
    for row in range(len(net) - 1, -1, -1):
        earlier = np.full(3, -np.inf)
        for position in range(3):
            for action in range(3):
                total = net[row, position, action] + worth[after[row, position, action]]
                earlier[position] = max(earlier[position], total)
        worth = earlier
    return worth
