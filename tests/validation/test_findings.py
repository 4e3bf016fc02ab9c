"""The findings table and its readable lines."""

import numpy as np
import pandas as pd
import pytest

from validation.findings import (
    COLUMNS,
    PHRASES,
    finding_counts,
    finding_lines,
    findings_table,
    joined_findings,
    minute_text,
    no_findings,
    number_text,
)
from validation.sanitise import REJECTING_RULES


def table(rule, value, limit, column="close"):
    ts = np.array([1_710_495_060_000_000_000])
    return findings_table(ts, ["ESH4"], 1, rule, column, np.array([value]), limit, "rejected", np.array([7]))


def test_columns_and_types_are_the_contract_and_stay_when_empty():
    full, empty = table("off_tick", 5101.1, 0.25), no_findings()
    assert tuple(full.columns) == COLUMNS
    assert full.dtypes.equals(empty.dtypes)
    assert [str(kind) for kind in full.dtypes] == [
        "datetime64[ns, UTC]", "str", "int8", "str", "str", "float64", "float64", "str", "int64",
    ]  # fmt: skip
    assert len(joined_findings([])) == 0
    pd.testing.assert_frame_equal(joined_findings([empty, full]), full)


@pytest.mark.parametrize(
    ("finding", "line"),
    [
        (table("high_below_low", 5101.25, 5102.0, "high"), "high 5101.25 < low 5102.00"),
        (table("close_outside_range", 5103.0, 5102.0), "close 5103.00 > high 5102.00"),
        (table("open_outside_range", 5000.5, 5001.0, "open"), "open 5000.50 < low 5001.00"),
        (table("undefined_price", np.nan, np.nan), "close has no defined price"),
        (table("off_tick", 5101.1, 0.25), "close 5101.10 is no multiple of the tick 0.25"),
        (table("nonpositive_price", -37.63, 0.0, "low"), "low -37.63 <= 0"),
        (table("close_ratio", 50.0, 2500.0), "close 50.00 < 2500.00, the bound around the last accepted close"),
    ],
)
def test_line_says_value_relation_and_limit(finding, line):
    assert finding_lines(finding) == [f"bar 2024-03-15T09:31Z ESH4: {line} (layer 1)"]


def test_every_rule_has_a_phrase():
    assert set(REJECTING_RULES) < set(PHRASES)
    for rule in PHRASES:
        assert finding_lines(table(rule, 1.0, 2.0))[0].endswith("(layer 1)")


def test_counts_are_by_layer_and_rule():
    tables = [table("off_tick", 1.0, 2.0), table("off_tick", 1.0, 2.0), table("close_ratio", 1.0, 2.0)]
    assert finding_counts(joined_findings(tables)) == {"1": {"close_ratio": 1, "off_tick": 2}}
    assert finding_counts(no_findings()) == {}


def test_numbers_and_times_lose_nothing():
    assert [number_text(x) for x in (5101.25, 5102.0, 0.0015625, -37.63, 1e-9, float("nan"), float("inf"))] == [
        "5101.25", "5102.00", "0.0015625", "-37.63", "1e-09", "nan", "inf",
    ]  # fmt: skip
    assert minute_text(pd.Timestamp("2024-03-15T09:31:00.000000001Z")) == "2024-03-15T09:31:00.000000001Z"
