"""The result of a sweep: its table, its rankings, and any combination bar by bar."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.metrics import MetricError, ranking
from kernels.plan import Plan, Window
from kernels.rows import Array
from kernels.simulation import RECORDED
from kernels.surface import heat_map, neighbours, stability

LANES_A_COUNT = 256
"""Combinations run at once when ruined accounts are counted."""


@dataclass(frozen=True, eq=False)
class SweepResult:
    """``table``: a row a combination (and window, in the column ``window``, where there are several), parameters,
    metrics; where a parameter is called ``window`` the column is ``scored_window``.

    ``start``: the first bar at which every combination has a target. ``windows``: the bar ranges that were scored.
    ``profile``: executor, fallback reason, periods a year, program size, seconds and bar-steps a second.
    """

    table: pd.DataFrame
    start: int
    windows: tuple[Window, ...]
    profile: dict[str, Any]
    _plan: Plan
    _bars: pd.DataFrame
    _lanes: Mapping[str, Array]

    def ranking(self, metric: str) -> NDArray[np.int64]:
        """Rows of the table from best to worst; ties in the order of the combinations; NaN is left out."""
        if metric not in self.table.columns:
            raise MetricError(f"metric {metric!r} is not in the table: it has {', '.join(self.table.columns)}")
        return ranking(metric, self.table[metric].to_numpy(dtype=np.float64))

    def best(self, metric: str) -> pd.Series:
        """The table's best row, its place as ``name``; raises ``MetricError`` where the metric is NaN throughout."""
        order = self.ranking(metric)
        if len(order) == 0:
            raise MetricError(
                f"no best {metric}: it is NaN for all {len(self.table)} combinations ({self._why_undefined()}); "
                "score more bars or rank by another metric"
            )
        return self.table.iloc[int(order[0])]

    def heat_map(self, x: str, y: str, metric: str, window: int = 0) -> pd.DataFrame:
        """The metric over the parameters ``x`` (columns) and ``y`` (rows), the best over all others
        (``kernels.surface.heat_map``).
        """
        return heat_map(self._of_window(window), self.parameters, x, y, metric)

    def neighbours(self, row: int) -> pd.DataFrame:
        """The combinations one step from that of the row, in the same window (``kernels.surface.neighbours``)."""
        self._window(row)
        window, place = divmod(row, self._combinations)
        first = window * self._combinations
        beside = neighbours(self._of_window(window), self.parameters, place)
        return beside.assign(row=beside["row"] + first)

    def stability(self, metric: str, count: int = 10, window: int = 0) -> pd.DataFrame:
        """The best ``count`` combinations of a window beside their neighbours (``kernels.surface.stability``)."""
        table = self._of_window(window)
        best = ranking(metric, table[metric].to_numpy(dtype=np.float64))[:count]
        found = stability(table, self.parameters, metric, best)
        return found.assign(row=found["row"] + window * self._combinations)

    def trace(self, row: int) -> pd.DataFrame:
        """One combination bar by bar, a row for each of the bars up to its window's end.

        Equal on bits to what its metrics were computed from. Before the window the account is flat and ``target`` NaN.
        Columns: ``ts_event`` (and ``session`` where the bars have it), ``target`` decided at the bar's close,
        ``position`` in contracts at the close, ``equity``, ``profit`` (gross) and ``costs`` (both since the start),
        in money.
        """
        window = self._window(row)
        lane = {name: float(values[row % self._combinations]) for name, values in self._lanes.items()}
        first_target, recorded = self._plan.record(lane, window)
        flat = np.array([np.nan, 0.0, self._plan.conditions.capital, 0.0, 0.0])
        values = np.concatenate([np.repeat(flat[:, np.newaxis], window[1] - recorded.shape[1], axis=1), recorded], axis=1)
        values[0, window[0]] = first_target[0]
        table = self._bars.iloc[: window[1]].reset_index(drop=True)
        times = {name: table[name] for name in ("ts_event", "session") if name in table.columns}
        return pd.DataFrame({**times, **dict(zip(RECORDED, values, strict=True))})

    def sessions(self, row: int) -> pd.DataFrame:
        """Net profit of one combination by session of its window, in money: columns ``session``, ``profit``."""
        trace = self.trace(row).iloc[self._window(row)[0] :]
        if "session" not in trace.columns:
            raise MetricError("the bars have no column 'session': add it, or use trace(row) and group by time")
        closes = trace.groupby("session", sort=False)["equity"].last()
        before = np.concatenate([[self._plan.conditions.capital], closes.to_numpy()[:-1]])
        return pd.DataFrame({"session": closes.index.to_numpy(), "profit": closes.to_numpy() - before})

    def session_sums(self, rows: Sequence[int], blocks: int = 16) -> tuple[Array, Array, NDArray[np.int64]]:
        """Sums and sums of squares [rows, blocks] of session returns over blocks of sessions, and each block's sessions.

        The blocks follow one another and differ in length by one at most: the raw material of overfitting statistics. A
        session's return is its profit over the equity before it; all rows are of one window. Each row is traced, so
        that this is meant for the best of a grid, or a grid of thousands. Raises ``MetricError`` for rows of several
        windows or fewer than two sessions a block.
        """
        if len({self._window(row) for row in rows}) != 1:
            raise MetricError("session sums compare rows of one window: give at least one row, all of the same window")
        returns = np.stack([self._session_returns(row) for row in rows])
        sessions = returns.shape[1]
        if sessions < 2 * blocks:
            raise MetricError(f"{sessions} sessions are too few for {blocks} blocks: give at least {2 * blocks}")
        edges = np.arange(blocks + 1) * sessions // blocks
        sums = np.add.reduceat(returns, edges[:-1], axis=1)
        return sums, np.add.reduceat(returns * returns, edges[:-1], axis=1), np.diff(edges).astype(np.int64)

    def _session_returns(self, row: int) -> Array:
        profit = self.sessions(row)["profit"].to_numpy(dtype=np.float64)
        capital = self._plan.conditions.capital
        before = capital + np.concatenate([[0.0], np.cumsum(profit)[:-1]])
        returns: Array = profit / before
        return returns

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the swept parameters."""
        return tuple(self._lanes)

    def _of_window(self, window: int) -> pd.DataFrame:
        if not 0 <= window < len(self.windows):
            raise IndexError(f"window {window}: the sweep has windows 0 to {len(self.windows) - 1}")
        return self.table.iloc[window * self._combinations : (window + 1) * self._combinations].reset_index(drop=True)

    def _why_undefined(self) -> str:
        """The reasons of a metric that no combination has; ruined accounts are counted by running them once more."""
        ruined = 0
        for low in range(0, self._combinations, LANES_A_COUNT):
            part = {name: values[low : low + LANES_A_COUNT] for name, values in self._lanes.items()}
            count = min(LANES_A_COUNT, self._combinations - low)
            ruined += sum(int((one["solvent"] <= 0.0).sum()) for one in self._plan.totals(["solvent"], part, count))
        if not ruined:
            return "no trade, or constant returns"
        others = "" if ruined == len(self.table) else "; the others: no trade, or constant returns"
        remedy = ", so give more capital or trade fewer contracts"
        return f"{ruined} of {len(self.table)} accounts fell to zero or below{remedy}{others}"

    @property
    def _combinations(self) -> int:
        return len(self.table) // len(self.windows)

    def _window(self, row: int) -> Window:
        if not 0 <= row < len(self.table):
            raise IndexError(f"row {row}: the table has rows 0 to {len(self.table) - 1}")
        return self.windows[row // self._combinations]
