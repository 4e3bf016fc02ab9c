"""The result of a sweep of one program: any combination bar by bar, sums over blocks, the state to go on from."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from kernels.block_sums import BlockSums
from kernels.choice_nodes import choices_in
from kernels.expressions import nodes, parameters
from kernels.hoisting import Hoisted
from kernels.metrics import ALL_METRICS, RUIN, MetricError, reads, undefined
from kernels.opcodes import BOOL
from kernels.plan import Plan, Window
from kernels.program_inputs import DATA
from kernels.result import SweepResult
from kernels.rows import Array, Lanes, warm_up
from kernels.simulation import RECORDED
from kernels.sweep_state import SweepState, past_digest, settings_text, states_to_keep, strategy_text
from kernels.values import Value, constant, where

LANES_A_COUNT = 256
"""Combinations run at once when ruined accounts are counted."""


@dataclass(frozen=True, eq=False)
class ProgramResult(SweepResult):
    """The combinations of a strategy without choices, which one program computed."""

    _plan: Plan = field(repr=False)
    _bars: pd.DataFrame = field(repr=False)
    _lanes: Mapping[str, Array] = field(repr=False)
    _carried: Lanes = field(repr=False)
    _blocks: tuple[BlockSums, ...] = field(default=(), repr=False)

    @property
    def programs(self) -> tuple[Hoisted, ...]:
        """The one program."""
        metrics = [name for name in self.table.columns if name in ALL_METRICS]
        return (self._plan.program(sorted(reads(metrics))),)

    def trace(self, row: int, show: Mapping[str, Value] | None = None) -> pd.DataFrame:
        """One combination bar by bar (``SweepResult.trace``)."""
        shown = self._shown(show or {})
        window = self._window(row)
        lane = {name: float(values[row % self._combinations]) for name, values in self._all_lanes.items()}
        first, recorded = self._plan.record(lane, window, shown)
        flat = np.array([np.nan, 0.0, self._plan.conditions.capital, *5 * [0.0], *len(shown) * [np.nan]])
        if self._plan.resumed_at is not None:
            flat[:] = np.nan  # the first sweep knows
        values = np.concatenate([np.repeat(flat[:, np.newaxis], window[1] - recorded.shape[1], axis=1), recorded], axis=1)
        values[[0, *range(len(RECORDED), len(values))], window[0]] = first
        table = self._bars.iloc[: window[1]].reset_index(drop=True)
        times = {name: table[name] for name in ("ts_event", "session") if name in table.columns}
        return pd.DataFrame({**times, **dict(zip((*RECORDED, *shown), values, strict=True))})

    def _shown(self, show: Mapping[str, Value]) -> dict[str, Value]:
        """The expressions as numbers, checked."""
        show = {name: constant(value) for name, value in show.items()}
        for name, value in show.items():
            if name in (*RECORDED, "ts_event", "session"):
                raise MetricError(f"show={name!r}: a trace has a column of that name; choose another")
            read = [node.detail for node in nodes(value) if node.op in DATA]
            unknown = [source for source in read if source not in self._plan.columns]
            unknown += list(choices_in(value))
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
        profit = closes.to_numpy() - before
        rounding = float(self._plan.conditions.terms.rounding)
        return pd.DataFrame({"session": closes.index.to_numpy(), "profit": np.where(np.abs(profit) > rounding, profit, 0.0)})

    def session_sums(self, window: int = 0) -> BlockSums:
        """Sums over blocks of a window's periods (``SweepResult.session_sums``)."""
        if not self._blocks:
            raise MetricError("the sweep kept no sums over blocks: give it blocks=16")
        self._require_window(window)
        return self._blocks[window]

    def state(self, window: int = 0) -> SweepState:
        """The accounts before the window's last bar (``SweepResult.state``)."""
        self._require_window(window)
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
    def _all_lanes(self) -> Lanes:
        """What the plan runs: the parameters, and where the sweep went on from a state, that [combinations] each."""
        return {**self._lanes, **self._carried}

    def why_undefined(self, metric: str) -> str:
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

    def _window(self, row: int) -> Window:
        self._require_row(row)
        return self.windows[row // self._combinations]
