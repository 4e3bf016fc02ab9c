"""Preparation of a sweep: its arguments checked, its bars made into the columns that programs read."""

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.annualisation import session_dates
from kernels.bars import BarsError, numbers
from kernels.buy_and_hold import buy_and_hold_points
from kernels.expressions import nodes
from kernels.plan import Window
from kernels.portfolio import START, BarInputs
from kernels.program_inputs import INPUT, Input
from kernels.rows import Columns
from kernels.simulation import Conditions, settings_of
from kernels.strategy import Strategy

EXECUTORS = ("auto", "cpu", "cuda", "numpy")
PRECISIONS = ("fp64", "fp32", "mixed")


class SweepError(ValueError):
    """A sweep that cannot be run as asked; the message names the argument, its value, the limit and the remedy."""


def check(
    capital: float,
    returns: str,
    executor: str,
    precision: str,
    blocks: int | None,
    top: int | None,
) -> None:
    """Raises ``SweepError`` for settings that do not go together."""
    _check_settings(capital, returns, executor, precision)
    _check_blocks(blocks, top, precision)


def _check_settings(capital: float, returns: str, executor: str, precision: str) -> None:
    """Raises ``SweepError`` for a setting that is not one of the known ones."""
    if executor not in EXECUTORS:
        raise SweepError(f"executor={executor!r} is unknown: use one of {', '.join(map(repr, EXECUTORS))}")
    if precision not in PRECISIONS:
        raise SweepError(f"precision={precision!r} is unknown: use one of {', '.join(map(repr, PRECISIONS))}")
    if precision != "fp64" and executor != "cuda":
        raise SweepError(f"precision={precision!r} runs on the GPU alone: use executor='cuda', or precision='fp64'")
    if returns not in ("session", "bar"):
        raise SweepError(f"returns={returns!r} is unknown: use 'session' or 'bar'")
    if not (np.isfinite(capital) and capital > 0):
        raise SweepError(f"capital={capital!r}: must be finite and > 0, in the instrument's currency")


def _check_blocks(blocks: int | None, top: int | None, precision: str) -> None:
    """Raises ``SweepError`` for sums over blocks that would be of the best combinations alone, or of two precisions."""
    if blocks is None:
        return
    if top is not None:
        raise SweepError(
            f"blocks={blocks} with top={top}: the best alone say nothing of the choice among all; sweep all combinations, "
            "or a random sample of them (kernels.sampling), without top"
        )
    if precision == "mixed":
        raise SweepError(f"blocks={blocks} with precision='mixed': the sums would be of two precisions; use 'fp64'")


def first_target(needed: int, start: int | None) -> int:
    """The first bar with a target: the longest warm-up, or the later bar asked for."""
    if start is None:
        return needed
    if start < needed:
        raise SweepError(f"start={start}: the grid's longest warm-up is {needed} bars; give at least that, or None")
    return start


def scored_windows(windows: Sequence[Window] | None, start: int, bars: int) -> tuple[Window, ...]:
    """The windows to score, cut at ``start``; raises ``SweepError`` outside the bars or for fewer than two bars."""
    scored = []
    for begin, stop in windows if windows is not None else [(0, bars)]:
        if not 0 <= begin < stop <= bars:
            raise SweepError(f"window ({begin}, {stop}): must lie within the bars, 0 <= start < end <= {bars}")
        if stop - max(begin, start) < 2:
            raise SweepError(
                f"window ({begin}, {stop}): targets start at bar {start}, and at least 2 bars must be left to score: "
                "give more bars or indicators with shorter windows"
            )
        scored.append((int(max(begin, start)), int(stop)))
    if not scored:
        raise SweepError("windows=[]: give at least one (start, end), or None for all bars")
    return tuple(scored)


def program_columns(
    strategy: Strategy, bars: pd.DataFrame, inputs: BarInputs, conditions: Conditions, stop: int
) -> Columns:
    """Bars [0, stop) of what the strategy and the portfolio read: columns by their name, inputs by their ``Input``."""
    marks = _marks(inputs)
    columns: dict[str | Input, NDArray[Any]] = {
        **{source: np.full(stop, value) for source, value in settings_of(conditions).items()},
        Input.OPEN: inputs.open,
        Input.CLOSE: inputs.close,
        Input.OLD_PRICE: inputs.old_price,
        Input.MARK: marks,
        Input.ROLLED: inputs.rolled,
        Input.MASKED: ~inputs.executable,
        Input.LEVEL: buy_and_hold_points(inputs, marks),
    }
    if strategy.stop_loss is not None or strategy.take_profit is not None:
        columns[Input.HIGH] = _strategy_column(strategy, bars, "high")
        columns[Input.LOW] = _strategy_column(strategy, bars, "low")
    for node in nodes(strategy.target):
        if node.op == "col" and node.detail not in columns:
            columns[node.detail] = _strategy_column(strategy, bars, node.detail)
        elif node.op == INPUT:
            columns[Input.TIME] = bars["ts_event"].to_numpy(dtype="datetime64[ns]").astype(np.int64)
    return {name: np.ascontiguousarray(column[:stop]) for name, column in columns.items()}


def _marks(inputs: BarInputs) -> NDArray[np.float64]:
    """The last close before each bar of a bar that could execute, 0 before the first: [bars]."""
    closes = pd.Series(np.where(inputs.executable, inputs.close, np.nan)).ffill().shift()
    marks: NDArray[np.float64] = closes.fillna(START.mark).to_numpy(dtype=np.float64)
    return marks


def period_ends(bars: pd.DataFrame, returns: str, stop: int) -> NDArray[np.bool_]:
    """Whether a return period ends with each of bars [0, stop)."""
    if returns == "bar":
        return np.ones(stop, dtype=bool)
    dates = session_dates(bars.iloc[: stop + 1])
    ends = np.append(dates[1:] != dates[:-1], True)
    return ends[:stop]


def _strategy_column(strategy: Strategy, bars: pd.DataFrame, name: str) -> NDArray[np.float64]:
    if name not in bars.columns:
        near = difflib.get_close_matches(name, list(map(str, bars.columns)), n=1)
        meant = f", did you mean {near[0]!r}?" if near else ""
        raise BarsError(
            f"strategy {strategy.name} reads the column {name!r}, which the bars lack{meant}; "
            f"columns: {', '.join(map(str, bars.columns))}"
        )
    return numbers(bars, name)
