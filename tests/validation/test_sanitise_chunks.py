"""Layer 1 in pieces equals layer 1 on the whole; prices near zero are judged by a floored ratio."""

import json

import numpy as np
import pandas as pd
import pydantic_core
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from validation.bar_rules import BarRules
from validation.findings import joined_findings
from validation.sanitise import ContractCarry, sanitise_chunk, sanitise_rolled

RULES = BarRules(tick_size=0.25)
CLOSES = [5000.0, 5001.0, 5002.0, 9000.0, 14_000.0, 14_001.0, 100.0, 20_000.0]


def table(rolled_of, picks):
    """Two contracts side by side, with spikes and changes of level."""
    closes = [CLOSES[pick] for pick in picks]
    old, new = rolled_of(closes), rolled_of(closes[::-1], expiry=202406)
    both = pd.concat([old, new], ignore_index=True).sort_values(["ts_event", "expiry"], ignore_index=True)
    return both.assign(source_row=np.arange(len(both)))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    picks=st.lists(st.integers(0, len(CLOSES) - 1), min_size=1, max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=5),
)
def test_any_split_gives_the_whole(rolled_of, picks, cuts):
    whole_table = table(rolled_of, picks)
    whole = sanitise_rolled(whole_table, RULES)
    minute = (whole_table["ts_event"] - whole_table["ts_event"].min()).dt.total_seconds() // 60
    carry, parts = (), []
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), 41], strict=True):
        piece = whole_table[(minute >= start) & (minute < stop)].reset_index(drop=True)
        chunk = sanitise_chunk(piece, RULES, carry)
        carry = chunk.carry
        parts.append(chunk.sanitised)
    together = pd.concat([part.accepted for part in parts], ignore_index=True)
    pd.testing.assert_frame_equal(together, whole.accepted)
    pd.testing.assert_frame_equal(joined_findings([part.findings for part in parts]), whole.findings)
    pd.testing.assert_frame_equal(pd.concat([part.quarantine for part in parts], ignore_index=True), whole.quarantine)
    assert carry == sanitise_chunk(whole_table, RULES).carry
    assert sum(part.report["records"] for part in parts) == whole.report["records"]


def test_carry_survives_json_and_lists_contracts_that_stopped_trading(rolled_of):
    first = sanitise_chunk(rolled_of([5000.0, 14_000.0]), RULES)
    second = sanitise_chunk(rolled_of([5040.0], expiry=202406, start=5), RULES, first.carry)
    assert [(one.expiry, one.reference, one.rejects) for one in second.carry] == [(202403, 5000.0, 1), (202406, 5040.0, 0)]
    stored = json.loads(pydantic_core.to_json(second.carry, inf_nan_mode="constants"))
    back = TypeAdapter(tuple[ContractCarry, ...]).validate_python(stored)
    assert repr(back) == repr(second.carry)


def test_a_cut_through_a_timestamp_is_refused(rolled_of):
    whole = rolled_of([5000.0, 5001.0])
    carry = sanitise_chunk(whole, RULES).carry
    with pytest.raises(ValueError, match=r"bar 2024-03-15T09:32Z ESH4 is not after the chunk before.*cut between"):
        sanitise_chunk(whole.iloc[[1]].reset_index(drop=True), RULES, carry)


CRUDE = BarRules(tick_size=0.01, allow_nonpositive=True, ratio_floor=5.0)


def test_a_real_fall_through_zero_is_kept_whole(rolled_of):
    """2020-04-20: from 11 to -40 and back in the minutes around the settlement, halving bar after bar near zero."""
    closes = [11.0, 8.0, 5.0, 2.0, 0.9, 0.2, 0.01, -0.5, -8.0, -37.63, -40.32, -13.1, -1.0, 0.4, 1.4, 4.0, 9.0]
    assert sanitise_rolled(rolled_of(closes, tick=0.01), CRUDE).report["quarantined"] == 0
    without = BarRules(tick_size=0.01, allow_nonpositive=True)
    assert sanitise_rolled(rolled_of(closes, tick=0.01), without).report["rejected"] == {"close_ratio": 7}


def test_a_spike_to_a_small_or_negative_price_is_still_a_spike(rolled_of):
    for spike in (-37.63, 0.01, 4.0):
        result = sanitise_rolled(rolled_of([60.0, 60.1, spike, 60.2], tick=0.01), CRUDE)
        assert result.report["rejected"] == {"close_ratio": 1}
        assert result.findings.loc[0, ["value", "limit"]].tolist() == [spike, 30.05]


def test_nonpositive_prices_are_quarantined_where_the_instrument_has_none(rolled_of):
    result = sanitise_rolled(rolled_of([60.0, -37.63, 60.0], tick=0.01), BarRules(tick_size=0.01))
    assert result.report["rejected"]["nonpositive_price"] >= 1


@pytest.mark.parametrize("floor", [-1.0, float("nan"), float("inf")])
def test_a_floor_that_is_no_price_is_refused(floor):
    with pytest.raises(ValueError, match="ratio_floor"):
        BarRules(ratio_floor=floor)
