"""The user's table of bars, checked once at the door of a sweep: what it reads must be what it is taken for.

The rules of one bar are those of layer 1 (docs/sanitation.md) and are said in its words. NaN is legal where it means
something: in every price of a masked bar, in ``old_price`` (no roll), and in the columns that a strategy reads, where a
comparison with it is false.
"""

import datetime
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.bars import BarsError, bar_label, masked_bars, numbers
from kernels.strategy import Strategy
from kernels.walks import nodes

MISREAD = np.datetime64("1970-03-01", "ns")
"""Seconds, milliseconds and microseconds since 1970 that are read as nanoseconds all lie before it."""

PRICES = ("open", "high", "low", "close")

Prices = dict[str, NDArray[np.float64]]


def host_table(bars: Any) -> pd.DataFrame:
    """The table in pandas, a cudf table fetched from its device; raises ``BarsError`` for columns of several levels, and where
    two have one name.
    """
    table: pd.DataFrame = bars.to_pandas() if hasattr(bars, "to_pandas") else bars
    if table.columns.nlevels > 1:
        raise BarsError(
            f"the bars have columns of {table.columns.nlevels} levels, such as {tuple(table.columns[0])!r}: keep one "
            "level, for one symbol with bars.droplevel(1, axis=1)"
        )
    for name in table.columns[table.columns.duplicated()][:1]:
        raise BarsError(
            f"the bars have {int((table.columns == name).sum())} columns {name!r}: rename or drop all but one "
            "(bars.loc[:, ~bars.columns.duplicated()] keeps the first)"
        )
    return table


def checked_bars(bars: Any, strategy: Strategy, returns: str) -> pd.DataFrame:
    """The table in pandas, fit for a sweep of the strategy.

    Raises ``BarsError`` for: two columns of one name; times that are missing, misread or out of order; sessions that are no
    trade dates; text where numbers or truth values belong; on a bar that is not masked a price that is missing, infinite or
    beyond the bar's range. Columns that nothing reads are not looked at. A column that is missing is reported by what reads
    it.
    """
    bars = host_table(bars)
    if "symbol" in bars.columns and (symbols := bars["symbol"].nunique()) > 1:
        raise BarsError(f"the bars hold {symbols} symbols: use kernels.symbols.sweep_symbols, or choose one")
    _check_times(bars)
    if returns == "session" and "session" not in bars.columns:
        raise BarsError("returns='session' needs a column 'session' (trade date, yyyymmdd); or use returns='bar'")
    if "session" in bars.columns:
        _check_sessions(bars)
    expressions = [part for part in (strategy.target, strategy.stop_loss, strategy.take_profit) if part is not None]
    named = {node.detail for node in nodes(*expressions) if node.op == "col"}
    orders = {"high", "low"} if len(expressions) > 1 else set()
    for name in sorted(named):
        if name in bars.columns:
            numbers(bars, name)
    _check_prices(bars, {"open", "close", *orders}, named)
    return bars


def _check_prices(bars: pd.DataFrame, filled: set[str], named: set[str]) -> None:
    """Raises ``BarsError`` for a price of ``filled``, which the account reads, that is missing or infinite, and for one
    of those or of ``named`` that lies beyond its bar's range, unless the bar is masked.
    """
    prices = {name: numbers(bars, name) for name in PRICES if name in filled | named and name in bars.columns}
    traded = ~masked_bars(bars)
    for name in (name for name in PRICES if name in filled and name in prices):
        for bar in np.flatnonzero(traded & ~np.isfinite(prices[name]))[:1]:
            raise _wrong(bars, bar, f"{name} {prices[name][bar]} is not a finite number")
    if "old_price" in bars.columns:
        old = numbers(bars, "old_price")
        for bar in np.flatnonzero(np.isinf(old))[:1]:
            raise _wrong(bars, bar, f"old_price {old[bar]} is not a finite number")
    for broken, column, above, limit in _beyond(prices):
        for bar in np.flatnonzero(traded & broken)[:1]:
            sign = ">" if above else "<"
            raise _wrong(bars, bar, f"{column} {prices[column][bar]:.10g} {sign} {limit} {prices[limit][bar]:.10g}")


