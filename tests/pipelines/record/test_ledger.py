"""The ledger counts every look at validation and test rows once, and forgets none for a trivial change."""

import json

import pytest

from pipelines.record.ledger import Ledger, Look, data_name
from pipelines.storage.store import Store

OPENED = {f"202404{day:02}": 5000.0 + day for day in range(1, 27)}
OTHER = {session: price + 0.25 for session, price in OPENED.items()}
RANGES = {"validation": ("2024-03-01T00:00Z", "2024-03-31T23:59Z"), "test": ("2024-04-01T00:00Z", "2024-04-30T23:59Z")}
NONE = {"validation_looks": 0, "validation_trials": 0, "test_looks": 0, "test_trials": 0}


@pytest.fixture
def ledger(tmp_path):
    return Ledger.of(Store.open(tmp_path), "ES")


def look(key, rows="test", trials=1, run="run-1", ranges=RANGES, opened=OPENED):
    return Look(key, f"artefact of {key}", "task", rows, trials, run, *ranges[rows], data_name(opened))


def test_a_sweep_is_one_look_with_its_number_of_combinations(ledger):
    ledger.record(look("k1", "validation", 2_000), OPENED)
    ledger.record(look("k2"), OPENED)
    assert ledger.summary(RANGES, OPENED) == {
        "validation_looks": 1, "validation_trials": 2000, "test_looks": 1, "test_trials": 1,
    }  # fmt: skip


def test_a_retry_or_a_cache_hit_counts_once(ledger):
    for run in ("run-1", "run-2", "run-2"):
        ledger.record(look("k1", run=run), OPENED)
    assert ledger.summary(RANGES, OPENED)["test_looks"] == 1
    assert ledger.looks()["k1"].run == "run-1"


def test_another_configuration_is_another_look(ledger):
    ledger.record(look("k1"), OPENED)
    ledger.record(look("k2"), OPENED)
    assert ledger.summary(RANGES, OPENED)["test_looks"] == 2


def test_one_more_day_or_a_bar_less_in_the_fold_does_not_forget_the_looks(ledger):
    ledger.record(look("k1"), OPENED)
    nearly, more = {**RANGES, "test": ("2024-04-01T00:00Z", "2024-04-30T23:58Z")}, {**OPENED, "20240429": 4999.0}
    assert ledger.summary(nearly, more)["test_looks"] == 1
    ledger.record(look("k2", ranges=nearly, opened=more), more)
    assert ledger.summary(RANGES, OPENED)["test_looks"] == 2


def test_dates_that_opened_otherwise_make_other_data_only_where_nearly_all_did(ledger):
    """Another roll rule follows another contract on some dates; a correction changes a few."""
    ledger.record(look("k1"), OPENED)
    first, *rest = OPENED
    nearly_all = {**OTHER, first: OPENED[first], rest[0]: OPENED[rest[0]]}
    assert ledger.summary(RANGES, nearly_all)["test_looks"] == 1  # 2 of 26 are more than one in twenty
    assert ledger.summary(RANGES, {**OTHER, first: OPENED[first]}) == NONE
    elsewhere = {session.replace("202404", "202403"): price for session, price in OPENED.items()}
    assert ledger.summary(RANGES, elsewhere)["test_looks"] == 1, "nothing shows that these are other data"


def test_looks_of_a_ledger_that_knew_files_keep_counting(ledger):
    """A line as it was written before, and its list of checksums: nothing tells what data they are, so they count."""
    entry = {"key": "old", "task": "task", "rows": "test", "trials": 3, "run": "r", "data": "0123456789abcdef",
             "first": RANGES["test"][0], "last": RANGES["test"][1]}  # fmt: skip
    ledger.store.files.append(ledger.name, json.dumps(entry))
    ledger.store.files.write("ledger/ES/0123456789abcdef.json", json.dumps(["aa", "bb"]).encode())
    assert ledger.has("old") and not ledger.has("new")
    ledger.record(look("k1"), OPENED)
    for data in (OPENED, OTHER):
        assert ledger.summary(RANGES, data)["test_trials"] == (4 if data is OPENED else 3)
    march = {"validation": ("2024-01-01T00:00Z", "2024-01-31T00:00Z"), "test": RANGES["validation"]}
    assert ledger.summary(march, OPENED) == NONE


def test_rows_of_other_months_and_other_data_do_not_count(ledger):
    ledger.record(look("k1"), OPENED)
    later = {
        "validation": ("2024-05-01T00:00Z", "2024-05-31T00:00Z"),
        "test": ("2024-06-01T00:00Z", "2024-06-30T00:00Z"),
    }
    assert ledger.summary(later, OPENED) == NONE
    assert ledger.summary(RANGES, OTHER) == NONE


@pytest.mark.parametrize("damage", [b'{"key": "k2", "ta', b"\xff\xfe\n", b'{"x": 1}\n', b"5\n"])
def test_a_damaged_line_is_ignored_and_the_rest_kept(ledger, damage):
    ledger.record(look("k1"), OPENED)
    with ledger.path.open("ab") as stream:
        stream.write(damage)
    assert ledger.summary(RANGES, OPENED)["test_looks"] == 1
    ledger.record(look("k3"), OPENED)
    assert ledger.summary(RANGES, OPENED)["test_looks"] == 2, "a look after a crash must not vanish into the broken line"
