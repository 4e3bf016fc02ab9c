"""The plan of a sweep: what is computed once, for which lanes and windows, by which executor."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernels import block_sums, numpy_executor
from kernels.buy_and_hold import buy_and_hold_returns
from kernels.calibration import work
from kernels.dispatch import Workload
from kernels.executor import Device, Execute, Inputs, Run
from kernels.expressions import TARGET, nodes, parameters
from kernels.hoisting import Hoisted, hoist
from kernels.metrics import Totals, ordered
from kernels.order_statistics import in_pieces, period_returns
from kernels.program import Program
from kernels.program_inputs import INPUT, Input
from kernels.rows import Array, Columns, Family, Lanes, RowWriter, distinct, families_under, lane_values
from kernels.simulation import Conditions, account_graph, target_graph
from kernels.strategy import Strategy
from kernels.trace import Graph, only_output, pruned, without_outputs
from kernels.values import Value

Window: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Carried:
    """Name of the lane that holds a state which an account goes on from; no parameter has such a name."""

    state: str


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything a sweep needs apart from its lanes.

    ``columns`` cover bars [0, end of the last window); ``ends`` says of each bar whether a return period ends with it,
    the windows' own ends apart. ``start`` is the first bar at which every lane's target exists.

    ``resumed_at``: the bar from which accounts go on, their states being lanes named by ``Carried``; None: from a
    window's start. ``open_end``: whether a window's last bar ends a return period only where the calendar says so.
    """

    strategy: Strategy
    columns: Columns
    ends: NDArray[np.bool_]
    conditions: Conditions
    windows: tuple[Window, ...]
    start: int
    periods_per_year: float
    execute: Execute
    device: Device
    resumed_at: int | None = None
    open_end: bool = False

    def totals(self, states: Sequence[str], lanes: Lanes, count: int, blocks: int = 0) -> list[Totals]:
        """Final values of the named states for each window, for ``count`` lanes; ``blocks`` of periods have sums too."""
        graph = account_graph(self.strategy, self.conditions, states)
        program = self._account([*states, *(block_sums.TALLIES if blocks else ())], graph)
        families: dict[int, Family] = {}
        found = []
        for window in self.windows:
            run, sums = self._run(program, lanes, count, window, families, blocks)
            final = {state.name: run.states[place] for place, state in enumerate(program.program.states)}
            constants = {name: np.full(count, value) for name, value in graph.constants.items() if name in states}
            if ordered(states):
                final |= self._order_statistics(graph, lanes, count, window)
            begin, stop = window
            found.append(
                Totals(
                    states={**final, **constants},
                    capital=self.conditions.capital,
                    bars=stop - begin,
                    periods=int(self.period_ends(window)[begin:stop].sum()),
                    periods_per_year=self.periods_per_year,
                    terms=self.conditions.terms,
                    blocks=sums,
                )
            )
        return found

    def _order_statistics(self, graph: Graph, lanes: Lanes, count: int, window: Window) -> dict[str, Array]:
        """Order statistics of the period returns [lanes], from equities that are kept for a piece of the lanes."""
        recorded = hoist(pruned(only_output(graph, "equity"), frozenset()))
        begin = self._first_run(window)
        ends = self.period_ends(window)

        def returns(low: int, high: int) -> Array:
            piece = {name: values[low:high] for name, values in lanes.items()}
            equity = next(iter(self._runs(recorded, piece, high - low, (window,)))).outputs[0]
            flat = np.full((begin - window[0], high - low), self.conditions.capital)
            return period_returns(
                np.concatenate([flat, equity]),
                ends[window[0] : window[1]],
                self.conditions.capital,
                self.conditions.terms.rounding,
            )

        return in_pieces(returns, count, window[1] - window[0])

    def _first_run(self, window: Window) -> int:
        """The first bar that the account's program runs: the window's first where its decision can fill in it."""
        if self.resumed_at is not None:
            return self.resumed_at
        return window[0] if self.conditions.decides_and_fills else window[0] + 1

    def workload(self, states: Sequence[str], lanes: int) -> Workload:
        """What computing the named states for so many lanes amounts to."""
        bars = sum(stop - begin - 1 for begin, stop in self.windows)
        return Workload(work(self._account(states).program), lanes, bars)

    def _account(self, states: Sequence[str], graph: Graph | None = None) -> Hoisted:
        """The program that leaves the named states; ``graph`` is the account's where it was traced already."""
        traced = account_graph(self.strategy, self.conditions, states) if graph is None else graph
        return hoist(pruned(without_outputs(traced), frozenset(states)))

    def program(self, states: Sequence[str]) -> Hoisted:
        """The program that leaves the named states, with what its rows, families and lanes are."""
        return self._account(states)

    def needed(self, states: Sequence[str]) -> list[str]:
        """The states that computing the named ones needs, themselves included."""
        return [state.name for state in self._account(states).program.states]

    def before_last(self, states: Sequence[str], lanes: Lanes, count: int, window: Window) -> dict[str, Array]:
        """The named states, and those that these need, before the window's last bar: whether that ends a period may be
        known later only.
        """
        graph = account_graph(self.strategy, self.conditions, states)
        hoisted = self._account(states, graph)
        plan = replace(self, open_end=True)
        run = plan._runs(hoisted, lanes, count, [(window[0], window[1] - 1)])[0]
        found = {state.name: run.states[place] for place, state in enumerate(hoisted.program.states)}
        return {**found, **{name: np.full(count, value) for name, value in graph.constants.items()}}

    def record(self, lane: Mapping[str, float], window: Window, shown: Mapping[str, Value]) -> tuple[Array, Array]:
        """(target and expressions ``shown`` at the window's first bar [1 + shown], recorded values [values, bars of the
        account]) of one lane; of the recorded the expressions come last.
        """
        lanes = {name: np.array([value]) for name, value in lane.items()}
        account = account_graph(self.strategy, self.conditions)
        graph = pruned(replace(account, outputs={**account.outputs, **shown}), frozenset())
        run = next(iter(self._runs(hoist(graph), lanes, 1, (window,))))
        if self.resumed_at is not None:
            return np.full(1 + len(shown), np.nan), run.outputs[:, :, 0]
        decided = self._decided(lanes, 1, window, {}, shown)
        return np.append(decided.states[0], decided.outputs[:, -1, 0]), run.outputs[:, :, 0]

    def period_ends(self, window: Window) -> NDArray[np.bool_]:
        """Whether a return period ends with each bar; the window's last bar always ends one, unless left open."""
        ends = self.ends.copy()
        ends[window[1] - 1] |= not self.open_end
        return ends

    def shared(self, states: Sequence[str]) -> tuple[tuple[Value, ...], int]:
        """(families, those that others are built from included, and memory of the rows) that all lanes share where the
        named states are computed.
        """
        hoisted = self._account(states)
        return tuple(families_under(*hoisted.families)), len(hoisted.rows) * 8 * len(self.ends)

    def family_bytes(self, families: Sequence[Value], lanes: Lanes) -> int:
        """Memory of the families for these lanes."""
        return sum(len(distinct(parameters(node), lanes)[0]) for node in families) * 8 * len(self.ends)

    def _runs(self, hoisted: Hoisted, lanes: Lanes, count: int, windows: Sequence[Window]) -> list[Run]:
        families: dict[int, Family] = {}
        return [self._run(hoisted, lanes, count, window, families)[0] for window in windows]

    def _run(
        self, hoisted: Hoisted, lanes: Lanes, count: int, window: Window, families: dict[int, Family], blocks: int = 0
    ) -> tuple[Run, tuple[Array, NDArray[np.int64]] | None]:
        begin, stop, program = self._first_run(window), window[1], hoisted.program
        if self.resumed_at is None:
            # nothing was decided before the first bar with a target
            decided = begin > self.start
            before = (begin - 1, stop)
            target = self._decided(lanes, count, before, families).states[0] if decided else np.zeros(count)
            begun = self._begun(window)
            first = [target if s.name == TARGET else np.full(count, begun.get(s.name, s.initial)) for s in program.states]
        else:
            first = [lanes[Carried(state.name)] for state in program.states]
        if not first and not program.outputs:  # what was asked for no bar can change
            return Run(np.empty((0, count)), np.empty((0, 0, count))), None
        states = np.stack(first)
        inputs = self._inputs(hoisted, lanes, count, window, families)
        if not blocks:
            return self.execute(program, inputs, begin, stop, states), None
        edges, counts = block_sums.block_edges(self.period_ends(window), window, blocks)
        run, sums = block_sums.run_in_blocks(self.execute, program, inputs, begin, edges, states)
        return run, (sums, counts)

    def _decided(
        self,
        lanes: Lanes,
        count: int,
        window: Window,
        families: dict[int, Family],
        shown: Mapping[str, Value] = MappingProxyType({}),
    ) -> Run:
        """A run up to the window's first bar: its state is the target decided at that bar's close [lanes], its outputs
        end with the expressions ``shown`` there.
        """
        graph = replace(target_graph(self.strategy), outputs=dict(shown))
        hoisted = hoist(graph)
        remembers = any(node.op == "state" for node in nodes(*graph.following.values()))
        begin = self.start if remembers else window[0]
        inputs = self._inputs(hoisted, lanes, count, window, families)
        if window[0] > begin:
            return self.execute(hoisted.program, inputs, begin, window[0] + 1, np.zeros((1, count)))
        return self._single_bar(hoisted.program, inputs, begin, count)

    def _single_bar(self, program: Program, inputs: Inputs, bar: int, count: int) -> Run:
        """One bar on the numpy executor: not worth a compilation, and the bits are the same."""
        lags = [item.detail[1] for item in program.instructions if item.op == "family"]
        low = bar - max(lags, default=0)
        near = replace(
            inputs,
            rows=inputs.rows[low : bar + 1],
            families=tuple(self.device.download(family[low : bar + 1]) for family in inputs.families),
            event=inputs.event[low : bar + 1],
        )
        return numpy_executor.run(program, near, bar - low, bar - low + 1, np.zeros((1, count)))

    def _inputs(
        self, hoisted: Hoisted, lanes: Lanes, count: int, window: Window, families: dict[int, Family]
    ) -> Inputs:
        writer = RowWriter(self._columns(hoisted, window), self.device)
        for node in hoisted.families:
            if id(node) not in families:
                families[id(node)] = writer.family(node, lanes)
        found = [families[id(node)] for node in hoisted.families]
        rows = [self._row(writer, node, window) for node in hoisted.rows]
        bars = len(self.ends)
        event = np.zeros(bars, dtype=bool)
        for place in hoisted.program.events:
            event |= rows[place].astype(bool)
        return Inputs(
            rows=np.stack(rows, axis=1).astype(np.float64) if rows else np.empty((bars, 0)),
            families=tuple(family.matrix for family in found),
            index=np.array([family.index for family in found], dtype=np.int64).reshape(len(found), count),
            lanes=np.array([lane_values(node, lanes, count) for node in hoisted.lanes], np.float64).reshape(-1, count),
            event=event,
        )

    def _begun(self, window: Window) -> dict[str, float]:
        """What some tallies of a window start from: the worst fall from what is rounding, and the extremes of the returns
        from that of the first bar where it is a period of its own that no program runs.
        """
        worst = -self.conditions.terms.rounding / self.conditions.capital
        passed = self.period_ends(window)[window[0]] and not self.conditions.decides_and_fills
        return {"drawdown": worst, **({"best_return": 0.0, "worst_return": 0.0} if passed else {})}

    def _columns(self, hoisted: Hoisted, window: Window) -> Columns:
        """The columns, and where the program reads it the return of buy and hold over the window's periods."""
        if not any(node.detail is Input.BUY_AND_HOLD for node in nodes(*hoisted.rows)):
            return self.columns
        ends = self.period_ends(window)
        returns = buy_and_hold_returns(self.columns[Input.LEVEL], self.columns[Input.MARK], ends, window[0])
        return {**self.columns, Input.BUY_AND_HOLD: returns}

    def _row(self, writer: RowWriter, node: Value, window: Window) -> NDArray[Any]:
        if node.op == INPUT and node.detail is Input.PERIOD_END:
            return self.period_ends(window)
        return writer.row(node)
