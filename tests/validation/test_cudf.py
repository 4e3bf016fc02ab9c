"""The same tables in pandas and in cudf get the same verdict in the same words; cudf itself needs a GPU."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.validation.test_schemas import FAULTS
from validation.bar_rules import BarRules
from validation.errors import SchemaError
from validation.findings import no_findings
from validation.sanitise import sanitise_rolled
from validation.schemas import ROW_RULES, TABLES, check_table
from validation.table_checks import first_failure


class Elsewhere:
    """A frame that is not pandas: it has the methods that cudf shares with pandas and refuses every other."""

    SHARED = frozenset({"columns", "iloc", "head"})

    def __init__(self, table):
        self._table = table

    def __getitem__(self, column):
        return self._table[column]

    def __getattr__(self, name):
        if name not in self.SHARED:
            raise AttributeError(f"cudf tables are not asked for {name}")
        value = getattr(self._table, name)
        return (lambda rows: Elsewhere(value(rows))) if name == "head" else value

    def to_pandas(self):
        return self._table


def verdict(table, name):
    try:
        check_table(table, name)
    except SchemaError as error:
        return str(error)
    return "passes"


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_has_the_same_words_in_a_foreign_frame(bars_of, fault):
    change, _ = FAULTS[fault]
    table = change(bars_of([5000, 5001, 5002, 5003]))
    if fault == "objects for texts":
        return  # cudf has no other texts
    assert verdict(Elsewhere(table), "bars") == verdict(table, "bars") != "passes"


def test_legal_tables_pass_in_a_foreign_frame(rolled_of, bars_of):
    rolled = rolled_of([5000, 5001])
    tables = {"rolled": rolled, "accepted": sanitise_rolled(rolled, BarRules()).accepted, "bars": bars_of([5000, 5001]),
              "findings": no_findings()}  # fmt: skip
    for name, table in tables.items():
        assert verdict(Elsewhere(table), name) == verdict(table, name) == "passes"


PRICES = st.sampled_from([5000.0, 5001.0, 4999.0, np.nan, np.inf, -np.inf, -1.0])
ROW = st.tuples(PRICES, PRICES, PRICES, PRICES, st.integers(-1, 3), st.sampled_from([20240315, 0, 10**9]), st.integers(0, 2))


@settings(max_examples=15, deadline=None, derandomize=True)
@given(rows=st.lists(ROW, min_size=1, max_size=4))
def test_pandera_and_the_neutral_checks_agree_on_any_table(bars_of, rows):
    table = bars_of([5000.0] * len(rows))
    for at, (opened, high, low, close, volume, session, late) in enumerate(rows):
        table.loc[at, ["open", "high", "low", "close"]] = [opened, high, low, close]
        table.loc[at, "volume"] = volume
        table.loc[at, "session"] = np.int32(session)
        table.loc[at, "ts_event"] += pd.Timedelta(-late, "min")
    ours = first_failure(table, TABLES["bars"], ROW_RULES["bars"])
    said = verdict(table, "bars")
    assert verdict(Elsewhere(table), "bars") == said
    assert (said == "passes") == (ours is None)


def test_times_a_nanosecond_apart_rise(bars_of):
    """Case C08: as floats the two are one time."""
    table = bars_of([5000, 5001])
    table["ts_event"] = pd.DatetimeIndex(np.array([1767364200011617669, 1767364200011617670], "datetime64[ns]"), tz="UTC")
    assert verdict(table, "bars") == verdict(Elsewhere(table), "bars") == "passes"


def cudf_or_skip():
    """The cudf module; skips where there is none or no GPU."""
    cudf = pytest.importorskip("cudf", reason="cudf is not installed; it comes with the [gpu] extra")
    cupy = pytest.importorskip("cupy", reason="cupy is not installed; it comes with the [gpu] extra")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"no NVIDIA GPU: {error}")
    return cudf


@pytest.mark.gpu
@pytest.mark.parametrize("fault", ["none", *FAULTS])
def test_each_fault_has_the_same_words_in_cudf(bars_of, fault):
    cudf = cudf_or_skip()
    if fault == "objects for texts":
        pytest.skip("cudf has no other texts than objects")
    table = bars_of([5000, 5001, 5002, 5003])
    table = table if fault == "none" else FAULTS[fault][0](table)
    on_gpu = cudf.DataFrame({name: cudf.from_pandas(table[name]) for name in table.columns})
    assert verdict(on_gpu, "bars") == verdict(table, "bars")


@pytest.mark.gpu
def test_all_tables_pass_in_cudf_and_a_large_one_is_checked_on_the_device(rolled_of, bars_of):
    cudf = cudf_or_skip()
    rolled = rolled_of(5000.0 + np.arange(100_000) % 50)
    tables = {"rolled": rolled, "accepted": sanitise_rolled(rolled, BarRules()).accepted, "findings": no_findings()}
    for name, table in tables.items():
        on_gpu = cudf.DataFrame({column: cudf.from_pandas(table[column]) for column in table.columns})
        assert verdict(on_gpu, name) == verdict(table, name) == "passes"
    broken = rolled.assign(volume=rolled["volume"].where(rolled.index != 77_777, -5))
    on_gpu = cudf.DataFrame({column: cudf.from_pandas(broken[column]) for column in broken.columns})
    assert verdict(on_gpu, "rolled") == verdict(broken, "rolled")
    assert "row 77777: -5 fails" in verdict(broken, "rolled")
