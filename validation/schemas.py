"""Schemas of the tables at the boundaries between stages, checked with pandera, for pandas and cudf alike."""

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pandas as pd

from validation.errors import SchemaError
from validation.findings import ACTIONS
from validation.table_checks import Column, RowRule, first_failure, rising

TIMESTAMP = "datetime64[ns, UTC]"
SHOWN_FAILURES = 20
_STR_CHECK = "dtype('str')"
FEATURE_LIMIT = 5.0
_IMPORTING = threading.Lock()

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


def check_table(table: Any, name: str) -> None:
    """Check a table against the schema `name` of TABLES: columns, dtypes, missing values, bounds, rules across columns.

    Nothing is converted: a dtype other than the schema's is an error, as a conversion may change values. NaN passes no
    bound and no comparison between columns. The "feature set" has, besides its own, any number of feature columns,
    finite and within ±5 on the rows marked `valid`.

    pandera takes a pandas DataFrame whole. Of a cudf DataFrame it gets the columns and dtypes (a copy without rows); the
    values are then checked where they lie by `validation.table_checks`, whose words describe a fault on both.

    Args:
        table: pandas or cudf DataFrame.
        name: a key of TABLES.

    Raises:
        SchemaError: names the column, the row, the value and the check that fails, and how many more do.
        KeyError: there is no such schema.
    """
    if not _pandera().config.get_config_context().validation_enabled:
        raise SchemaError(f"table {name}: pandera's checks are switched off; unset PANDERA_VALIDATION_ENABLED")
    native = isinstance(table, pd.DataFrame)
    shown = table if native else without_rows(table)
    refused = _refused(shown, name, rules=native)
    # Rendered here: pandera's own error keeps the table and comes out of a pickle as strings.
    text = "" if refused is None else _structure(name, shown, refused)
    if not text and (refused is not None or not native):
        failure = first_failure(table, TABLES[name], ROW_RULES.get(name, ()))
        text = "" if failure is None else failure.text()
    if text or refused is not None:
        raise SchemaError(f"table {name}: {text or 'pandera refuses it'}; correct the stage that made the table")


def _refused(table: pd.DataFrame, name: str, rules: bool) -> pd.DataFrame | None:
    """pandera's failure cases of a pandas table, with or without the rules across columns; None where it passes."""
    refusals = _pandera().errors.SchemaErrors
    try:
        # In place: nothing is converted, so there is nothing that a copy of the table would protect.
        _schema(name, rules).validate(table, lazy=True, inplace=True)
    except refusals as errors:
        cases: pd.DataFrame = errors.failure_cases
        return cases
    return None


def _pandera() -> Any:
    """pandera whole, imported when first needed (0.8 s), by one thread: its modules import each other in circles, and two
    threads that enter by different ones would wait for each other.
    """
    with _IMPORTING:
        import pandera
        import pandera.config
        import pandera.errors
        import pandera.pandas
    return pandera


@lru_cache(maxsize=32)
def _schema(name: str, rules: bool) -> Any:
    """pandera's schema of a table, with or without the rules across columns."""
    pandera = _pandera().pandas
    columns = {column: _column(pandera, *rule) for column, rule in TABLES[name].items()}
    if name == "feature set":
        columns[_FEATURES] = pandera.Column(regex=True, required=False, nullable=True)
    checks = [_check(pandera, rule.passes, rule.text) for rule in ROW_RULES.get(name, ())] if rules else []
    return pandera.DataFrameSchema(columns, checks=checks, strict=True)


def without_rows(table: Any) -> pd.DataFrame:
    """A foreign frame's columns as an empty pandas table; texts, which cudf calls objects, are texts there too."""
    empty: pd.DataFrame = table.head(0).to_pandas()
    texts = [column for column in table.columns if str(table[column].dtype) in ("object", "str", "string")]
    return empty.astype(dict.fromkeys(texts, "str"))


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


def _in_range(table: Any) -> Any:
    # Written so that a NaN fails: a comparison with NaN is False.
    low, high = table["low"], table["high"]
    inside = (table["open"] >= low) & (table["open"] <= high) & (table["close"] >= low) & (table["close"] <= high)
    return inside.fillna(False)


def _one_of(column: str, words: tuple[str, ...]) -> RowRule:
    return RowRule(f"{column} is one of {', '.join(words)}", (column,), lambda table: table[column].isin(list(words)))


def _bounded_features(table: Any) -> Any:
    passes = table["valid"] | ~table["valid"]
    for column in feature_columns(table):
        passes = passes & (table[column].abs() <= FEATURE_LIMIT).fillna(False)
    return passes | ~table["valid"]


def feature_columns(table: Any) -> list[str]:
    """The columns of a "feature set" that are features."""
    return [column for column in table.columns if column not in TABLES["feature set"]]


_RISING = RowRule("ts_event rises from row to row", ("ts_event",), rising)
_IN_RANGE = RowRule("low <= open, close <= high", _PRICES, _in_range)
ROW_RULES: dict[str, tuple[RowRule, ...]] = {
    "rolled": (_one_of("role", ROLES),),
    "accepted": (_one_of("role", ROLES), _IN_RANGE),
    "bars": (_RISING, _IN_RANGE),
    "findings": (_one_of("action", ACTIONS),),
    "feature set": (
        _RISING,
        RowRule(
            f"features of valid rows are finite and within ±{FEATURE_LIMIT:g}", (), _bounded_features,
            guilty=lambda row: [name for name in feature_columns(row) if not abs(row[name].iloc[0]) <= FEATURE_LIMIT][:3],
        ),
    ),
}  # fmt: skip


def _structure(name: str, table: pd.DataFrame, failures: pd.DataFrame) -> str:
    """The first wrong column or dtype in words; empty where only values are wrong."""
    whole = failures[failures["index"].isna()]
    if not len(whole):
        return ""
    first = whole.iloc[0]
    if first["check"] in ("column_in_dataframe", "column_in_schema"):
        fault = "is missing" if first["check"] == "column_in_dataframe" else "is not part of the schema"
        return f"column {first['failure_case']} {fault} (its columns: {', '.join(TABLES[name])})"
    if first["schema_context"] == "DataFrameSchema":
        return ""
    found = table[first["column"]].dtype if first["check"] == _STR_CHECK else first["failure_case"]
    return f"column {first['column']}: {found} fails {first['check']}"
