"""A table of bars as the columns that the portfolio step reads."""

from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.portfolio import BarInputs


class BarsError(ValueError):
    """A table of bars lacks what a sweep or an environment needs: names the bar or column and the remedy."""


def bar_inputs(bars: pd.DataFrame) -> BarInputs:
    """The table's columns as arrays of shape [bars], with rolls moved to bars that can execute.

    Reads ``open``, ``close`` and, where present, ``old_price``, ``contract`` and ``masked``. A bar executes unless it
    is masked or its open or close is not finite. A roll on a bar that does not execute is carried to the next one
    that does, at the ``old_price`` of the first roll since: that is the contract which was held. Raises ``BarsError``
    where the contract changes without an ``old_price``, or an ``old_price`` stands without a change. Nothing is read
    ahead.
    """
    opened, close = _column(bars, "open"), _column(bars, "close")
    executable = np.isfinite(opened) & np.isfinite(close)
    executable &= ~masked_bars(bars)
    old_price = _column(bars, "old_price") if "old_price" in bars.columns else np.full(len(bars), np.nan)
    _check_rolls(bars, old_price)
    old_price = _carried(old_price, executable)
    return BarInputs(opened, close, old_price, ~np.isnan(old_price), executable)


def _column(bars: pd.DataFrame, name: str) -> NDArray[np.float64]:
    if name not in bars.columns:
        raise BarsError(f"the bars have no column {name!r}; columns: {', '.join(map(str, bars.columns))}")
    return numbers(bars, name)


def numbers(bars: pd.DataFrame, name: str) -> NDArray[np.float64]:
    """The column as numbers [bars], truth as 1 and 0, what is missing as NaN; raises ``BarsError`` for text and times."""
    column = _numeric(bars, name, "a number", f"pandas.to_numeric(bars[{name!r}])")
    return np.ascontiguousarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def masked_bars(bars: pd.DataFrame) -> NDArray[np.bool_]:
    """The column ``masked`` [bars], False throughout without it; raises ``BarsError`` for what is not True or False."""
    if "masked" not in bars.columns:
        return np.zeros(len(bars), dtype=bool)
    for bar in np.flatnonzero(bars["masked"].isna().to_numpy())[:1]:
        raise BarsError(f"bar {bar_label(bars, int(bar))}: masked is missing; it is True or False")
    column = _numeric(bars, "masked", "True or False", "bars['masked'] == 'True'")
    values: NDArray[np.float64] = column.to_numpy(dtype=np.float64)
    for bar in np.flatnonzero((values != 0.0) & (values != 1.0))[:1]:
        raise BarsError(f"bar {bar_label(bars, int(bar))}: masked {values[bar]:g} is not True or False")
    return np.asarray(values == 1.0)


_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal", "boolean", "empty")
"""What pandas calls a column of objects that holds numbers."""


def _numeric(bars: pd.DataFrame, name: str, wanted: str, remedy: str) -> "pd.Series[Any]":
    """The column, categories as their values; raises ``BarsError`` naming its first value that is no number."""
    column = bars[name]
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = pd.Series(np.asarray(column))
    if column.dtype.kind in "iufb" or pd.api.types.infer_dtype(column, skipna=True) in _NUMBERS:
        return column
    wrong = np.array([not isinstance(value, Real | Decimal | np.bool_) for value in column], dtype=bool)
    for bar in np.flatnonzero(wrong & column.notna().to_numpy())[:1]:
        value = column.iloc[bar]
        raise BarsError(
            f"bar {bar_label(bars, int(bar))}: {name} {value!r} is a {type(value).__name__}, not {wanted} (the column holds "
            f"{bars[name].dtype}): convert it, {remedy}"
        )
    return column


def _carried(old_price: NDArray[np.float64], executable: NDArray[np.bool_]) -> NDArray[np.float64]:
    carried = np.where(executable, old_price, np.nan)
    waiting = np.flatnonzero(~np.isnan(old_price) & ~executable)
    runs = np.flatnonzero(executable)
    for bar in waiting[::-1]:  # backwards, so that the first of several waiting rolls has the last word
        place = np.searchsorted(runs, bar)
        if place < len(runs):
            carried[runs[place]] = old_price[bar]
    return carried


def _check_rolls(bars: pd.DataFrame, old_price: NDArray[np.float64]) -> None:
    if "contract" not in bars.columns or len(bars) == 0:
        return
    codes = pd.factorize(bars["contract"])[0]
    changed = np.concatenate([[False], codes[1:] != codes[:-1]])
    for bar in np.flatnonzero(changed != ~np.isnan(old_price))[:1]:
        contract = bars["contract"].iloc[bar]
        if changed[bar]:
            problem = f"contract changes from {bars['contract'].iloc[bar - 1]} to {contract} without an old_price"
        else:
            problem = f"old_price {old_price[bar]:g} stands on a bar of {contract} where the contract does not change"
        raise BarsError(f"bar {bar_label(bars, int(bar))}: {problem}; build the table with loaders.continuous")


def bar_label(bars: pd.DataFrame, bar: int) -> str:
    """``2024-03-15T09:31Z`` where the table has times, else the row number: for messages."""
    if "ts_event" not in bars.columns:
        return f"number {bar}"
    moment: Any = pd.Timestamp(bars["ts_event"].iloc[bar])
    utc = moment if moment.tzinfo is None else moment.tz_convert("UTC")
    return str(utc.strftime("%Y-%m-%dT%H:%MZ"))
