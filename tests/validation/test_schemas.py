"""Schemas at the boundaries: legal tables pass, each kind of fault is named."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from validation.bar_rules import BarRules
from validation.errors import SchemaError
from validation.findings import no_findings
from validation.sanitise import sanitise_rolled
from validation.schemas import check_table


def test_tables_of_the_stages_pass(rolled_of, bars_of):
    rolled = rolled_of([5000, 5001])
    assert check_table(rolled.drop(columns=["session", "role"]), "outrights") is None
    assert check_table(rolled, "rolled") is None
    assert check_table(sanitise_rolled(rolled, BarRules()).accepted, "accepted") is None
    assert check_table(bars_of([5000, 5001]), "bars") is None
    assert check_table(bars_of([5000]).iloc[:0], "bars") is None
    assert check_table(no_findings(), "findings") is None


def cell(column, value):
    def change(table):
        table.loc[2, column] = value
        return table

    return change


FAULTS = {
    "missing value": (cell("high", np.nan), "column high, row 2: nan fails not_nullable"),
    "infinite value": (cell("close", np.inf), r"column close, row 2: inf fails finite \(1 rows\)"),
    "infinite level": (cell("adj_close", -np.inf), "column adj_close, row 2: -inf fails finite"),
    "below the bound": (cell("volume", -3), r"column volume, row 2: -3 fails greater_than_or_equal_to\(0\)"),
    "outside the range": (cell("high", 1.0), r"row 2: open 5001.0, high 1.0, .* fails: low <= open, close <= high"),
    "column missing": (lambda table: table.drop(columns="close"), "column close is missing"),
    "column too many": (lambda table: table.assign(extra=1), "column extra is not part of the schema"),
    "floats for integers": (lambda table: table.assign(volume=[1.0, 1.9, 2.0, 3.0]), "volume: float64 fails dtype"),
    "unsigned": (lambda table: table.assign(volume=np.array([5_000_000_000, 1, 1, 1], np.uint64)), "volume: uint64"),
    "objects for texts": (lambda table: table.assign(contract=table["contract"].astype(object)), "contract: object"),
    "microseconds": (lambda table: table.assign(ts_event=table["ts_event"].dt.as_unit("us")), r"datetime64\[us"),
    "backwards": (lambda table: table.assign(ts_event=table["ts_event"].to_numpy()[::-1]), "ts_event rises"),
    "equal times": (
        lambda table: table.assign(ts_event=table["ts_event"].where(table.index != 2, table["ts_event"][1])),
        r"columns ts_event, row 2: .* fails: ts_event rises from row to row \(1 rows\)",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_named_with_column_row_and_value(bars_of, fault):
    """Cases D02 (NaN passes no bound and no comparison) and D03 (nothing is converted)."""
    change, message = FAULTS[fault]
    with pytest.raises(SchemaError, match=f"table bars: .*{message}") as caught:
        check_table(change(bars_of([5000, 5001, 5002, 5003])), "bars")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_message_stays_small_whatever_the_number_of_faults(bars_of):
    table = bars_of(np.full(2_000, 5000.0)).assign(volume=-1)
    with pytest.raises(SchemaError, match="2000 rows") as caught:
        check_table(table, "bars")
    assert len(str(caught.value)) < 300


def feature_set(bars, **features):
    return bars[["ts_event", "session", "contract", "expiry", "masked"]].assign(valid=[False, True, True], **features)


def test_feature_set_is_bounded_and_whole_on_valid_rows(bars_of):
    """Case D02: |f| <= 5 with a missing value."""
    bars = bars_of([5000, 5001, 5002])
    assert check_table(feature_set(bars, body=np.array([np.nan, 5.0, -5.0], np.float32)), "feature set") is None
    for value in (np.nan, 6.0, np.inf):
        table = feature_set(bars, body=[0.0, 1.0, 1.0], clv=[0.0, 1.0, value])
        with pytest.raises(SchemaError, match=rf"columns clv, row 2: clv {value} fails: features of valid rows"):
            check_table(table, "feature set")


def test_switched_off_checks_are_refused(bars_of):
    from pandera.config import config_context

    with config_context(validation_enabled=False), pytest.raises(SchemaError, match="PANDERA_VALIDATION_ENABLED"):
        check_table(bars_of([5000]), "bars")


def test_unknown_role_and_action_are_refused(rolled_of):
    rolled = rolled_of([5000, 5001])
    with pytest.raises(SchemaError, match="role other fails: role is one of followed, left, next"):
        check_table(rolled.assign(role=pd.Series(["followed", "other"], dtype="str")), "rolled")


def test_threads_that_check_their_first_tables_at_once_do_not_deadlock():
    code = """
import threading
import pandas as pd
from validation import schemas
found = []
def enter(name):
    try:
        schemas._refused(pd.DataFrame(), name, True)
        schemas.check_table(pd.DataFrame(), name)
    except schemas.SchemaError:
        found.append(name)
threads = [threading.Thread(target=enter, args=(name,)) for name in schemas.TABLES]
for one in threads: one.start()
for one in threads: one.join()
assert sorted(found) == sorted(schemas.TABLES), found
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
