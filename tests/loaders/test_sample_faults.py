"""Planted faults: each is in the file at the place the truth names, and nothing else is wrong with its row."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard

from loaders.sample import write_sample

RECORD = np.dtype(
    [("length", "u1"), ("rtype", "u1"), ("publisher_id", "<u2"), ("instrument_id", "<u4"), ("ts_event", "<u8")]
    + [(name, "<i8") for name in ("open", "high", "low", "close")]
    + [("volume", "<u8")]
)
VALUES = ("open", "high", "low", "close", "volume")
KINDS = {
    "high_below_low": (1, "high_below_low", "rejected"),
    "zero_open": (1, "nonpositive_price", "rejected"),
    "undefined_price": (1, "undefined_price", "rejected"),
    "close_times_100": (1, "close_ratio", "rejected"),
    "close_times_1.9": (2, "return_clamp", "altered"),
    "close_times_1.15": (2, "return_clamp", "altered"),
    "spike_and_back": (1, "close_ratio", "rejected"),
    "open_outside_range": (1, "open_outside_range", "rejected"),
    "close_outside_range": (1, "close_outside_range", "rejected"),
    "off_tick": (1, "off_tick", "rejected"),
    "duplicate_other_prices": (1, "duplicate_key", "rejected"),
    "duplicate_equal": (1, "duplicate_row", "rejected"),
    "out_of_order": (1, "backwards_time", "noted"),
}
Sample = tuple[dict[str, Any], dict[str, np.ndarray]]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """Truth and records of a set long enough for two faults of each kind."""
    folder = write_sample(tmp_path_factory.mktemp("faults") / "sample", sessions=60).directory
    truth = json.loads((folder / "truth.json").read_text())
    records = {}
    for one in truth["bar_files"]:
        compressed = (folder / one["name"]).read_bytes()
        data = zstandard.ZstdDecompressor().stream_reader(compressed, read_across_frames=True).read()
        start = 8 + int.from_bytes(data[4:8], "little")
        records[one["name"]] = np.frombuffer(data, RECORD, offset=start)
    return truth, records


def rows_of(sample: Sample, kind: str) -> list[tuple[dict[str, Any], dict[str, int]]]:
    truth, records = sample
    found = []
    for one in truth["faults"]:
        if one["kind"] == kind:
            row = records[one["file"]][one["record"]]
            found.append((one, {name: int(row[name]) for name in VALUES}))
    assert found
    return found


def same_key(sample: Sample, one: dict[str, Any]) -> list[int]:
    records = sample[1][one["file"]]
    match = (records["ts_event"] == one["ts_event"]) & (records["instrument_id"] == one["instrument_id"])
    return [int(index) for index in np.flatnonzero(match)]


def test_every_kind_is_planted_and_names_what_must_find_it(sample: Sample) -> None:
    faults = sample[0]["faults"]
    assert Counter(one["kind"] for one in faults) == dict.fromkeys(KINDS, 2)
    for one in faults:
        expected = one["expected"]
        assert (expected["layer"], expected["rule"], expected["action"]) == KINDS[one["kind"]]


def test_smallest_set_has_every_kind(tmp_path: Path) -> None:
    write_sample(tmp_path / "sample", sessions=3)
    truth = json.loads((tmp_path / "sample" / "truth.json").read_text())
    assert {one["kind"] for one in truth["faults"]} == set(KINDS)


def test_record_number_time_and_instrument_lead_to_the_planted_row(sample: Sample) -> None:
    truth, records = sample
    for one in truth["faults"]:
        row = records[one["file"]][one["record"]]
        assert (int(row["ts_event"]), int(row["instrument_id"])) == (one["ts_event"], one["instrument_id"])
        assert {name: int(row[name]) for name in VALUES} == one["planted"]


def test_faults_lie_in_the_followed_contract_away_from_rolls_and_each_other(sample: Sample) -> None:
    truth = sample[0]
    sessions = [one["session"] for one in truth["schedule"]]
    followed = {one["session"]: one["contract"] for one in truth["schedule"]}
    rolls = [sessions.index(one["session"]) for one in truth["rolls"]]
    times = sorted(one["ts_event"] for one in truth["faults"])
    assert min(np.diff(times)) > 60 * 60_000_000_000
    for one in truth["faults"]:
        # 17:00 Chicago is 22:00 or 23:00 UTC and no fault lies within half an hour of a session's edge.
        session = int(
            np.datetime_as_string(np.datetime64(one["ts_event"] + 7_200_000_000_000, "ns"), "D").replace("-", "")
        )
        assert followed[session] == one["contract"]
        assert all(abs(sessions.index(session) - roll) > 2 for roll in rolls)


def test_single_column_faults(sample: Sample) -> None:
    for one, row in rows_of(sample, "high_below_low"):
        assert row["high"] < row["low"]
        assert (row["high"], row["low"]) == (one["original"]["low"], one["original"]["high"])
    for _, row in rows_of(sample, "zero_open"):
        assert row["open"] == 0 < row["low"]
    for _, row in rows_of(sample, "undefined_price"):
        assert [row[name] for name in VALUES[:4]].count(2**63 - 1) == 1
    for _, row in rows_of(sample, "open_outside_range"):
        assert row["open"] == row["high"] + 5_000_000_000 and row["low"] <= row["close"] <= row["high"]
    for _, row in rows_of(sample, "close_outside_range"):
        assert row["close"] == row["low"] - 5_000_000_000 and row["low"] <= row["open"] <= row["high"]
    for _, row in rows_of(sample, "off_tick"):
        assert row["close"] % 250_000_000 != 0 and row["low"] <= row["close"] <= row["high"]


@pytest.mark.parametrize(
    ("kind", "factor"), [("close_times_100", 100), ("close_times_1.9", 1.9), ("close_times_1.15", 1.15)]
)
def test_multiplied_closes_are_legal_bars_but_for_their_size(sample: Sample, kind: str, factor: float) -> None:
    for one, row in rows_of(sample, kind):
        assert row["close"] / one["original"]["close"] == pytest.approx(factor, abs=1e-4)
        assert row["close"] % 250_000_000 == 0
        assert row["low"] <= min(row["open"], row["close"]) and max(row["open"], row["close"]) <= row["high"]


def test_layer_2_faults_name_the_bar_of_the_return(sample: Sample) -> None:
    truth, records = sample
    for one in truth["faults"]:
        assert ("returns_at" in one) == (one["expected"]["layer"] == 2)
        if "returns_at" in one:
            rows = records[one["file"]]
            later = rows[(rows["instrument_id"] == one["instrument_id"]) & (rows["ts_event"] > one["ts_event"])]
            assert later["ts_event"][0] == one["returns_at"]
            assert later["close"][0] / one["original"]["close"] == pytest.approx(1.0, abs=0.01)


def test_spike_is_one_whole_bar_at_three_times_the_price(sample: Sample) -> None:
    for one, row in rows_of(sample, "spike_and_back"):
        for name in VALUES[:4]:
            assert row[name] == 3 * one["original"][name]


def test_duplicates_are_beside_the_row_they_copy(sample: Sample) -> None:
    records = sample[1]
    for one, row in rows_of(sample, "duplicate_other_prices"):
        places = same_key(sample, one)
        assert len(places) == 2 and one["record"] in places
        kept = records[one["file"]][next(place for place in places if place != one["record"])]
        assert {name: int(kept[name]) for name in VALUES} == one["original"]
        assert (row["volume"], row["close"]) < (one["original"]["volume"], one["original"]["close"])
        assert row["close"] != one["original"]["close"]
    for one, row in rows_of(sample, "duplicate_equal"):
        places = same_key(sample, one)
        assert len(places) == 2 and one["record"] == max(places)
        assert records[one["file"]][places[0]] == records[one["file"]][places[1]]
        assert row == one["original"]


def test_only_the_planted_rows_go_back_in_time(sample: Sample) -> None:
    truth, records = sample
    late = {(one["file"], one["record"]) for one in truth["faults"] if one["kind"] == "out_of_order"}
    found = set()
    for name, rows in records.items():
        times = rows["ts_event"].astype(np.int64)
        found |= {(name, int(index)) for index in np.flatnonzero(times < np.maximum.accumulate(times))}
    assert found == late
