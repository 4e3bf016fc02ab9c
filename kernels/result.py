"""The result of a sweep: its table, its rankings, and any combination bar by bar."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.best import best_row, ranked
from kernels.block_sums import BlockSums
from kernels.expressions import nodes, parameters
from kernels.hoisting import Hoisted
from kernels.metrics import ALL_METRICS, RUIN, MetricError, reads, undefined
from kernels.opcodes import BOOL
from kernels.plan import Plan, Window
from kernels.rows import Array, warm_up
from kernels.simulation import RECORDED
from kernels.surface import heat_map, neighbours, stability
from kernels.sweep_state import SweepState, past_digest, settings_text, states_to_keep, strategy_text
from kernels.values import Value, constant, where

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
    _plan: Plan = field(repr=False)
    _bars: pd.DataFrame = field(repr=False)
    _lanes: Mapping[str, Array] = field(repr=False)
    _carried: Mapping[str, Array] = field(repr=False)
    _blocks: tuple[BlockSums, ...] = field(default=(), repr=False)

    @property
    def program(self) -> Hoisted:
        """The program that computed the table; ``print`` shows what it reads, its instructions and its states."""
        metrics = [name for name in self.table.columns if name in ALL_METRICS]
        return self._plan.program(sorted(reads(metrics)))

    def ranking(self, metric: str) -> NDArray[np.int64]:
        """Rows of the table from best to worst; ties in the order of the combinations; NaN is left out."""
        return ranked(self.table, metric)

    def best(self, metric: str) -> pd.Series:
        """The table's best row, its place as ``name``; raises ``MetricError`` where the metric is NaN throughout."""
        return best_row(self.table, metric, self._why_undefined)

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
        best = ranked(table, metric)[:count]
        found = stability(table, self.parameters, metric, best)
        return found.assign(row=found["row"] + window * self._combinations)

    def trace(self, row: int, show: Mapping[str, Value] | None = None) -> pd.DataFrame:
        """One combination bar by bar, a row for each of the bars up to its window's end.

        Equal on bits to what its metrics were computed from. Before the window the account is flat and ``target`` NaN;
        where the sweep went on from a state, the bars before it are NaN.
        Columns: ``ts_event`` (and ``session`` where the bars have it), ``target`` decided at the bar's close,
        ``position`` in contracts at the close, ``equity``, ``profit`` (gross) and ``costs`` (both since the start),
        in money; of the bar itself ``fills`` (a roll is one for each leg), ``contracts`` that changed hands and their
        ``notional`` in money. ``show``: column → expression over what the strategy reads, its intermediate values among
        them, as the program computes it; NaN before the account's first bar, truth as 1 and 0. Raises ``MetricError``
        for an expression that reads anything else, or needs more bars than the sweep's ``start``.
        """
        shown = self._shown(show or {})
        window = self._window(row)
        lane = {name: float(values[row % self._combinations]) for name, values in self._all_lanes.items()}
        first_target, recorded = self._plan.record(lane, window, shown)
        flat = np.array([np.nan, 0.0, self._plan.conditions.capital, *5 * [0.0], *len(shown) * [np.nan]])
        if self._plan.resumed_at is not None:
            flat[:] = np.nan  # the first sweep knows
        values = np.concatenate([np.repeat(flat[:, np.newaxis], window[1] - recorded.shape[1], axis=1), recorded], axis=1)
        values[0, window[0]] = first_target[0]
        table = self._bars.iloc[: window[1]].reset_index(drop=True)
        times = {name: table[name] for name in ("ts_event", "session") if name in table.columns}
        return pd.DataFrame({**times, **dict(zip((*RECORDED, *shown), values, strict=True))})

    def _shown(self, show: Mapping[str, Value]) -> dict[str, Value]:
        """The expressions as numbers, checked."""
        show = {name: constant(value) for name, value in show.items()}
        for name, value in show.items():
            if name in (*RECORDED, "ts_event", "session"):
                raise MetricError(f"show={name!r}: a trace has a column of that name; choose another")
            read = [node.detail for node in nodes(value) if node.op == "col"]
            unknown = [column for column in read if column not in self._plan.columns]
            unknown += [parameter for parameter in parameters(value) if parameter not in self._lanes]
            if unknown:
                raise MetricError(f"show={name!r} reads {unknown[0]!r}, which the strategy does not: show what it reads")
            if (needed := warm_up(value, self._lanes)) > self.start:
                raise MetricError(f"show={name!r} needs {needed} bars, the sweep starts at {self.start}: give it start=")
        return {name: where(value, 1.0, 0.0) if value.type == BOOL else value for name, value in show.items()}

    def sessions(self, row: int) -> pd.DataFrame:
        """Net profit of one combination by session of its window, in money: columns ``session``, ``profit``."""
        trace = self.trace(row).iloc[self._window(row)[0] :]
        if self._plan.resumed_at is not None:
            raise MetricError(
                f"the sweep went on at bar {self._plan.resumed_at}: the one before it knows earlier sessions"
            )
        if "session" not in trace.columns:
            raise MetricError("the bars have no column 'session': add it, or use trace(row) and group by time")
        closes = trace.groupby("session", sort=False)["equity"].last()
        before = np.concatenate([[self._plan.conditions.capital], closes.to_numpy()[:-1]])
        return pd.DataFrame({"session": closes.index.to_numpy(), "profit": closes.to_numpy() - before})

    def session_sums(self, window: int = 0) -> BlockSums:
        """Sums and sums of squares of returns over blocks of a window's periods, a row a combination; ``blocks=`` of
        ``sweep`` asks for them, else raises ``MetricError``.

        A return is a period's profit over the equity before it. A ruined account adds its last return, and 0 after it.
        """
        if not self._blocks:
            raise MetricError("the sweep kept no sums over blocks: give it blocks=16")
        self._of_window(window)
        return self._blocks[window]

    def state(self, window: int = 0) -> SweepState:
        """The accounts before the window's last bar, for ``sweep(..., resume=state)`` over these bars and later ones.

        Every combination is run once more, so that nothing is kept unasked. Raises ``SweepError`` where the table holds
        order statistics, or the precision is not fp64.
        """
        if not 0 <= window < len(self.windows):
            raise IndexError(f"window {window}: the sweep has windows 0 to {len(self.windows) - 1}")
        metrics = [name for name in self.table.columns if name in ALL_METRICS and name not in self._lanes]
        begin, stop = self.windows[window]
        needed = states_to_keep(metrics, self.profile["precision"])
        found = self._plan.before_last(needed, self._all_lanes, self._combinations, (begin, stop))
        return SweepState(
            strategy=strategy_text(self._plan.strategy),
            settings=settings_text(self._plan.conditions, self.profile["returns"]),
            bar=stop - 1,
            ts_event=self._bars["ts_event"].iloc[stop - 1],
            window_start=begin,
            start=self.start,
            past=past_digest(self._plan.columns, stop - 1),
            combinations=self.table[list(self._lanes)].iloc[: self._combinations].copy(),
            values=pd.DataFrame({name: found[name] for name in sorted(found)}),
        )

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the swept parameters."""
        return tuple(self._lanes)

    @property
    def _all_lanes(self) -> dict[str, Array]:
        """What the plan runs: the parameters, and where the sweep went on from a state, that [combinations] each."""
        return {**self._lanes, **self._carried}

    def _of_window(self, window: int) -> pd.DataFrame:
        if not 0 <= window < len(self.windows):
            raise IndexError(f"window {window}: the sweep has windows 0 to {len(self.windows) - 1}")
        return self.table.iloc[window * self._combinations : (window + 1) * self._combinations].reset_index(drop=True)

    def _why_undefined(self, metric: str) -> str:
        """When the metric is undefined; where ruin is among the reasons, ruined accounts are counted by running them."""
        reasons = undefined(metric)
        if RUIN not in reasons:
            return reasons
        ruined = 0
        for low in range(0, self._combinations, LANES_A_COUNT):
            part = {name: values[low : low + LANES_A_COUNT] for name, values in self._all_lanes.items()}
            count = min(LANES_A_COUNT, self._combinations - low)
            ruined += sum(int((one["solvent"] <= 0.0).sum()) for one in self._plan.totals(["solvent"], part, count))
        if not ruined:
            return reasons
        remedy = "give more capital or trade fewer contracts"
        return f"{reasons}; {ruined} of {len(self.table)} accounts fell to zero or below: {remedy}"

    @property
    def _combinations(self) -> int:
        return len(self.table) // len(self.windows)

    def _window(self, row: int) -> Window:
        if not 0 <= row < len(self.table):
            raise IndexError(f"row {row}: the table has rows 0 to {len(self.table) - 1}")
        return self.windows[row // self._combinations]
