"""The ``cuda`` executor: a program's kernel over all lanes, a thread each, on the current GPU.

Rows and lanes are sent once a run, families stay on the device where they were written. Lanes that do not fit into the
memory limit run one part after another; the parts do not change any value. In fp64 the results are equal on bits to
the other executors'; fp32 rounds every operation to single precision and is for scanning alone.
"""

import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.canonical_nan import canonical
from kernels.cuda_modules import Kernel, Modules
from kernels.cuda_text import Shape, cuda_text, family_count, records
from kernels.executor import Device, Inputs, Run
from kernels.program import Program

SHARE_OF_FREE_MEMORY = 0.8
"""Part of the free device memory that lanes may take where no limit is given."""

REGISTERS = 65_536
"""Registers of a multiprocessor, on every architecture since compute capability 3.5; handed out by eights a thread."""


PLACES = 2**32
"""Values of a family that a kernel's 32-bit places can reach."""

SPILL, FEW = 24, 4
"""Where just so many blocks fit, one block more is worth that many spilled bytes a thread: with all streamed metrics
111 became 124 G bar-steps/s on an H200 (docs/benchmarks/sweep_cuda.md).
"""


class DeviceMemoryError(MemoryError):
    """Not even a block of lanes fits into the device memory that may be used; the message names both sizes."""


