"""How fast this machine runs programs: measured once, passed into sweeps, which estimate with it and never measure.

The model: a run costs a fixed overhead, then whichever is longer of the time one lane needs for all bars in sequence
and the time the machine needs for all work; on a GPU lanes are also sent and fetched. Work is counted in arithmetic
instructions (``Opcode.slots``, at least 1 each). Compilation is not part of it.
"""

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernels.execution import Costs, Execution, Instrument
from kernels.executor import Execute, Inputs
from kernels.expressions import col, param, where
from kernels.hoisting import hoist
from kernels.opcodes import OPCODES
from kernels.portfolio import terms
from kernels.program import Program
from kernels.simulation import Conditions, account_graph
from kernels.strategy import Strategy
from kernels.trace import pruned, without_outputs

REPEATS = 3


@dataclass(frozen=True)
class Speed:
    """Of one executor: seconds of overhead a run, work a second with all lanes busy, seconds of one lane's work."""

    overhead: float
    work_per_second: float
    lane_seconds: float
    lane_overhead: float

    def seconds(self, work: int, lanes: int, bars: int) -> float:
        """Estimate for a program of that much work a bar over that many lanes and bars."""
        serial, parallel = bars * work * self.lane_seconds, lanes * bars * work / self.work_per_second
        return self.overhead + max(serial, parallel) + lanes * self.lane_overhead


@dataclass(frozen=True)
class Machine:
    """What a calibration holds for: another device, driver or version needs another one."""

    processor: str
    threads: int
    device: str
    driver: str
    versions: str


@dataclass(frozen=True)
class Calibration:
    """Speeds of the executors on a machine; ``cuda`` is None where CUDA cannot run."""

    machine: Machine
    cpu: Speed
    cuda: Speed | None


def work(program: Program) -> int:
    """Arithmetic instructions of a bar-step, expensive ones counted by their cost."""
    return sum(max(OPCODES[item.op].slots, 1) for item in program.instructions if item.op in OPCODES)


def this_machine(threads: int) -> Machine:
    """The machine this process runs on, its GPU included where CUDA can run."""
    from kernels.fallback import cuda_refusal

    processor = f"{platform.machine()} {platform.processor() or platform.system()}"
    if cuda_refusal() is not None:
        return Machine(processor, threads, "none", "none", f"numpy {np.__version__}")
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
    driver = cupy.cuda.runtime.driverGetVersion()
    compiler = ".".join(map(str, cupy.cuda.nvrtc.getVersion()))
    versions = f"numpy {np.__version__}, cupy {cupy.__version__}, nvrtc {compiler}"
    return Machine(processor, threads, properties["name"].decode(), str(driver), versions)


def measure(execute: Execute, lanes: int, bars: int, clock: Callable[[], float] = time.perf_counter) -> Speed:
    """The executor's speed from runs of a small account program: few lanes, many lanes, few bars; seconds in all.

    ``lanes`` must be enough to keep the executor busy.
    """
    program = _program()
    amount = work(program)

    def seconds(count: int, length: int) -> float:
        inputs, states = _inputs(program, count, length)
        execute(program, inputs, 1, length, states)
        found = []
        for _ in range(REPEATS):
            begun = clock()
            execute(program, inputs, 1, length, states)
            found.append(clock() - begun)
        return min(found)

    overhead = seconds(1, 3)
    lane_overhead = max((seconds(lanes, 3) - overhead) / lanes, 0.0)
    lane = max(seconds(1, bars) - overhead, 1e-9) / (bars * amount)
    busy = max(seconds(lanes, bars) - overhead - lanes * lane_overhead, 1e-9)
    return Speed(overhead, lanes * bars * amount / busy, lane, lane_overhead)


def _program() -> Program:
    strategy = Strategy("calibration", where(col("x") > param("level"), 1.0, -1.0))
    instrument = Instrument("calibration", tick_size=0.25, multiplier=50.0, fee_per_contract=2.1)
    conditions = Conditions(
        terms(Costs(), instrument, Execution()), 100_000.0, rolls=False, masks=False, every_bar=True
    )
    states = frozenset({"profit", "costs", "return_sum", "return_squares", "drawdown", "trades"})
    return hoist(pruned(without_outputs(account_graph(strategy, conditions)), states)).program


def _inputs(
    program: Program, lanes: int, bars: int
) -> tuple[Inputs, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    rows = 1 + max(item.detail for item in program.instructions if item.op == "row")
    walk = 100.0 + np.arange(bars * rows, dtype=np.float64).reshape(bars, rows) % 7
    levels = np.linspace(100.0, 106.0, lanes)[np.newaxis, :]
    nothing = np.empty((0, lanes), dtype=np.int64)
    inputs = Inputs(walk, (), nothing, levels, np.zeros(bars, dtype=bool))
    states = np.repeat(np.array([[state.initial] for state in program.states]), lanes, axis=1)
    return inputs, states
