"""The arguments of a sweep: each of its kind, and within its limits, before anything is computed."""

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from kernels.bars import BarsError
from kernels.calibration import Calibration
from kernels.execution import Costs, Execution, Instrument
from kernels.grid import GridError
from kernels.metrics import ALL_METRICS, MetricError, reads
from kernels.preparation import SweepError
from kernels.strategy import Strategy
from kernels.sweep_state import SweepState

KINDS: Mapping[str, type] = {
    "strategy": Strategy,
    "instrument": Instrument,
    "costs": Costs,
    "execution": Execution,
    "calibration": Calibration,
    "resume": SweepState,
}

LEAST = {"start": 0, "top": 1, "blocks": 1, "confirm": 1, "threads": 1, "row_bytes": 1, "device_bytes": 1}
"""Whole numbers and the least that each may be."""

COLUMNS = ("combination", "precision", "scored_window", "symbol")
"""Columns of tables beside parameters and metrics."""


def check(given: Mapping[str, Any]) -> None:
    """Raises ``SweepError``, ``BarsError``, ``GridError`` or ``MetricError`` for the first argument that is of a wrong kind."""
    for name, kind in KINDS.items():
        if given[name] is not None and not isinstance(given[name], kind):
            raise SweepError(f"{name}={given[name]!r:.60}: must be a {kind.__module__}.{kind.__name__}")
    for name, least in LEAST.items():
        value = given[name]
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        if value is not None and not (whole and value >= least):
            raise SweepError(f"{name}={value!r}: must be a whole number >= {least}, or left out")
    if given["capital"] is not None and not isinstance(given["capital"], numbers.Real):
        raise SweepError(f"capital={given['capital']!r}: must be a number, in the instrument's currency")
    if given["progress"] is not None and not callable(given["progress"]):
        raise SweepError(f"progress={given['progress']!r}: must be a function of a kernels.progress.Progress")
    bars = given["bars"]
    if not hasattr(bars, "columns") or not hasattr(bars, "iloc"):
        raise BarsError(
            f"bars: a {type(bars).__name__}; give a DataFrame, a row a bar; of an Arrow table: .to_pandas()"
        )
    _metrics(given["metrics"])
    _windows(given["windows"])
    check_names(given["strategy"])


def check_names(strategy: Strategy) -> None:
    """Raises ``GridError`` for a parameter or a choice that is called like a column of the result."""
    for name in (*strategy.parameters, *strategy.choices):
        if name in ALL_METRICS or name in COLUMNS:
            label = "choice" if name in strategy.choices else "parameter"
            raise GridError(f"{label} {name!r} has the name of a column of the result: rename it")


def _metrics(names: Any) -> None:
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise MetricError(f"metrics={names!r}: give a list of names, as metrics=['sharpe']")
    if not names:
        raise MetricError("metrics=[]: name at least one, or leave the argument out for the usual ones")
    reads(names)


def _windows(windows: Any) -> None:
    if windows is None:
        return
    try:
        pairs = [(begin, stop) for begin, stop in windows]
    except (TypeError, ValueError) as error:
        raise SweepError(f"windows={windows!r:.60}: give a list of (start, end), half-open ranges of bars") from error
    for pair in pairs:
        if not all(
            isinstance(bar, numbers.Real) and not isinstance(bar, bool) and float(bar).is_integer() for bar in pair
        ):
            raise SweepError(
                f"window {pair!r}: start and end are numbers of bars; those of a time: bars['ts_event'].searchsorted(time)"
            )
