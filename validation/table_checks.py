"""Value checks of a table, written for any frame with the column methods that pandas and cudf share.

The checks are those that pandera makes of the same schema; they run where the data lies (on the GPU for cudf) and bring
back one number a check, and one row where a check fails.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# Column → (dtype, smallest legal value or None, largest or None, may be missing).
Column = tuple[str, float | None, float | None, bool]
EARLIEST = -(2**63)


@dataclass(frozen=True)
class RowRule:
    """A rule that compares columns or rows.

    text: the rule in words. columns: the columns it reads. passes: the rows that keep it, a bool column. guilty: the
    columns to show of a row that does not, given as a table of that one row; `columns` without it.
    """

    text: str
    columns: tuple[str, ...]
    passes: Callable[[Any], Any]
    guilty: Callable[[Any], list[str]] | None = None


@dataclass(frozen=True)
class Failure:
    """The first row that fails a check: its number, the values it shows, how many rows fail; `across` columns or in one."""

    check: str
    row: int
    values: tuple[tuple[str, str], ...]
    rows: int
    across: bool

    def text(self) -> str:
        """`column volume, row 2: -3 fails greater_than_or_equal_to(0) (1 rows)`."""
        names = ", ".join(name for name, _ in self.values)
        if not self.across:
            return f"column {names}, row {self.row}: {self.values[0][1]} fails {self.check} ({self.rows} rows)"
        shown = ", ".join(f"{name} {value}" for name, value in self.values)
        return f"columns {names}, row {self.row}: {shown} fails: {self.check} ({self.rows} rows)"


def first_failure(table: Any, columns: Mapping[str, Column], rules: Iterable[RowRule] = ()) -> Failure | None:
    """The first check that a table fails, columns in their order before rules across columns; None where all pass.

    Columns and dtypes must be right already. A missing value fails `not_nullable` alone, unless it may be missing.

    Args:
        table: pandas or cudf DataFrame.
        columns: the schema's columns.
        rules: the schema's rules across columns and rows.
    """
    for name, column in columns.items():
        for check, passes in _column_checks(table[name], column):
            row, rows = _failing(passes)
            if rows:
                return Failure(check, row, ((name, _cell(table[name], row)),), rows, across=False)
    for rule in rules:
        row, rows = _failing(rule.passes(table))
        if rows:
            shown = rule.guilty(_to_pandas(table.iloc[row : row + 1])) if rule.guilty else rule.columns
            values = tuple((name, _cell(table[name], row)) for name in shown)
            return Failure(rule.text, row, values, rows, across=True)
    return None


def rising(table: Any) -> Any:
    """Rows whose `ts_event` lies after the row before; compared as integers, as a float of nanoseconds loses 128 of them."""
    times = table["ts_event"].astype("int64")
    return times > times.shift(1, fill_value=EARLIEST)


def _column_checks(values: Any, column: Column) -> Iterable[tuple[str, Any]]:
    dtype, low, high, nullable = column
    missing = values.isna()
    if not nullable:
        yield "not_nullable", ~missing
    if low is not None:
        yield f"greater_than_or_equal_to({low})", (values >= low).fillna(False) | missing
    if high is not None:
        yield f"less_than_or_equal_to({high})", (values <= high).fillna(False) | missing
    if dtype == "float64":
        yield "finite", (values.abs() != float("inf")).fillna(True)


def _failing(passes: Any) -> tuple[int, int]:
    """First failing row and how many fail; only where one does is the column brought to the host."""
    if bool(passes.all()):
        return -1, 0
    failing = ~passes.to_numpy().astype(bool)
    return int(failing.argmax()), int(failing.sum())


def _cell(values: Any, row: int) -> str:
    return str(_to_pandas(values.iloc[row : row + 1]).iloc[0])


def _to_pandas(part: Any) -> Any:
    return part.to_pandas() if hasattr(part, "to_pandas") else part
