"""Layer 1 on generated tables full of faults: nothing is lost, nothing illegal passes, order does not matter."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from validation.bar_rules import UNDEF_PRICE, BarRules
from validation.sanitise import sanitise_rolled

RULES = BarRules(tick_size=0.25)
POINT = 1_000_000_000
OPENING = 1_710_495_060_000_000_000
LEGAL = st.sampled_from([quarter * POINT // 4 for quarter in (99, 100, 101, 102, 150, 199, 220, 400, 800, 1600)])
ANY = LEGAL | st.sampled_from([UNDEF_PRICE, 0, -POINT, 25 * POINT + 1])
# Half of the bars are legal by themselves: open, high, low, close out of four sorted prices.
OHLC = st.tuples(ANY, ANY, ANY, ANY) | st.lists(LEGAL, min_size=4, max_size=4).map(sorted).map(
    lambda prices: (prices[1], prices[3], prices[0], prices[2])
)
RECORD = st.tuples(
    st.integers(0, 8), st.sampled_from([202403, 202406]), OHLC, st.integers(1, 3), st.booleans()
).map(lambda record: (*record[:2], *record[2], *record[3:]))
TABLES = st.lists(RECORD, max_size=30).map(
    lambda records: pd.DataFrame(
        records, columns=["minute", "expiry", "open", "high", "low", "close", "volume", "backwards"]
    )
)


def rolled(records):
    rows = len(records)
    ts = OPENING + records["minute"].to_numpy(np.int64) * 60 * POINT
    return pd.DataFrame({
        "ts_event": pd.DatetimeIndex(ts.astype("datetime64[ns]"), tz="UTC"),
        "publisher_id": np.ones(rows, np.int32),
        "contract": pd.Series(np.where(records["expiry"] == 202403, "ESH4", "ESM4"), dtype="str"),
        "expiry": records["expiry"].to_numpy(np.int32),
        **{name: records[name].to_numpy(np.int64) for name in ("open", "high", "low", "close", "volume")},
        "source_row": np.arange(rows, dtype=np.int64),
        "backwards": records["backwards"].to_numpy(bool),
    })


@settings(max_examples=80, deadline=None, derandomize=True)
@given(records=TABLES, seed=st.integers(0, 10))
def test_nothing_is_lost_and_nothing_illegal_passes(records, seed):
    table = rolled(records)
    result = sanitise_rolled(table, RULES)
    good, bad = result.accepted, result.quarantine
    assert sorted([*good["source_row"], *bad["source_row"]]) == list(range(len(table)))
    assert result.report["records"] == result.report["accepted"] + result.report["quarantined"] == len(table)
    assert sum(result.report["rejected"].values()) == len(bad) == (result.findings["action"] == "rejected").sum()
    assert result.report["noted"].get("backwards_time", 0) == table["backwards"].sum()

    assert (good[["open", "high", "low", "close"]] > 0).all(axis=None)
    assert (good["low"] <= good[["open", "close"]].min(axis=1)).all()
    assert (good["high"] >= good[["open", "close"]].max(axis=1)).all()
    assert (good[["open", "high", "low", "close"]] % 0.25 == 0).all(axis=None)
    assert not good.duplicated(["ts_event", "expiry"]).any()
    levels = set(result.findings.loc[result.findings["rule"] == "level_accepted", "source_row"])
    for _, contract in good.groupby("expiry"):
        ratio = contract["close"] / contract["close"].shift()
        assert (ratio.between(0.5, 2.0) | ratio.isna() | contract["source_row"].isin(levels)).all()

    order = np.random.default_rng(seed).permutation(len(table))
    again = sanitise_rolled(table.iloc[order].reset_index(drop=True), RULES)
    pd.testing.assert_frame_equal(again.accepted, good)
    pd.testing.assert_frame_equal(again.quarantine, bad)
    pd.testing.assert_frame_equal(again.findings, result.findings)


def judged_one_by_one(closes, rules):
    """The rule for closes in plain words, bar after bar."""
    verdicts, last, pending = [], None, []
    for close in closes:
        ok = last is None or rules.min_ratio * last <= close <= rules.max_ratio * last
        if not ok and len(pending) >= rules.accept_after and agree([*pending, close], rules):
            ok = True
        if ok:
            last, pending = close, []
        else:
            pending = [*pending, close] if agree([*pending, close], rules) else [close]
        verdicts.append(ok)
    return verdicts


def agree(closes, rules):
    """Whether the newest close lies within the ratio of every other one."""
    return all(rules.min_ratio * other <= closes[-1] <= rules.max_ratio * other for other in closes[:-1])


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    closes=st.lists(st.sampled_from([100.0, 101.0, 180.0, 250.0, 40.0, 900.0, 950.0, 20.0]), max_size=40),
    accept_after=st.integers(1, 4),
)
def test_fast_path_equals_the_rule_bar_after_bar(closes, accept_after):
    rules = BarRules(tick_size=0.25, accept_after=accept_after)
    fixed = np.array([int(close * POINT) for close in closes], np.int64)
    records = pd.DataFrame({
        "minute": np.arange(len(closes)), "expiry": 202403, "volume": 1, "backwards": False,
        **dict.fromkeys(("open", "high", "low", "close"), fixed),
    })  # fmt: skip
    accepted = sanitise_rolled(rolled(records), rules).accepted["source_row"]
    assert [row in set(accepted) for row in range(len(closes))] == judged_one_by_one(closes, rules)
