"""Files of exogenous columns: Parquet or CSV read as numbers with their times in UTC nanoseconds, every doubt refused."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.errors import DataError
from loaders.exogenous_rules import ExogenousRule

PARQUET = b"PAR1"
_OFFSET = r"[T ].*(?:Z|[+-]\d{2}:?\d{2})$"


@dataclass(frozen=True, eq=False)
class Observations:
    """Rows of a file in order of availability, then time: int64 ns [rows], values float64 [rows, columns], and counts:
    rows, how many stood out of order, how many duplicates were dropped, missing values by column.
    """

    time: NDArray[np.int64]
    available: NDArray[np.int64]
    values: NDArray[np.float64]
    counts: dict[str, object]


def read_observations(path: Path, rule: ExogenousRule) -> Observations:
    """Read a file as its rule says; which of the two formats it has is seen in its first bytes.

    Raises DataError naming the file, the row and the remedy: a column that is missing or holds no numbers, a time that is
    missing, has no time zone or no unit, a name that two columns have, a value known before its own time, an infinite
    value, duplicates.
    """
    table = _read(path, rule)
    if table.empty:
        raise DataError(f"{path}: holds no rows; remove it from `exogenous` or give the file with its values")
    time = _moments(path, rule, table[rule.time], rule.time)
    said = rule.available
    available = _moments(path, rule, table[said], said) if said else _delayed(time, rule)
    early = np.flatnonzero(available < time)
    if len(early):
        raise DataError(
            f"{path}, row {early[0]}: its {rule.available} {_text(available[early[0]])} lies before its {rule.time} "
            f"{_text(time[early[0]])} ({len(early)} such rows): no value is known before its time; are the columns swapped?"
        )
    values = np.column_stack([_numbers(path, table[name], name) for name in rule.columns])
    return _in_order(path, rule, time, available, values)


def _delayed(time: NDArray[np.int64], rule: ExogenousRule) -> NDArray[np.int64]:
    """When values of these times were known (int64 ns UTC): calendar days later at the same time by the rule's clock.

    Where the clocks repeat that time it is the second, where they skip it the moment after: a value is never known early.
    """
    if not rule.delay_days:
        return time + rule.delay_ns
    clock = pd.DatetimeIndex(time.view("datetime64[ns]")).tz_localize("UTC").tz_convert(rule.timezone).tz_localize(None)
    second = np.zeros(len(clock), dtype=np.bool_)  # pandas: whether daylight saving time is meant, the first of the two
    later = (clock + pd.Timedelta(days=rule.delay_days)).tz_localize(
        rule.timezone, ambiguous=second, nonexistent="shift_forward"
    )
    moments: NDArray[np.int64] = later.as_unit("ns").asi8
    return moments


def _read(path: Path, rule: ExogenousRule) -> pd.DataFrame:
    wanted = [rule.time, *([rule.available] if rule.available else []), *rule.columns]
    with path.open("rb") as file:
        parquet = file.read(4) == PARQUET
    try:
        # pandas' default way to read a number is fast, and may miss its last bit
        table = pd.read_parquet(path) if parquet else pd.read_csv(path, float_precision="round_trip")
        named = list(table.columns) if parquet else _header(path)
    except (OSError, ValueError) as error:  # pandas' and Arrow's parsing errors are ValueErrors
        raise DataError(f"{path}: cannot be read as {'Parquet' if parquet else 'CSV'} ({error})") from None
    if rule.time not in table.columns and table.index.name == rule.time:
        table = table.reset_index()
    for name in wanted:
        if name not in table.columns:
            raise DataError(f"{path}: has no column {name!r}; its columns are {', '.join(map(str, table.columns))}")
        if named.count(name) > 1:
            raise DataError(f"{path}: has {named.count(name)} columns {name!r}: which is meant? Rename all but one")
    return table


def _header(path: Path) -> list[str]:
    """The names in a CSV file's first line as they stand there: pandas calls a second `vix` vix.1."""
    return list(pd.read_csv(path, header=None, nrows=1, dtype="str").iloc[0])


