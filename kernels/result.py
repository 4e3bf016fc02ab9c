"""What every result of a sweep offers: its table, its rankings, its surface; traces and programs are its kinds' own.

``kernels.program_result`` is the result of one program, ``kernels.choice_result`` of the programs of a strategy's choices.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.best import best_row, ranked
from kernels.block_sums import BlockSums
from kernels.hoisting import Hoisted
from kernels.plan import Window
from kernels.preparation import SweepError
from kernels.surface import heat_map, neighbours, stability
from kernels.sweep_state import SweepState
from kernels.values import Value


@dataclass(frozen=True, eq=False)
class SweepResult(ABC):
    """``table``: a row a combination (and window, in the column ``window``, where there are several; windows one after
    another), choices, parameters, metrics; where an axis is called ``window`` the column is ``scored_window``.

    ``start``: the first bar at which every combination has a target. ``windows``: the bar ranges that were scored.
    ``profile``: executor, fallback reason, periods a year, program size, seconds and bar-steps a second; of choices those of
    each program in ``parts``.
    """

    table: pd.DataFrame
    start: int
    windows: tuple[Window, ...]
    profile: dict[str, Any]

    @property
    @abstractmethod
    def parameters(self) -> tuple[str, ...]:
        """Names of the axes: choices first, then the swept parameters."""

    @property
    @abstractmethod
    def programs(self) -> tuple[Hoisted, ...]:
        """The programs that computed the table; ``print`` shows what each reads, its instructions and its states."""

    @property
    def program(self) -> Hoisted:
        """The program that computed the table; raises ``SweepError`` where several did."""
        if len(self.programs) > 1:
            raise SweepError(f"the choices made {len(self.programs)} programs: print those of result.programs")
        return self.programs[0]

    @abstractmethod
    def trace(self, row: int, show: Mapping[str, Value] | None = None) -> pd.DataFrame:
        """One combination bar by bar, a row for each of the bars up to its window's end.

        Equal on bits to what its metrics were computed from. Before the window the account is flat and ``target`` NaN;
        where the sweep went on from a state, the bars before it are NaN.
        Columns: ``ts_event`` (and ``session`` where the bars have it), ``target`` decided at the bar's close,
        ``position`` in contracts at the close, ``equity``, ``profit`` (gross) and ``costs`` (both since the start),
        in money; of the bar itself ``fills`` (a roll is one for each leg), ``contracts`` that changed hands and their
        ``notional`` in money. ``show``: column → expression over what the strategy reads, its intermediate values among
        them, as the program computes it; NaN before the window, truth as 1 and 0. Raises ``MetricError``
        for an expression that reads anything else, or needs more bars than the sweep's ``start``.
        """

    @abstractmethod
    def sessions(self, row: int) -> pd.DataFrame:
        """Net profit of one combination by session of its window, in money: columns ``session``, ``profit``."""

    @abstractmethod
    def session_sums(self, window: int = 0) -> BlockSums:
        """Sums and sums of squares of returns over blocks of a window's periods, a row a combination; ``blocks=`` of
        ``sweep`` asks for them, else raises ``MetricError``.

        A return is a period's profit over the equity before it. A ruined account adds its last return, and 0 after it.
        """

    @abstractmethod
    def state(self, window: int = 0) -> SweepState:
        """The accounts before the window's last bar, for ``sweep(..., resume=state)`` over these bars and later ones.

        Every combination is run once more, so that nothing is kept unasked. Raises ``SweepError`` where the table holds
        order statistics or choices, or the precision is not fp64.
        """

    @abstractmethod
    def why_undefined(self, metric: str) -> str:
        """When the metric is undefined; where ruin is among the reasons, ruined accounts are counted by running them."""

    def ranking(self, metric: str) -> NDArray[np.int64]:
        """Rows of the table from best to worst; ties in the order of the combinations; NaN is left out."""
        return ranked(self.table, metric)

    def best(self, metric: str) -> pd.Series:
        """The table's best row, its place as ``name``; raises ``MetricError`` where the metric is NaN throughout."""
        return best_row(self.table, metric, self.why_undefined)

    def heat_map(self, x: str, y: str, metric: str, window: int = 0) -> pd.DataFrame:
        """The metric over the axes ``x`` (columns) and ``y`` (rows), the best over all others
        (``kernels.surface.heat_map``).
        """
        return heat_map(self._of_window(window), self.parameters, x, y, metric)

    def neighbours(self, row: int) -> pd.DataFrame:
        """The combinations one step from that of the row, in the same window (``kernels.surface.neighbours``)."""
        self._require_row(row)
        window, place = divmod(row, self._combinations)
        beside = neighbours(self._of_window(window), self.parameters, place)
        return beside.assign(row=beside["row"] + window * self._combinations)

    def stability(self, metric: str, count: int = 10, window: int = 0) -> pd.DataFrame:
        """The best ``count`` combinations of a window beside their neighbours (``kernels.surface.stability``)."""
        table = self._of_window(window)
        found = stability(table, self.parameters, metric, ranked(table, metric)[:count])
        return found.assign(row=found["row"] + window * self._combinations)

    @property
    def _combinations(self) -> int:
        return len(self.table) // len(self.windows)

    def _of_window(self, window: int) -> pd.DataFrame:
        self._require_window(window)
        return self.table.iloc[window * self._combinations : (window + 1) * self._combinations].reset_index(drop=True)

    def _require_window(self, window: int) -> None:
        if not 0 <= window < len(self.windows):
            raise IndexError(f"window {window}: the sweep has windows 0 to {len(self.windows) - 1}")

    def _require_row(self, row: int) -> None:
        if not 0 <= row < len(self.table):
            raise IndexError(f"row {row}: the table has rows 0 to {len(self.table) - 1}")
