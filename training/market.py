"""What every action earns at every row and position of a fold: the agent is a price taker, so this is a table.

The tables are made by `kernels.portfolio.portfolio_step`, the function the sweep runs, for all rows, positions and
actions at once. Environments, learning targets, evaluation and the hindsight optimum only look rows up, so none of them
can disagree with the sweep about a fill, a roll or a cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.bars import bar_inputs
from kernels.execution import Costs, Execution, Instrument
from kernels.portfolio import BarInputs, PortfolioState, portfolio_step, terms, whole_contracts
from training.errors import TrainingError
from training.folds import Rows

POSITIONS = np.array([-1.0, 0.0, 1.0])
"""Target positions by action number; a position's number is the same."""

FLAT = 1


@dataclass(frozen=True)
class Market:
    """Outcomes of the decisions at rows [start, stop - 1), each filled on the bar after it.

    With T = stop - start - 1 decisions: `gross` and `costs` [T, 3, 3] float64, money, by row, position held and action:
    profit before costs and costs paid on the bar after the row. `after` [T, 3, 3] int8: the position then, which is the
    action unless that bar is masked. The last row, stop - 1, is seen but not decided at: nothing after it is read.
    """

    start: int
    gross: NDArray[np.float64]
    costs: NDArray[np.float64]
    after: NDArray[np.int8]

    @property
    def decisions(self) -> int:
        """T, the number of rows decided at."""
        return len(self.gross)

    @property
    def net(self) -> NDArray[np.float64]:
        """Profit after costs [T, 3, 3] in money."""
        return self.gross - self.costs


def market(bars: pd.DataFrame, rows: Rows, instrument: Instrument, costs: Costs, execution: Execution) -> Market:
    """Tables for the rows [start, stop) of a bars table; raises TrainingError for a range outside the table."""
    start, stop = rows
    if not 0 <= start < stop - 1 < len(bars):
        raise TrainingError(f"rows {start}:{stop}: need at least two rows inside the bars table's {len(bars)}")
    if not execution.is_plain:
        raise TrainingError(f"{execution}: policies are trained on whole contracts filled at the next open; use its defaults")
    whole = bar_inputs(bars.iloc[:stop])
    close = pd.Series(np.where(whole.executable, whole.close, np.nan))
    # A position is marked to the last bar that could execute; before any, only a flat one is possible.
    mark = close.ffill().fillna(0.0).to_numpy()[start : stop - 1]
    bar = BarInputs(*(column[start + 1 : stop, None, None] for column in whole))
    held = whole_contracts(POSITIONS, execution.contracts)
    state = PortfolioState(held[None, :, None], mark[:, None, None], 0.0, 0.0)
    stepped = portfolio_step(state, bar, held[None, None, :], terms(costs, instrument, execution))
    shape = (stop - start - 1, 3, 3)
    after = np.where(bar.executable, np.arange(3)[None, None, :], np.arange(3)[None, :, None])
    return Market(
        start=start,
        gross=np.ascontiguousarray(np.broadcast_to(stepped.profit, shape), dtype=np.float64),
        costs=np.ascontiguousarray(np.broadcast_to(stepped.costs, shape), dtype=np.float64),
        after=np.ascontiguousarray(np.broadcast_to(after, shape), dtype=np.int8),
    )


def money_scale(table: Market) -> float:
    """Standard deviation of one bar's gross profit of a held long position, in money: the unit of rewards.

    Fitted on the train rows and carried with the policy. Raises TrainingError when prices never move.
    """
    scale = float(table.gross[:, 2, 2].std())
    if not scale > 0.0:
        raise TrainingError(f"the {table.decisions} rows from row {table.start}: prices never move; choose other rows")
    return scale


def switching_costs(table: Market) -> NDArray[np.float64]:
    """Mean cost [3, 3] in money of going from a position to an action, over the rows that can execute."""
    executed = table.after[:, 0, 2] == 2
    if not executed.any():
        raise TrainingError(f"all {table.decisions} rows from row {table.start} are masked; choose other rows")
    mean: NDArray[np.float64] = table.costs[executed].mean(axis=0)
    return mean


def path_profit(table: Market, actions: NDArray[np.int8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gross profit and costs [T] in money of the bars after each decision, for action numbers `actions` [T].

    The account starts flat at the first row.
    """
    if actions.shape != (table.decisions,):
        raise TrainingError(f"actions {actions.shape}: need one for each of the {table.decisions} decisions")
    executed = table.after[:, 0, 2] == 2
    row = np.arange(table.decisions)
    # The position held at a row is the last action that could execute before it.
    last = np.maximum.accumulate(np.where(executed, row, -1))
    position = np.full(table.decisions, FLAT, dtype=np.int8)
    held = np.concatenate([[-1], last[:-1]])
    position[held >= 0] = actions[held[held >= 0]]
    return table.gross[row, position, actions], table.costs[row, position, actions]