def _beyond(prices: Prices) -> Iterator[tuple[NDArray[np.bool_], str, bool, str]]:
    """(bars where it holds, column, whether it lies above, the limit's column) of each rule; NaN breaks none."""
    if "high" in prices and "low" in prices:
        yield prices["high"] < prices["low"], "high", False, "low"
    for column in ("open", "close"):
        if column in prices and "high" in prices:
            yield prices[column] > prices["high"], column, True, "high"
        if column in prices and "low" in prices:
            yield prices[column] < prices["low"], column, False, "low"


def _wrong(bars: pd.DataFrame, bar: int, phrase: str) -> BarsError:
    contract = f" {bars['contract'].iloc[bar]}" if "contract" in bars.columns else ""
    return BarsError(
        f"bar {bar_label(bars, bar)}{contract}: {phrase} (layer 1): correct it, drop the bar, or let it not trade (True in "
        "the column 'masked')"
    )


def _check_times(bars: pd.DataFrame) -> None:
    """Raises ``BarsError`` where times are missing, misread or do not increase."""
    if "ts_event" not in bars.columns:
        raise BarsError(f"the bars have no column 'ts_event'; columns: {', '.join(map(str, bars.columns))}")
    stamps = _stamps(bars)
    for bar in np.flatnonzero(stamps[1:] <= stamps[:-1])[:1] + 1:
        raise BarsError(f"bar {bar_label(bars, int(bar))} is not later than the one before it; sort the bars")
    if len(stamps) and np.datetime64(0, "ns") <= stamps[0] and stamps[-1] < MISREAD:
        raise BarsError(
            f"the column 'ts_event' ends at {stamps[-1]}Z, in the first weeks of 1970: seconds, milliseconds or "
            "microseconds were read as nanoseconds; convert what they were made of with pandas.to_datetime(..., unit='ms', "
            "utc=True)"
        )


def _stamps(bars: pd.DataFrame) -> NDArray[np.datetime64]:
    """Times of the bars in UTC; those without a time zone are UTC, whole numbers nanoseconds of it."""
    kind = bars["ts_event"].dtype
    if not (pd.api.types.is_datetime64_any_dtype(kind) or pd.api.types.is_integer_dtype(kind)):
        raise BarsError(f"the column 'ts_event' holds {kind}, no times: convert it with pandas.to_datetime(..., utc=True)")
    for bar in np.flatnonzero(bars["ts_event"].isna().to_numpy())[:1]:
        raise BarsError(f"bar number {bar} has no ts_event: drop it, or give it its time")
    if pd.api.types.is_integer_dtype(kind):
        return np.asarray(bars["ts_event"].to_numpy(dtype=np.int64).view("datetime64[ns]"))
    try:  # numpy's own conversion to nanoseconds would wrap around without a word
        return np.asarray(pd.DatetimeIndex(bars["ts_event"]).as_unit("ns").asi8.view("datetime64[ns]"))
    except pd.errors.OutOfBoundsDatetime as error:
        raise BarsError(f"the column 'ts_event' holds times that nanoseconds since 1970 cannot: {error}") from error


def _check_sessions(bars: pd.DataFrame) -> None:
    """Raises ``BarsError`` unless sessions are dates as yyyymmdd that do not fall back: another form would be counted as
    dates of another calendar, a session that comes again as several periods.
    """
    kind = bars["session"].dtype
    remedy = "bars['session'].dt.strftime('%Y%m%d').astype('int32')"
    if any(isinstance(label, datetime.date) for label in bars["session"].iloc[:1]):
        raise BarsError(f"the column 'session' holds {kind}: trade dates are numbers yyyymmdd; convert them: {remedy}")
    labels = numbers(bars, "session")
    months = labels // 100
    whole = (labels == np.floor(labels)) & (labels > 1e7) & (labels < 1e8) & (months % 100 >= 1) & (months % 100 <= 12)
    since = np.where(whole, (months // 100 - 1970) * 12 + months % 100 - 1, 0).astype("datetime64[M]")
    length = ((since + 1).astype("datetime64[D]") - since.astype("datetime64[D]")).astype(np.int64)
    dates = whole & (labels % 100 >= 1) & (labels % 100 <= length)
    for bar in np.flatnonzero(~dates)[:1]:
        raise BarsError(f"bar {bar_label(bars, int(bar))}: session {labels[bar]:.10g} is no trade date yyyymmdd")
    for bar in np.flatnonzero(labels[1:] < labels[:-1])[:1] + 1:
        raise BarsError(
            f"bar {bar_label(bars, int(bar))}: session {labels[bar]:.0f} comes after {labels[bar - 1]:.0f}: trade dates do not "
            "fall back while time goes on"
        )