@dataclass
class CudaExecutor:
    """Runs programs on the current device; machine code is kept in ``cache``.

    ``memory``: bytes that a run's lanes may take on the device (default: most of what is free). ``kernel_seconds``
    sums the time that kernels ran, ``launches`` their number.
    """

    cache: Path
    precision: str = "fp64"
    memory: int | None = None
    shape: Shape | None = None
    kernel_seconds: float = 0.0
    launches: int = 0
    peak_bytes: int = 0
    compile_seconds: float = 0.0
    _modules: Modules | None = None
    _chosen: dict[Program, Kernel] = field(default_factory=dict)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels that ran, in the order of first use."""
        return tuple(self._chosen.values())

    @property
    def device(self) -> Device:
        """The memory that this executor's families are kept in."""
        return Device(self._upload, _download, self._write)

    def run(self, program: Program, inputs: Inputs, start: int, stop: int, states: NDArray[np.float64]) -> Run:
        """Runs bars [start, stop) from ``states`` [states, lanes], which is not changed."""
        count = states.shape[1]
        shared = self._shared(program, inputs)
        final = np.empty(states.shape)
        outputs = np.empty((len(program.outputs), stop - start, count))
        step = self._lanes_at_once(program, stop - start, count)
        for low in range(0, count, step):
            part = slice(low, min(low + step, count))
            left, recorded = self._launch(program, inputs, shared, start, stop, states, part)
            final[:, part] = left.get()
            if program.outputs:
                outputs[:, :, part] = recorded.get()
        if self.precision == "fp64":
            return Run(final, outputs)
        return Run(canonical(final), canonical(outputs))  # widening a NaN may keep its float32 payload

    def _write(self, program: Program, inputs: Inputs, start: int, stop: int, states: NDArray[np.float64]) -> Any:
        """The one recorded value [bars, lanes], left on the device."""
        shared = self._shared(program, inputs)
        every = slice(0, states.shape[1])
        return self._launch(program, inputs, shared, start, stop, states, every)[1][0]

    @property
    def _real(self) -> type[np.floating[Any]]:
        return np.float64 if self.precision == "fp64" else np.float32

    def _upload(self, array: NDArray[Any]) -> Any:
        import cupy

        return cupy.asarray(array)

    def _shared(self, program: Program, inputs: Inputs) -> list[Any]:
        """Rows, events, settings and families on the device: what all lanes read."""
        import cupy

        record = records(program)
        rows = np.zeros((len(inputs.rows), record.width), self._real)
        rows[:, : len(record.varying)] = inputs.rows[:, list(record.varying)]
        settings = [self._real(inputs.rows[0, row]) for row in record.settings]
        read = inputs.families[: family_count(program)]
        for family in read:
            if math.prod(family.shape) >= PLACES:
                raise DeviceMemoryError(
                    f"a family of rows holds {family.shape[0]:,} bars x {family.shape[1]:,} assignments, {PLACES:,} values "
                    "is the limit: give a smaller row_bytes, so that lanes run in chunks, or fewer bars"
                )
        families = [cupy.asarray(family, dtype=self._real, order="C") for family in read]
        return [cupy.asarray(rows), cupy.asarray(inputs.event.view(np.uint8)), settings, families]

    def _launch(
        self,
        program: Program,
        inputs: Inputs,
        shared: list[Any],
        start: int,
        stop: int,
        states: NDArray[np.float64],
        part: slice,
    ) -> tuple[Any, Any]:
        """Final states and outputs of some lanes, on the device."""
        import cupy

        rows, event, settings, families = shared
        count = part.stop - part.start
        index = cupy.asarray(np.ascontiguousarray(inputs.index[:, part], dtype=np.int32))
        order = _order(index, count)
        lanes = cupy.asarray(np.ascontiguousarray(inputs.lanes[:, part], dtype=self._real))
        final = self._states(states[:, part], order)
        if order is not None:
            index, lanes = index[:, order], lanes[:, order] if len(lanes) else lanes
        outputs = cupy.empty((len(program.outputs), stop - start, count), self._real)
        pairs = [value for family in families for value in (family, np.int32(family.shape[1]))]
        numbers = [np.int32(start), np.int32(stop), np.int32(count)]
        kernel = self._kernel(program)
        threads = (self.shape or Shape()).threads
        begun, ended = cupy.cuda.Event(), cupy.cuda.Event()
        begun.record()
        arguments = (rows, event, index, lanes, final, outputs, *numbers, *settings, *pairs)
        kernel.function((-(-count // threads),), (threads,), arguments)
        ended.record()
        ended.synchronize()
        self.kernel_seconds += cupy.cuda.get_elapsed_time(begun, ended) / 1e3
        self.launches += 1
        self.peak_bytes = max(self.peak_bytes, cupy.get_default_memory_pool().used_bytes())
        return _in_order(final, order), _in_order(outputs, order)

    def _states(self, states: NDArray[np.float64], order: Any) -> Any:
        """The states on the device, by thread; one that starts alike in all lanes is filled there, not sent."""
        import cupy

        final = cupy.empty(states.shape, self._real)
        for place, values in enumerate(states):
            if len(values) and np.all(values == values[0]):
                final[place] = values[0]
            else:
                sent = cupy.asarray(values, dtype=self._real)
                final[place] = sent if order is None else sent[order]
        return final

    def _kernel(self, program: Program) -> Kernel:
        if program not in self._chosen:
            begun = time.perf_counter()
            self._chosen[program] = self._best(program)
            self.compile_seconds += time.perf_counter() - begun
        return self._chosen[program]

    def _best(self, program: Program) -> Kernel:
        """The kernel with the most blocks on a multiprocessor that keeps all values in registers, but for few bytes where
        few blocks fit; of those the most unrolled.
        """
        if self._modules is None:
            self._modules = Modules(self.cache)
        if self.shape is not None or program.outputs:  # a program that records every bar runs few lanes
            return self._compiled(program, self.shape or Shape())
        plain = self._compiled(program, Shape())
        blocks = REGISTERS // (-(-plain.registers // 8) * 8 * Shape().threads)
        for wanted in (blocks + 1, blocks) if self.precision == "fp64" else (blocks,):
            shapes = (Shape(blocks=wanted, unroll=unroll) for unroll in (4, 2, 1))
            spilled = SPILL if wanted > blocks == FEW else 0
            if self._compiled(program, Shape(blocks=wanted)).local_bytes <= spilled:
                return next(k for k in (self._compiled(program, shape) for shape in shapes) if k.local_bytes <= spilled)
        return plain

    def _compiled(self, program: Program, shape: Shape) -> Kernel:
        assert self._modules is not None
        return self._modules.kernel(cuda_text(program, self.precision, shape))

    def _lanes_at_once(self, program: Program, bars: int, count: int) -> int:
        import cupy

        size = np.dtype(self._real).itemsize
        lane_values = sum(item.op == "lane" for item in program.instructions)
        # twice: in the order of the threads and in that of the lanes
        needed = 2 * size * (len(program.states) + lane_values + len(program.outputs) * bars)
        needed += 2 * 4 * (family_count(program) + 2)
        pool = cupy.get_default_memory_pool()
        free = cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes()
        limit = int(free * SHARE_OF_FREE_MEMORY) if self.memory is None else self.memory
        if needed > limit:
            raise DeviceMemoryError(
                f"a lane takes {needed:,} bytes on the device, {limit:,} may be used: give more memory or fewer bars"
            )
        return min(count, limit // needed) if count else 1


def _order(index: Any, count: int) -> Any:
    """Which lane each thread runs, so that neighbours read the same or neighbouring addresses; None: in their order."""
    import cupy

    if len(index) == 0 or count <= 1:
        return None
    return cupy.lexsort(index)


def _in_order(values: Any, order: Any) -> Any:
    """What the threads left, by lane: the last axis put back."""
    import cupy

    if order is None or values.size == 0:
        return values
    ordered = cupy.empty_like(values)
    ordered[..., order] = values
    return ordered


def _download(array: Any) -> NDArray[Any]:
    import cupy

    downloaded: NDArray[Any] = cupy.asnumpy(array)
    return downloaded
