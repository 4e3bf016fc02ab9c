"""Which feature set is the previous one: the one first reported before, always the same for the same set."""

import json
from pathlib import Path

import pytest

from pipelines.published import PublishedSet, PublishedSets
from pipelines.report.document import ReportContent
from pipelines.storage import artefacts
from pipelines.storage.store import Store

NAMES = ["ret_1", "body"]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path)


def keep(store: Store, name: str) -> PublishedSet:
    """Publish a content with this name as its document and note it as a set's."""
    key = (name * 64)[:64]
    folder = store.begin(key)
    artefacts.write_parts(ReportContent({"name": name}, {}), folder)
    store.publish(key, folder, {"task": "data_report_content", "trials": 0, "parts": {}})
    return PublishedSet(f"set {name}", key, f"run {name}")


def test_the_first_set_has_no_previous_and_each_later_one_the_set_before(store: Store) -> None:
    published = PublishedSets.of(store, "ES", NAMES)
    assert published.before("set a") is None
    for name in "abc":
        published.record(keep(store, name))
    assert published.before("set a") is None
    assert published.before("set b") == {"feature_set": "set a", "run": "run a", "document": {"name": "a"}}
    assert published.before("set c")["document"] == {"name": "b"}
    assert published.before("a new one")["document"] == {"name": "c"}


def test_reporting_a_set_again_changes_nothing_but_its_content(store: Store) -> None:
    published = PublishedSets.of(store, "ES", NAMES)
    first, second = keep(store, "a"), keep(store, "b")
    for entry in (first, second, first, second, first):
        published.record(entry)
    assert [entry.feature_set for entry in published.sets()] == ["set a", "set b"]
    newer = keep(store, "d")
    published.record(PublishedSet("set a", newer.content, "run d"))
    assert published.sets()[0] == PublishedSet("set a", newer.content, "run a")
    assert published.before("set b")["document"] == {"name": "d"}


def test_other_instruments_and_other_features_are_not_compared(store: Store) -> None:
    PublishedSets.of(store, "ES", NAMES).record(keep(store, "a"))
    assert PublishedSets.of(store, "NQ", NAMES).before("set b") is None
    assert PublishedSets.of(store, "ES", NAMES[:1]).before("set b") is None


def test_a_set_whose_content_is_gone_or_damaged_is_passed_over(store: Store) -> None:
    published = PublishedSets.of(store, "ES", NAMES)
    entries = [keep(store, name) for name in "abc"]
    for entry in entries:
        published.record(entry)
    values = store.folder(entries[2].content) / "values.json"
    values.write_bytes(values.read_bytes().replace(b'"c"', b'"x"'))
    assert published.before("new")["document"] == {"name": "b"}
    (store.folder(entries[1].content) / "manifest.json").unlink()
    assert published.before("new")["document"] == {"name": "a"}


def test_a_line_cut_by_a_crash_is_ignored(store: Store) -> None:
    published = PublishedSets.of(store, "ES", NAMES)
    published.record(keep(store, "a"))
    with published.path.open("a") as stream:
        stream.write("\n" + json.dumps({"feature_set": "set b", "content": "x"})[:20])
    published.record(keep(store, "c"))
    assert [entry.feature_set for entry in published.sets()] == ["set a", "set c"]
