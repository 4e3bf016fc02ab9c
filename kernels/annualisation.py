"""How many return periods a year holds, counted from the calendar of the data."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

DAYS_PER_YEAR = 365.25
WEEKDAYS_PER_YEAR = DAYS_PER_YEAR * 5.0 / 7.0


def session_dates(bars: pd.DataFrame) -> NDArray[np.datetime64]:
    """Date of each bar's session, [bars] datetime64[D]: the ``session`` column (yyyymmdd), else the UTC date."""
    if "session" not in bars.columns:
        stamps: NDArray[np.datetime64] = bars["ts_event"].to_numpy(dtype="datetime64[ns]")
        return stamps.astype("datetime64[D]")
    label = bars["session"].to_numpy(dtype=np.int64)
    months = (label // 10_000 - 1970) * 12 + (label // 100 % 100 - 1)
    dates: NDArray[np.datetime64] = months.astype("datetime64[M]").astype("datetime64[D]") + (label % 100 - 1).astype(
        "timedelta64[D]"
    )
    return dates


def sessions_per_year(dates: NDArray[np.datetime64]) -> float:
    """Sessions a year: distinct dates / days of their span × days in a year.

    Weekdays are counted where no session falls on a weekend, else all days; so five sessions from Monday to Friday
    give 260.9 as a year of them does, and holidays lower the number by as many days as the data lack.
    """
    distinct = np.unique(dates)
    first, last = distinct[0], distinct[-1] + np.timedelta64(1, "D")
    if np.all(np.is_busday(distinct)):
        return float(len(distinct) / np.busday_count(first, last) * WEEKDAYS_PER_YEAR)
    return float(len(distinct) / (last - first).astype(np.int64) * DAYS_PER_YEAR)


def periods_per_year(bars: pd.DataFrame, returns: str) -> float:
    """Periods a year of ``returns`` "session" or "bar" (mean bars a session × sessions a year) over the whole table."""
    dates = session_dates(bars)
    distinct = np.unique(dates[np.concatenate([[True], dates[1:] != dates[:-1]])])  # of one bar a session: faster
    yearly = sessions_per_year(distinct)
    return yearly if returns == "session" else yearly * len(bars) / len(distinct)
