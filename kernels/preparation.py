"""Preparation of a sweep: its arguments checked, its bars made into the columns that programs read."""

import datetime
import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.annualisation import session_dates
from kernels.bars import BarsError, bar_label
from kernels.buy_and_hold import buy_and_hold_points
from kernels.expressions import nodes
from kernels.plan import Window
from kernels.portfolio import START, BarInputs
from kernels.simulation import (
    CLOSE,
    HIGH,
    LEVEL,
    LOW,
    MARK,
    MASKED,
    OLD_PRICE,
    OPEN,
    ROLLED,
    Conditions,
    settings_columns,
)
from kernels.strategy import Strategy
from kernels.windowed import TIME

EXECUTORS = ("auto", "cpu", "cuda", "numpy")
PRECISIONS = ("fp64", "fp32", "mixed")


class SweepError(ValueError):
    """A sweep that cannot be run as asked; the message names the argument, its value, the limit and the remedy."""


def check(
    bars: pd.DataFrame,
    capital: float,
    returns: str,
    executor: str,
    precision: str,
    blocks: int | None,
    top: int | None,
) -> None:
    """Raises ``SweepError`` or ``BarsError`` for settings that do not go together, or bars that do not fit them."""
    _check_settings(capital, returns, executor, precision)
    _check_blocks(blocks, top, precision)
    _check_bars(bars, returns)


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


def _check_bars(bars: pd.DataFrame, returns: str) -> None:
    """Raises ``BarsError`` where times are missing or do not increase, or sessions are asked for and absent."""
    if "ts_event" not in bars.columns:
        raise BarsError(f"the bars have no column 'ts_event'; columns: {', '.join(map(str, bars.columns))}")
    if "symbol" in bars.columns and (symbols := bars["symbol"].nunique()) > 1:
        raise BarsError(f"the bars hold {symbols} symbols: use kernels.symbols.sweep_symbols, or choose one")
    stamps = _stamps(bars)
    for bar in np.flatnonzero(stamps[1:] <= stamps[:-1])[:1] + 1:
        raise BarsError(f"bar {bar_label(bars, int(bar))} is not later than the one before it; sort the bars")
    if returns == "session" and "session" not in bars.columns:
        raise BarsError("returns='session' needs a column 'session' (trade date, yyyymmdd); or use returns='bar'")
    if "session" in bars.columns:
        _check_sessions(bars)


def _stamps(bars: pd.DataFrame) -> NDArray[np.datetime64]:
    """Times of the bars in UTC; those without a time zone are UTC, whole numbers nanoseconds of it."""
    kind = bars["ts_event"].dtype
    if not (pd.api.types.is_datetime64_any_dtype(kind) or pd.api.types.is_integer_dtype(kind)):
        raise BarsError(f"the column 'ts_event' holds {kind}, no times: convert it with pandas.to_datetime(..., utc=True)")
    for bar in np.flatnonzero(bars["ts_event"].isna().to_numpy())[:1]:
        raise BarsError(f"bar number {bar} has no ts_event: drop it, or give it its time")
    stamps: NDArray[np.datetime64] = bars["ts_event"].to_numpy(dtype="datetime64[ns]")
    return stamps


def _check_sessions(bars: pd.DataFrame) -> None:
    """Raises ``BarsError`` unless sessions are dates as yyyymmdd that do not fall back: another form would be counted as
    dates of another calendar, a session that comes again as several periods.
    """
    kind = bars["session"].dtype
    remedy = "bars['session'].dt.strftime('%Y%m%d').astype('int32')"
    if pd.api.types.is_datetime64_any_dtype(kind) or isinstance(bars["session"].iloc[:1].max(), datetime.date):
        raise BarsError(f"the column 'session' holds {kind}: trade dates are numbers yyyymmdd; convert them: {remedy}")
    try:
        labels = bars["session"].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise BarsError(f"the column 'session' holds {kind}: trade dates are numbers yyyymmdd ({error})") from error
    months, days = labels // 100 % 100, labels % 100
    dates = (labels == np.floor(labels)) & (labels > 1e7) & (months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)
    for bar in np.flatnonzero(~dates)[:1]:
        raise BarsError(f"bar {bar_label(bars, int(bar))}: session {labels[bar]:.10g} is no trade date yyyymmdd")
    for bar in np.flatnonzero(labels[1:] < labels[:-1])[:1] + 1:
        raise BarsError(
            f"bar {bar_label(bars, int(bar))}: session {labels[bar]:.0f} comes after {labels[bar - 1]:.0f}: trade dates do not "
            "fall back while time goes on"
        )


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
) -> dict[str, NDArray[Any]]:
    """Bars [0, stop) of the columns that the strategy and the portfolio read, by the names programs use."""
    columns: dict[str, NDArray[Any]] = {
        **{name: np.full(stop, value) for name, value in settings_columns(conditions).items()},
        OPEN: inputs.open,
        CLOSE: inputs.close,
        OLD_PRICE: inputs.old_price,
        MARK: _marks(inputs),
        ROLLED: inputs.rolled,
        MASKED: ~inputs.executable,
        LEVEL: buy_and_hold_points(inputs, _marks(inputs)),
    }
    if strategy.stop_loss is not None or strategy.take_profit is not None:
        columns |= {HIGH: _strategy_column(strategy, bars, "high"), LOW: _strategy_column(strategy, bars, "low")}
    for node in nodes(strategy.target):
        if node.op == "col" and node.detail == TIME:
            columns[TIME] = bars["ts_event"].to_numpy(dtype="datetime64[ns]").astype(np.int64)
        elif node.op == "col" and node.detail not in columns:
            columns[node.detail] = _strategy_column(strategy, bars, node.detail)
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
    try:
        column: NDArray[np.float64] = bars[name].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise BarsError(f"strategy {strategy.name} reads the column {name!r}, no numbers: {error}") from error
    return column
