"""What every executor takes and returns."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernels.program import Program


@dataclass(frozen=True)
class Inputs:
    """What a program's sources read.

    ``rows`` float64 [bars, rows], truth as 1 and 0 · ``families`` each float64 [bars, assignments], arrays of numpy or
    of the executor's device · ``index`` int64
    [families, lanes]: each lane's column in each family · ``lanes`` float64 [lane values, lanes] · ``event`` bool
    [bars]: whether one of the program's event rows is true.
    """

    rows: NDArray[np.float64]
    families: tuple[Any, ...]
    index: NDArray[np.int64]
    lanes: NDArray[np.float64]
    event: NDArray[np.bool_]


@dataclass(frozen=True)
class Run:
    """What a run leaves: ``states`` float64 [states, lanes] after the last bar, ``outputs`` float64 [outputs, bars,
    lanes].

    NaN is canonical (numpy's) in both.
    """

    states: NDArray[np.float64]
    outputs: NDArray[np.float64]


Execute: TypeAlias = Callable[[Program, Inputs, int, int, NDArray[np.float64]], Run]
"""Runs a program over bars [start, stop) from given states [states, lanes]."""


@dataclass(frozen=True)
class Device:
    """Where families are kept: ``upload`` and ``download`` move arrays there and back, ``write`` runs a program that
    records one value a bar and leaves the matrix [bars, lanes] there. ``threads``: how many compute windows in this
    process, 0 where the device does.
    """

    upload: Callable[[NDArray[Any]], Any]
    download: Callable[[Any], NDArray[Any]]
    write: Callable[[Program, Inputs, int, int, NDArray[np.float64]], Any]
    threads: int = 0


def host(execute: Execute, threads: int = 1) -> Device:
    """The memory of this process, with the executor that writes families and the threads that compute windows."""

    def write(program: Program, inputs: Inputs, start: int, stop: int, states: NDArray[np.float64]) -> Any:
        return execute(program, inputs, start, stop, states).outputs[0]

    return Device(lambda array: array, lambda array: array, write, threads)


@dataclass
class Timed:
    """An executor that sums the seconds it took, compilation included."""

    execute: Execute
    seconds: float = 0.0

    def run(self, program: Program, inputs: Inputs, start: int, stop: int, states: NDArray[np.float64]) -> Run:
        """Runs the program on the executor."""
        begun = time.perf_counter()
        run = self.execute(program, inputs, start, stop, states)
        self.seconds += time.perf_counter() - begun
        return run

