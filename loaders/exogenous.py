"""Node: columns from files of the user's, joined to bars as they were known when the bar closed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.errors import DataError
from loaders.exogenous_files import Observations, read_observations
from loaders.exogenous_rules import ExogenousRule
from loaders.types import nanoseconds

NS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True)
class Exogenous:
    """`columns`: float64 [bars], a column a joined one, NaN before its first value was known; `report`: counts by file."""

    columns: pd.DataFrame
    report: list[dict[str, Any]]


def exogenous_columns(
    bars: pd.DataFrame, files: tuple[Path, ...], rules: tuple[ExogenousRule, ...], bar_seconds: int
) -> Exogenous:
    """Join each file's columns to the bars.

    A bar that starts at `ts_event` is known at its close, `ts_event` + `bar_seconds`, and so is what is joined to it: a
    value is visible if it was available at or before the close (a decision at the close may use it; the fill comes
    later). Of the visible values of a column the one with the latest time counts, and of that time's the latest
    revision; a missing value is no value, the one before it stays.

    Raises:
        DataError: a file that cannot be read as its rule says; a name that the bars or another file has; bars that are
            closer together than `bar_seconds`, which then would look ahead.
    """
    ts = nanoseconds(bars["ts_event"])
    steps = np.diff(ts)
    if rules and len(steps) and int(steps.min()) < bar_seconds * NS_PER_SECOND:
        at = int(steps.argmin())
        raise DataError(
            f"bar {bars['ts_event'].iloc[at].isoformat()}: the next bar starts {steps[at] / NS_PER_SECOND:g} s later, but "
            f"bar_seconds is {bar_seconds}; exogenous values would be joined from the future: set bar_seconds to the bars' own"
        )
    _require_new_names(rules, bars.columns)
    closes = ts + bar_seconds * NS_PER_SECOND
    columns: dict[str, NDArray[np.float64]] = {}
    report = []
    for path, rule in zip(files, rules, strict=True):
        seen = read_observations(path, rule)
        joined = {name: as_known(seen, values, closes) for name, values in zip(rule.names, seen.values.T, strict=True)}
        columns |= joined
        without = {name: int(np.isnan(column).sum()) for name, column in joined.items()}
        report.append({**seen.counts, "bars_without_value": without})
    return Exogenous(pd.DataFrame(columns, index=pd.RangeIndex(len(bars))), report)


def as_known(seen: Observations, values: NDArray[np.float64], moments: NDArray[np.int64]) -> NDArray[np.float64]:
    """What was known of a column at each moment, float64 [moments]; NaN where nothing was.

    Args:
        seen: times and availability of the rows, in order of availability.
        values: the column [rows]; NaN is no value.
        moments: int64 ns.
    """
    present = ~np.isnan(values)
    time, available, values = seen.time[present], seen.available[present], values[present]
    # a value of an earlier time that arrives late is a correction of the past: it does not replace a newer one
    newest = np.maximum.accumulate(time) == time
    standing = np.maximum.accumulate(np.where(newest, np.arange(len(time)), 0))
    last = np.searchsorted(available, moments, side="right") - 1
    known = np.full(len(moments), np.nan)
    found = last >= 0
    known[found] = values[standing[last[found]]]
    return known


def _require_new_names(rules: Sequence[ExogenousRule], taken: Sequence[str]) -> None:
    known = {str(name): "the bars have" for name in taken}
    for rule in rules:
        for name in rule.names:
            if name in known:
                raise DataError(f"exogenous column {name}: {known[name]} a column of that name; set a prefix, e.g. x_")
            known[name] = "another exogenous file has"
