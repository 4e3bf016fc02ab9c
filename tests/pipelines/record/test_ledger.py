"""The ledger counts every look at validation and test rows once, and forgets none for a trivial change."""

import pytest

from pipelines.record.ledger import Ledger, Look, data_name
from pipelines.storage.store import Store

FILES = ["aa", "bb"]
RANGES = {"validation": ("2024-03-01T00:00Z", "2024-03-31T23:59Z"), "test": ("2024-04-01T00:00Z", "2024-04-30T23:59Z")}
NONE = {"validation_looks": 0, "validation_trials": 0, "test_looks": 0, "test_trials": 0}


@pytest.fixture
def ledger(tmp_path):
    return Ledger.of(Store.open(tmp_path), "ES")


def look(key, rows="test", trials=1, run="run-1", ranges=RANGES, files=FILES):
    return Look(key, "task", rows, trials, run, *ranges[rows], data_name(files))


def test_a_sweep_is_one_look_with_its_number_of_combinations(ledger):
    ledger.record(look("k1", "validation", 2_000), FILES)
    ledger.record(look("k2"), FILES)
    assert ledger.summary(RANGES, FILES) == {
        "validation_looks": 1, "validation_trials": 2000, "test_looks": 1, "test_trials": 1,
    }  # fmt: skip


def test_a_retry_or_a_cache_hit_counts_once(ledger):
    for run in ("run-1", "run-2", "run-2"):
        ledger.record(look("k1", run=run), FILES)
    assert ledger.summary(RANGES, FILES)["test_looks"] == 1
    assert ledger.looks()["k1"].run == "run-1"


def test_another_configuration_is_another_look(ledger):
    ledger.record(look("k1"), FILES)
    ledger.record(look("k2"), FILES)
    assert ledger.summary(RANGES, FILES)["test_looks"] == 2


def test_one_more_file_or_a_bar_less_in_the_fold_does_not_forget_the_looks(ledger):
    ledger.record(look("k1"), FILES)
    nearly = {**RANGES, "test": ("2024-04-01T00:00Z", "2024-04-30T23:58Z")}
    assert ledger.summary(nearly, [*FILES, "cc"])["test_looks"] == 1
    ledger.record(look("k2", ranges=nearly, files=[*FILES, "cc"]), [*FILES, "cc"])
    assert ledger.summary(RANGES, FILES)["test_looks"] == 2


def test_rows_of_other_months_and_other_data_do_not_count(ledger):
    ledger.record(look("k1"), FILES)
    later = {
        "validation": ("2024-05-01T00:00Z", "2024-05-31T00:00Z"),
        "test": ("2024-06-01T00:00Z", "2024-06-30T00:00Z"),
    }
    assert ledger.summary(later, FILES) == NONE
    assert ledger.summary(RANGES, ["zz"]) == NONE


@pytest.mark.parametrize("damage", [b'{"key": "k2", "ta', b"\xff\xfe\n", b'{"x": 1}\n', b"5\n"])
def test_a_damaged_line_is_ignored_and_the_rest_kept(ledger, damage):
    ledger.record(look("k1"), FILES)
    with ledger.path.open("ab") as stream:
        stream.write(damage)
    assert ledger.summary(RANGES, FILES)["test_looks"] == 1
    ledger.record(look("k3"), FILES)
    assert ledger.summary(RANGES, FILES)["test_looks"] == 2, "a look after a crash must not vanish into the broken line"
