"""The trade dates of a data set as JSON values: bars, prices, hours and rejected records of each."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.report.curves import nanoseconds
from pipelines.report.errors import ReportError
from pipelines.report.sections import minute

SHORT = 0.9  # of the usual number of bars; a trade date with fewer is listed
HOURS = 24


def day_columns(bars: pd.DataFrame, valid: NDArray[np.bool_], quarantine: pd.DataFrame) -> dict[str, list[Any]]:
    """Columns, an entry a trade date with bars or rejected records, in order of time.

    `bars`: the continuous series, sorted by ts_event; `valid` [bars]: rows at which every feature exists; `quarantine`:
    the rejected records with `session`. Prices (null without bars): adjusted high, low and close of the bars that are not
    masked, and the last close as traded. Raises ReportError when a sum over dates is not the total.
    """
    session, times = bars["session"].to_numpy(), nanoseconds(bars["ts_event"])
    starts = np.flatnonzero(np.append(True, session[1:] != session[:-1])) if len(session) else np.empty(0, np.int64)
    dates = np.union1d(session, quarantine["session"].to_numpy()).astype(np.int64)
    at = np.searchsorted(dates, session[starts])
    ends = np.append(starts[1:], len(session)) - 1

    def spread(values: Any) -> list[Any]:
        column: list[Any] = [None] * len(dates)
        for place, value in zip(at.tolist(), values, strict=True):
            column[place] = value
        return column

    columns = {
        "session": dates.tolist(),
        "bars": _counts(dates, session),
        "valid": _counts(dates, session[valid]),
        "masked": _counts(dates, session[bars["masked"].to_numpy(dtype=bool)]),
        "rejected": _counts(dates, quarantine["session"].to_numpy()),
        "volume": _sums(dates, session, bars["volume"].to_numpy()),
        "contract": spread(bars["contract"].to_numpy()[ends].tolist()),
        **{name: spread(values) for name, values in _levels(bars, starts).items()},
        "traded_close": spread(bars["close"].to_numpy()[ends].tolist()),
        "first": spread([minute(time) for time in times[starts].tolist()]),
        "last": spread([minute(time) for time in times[ends].tolist()]),
    }
    _check(columns, {"bars": len(bars), "valid": int(valid.sum()), "rejected": len(quarantine)})
    return columns


def _levels(bars: pd.DataFrame, starts: NDArray[np.int64]) -> dict[str, list[float | None]]:
    """Adjusted high, low and last close of each trade date without its masked bars; None where all are masked."""
    masked = bars["masked"].to_numpy(dtype=bool)
    high, low, close = (
        np.where(masked, np.nan, bars[name].to_numpy()) for name in ("adj_high", "adj_low", "adj_close")
    )
    row = np.where(masked, -1, np.arange(len(bars)))
    last = np.maximum.reduceat(row, starts) if len(starts) else row
    ends = {
        "high": np.fmax.reduceat(high, starts) if len(starts) else high,
        "low": np.fmin.reduceat(low, starts) if len(starts) else low,
        "close": np.where(last < 0, np.nan, close[last]) if len(starts) else close,
    }
    return {name: [None if np.isnan(value) else float(value) for value in values] for name, values in ends.items()}


def _counts(dates: NDArray[np.int64], sessions: NDArray[Any]) -> list[int]:
    counts: list[int] = np.bincount(np.searchsorted(dates, sessions), minlength=len(dates)).tolist()
    return counts


def _sums(dates: NDArray[np.int64], sessions: NDArray[Any], values: NDArray[np.int64]) -> list[int]:
    total = np.zeros(len(dates), dtype=np.int64)
    np.add.at(total, np.searchsorted(dates, sessions), values)
    return total.tolist()


def _check(columns: dict[str, list[Any]], totals: dict[str, int]) -> None:
    for name, total in totals.items():
        if sum(columns[name]) != total:
            raise ReportError(f"data report: {name} by trade date sum to {sum(columns[name])}, not to {total}")


def coverage(columns: dict[str, list[Any]], calendar: pd.DataFrame | None = None) -> dict[str, Any]:
    """What is usual and what is not: median bars a trade date, short dates, weekdays without any bar.

    `calendar` (session, open, missing) explains them: `open` holds the exchange's open minutes of the dates listed (0: a
    holiday), `missing` the minutes lost of every date that lost some. Both are null where no calendar is known: then a
    weekday without bars is a holiday or missing data.
    """
    filled = [bars for bars in columns["bars"] if bars]
    usual = float(np.median(filled)) if filled else 0.0
    days = list(zip(columns["session"], columns["bars"], strict=True))
    dates = {session for session, bars in days if bars}
    short = [session for session, bars in days if 0 < bars < SHORT * usual]
    without = [day for day in _weekdays(columns["session"]) if day not in dates]
    opened = missing = None
    if calendar is not None:
        minutes = {int(row.session): (int(row.open), int(row.missing)) for row in calendar.itertuples(index=False)}
        opened = {str(day): minutes.get(day, (0, 0))[0] for day in sorted([*short, *without])}
        missing = {str(day): lost for day, (_, lost) in minutes.items() if lost}
    return {
        "usual": usual,
        "short_below": SHORT,
        "short": short,
        "without_bars": without,
        "open": opened,
        "missing": missing,
    }


def calendar_date(session: int) -> date:
    """Trade date yyyymmdd as a date."""
    return date(session // 10_000, session // 100 % 100, session % 100)


def _weekdays(sessions: Sequence[int]) -> list[int]:
    """Every Monday to Friday from the first trade date to the last, yyyymmdd."""
    if not sessions:
        return []
    first, last = calendar_date(sessions[0]), calendar_date(sessions[-1])
    days = (first + timedelta(days=step) for step in range((last - first).days + 1))
    return [day.year * 10_000 + day.month * 100 + day.day for day in days if day.weekday() < 5]


def hour_counts(columns: dict[str, list[Any]], bars: pd.DataFrame, minutes: NDArray[np.int32]) -> list[list[int]]:
    """Bars in each hour of each trade date [dates][24]; `minutes` [bars] count from the session's begin."""
    place = np.searchsorted(np.array(columns["session"]), bars["session"].to_numpy())
    flat = np.bincount(place * HOURS + np.asarray(minutes) // 60, minlength=len(columns["session"]) * HOURS)
    counts: list[list[int]] = flat.reshape(-1, HOURS).tolist()
    return counts


def rejected_by_rule(quarantine: pd.DataFrame) -> list[dict[str, Any]]:
    """Rejected records by trade date and rule, in order of time; raises ReportError for a rule without a name."""
    if len(quarantine) and (quarantine["rule"].astype("str") == "").any():
        raise ReportError("data report: a quarantined record has no rule; every rejected record needs its reason")
    counts = quarantine.groupby(["session", "rule"], sort=True).size()
    return [
        {"session": int(session), "rule": str(rule), "rows": int(rows)} for (session, rule), rows in counts.items()
    ]


def roll_steps(bars: pd.DataFrame, rolls: pd.DataFrame) -> list[dict[str, Any]]:
    """Each roll with the step it adds to the adjusted level, the old contract's price and the new one's open there."""
    session, shift = bars["session"].to_numpy(), (bars["adj_close"] - bars["close"]).to_numpy()
    found = []
    for roll in rolls.itertuples(index=False):
        row = int(np.searchsorted(session, roll.session))
        known = 0 < row < len(session)
        found.append(
            {
                "session": int(roll.session),
                "left": str(roll.left),
                "entered": str(roll.entered),
                "volume_left": int(roll.volume_left),
                "volume_entered": int(roll.volume_entered),
                "old_price": float(bars["old_price"].iloc[row]) if known else None,
                "new_open": float(bars["open"].iloc[row]) if known else None,
                "step": round(float(shift[row] - shift[row - 1]), 9) if known else None,
            }
        )
    return found
