"""The ledger counts every look at validation and test rows once."""

import pytest

from pipelines.ledger import Ledger, Look
from pipelines.store import Store

FOLD = {"test": [1, 2]}


@pytest.fixture
def ledger(tmp_path):
    return Ledger.of(Store.open(tmp_path), {"files": ["a"]}, FOLD)


def test_a_sweep_is_one_look_with_its_number_of_combinations(ledger):
    ledger.record(Look("k1", "ranking", "validation", 2_000, "run-1"))
    ledger.record(Look("k2", "evaluation", "test", 1, "run-1"))
    assert ledger.summary() == {"validation_looks": 1, "validation_trials": 2000, "test_looks": 1, "test_trials": 1}


def test_a_retry_or_a_cache_hit_counts_once(ledger):
    for run in ("run-1", "run-2", "run-2"):
        ledger.record(Look("k1", "evaluation", "test", 1, run))
    assert ledger.summary()["test_looks"] == 1
    assert ledger.looks()["k1"].run == "run-1"


def test_another_configuration_is_another_look(ledger):
    ledger.record(Look("k1", "evaluation", "test", 1, "run-1"))
    ledger.record(Look("k2", "evaluation", "test", 1, "run-2"))
    assert ledger.summary()["test_looks"] == 2


def test_a_line_cut_by_a_crash_is_ignored_and_the_rest_kept(ledger):
    ledger.record(Look("k1", "evaluation", "test", 1, "run-1"))
    with ledger.path.open("a") as stream:
        stream.write('{"key": "k2", "ta')
    assert ledger.summary()["test_looks"] == 1
    ledger.record(Look("k3", "evaluation", "test", 1, "run-2"))
    assert ledger.summary()["test_looks"] == 2, "a look after a crash must not vanish into the broken line"


def test_folds_and_data_sets_have_their_own_ledgers(tmp_path):
    store = Store.open(tmp_path)
    paths = {Ledger.of(store, {"files": [name]}, {"test": rows}).path for name in "ab" for rows in ([1, 2], [2, 3])}
    assert len(paths) == 4
