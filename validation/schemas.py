"""Schemas of the tables at the boundaries between stages, checked with pandera."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from validation.errors import SchemaError
from validation.findings import ACTIONS

TIMESTAMP = "datetime64[ns, UTC]"
SHOWN_FAILURES = 20
_STR_CHECK = "dtype('str')"
FEATURE_LIMIT = 5.0



@dataclass(frozen=True)
class RowRule:
    """A rule that compares columns or rows: its text, the columns it reads, and the rows that pass, bool [rows]."""

    text: str
    columns: tuple[str, ...]
    passes: Callable[[pd.DataFrame], pd.Series]


# Column → (dtype, smallest legal value or None, largest or None, may be missing).
Column = tuple[str, float | None, float | None, bool]
_CONTRACT: dict[str, Column] = {
    "contract": ("str", None, None, False),
    "expiry": ("int32", 190001, 299912, False),
}
_SESSION: dict[str, Column] = {"session": ("int32", 19000101, 29991231, False)}
_SOURCE: dict[str, Column] = {
    "publisher_id": ("int32", 0, None, False),
    "instrument_id": ("int64", 0, None, False),
    "volume": ("int64", 0, None, False),
    "source_row": ("int64", 0, None, False),
    "backwards": ("bool", None, None, False),
}
_ROLE: dict[str, Column] = {"role": ("str", None, None, False)}
_PRICES = ("open", "high", "low", "close")
_TIME: dict[str, Column] = {"ts_event": (TIMESTAMP, None, None, False)}
_FIXED: dict[str, Column] = dict.fromkeys(_PRICES, ("int64", None, None, False))
_FLOAT: dict[str, Column] = dict.fromkeys(_PRICES, ("float64", None, None, False))

TABLES: dict[str, dict[str, Column]] = {
    "outrights": _TIME | _CONTRACT | _FIXED | _SOURCE,
    "rolled": _TIME | _CONTRACT | _FIXED | _SOURCE | _SESSION | _ROLE,
    "accepted": _TIME | _CONTRACT | _FLOAT | _SOURCE | _SESSION | _ROLE,
    "bars": {
        **_TIME, **_SESSION, **_CONTRACT, **_FLOAT,
        "volume": ("int64", 0, None, False),
        "old_price": ("float64", None, None, True),
        **{f"adj_{name}": ("float64", None, None, False) for name in _PRICES},
        "masked": ("bool", None, None, False),
        "filled": ("bool", None, None, False),
    },
    "findings": {
        **_TIME,
        "contract": ("str", None, None, False),
        "layer": ("int8", 1, 5, False),
        "rule": ("str", None, None, False),
        "column": ("str", None, None, False),
        "value": ("float64", None, None, True),
        "limit": ("float64", None, None, True),
        "action": ("str", None, None, False),
        "source_row": ("int64", -1, None, False),
    },
    "feature set": {
        **_TIME, **_SESSION, **_CONTRACT,
        "masked": ("bool", None, None, False),
        "valid": ("bool", None, None, False),
    },
}  # fmt: skip
ROLES = ("followed", "left", "next")
_FEATURES = r"^(?!(?:ts_event|session|contract|expiry|masked|valid)$).+"


def check_table(table: pd.DataFrame, name: str) -> None:
    """Check a table against the schema `name` of TABLES: columns, dtypes, missing values, bounds, rules across columns.

    Nothing is converted: a dtype other than the schema's is an error, as a conversion may change values. NaN passes no
    bound and no comparison between columns. The "feature set" has, besides its own, any number of feature columns,
    finite and within ±5 on the rows marked `valid`.

    Raises:
        SchemaError: names the column, the row, the value and the check that fails, and how many more do.
        KeyError: there is no such schema.
    """
    import pandera.pandas as pandera  # 0.8 s
    from pandera.config import get_config_context

    columns = {column: _column(pandera, *rule) for column, rule in TABLES[name].items()}
    if not get_config_context().validation_enabled:
        raise SchemaError(f"table {name}: pandera's checks are switched off; unset PANDERA_VALIDATION_ENABLED")
    if name == "feature set":
        columns[_FEATURES] = pandera.Column(regex=True, required=False, nullable=True)
    rules = [_check(pandera, rule.passes, rule.text) for rule in ROW_RULES.get(name, ())]
    schema = pandera.DataFrameSchema(columns, checks=rules, strict=True)
    try:
        schema.validate(table, lazy=True)
    except pandera.errors.SchemaErrors as errors:
        # Rendered here: pandera's own error keeps the table and comes out of a pickle as strings.
        raise SchemaError(_message(name, table, errors.failure_cases)) from None


def _column(pandera: Any, dtype: str, low: float | None, high: float | None, nullable: bool) -> Any:
    checks = []
    if low is not None:
        checks.append(pandera.Check.ge(low, n_failure_cases=SHOWN_FAILURES))
    if high is not None:
        checks.append(pandera.Check.le(high, n_failure_cases=SHOWN_FAILURES))
    if dtype == "float64":
        checks.append(_check(pandera, lambda values: values.abs() != float("inf"), "finite"))
    if dtype == "str":  # pandera lets an object column of texts pass
        checks.append(_check(pandera, lambda values: values.dtype == "str", _STR_CHECK))
    return pandera.Column(dtype, checks=checks, nullable=nullable)


def _check(pandera: Any, passes: Callable[[Any], Any], text: str) -> Any:
    return pandera.Check(passes, name=text, error=text, n_failure_cases=SHOWN_FAILURES)


def _rising(table: pd.DataFrame) -> pd.Series:
    return ~(table["ts_event"].diff() <= pd.Timedelta(0))


def _in_range(table: pd.DataFrame) -> pd.Series:
    # Written so that a NaN fails: a comparison with NaN is False.
    inner = table[["open", "close"]]
    return inner.ge(table["low"], axis=0).all(axis=1) & inner.le(table["high"], axis=0).all(axis=1)


def _one_of(column: str, words: tuple[str, ...]) -> RowRule:
    return RowRule(f"{column} is one of {', '.join(words)}", (column,), lambda table: table[column].isin(words))


def _bounded_features(table: pd.DataFrame) -> pd.Series:
    features = table.drop(columns=list(TABLES["feature set"]))
    return ~table["valid"] | (features.abs() <= FEATURE_LIMIT).all(axis=1)


_RISING = RowRule("ts_event rises from row to row", ("ts_event",), _rising)
_IN_RANGE = RowRule("low <= open, close <= high", _PRICES, _in_range)
ROW_RULES: dict[str, tuple[RowRule, ...]] = {
    "rolled": (_one_of("role", ROLES),),
    "accepted": (_one_of("role", ROLES), _IN_RANGE),
    "bars": (_RISING, _IN_RANGE),
    "findings": (_one_of("action", ACTIONS),),
    "feature set": (
        _RISING,
        RowRule(f"features of valid rows are finite and within ±{FEATURE_LIMIT:g}", (), _bounded_features),
    ),
}


def _message(name: str, table: pd.DataFrame, failures: pd.DataFrame) -> str:
    """The first failure in words; failures of columns come before those of rules across columns."""
    across = (failures["schema_context"] == "DataFrameSchema") & failures["index"].notna()
    first = failures[~across].iloc[0] if not across.all() else failures.iloc[0]
    check, value, row = first["check"], first["failure_case"], first["index"]
    if across.all():
        rule = next(rule for rule in ROW_RULES[name] if rule.text == check)
        failing = table.index[~rule.passes(table).to_numpy()]
        row, shown = failing[0], rule.columns or _guilty_features(table.loc[failing[0]])
        values = ", ".join(f"{column} {table.at[row, column]}" for column in shown)
        text = f"columns {', '.join(shown)}, row {row}: {values} fails: {check} ({len(failing)} rows)"
    elif check in ("column_in_dataframe", "column_in_schema"):
        fault = "is missing" if check == "column_in_dataframe" else "is not part of the schema"
        text = f"column {value} {fault} (its columns: {', '.join(TABLES[name])})"
    elif pd.isna(row):
        found = table[first["column"]].dtype if check == _STR_CHECK else value
        text = f"column {first['column']}: {found} fails {check}"
    else:
        same = int(((failures["column"] == first["column"]) & (failures["check"] == check)).sum())
        rows = f"{same} rows" if same < SHOWN_FAILURES else f"at least {same} rows"
        text = f"column {first['column']}, row {row}: {value} fails {check} ({rows})"
    return f"table {name}: {text}; correct the stage that made the table"


def _guilty_features(row: pd.Series) -> tuple[str, ...]:
    features = row.drop(list(TABLES["feature set"]))
    return tuple(str(column) for column in features.index if not abs(features[column]) <= FEATURE_LIMIT)[:3]