def _in_order(
    path: Path,
    rule: ExogenousRule,
    time: NDArray[np.int64],
    available: NDArray[np.int64],
    values: NDArray[np.float64],
) -> Observations:
    order = np.lexsort((time, available))  # stable: equal rows stay in the order of the file
    unsorted = int((np.diff(time) < 0).sum())
    time, available, values = time[order], available[order], values[order]
    same = (np.diff(time) == 0) & (np.diff(available) == 0)
    if same.any() and rule.duplicates == "error":
        at = int(same.argmax())
        raise DataError(
            f"{path}: {int(same.sum())} rows repeat a time and its availability, the first {_text(time[at])}; "
            "correct the file, or set duplicates: last to let the last row in the file count"
        )
    kept = np.append(~same, True)
    missing = {name: int(count) for name, count in zip(rule.names, np.isnan(values[kept]).sum(axis=0), strict=True)}
    counts = {"rows": len(order), "out_of_order": unsorted, "duplicates": int(same.sum()), "missing": missing}
    return Observations(time[kept], available[kept], values[kept], counts)


def _moments(path: Path, rule: ExogenousRule, column: pd.Series, name: str) -> NDArray[np.int64]:
    """int64 ns UTC of a column of times: timestamps, texts, dates or integers with a unit."""
    missing = np.flatnonzero(column.isna().to_numpy())
    if len(missing):
        raise DataError(f"{path}, row {missing[0]}: {name} is missing ({len(missing)} rows); correct or drop these rows")
    if column.dtype.kind in "iu":
        if not rule.unit:
            raise DataError(f"{path}: {name} holds integers; set unit: s, ms, us or ns since 1970 (UTC)")
        return _nanoseconds(path, name, pd.to_datetime(column, unit=rule.unit, utc=True))
    if column.dtype.kind == "M":
        times = column
    elif column.dtype.kind in "OT" or column.dtype == "str":
        times = _parsed(path, column.astype("str"), name)
    else:
        raise DataError(f"{path}: {name} is {column.dtype}, no time; name the column with the times")
    if times.dt.tz is None:
        if not rule.timezone:
            raise DataError(
                f"{path}: {name} has no time zone (row 0: {column.iloc[0]}), so it is open when a value was known; set "
                "timezone: UTC, or that of the source, e.g. America/New_York"
            )
        times = _localised(path, name, times, rule.timezone)
    elif rule.timezone and not rule.delay_days:
        raise DataError(f"{path}: {name} has its own time zone {times.dt.tz}; remove timezone: {rule.timezone}")
    return _nanoseconds(path, name, times)


def _parsed(path: Path, texts: pd.Series, name: str) -> pd.Series:
    with_offset = texts.str.contains(_OFFSET, regex=True)
    if with_offset.any() and not with_offset.all():
        row = int(np.flatnonzero(~with_offset.to_numpy())[0])
        raise DataError(f"{path}, row {row}: {name} {texts.iloc[row]} has no UTC offset, other rows have; give it everywhere")
    try:
        return pd.to_datetime(texts, format="ISO8601", utc=bool(with_offset.all()))
    except ValueError as error:
        raise DataError(f"{path}: {name} is no ISO 8601 time like 2024-03-15T09:30:00Z ({error})") from None


def _localised(path: Path, name: str, times: pd.Series, timezone: str) -> pd.Series:
    try:
        return times.dt.tz_localize(timezone)
    except ValueError as error:  # an hour that the clocks repeat or skip
        raise DataError(f"{path}: {name} is no single moment in {timezone} ({error}); give the times with offsets") from None


def _nanoseconds(path: Path, name: str, times: pd.Series) -> NDArray[np.int64]:
    try:
        moments: NDArray[np.int64] = pd.DatetimeIndex(times).tz_convert("UTC").as_unit("ns").asi8
    except pd.errors.OutOfBoundsDatetime as error:
        raise DataError(f"{path}: {name} does not fit nanoseconds since 1970 ({error}); check the unit") from None
    return moments


def _numbers(path: Path, column: pd.Series, name: str) -> NDArray[np.float64]:
    if column.dtype.kind not in "iufb":
        raise DataError(f"{path}: column {name} is {column.dtype}, not numbers; correct the cells that are text")
    values: NDArray[np.float64] = column.to_numpy(np.float64, na_value=np.nan)
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise DataError(f"{path}, row {infinite[0]}: {name} is infinite ({len(infinite)} rows); leave unknown values empty")
    return values


def _text(moment: np.int64) -> str:
    return str(pd.Timestamp(int(moment), unit="ns", tz="UTC").isoformat())
