"""Layer 1 by hand: each rule on a planted fault, and what must stay."""

import numpy as np
import pandas as pd
import pytest

from validation.bar_rules import UNDEF_PRICE, BarRules
from validation.findings import finding_lines
from validation.sanitise import sanitise_bars, sanitise_rolled

ES = BarRules(tick_size=0.25)
POINT = 1_000_000_000
PRICES = ["open", "high", "low", "close"]


@pytest.fixture
def rolled(rolled_of):
    return rolled_of([5100.0 + 0.25 * i for i in range(10)])


def planted(table, row, **values):
    for column, value in values.items():
        table.loc[row, column] = value
    return table


# rule → (columns to overwrite in row 4, column, value and limit of the finding); row 4 is 5100.75 5101.25 5100.5 5101.0
FAULTS = {
    "undefined_price": ({"close": UNDEF_PRICE}, "close", np.nan, np.nan),
    "nonpositive_price": ({"open": 0}, "open", 0.0, 0.0),
    "high_below_low": ({"high": int(5100.25 * POINT)}, "high", 5100.25, 5100.5),
    "open_outside_range": ({"open": int(5102 * POINT)}, "open", 5102.0, 5101.25),
    "close_outside_range": ({"close": int(5100.25 * POINT)}, "close", 5100.25, 5100.5),
    "off_tick": ({"close": int(5101.1 * POINT)}, "close", 5101.1, 0.25),
    "close_ratio": (
        {"close": 10300 * POINT, "high": 10300 * POINT}, "close", 10300.0, 10201.5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", FAULTS)
def test_planted_fault_is_found_with_its_rule_value_and_limit(rolled, rule):
    values, column, value, limit = FAULTS[rule]
    result = sanitise_rolled(planted(rolled, 4, **values), ES)
    assert result.report["rejected"] == {rule: 1}
    finding = result.findings.iloc[0]
    assert (finding["rule"], finding["column"], finding["action"], finding["layer"]) == (rule, column, "rejected", 1)
    np.testing.assert_array_equal([finding["value"], finding["limit"]], [value, limit])
    assert finding["source_row"] == result.quarantine.loc[0, "source_row"] == rolled.loc[4, "source_row"]
    assert list(result.accepted["source_row"]) == [row for row in rolled["source_row"] if row != finding["source_row"]]
    pd.testing.assert_frame_equal(
        result.quarantine.drop(columns=["rule", "layer"]), rolled.iloc[[4]].reset_index(drop=True)
    )


def test_finding_reads_as_a_sentence(rolled):
    result = sanitise_rolled(planted(rolled, 0, high=int(5101.25 * POINT), low=5102 * POINT), ES)
    assert finding_lines(result.findings) == ["bar 2024-03-15T09:31Z ESH4: high 5101.25 < low 5102.00 (layer 1)"]


def test_undefined_price_never_becomes_a_number(rolled):
    """Case C01: 9223372036.85 appears nowhere."""
    for column in PRICES:
        planted(rolled, PRICES.index(column), **{column: UNDEF_PRICE})
    result = sanitise_rolled(rolled, ES)
    assert result.report["rejected"] == {"undefined_price": 4}
    assert result.accepted[PRICES].max().max() < 6000
    assert result.findings["value"].isna().all()


def test_prices_are_the_integer_divided(rolled_of):
    """Case C02: a product with 1e-9 gives 7.250000000000001."""
    table = rolled_of([7.25, 3.75], tick=0.01)
    table[PRICES] = np.array([[5199750000000] * 4, [7250000000] * 4])
    rules = BarRules(tick_size=0.01, min_ratio=1e-4)
    assert sanitise_rolled(table, rules).accepted["close"].tolist() == [5199.75, 7.25]
    table[PRICES] = np.array([[3750000000] * 4, [-39970000000] * 4])
    negative = BarRules(tick_size=0.01, allow_nonpositive=True)
    assert sanitise_rolled(table, negative).accepted["low"].tolist() == [3.75, -39.97]


def test_duplicates_follow_one_policy_and_the_other_contract_is_none(rolled_of):
    """Case C04: the revision with the larger volume is kept, volumes are never added up."""
    table = pd.concat([rolled_of([5000.0, 5001.0, 5002.0]), rolled_of([5040.0], expiry=202406, start=1)])
    table["volume"] = [100, 120, 90, 7]
    revision = table.iloc[[1]].assign(close=5001 * POINT + POINT // 2, high=5002 * POINT, volume=130, source_row=77)
    result = sanitise_rolled(pd.concat([table, revision], ignore_index=True), ES)
    kept = result.accepted
    assert kept.groupby("contract")["volume"].sum().to_dict() == {"ESH4": 320, "ESM4": 7}
    assert kept.loc[kept["source_row"] == 77, "close"].tolist() == [5001.5]
    assert result.report["rejected"] == {"duplicate_key": 1}
    assert result.findings.loc[0, ["value", "limit"]].tolist() == [5001.0, 5001.5]


def test_equal_copies_and_a_broken_copy_cost_no_bar(rolled):
    copy = rolled.iloc[[4]].assign(source_row=9_500)
    broken = rolled.iloc[[5]].assign(source_row=9_501, close=UNDEF_PRICE, volume=10**6)
    result = sanitise_rolled(pd.concat([copy, broken, rolled], ignore_index=True), ES)
    assert result.report["rejected"] == {"undefined_price": 1, "duplicate_row": 1}
    assert sorted(result.quarantine["source_row"]) == [9_500, 9_501]
    assert len(result.accepted) == len(rolled)


def test_backwards_record_keeps_its_place_in_time_and_is_noted(rolled):
    late = rolled.iloc[[0, 1, 3, 4, 2, 5]].reset_index(drop=True)
    late.loc[4, "backwards"] = True
    result = sanitise_rolled(late, ES)
    assert result.accepted["ts_event"].is_monotonic_increasing
    assert result.report == {
        "records": 6, "accepted": 6, "quarantined": 0, "rejected": {}, "noted": {"backwards_time": 1},
    }  # fmt: skip
    assert result.findings.loc[0, "action"] == "noted"


def test_spike_that_comes_back_costs_one_bar(rolled_of):
    result = sanitise_rolled(rolled_of([5000, 5001, 50_010, 5002, 5003]), BarRules(tick_size=0.25))
    # The bar after the spike opens at it (the generator's open is the last close), which is legal by itself.
    assert result.quarantine["close"].tolist() == [50_010 * POINT]
    assert result.accepted["close"].tolist() == [5000.0, 5001.0, 5002.0, 5003.0]


def test_bad_first_bar_does_not_lock_out_a_contract(rolled_of):
    result = sanitise_rolled(rolled_of([50, 5000, 5001, 5002, 5003, 5004]), ES)
    assert result.accepted["close"].tolist() == [50.0, 5003.0, 5004.0]
    assert result.report["rejected"] == {"close_ratio": 3}
    level = result.findings[result.findings["rule"] == "level_accepted"].iloc[0]
    assert (level["value"], level["limit"], level["action"]) == (5003.0, 50.0, "noted")


def test_rejects_that_disagree_make_no_level(rolled_of):
    closes = [5000, 50, 20_000, 50, 20_000, 50, 20_000, 5001]
    result = sanitise_rolled(rolled_of(closes), ES)
    assert result.accepted["close"].tolist() == [5000.0, 5001.0]


def test_rejects_that_are_interrupted_start_again(rolled_of):
    closes = [5000, 50, 51, 5001, 50, 51, 50, 5002]
    assert sanitise_rolled(rolled_of(closes), ES).accepted["close"].tolist() == [5000.0, 5001.0, 5002.0]


def test_contracts_are_judged_by_themselves(rolled_of):
    table = pd.concat([rolled_of([5000, 5001, 5002]), rolled_of([200, 201], expiry=202406, start=1)])
    assert sanitise_rolled(table.reset_index(drop=True), ES).report["quarantined"] == 0


def test_real_limit_move_stays(rolled_of):
    assert sanitise_rolled(rolled_of([5000.0, 4650.0, 4650.0]), ES).report["accepted"] == 3


def test_crude_oil_of_april_2020_stays_where_it_is_allowed(rolled_of):
    table = rolled_of([10.01, 0.0, -37.63, -13.10, 8.91], tick=0.01)
    allowed = sanitise_rolled(table, BarRules(tick_size=0.01, allow_nonpositive=True))
    assert allowed.accepted["close"].tolist() == [10.01, 0.0, -37.63, -13.10, 8.91]
    refused = sanitise_rolled(table, BarRules(tick_size=0.01))
    assert set(refused.quarantine["rule"]) == {"nonpositive_price"}


def test_off_tick_is_decided_on_integers(rolled_of):
    """70.13 / 0.01 is not a whole number in floats."""
    closes = [70.0 + 0.01 * i for i in range(200)]
    assert sanitise_rolled(rolled_of(closes, tick=0.01), BarRules(tick_size=0.01)).report["quarantined"] == 0


def test_empty_table_stays_empty_with_its_types(rolled):
    result = sanitise_rolled(rolled.iloc[:0], ES)
    assert result.report == {"records": 0, "accepted": 0, "quarantined": 0, "rejected": {}, "noted": {}}
    assert result.accepted.dtypes["close"] == np.float64
    assert list(result.quarantine.columns) == [*rolled.columns, "rule", "layer"]


def test_float_table_without_extras_is_sanitised_too():
    table = pd.DataFrame({
        "ts_event": pd.date_range("2024-03-15", periods=6, freq="min", tz="UTC"),
        "open": [100.0, 100.0, np.nan, 100.0, np.inf, 100.1],
        "high": [101.0, 99.0, 101.0, 101.0, np.inf, 101.0],
        "low": [99.0, 99.5, 99.0, 99.0, 99.0, 99.0],
        "close": [100.5, 99.2, 100.0, 100.2, 100.0, 1 / 3 + 100],
        "volume": np.full(6, 5, np.uint64),
    })
    good, findings = sanitise_bars(table)
    pd.testing.assert_frame_equal(good, table.iloc[[0, 3, 5]].reset_index(drop=True))
    assert findings["rule"].tolist() == ["high_below_low", "non_finite", "non_finite"]


def test_missing_column_is_named():
    with pytest.raises(ValueError, match="no column high, low"):
        sanitise_bars(pd.DataFrame(columns=["ts_event", "open", "close", "volume"]))


@pytest.mark.parametrize(
    ("field", "value"),
    [("tick_size", 0.0), ("tick_size", float("nan")), ("tick_size", 1e-10), ("min_ratio", 1.0), ("min_ratio", 0.0),
     ("max_ratio", 1.0), ("max_ratio", float("inf")), ("accept_after", 0)],
)  # fmt: skip
def test_impossible_rules_are_refused_by_name(field, value):
    with pytest.raises(ValueError, match=field):
        BarRules(**{field: value})


@pytest.mark.parametrize(("changes", "message"), [
    ({"volume": [1, -1]}, r"row 1 has volume -1 \(1 such rows\); a volume is 0 or more"),
    ({"volume": [np.nan, 1.0]}, r"row 0 has volume nan"),
    ({"ts_event": ["2024-03-05", "2024-03-06"]}, r"ts_event is str, not UTC times"),
    ({"ts_event": pd.to_datetime(["2024-03-05", "2024-03-06"])}, r"ts_event is datetime64\[\w+\], not UTC times; use"),
    ({"ts_event": pd.to_datetime([None, "2024-03-06"], utc=True)}, r"row 0 has no ts_event"),
])  # fmt: skip
def test_what_no_rule_judges_is_refused(changes, message):
    times = pd.to_datetime(["2024-03-05", "2024-03-06"], utc=True)
    bars = pd.DataFrame({"ts_event": times, "open": 1.0, "high": 2.0, "low": 0.5, "close": 1.5, "volume": 1})
    assert len(sanitise_bars(bars)[0]) == 2
    with pytest.raises(ValueError, match=message):
        sanitise_bars(bars.assign(**changes))


def test_a_price_below_zero_is_filed_under_the_rule_that_it_breaks_where_it_is_allowed(rolled_of):
    table = rolled_of([10.0, 10.25, 10.5])
    table.loc[1, "low"] = -round(0.1 * 1e9)  # between two ticks
    assert sanitise_rolled(table, BarRules(tick_size=0.25, allow_nonpositive=True)).quarantine["rule"].tolist() == ["off_tick"]
    assert sanitise_rolled(table, BarRules(tick_size=0.25)).quarantine["rule"].tolist() == ["nonpositive_price"]
