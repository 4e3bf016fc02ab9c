"""What every executor takes and returns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Inputs:
    """What a program's sources read.

    ``rows`` float64 [bars, rows], truth as 1 and 0 · ``families`` each float64 [bars, assignments] · ``index`` int64
    [families, lanes]: each lane's column in each family · ``lanes`` float64 [lane values, lanes] · ``event`` bool
    [bars]: whether one of the program's event rows is true.
    """

    rows: NDArray[np.float64]
    families: tuple[NDArray[np.float64], ...]
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


def canonical(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values with every NaN replaced by the one NaN that all executors agree on; in place."""
    values[np.isnan(values)] = np.nan
    return values
