"""The findings table: why rows were rejected, altered, masked or noted."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Texts: TypeAlias = Sequence[str] | NDArray[Any]  # a text a row
Times: TypeAlias = NDArray[np.int64] | pd.Series | pd.DatetimeIndex  # int64 nanoseconds UTC, or timestamps

ACTIONS = ("rejected", "altered", "masked", "noted")
COLUMNS = ("ts_event", "contract", "layer", "rule", "column", "value", "limit", "action", "source_row")

# rule → the text of a finding; {above} is ">" where the value lies above its limit and "<" where it lies below.
PHRASES = {
    "undefined_price": "{column} has no defined price",
    "non_finite": "{column} is not a finite number",
    "nonpositive_price": "{column} {value} <= 0",
    "high_below_low": "high {value} < low {limit}",
    "open_outside_range": "open {value} {above} {bound} {limit}",
    "close_outside_range": "close {value} {above} {bound} {limit}",
    "off_tick": "{column} {value} is no multiple of the tick {limit}",
    "duplicate_row": "equal copy of another record",
    "duplicate_key": "close {value}, while a record of the same bar with close {limit} is kept",
    "close_ratio": "close {value} {above} {limit}, the bound around the last accepted close",
    "level_accepted": "close {value} {above} {limit}, accepted as a new level after consistent rejects",
    "backwards_time": "stands after a later bar in its file",
    "return_clamp": "{column} {value} {above} {limit}",
    "feature_bound": "{column} {value} {above} {limit}",
    "zscore_clamp": "{column} {value} {above} {limit}",
}


def findings_table(
    ts_event: Times,
    contract: Texts,
    layer: int,
    rule: str | Texts,
    column: str | Texts,
    value: NDArray[np.float64],
    limit: NDArray[np.float64] | float,
    action: str | Texts,
    source_row: NDArray[np.int64] | None = None,
) -> pd.DataFrame:
    """Findings table of n rows; scalars are repeated.

    Args:
        ts_event: [n], timestamps or int64 nanoseconds UTC.
        contract: str [n]; "" where the layer does not know it.
        layer: 1 to 5.
        rule, column, action: one for all rows or one a row.
        value, limit: float64 [n]; NaN where there is none.
        source_row: int64 [n]; -1 (the default) where the layer does not know the record.
    """
    rows = len(ts_event)
    texts = {"contract": contract, "rule": rule, "column": column, "action": action}
    series = {name: _text(text, rows) for name, text in texts.items()}
    return pd.DataFrame({
        "ts_event": pd.DatetimeIndex(nanoseconds(ts_event).view("datetime64[ns]"), tz="UTC"),
        "contract": series["contract"],
        "layer": np.full(rows, layer, np.int8),
        "rule": series["rule"],
        "column": series["column"],
        "value": np.asarray(value, np.float64),
        "limit": np.broadcast_to(np.asarray(limit, np.float64), rows),
        "action": series["action"],
        "source_row": np.full(rows, -1, np.int64) if source_row is None else np.asarray(source_row, np.int64),
    })


def nanoseconds(ts: Times) -> NDArray[np.int64]:
    """int64 nanoseconds UTC of timestamps, or of what is that already."""
    integers: NDArray[np.int64] = pd.DatetimeIndex(ts).as_unit("ns").asi8
    return integers


def no_findings() -> pd.DataFrame:
    """A findings table without rows, its types as in a full one."""
    return _empty().copy(deep=False)


@lru_cache(maxsize=1)
def _empty() -> pd.DataFrame:
    """Made once: most days have no findings, and making the table costs more than looking for them."""
    nothing = np.empty(0)
    return findings_table(nothing.astype(np.int64), [], 1, "", "", nothing, nothing, "")


def joined_findings(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The tables below each other in the given order; an empty sequence gives an empty table."""
    filled = [table for table in tables if len(table)]
    return pd.concat(filled, ignore_index=True) if filled else no_findings()


def finding_counts(findings: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Findings by layer and rule: {"1": {"high_below_low": 3}}, sorted, so that it can go into a JSON artefact."""
    sizes = findings.groupby(["layer", "rule"], sort=True).size()
    counts: dict[str, dict[str, int]] = {}
    for (layer, rule), number in sizes.items():
        counts.setdefault(str(layer), {})[str(rule)] = int(number)
    return counts


def finding_lines(findings: pd.DataFrame, at_most: int = 20) -> list[str]:
    """Readable lines, `bar 2024-03-15T09:31Z ESH4: high 5101.25 < low 5102.00 (layer 1)`, the first `at_most` of them.

    A last line says how many were left out.
    """
    lines = [_line(row) for row in findings.head(at_most).itertuples(index=False)]
    if len(findings) > at_most:
        lines.append(f"... and {len(findings) - at_most} more findings")
    return lines


def _line(row: tuple[object, ...]) -> str:
    finding = dict(zip(COLUMNS, row, strict=True))
    value, limit = float(str(finding["value"])), float(str(finding["limit"]))
    phrase = PHRASES[str(finding["rule"])].format(
        column=finding["column"],
        value=number_text(value),
        limit=number_text(limit),
        above=">" if value > limit else "<",
        bound="high" if value > limit else "low",
    )
    where = " ".join(part for part in (minute_text(finding["ts_event"]), str(finding["contract"])) if part)
    return f"bar {where}: {phrase} (layer {finding['layer']})"


def minute_text(ts_event: object) -> str:
    """`2024-03-15T09:31Z`; seconds and fractions only where they are not zero."""
    moment = pd.Timestamp(ts_event)
    text: str = moment.strftime("%Y-%m-%dT%H:%M")
    if moment.value % 60_000_000_000:
        text = moment.tz_localize(None).isoformat()
    return f"{text}Z"


def number_text(value: float) -> str:
    """The shortest text that reads back as the value, with at least two decimals: 5101.25, 5102.00, 0.0015625."""
    text = repr(float(value))
    whole, point, decimals = text.partition(".")
    if not point or "e" in text or not whole.lstrip("-").isdigit():
        return text
    return f"{whole}.{decimals.ljust(2, '0')}"


def _text(text: str | Texts, rows: int) -> pd.Series:
    if isinstance(text, str):
        return pd.Series([text], dtype="str").repeat(rows).reset_index(drop=True)
    return pd.Series(text, dtype="str").reset_index(drop=True)
