"""Target positions of trained models, aligned to the bars table, as the sweep's `positions()` strategy reads them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.execution import Costs, Execution, Instrument
from training.errors import TrainingError
from training.folds import Rows
from training.market import POSITIONS, market
from training.policy import Policy, greedy_actions


def policy_positions(
    policy: Policy,
    features: NDArray[np.float32],
    bars: pd.DataFrame,
    rows: Rows,
    instrument: Instrument,
    costs: Costs,
    execution: Execution,
) -> NDArray[np.float64]:
    """Greedy target positions in {-1, 0, 1} [bars] decided at the close of each of the rows [start, stop).

    0.0 outside the rows. The account starts flat at `start`; a target fills on the bar after its row. `features`
    [bars, F] float32, normalised with the normaliser of the policy's own fold. A position depends on bars and features
    up to its row alone, bit for bit.
    """
    if len(features) != len(bars):
        raise TrainingError(f"features have {len(features)} rows, bars {len(bars)}: pass the bars they were made from")
    actions = greedy_actions(policy, features, market(bars, rows, instrument, costs, execution))
    return aligned(POSITIONS[actions], rows, len(bars))


def aligned(targets: NDArray[np.float64], rows: Rows, count: int) -> NDArray[np.float64]:
    """`targets` [stop - start] at their rows of a table of `count` bars, 0.0 elsewhere."""
    positions = np.zeros(count)
    positions[slice(*rows)] = targets
    return positions
