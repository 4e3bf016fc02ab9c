"""The last or current one of anything follows use: a run that finds all it needs in the store counts as one that computes."""

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest

from pipelines.cli import main
from pipelines.errors import UsageError
from pipelines.feature_sets import open_feature_set
from pipelines.models.promotions import Promoted, promote
from pipelines.published import PublishedSet, PublishedSets
from pipelines.refresh.published_pointer import CurrentSet, publish, read_pointer
from pipelines.report.document import ReportContent
from pipelines.storage import artefacts
from pipelines.storage.eviction import kept_keys
from pipelines.storage.store import REMEMBERED, Store, root_of
from pipelines.storage.store_leases import last_uses, read_leases
from tests.pipelines.day_bars import bars_of

FLOW = '''
from pathlib import Path

import pandas as pd

from kernels.features.user import feature
from pipelines.graphs.flow_table import Flow
from pipelines.graphs.node import Node
from pipelines.nodes import NODES


@feature("{feature}", low=-5, high=5, warm_up=1, formula="3")
def constant(bars, clamped_returns):
    return pd.Series(3.0, index=bars.index)


def bars(path: tuple[Path, ...]) -> pd.DataFrame:
    return pd.read_parquet(path[0])


def counted(feature_set: pd.DataFrame) -> int:
    return len(feature_set)


WANTED = ("exogenous", "feature_days", "feature_set")
KEPT = tuple(node for node in NODES if node.name in WANTED)
KEPT = tuple(Node(**{{**vars(node), "inputs": {{a: b for a, b in node.inputs.items() if a != "flow"}}}}) for node in KEPT)
FLOW = Flow(
    nodes=(
        Node("bars", bars, files={{"path": "table"}}), *KEPT,
        Node("counted", counted, inputs={{"feature_set": "feature_set.bars"}}),
    ),
    files={{"table": lambda settings: [Path("bars.parquet")]}},
)
'''


@pytest.fixture
def run(tmp_path, monkeypatch):
    """`run("limit=…")`: one command on a flow that makes a feature set of one constant feature."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = f"constant_{os.urandom(4).hex()}"
    (tmp_path / f"{module}.py").write_text(FLOW.format(feature=module), encoding="utf-8")
    bars_of(days=3).to_parquet(tmp_path / "bars.parquet")
    (tmp_path / "data").mkdir()

    def call(limit: float, *words: str) -> str:
        code = main([
            "run", f"instrument.limits.feature={limit}", f"flow={module}:FLOW", "data=data", "store=store", "cluster=serial",
            f"features.modules={module}", "features.include=[]", "--quiet", *words,
        ])  # fmt: skip
        assert code == 0
        return str(tmp_path / "store")

    return call


def constant_of(store: str, **which: str) -> float:
    opened = open_feature_set(store, **which)
    return float(np.unique(np.asarray(opened.features)[np.asarray(opened.valid)]).item())


def test_t02_after_a_cached_run_its_set_opens(run):
    """T02."""
    assert constant_of(run(5.0)) == 3.0
    assert constant_of(run(1.0)) == 1.0
    assert constant_of(run(5.0)) == 3.0


def test_t02_a_run_that_only_reads_the_set_uses_it_and_one_that_does_not_leaves_it(run):
    run(5.0)
    run(1.0)
    assert constant_of(run(5.0, "only=counted")) == 3.0
    assert constant_of(run(1.0, "only=bars")) == 3.0


def test_t02_of_two_instruments_the_named_one_opens_or_a_refusal_lists_both(run):
    run(5.0)
    store = run(1.0, "instrument=NQ")
    assert (constant_of(store, instrument="ES"), constant_of(store, instrument="NQ")) == (3.0, 1.0)
    keys = {root: open_feature_set(store, instrument=root).key[:12] for root in ("ES", "NQ")}
    with pytest.raises(UsageError, match=rf"of ES \({keys['ES']}\), NQ \({keys['NQ']}\): say which"):
        open_feature_set(store)
    with pytest.raises(UsageError, match=r"no feature set of GC; it holds those of ES .*instrument=GC"):
        open_feature_set(store, instrument="GC")
    assert constant_of(store, key=keys["NQ"]) == 1.0


def test_many_sets_of_one_instrument_hide_no_other(tmp_path):
    store = Store.open(tmp_path)
    for number, root in enumerate(["GC", *["ES"] * 2 * REMEMBERED]):
        store.remember("feature_set", {"key": f"{number}", "parts": {"configuration": {"root": root}}})
    kept = store.remembered("feature_set")
    assert [one["key"] for one in kept if root_of(one) == "GC"] == ["0"]
    assert [one["key"] for one in kept if root_of(one) == "ES"] == [f"{n}" for n in range(16, 8, -1)]


def content(store: Store, name: str) -> PublishedSet:
    key, feature_set = (name * 64)[:64], (name * 63 + "0")[:64]
    folder = store.begin(key)
    artefacts.write_parts(ReportContent({"name": name}, {}), folder)
    store.publish(key, folder, {"task": "data_report_content"})
    return PublishedSet(feature_set, key, f"run {name}")


def test_eviction_keeps_the_set_of_the_last_run_and_the_one_its_report_is_compared_with(tmp_path):
    store = Store.open(tmp_path)
    sets = PublishedSets.of(store, "ES", ["a"])
    a, b, c, d = (content(store, name) for name in "abcd")
    for entry in (a, b, c, d):
        sets.record(entry)
    assert kept_keys(store) == {c.feature_set, c.content, d.feature_set, d.content}
    for again in (b, b, b):  # its report is compared with that of a, the set first reported before it
        sets.record(again)
        assert kept_keys(store) == {a.feature_set, a.content, b.feature_set, b.content}
    sets.record(a)
    assert {a.feature_set, a.content} <= kept_keys(store)
    assert [one.feature_set for one in sets.sets()] == [one.feature_set for one in (a, b, c, d)]
    assert len(store.files.lines(sets.name)) == 7


def test_the_same_model_promoted_again_does_not_forget_the_one_before_it(tmp_path):
    store = Store.open(tmp_path)
    first = Promoted(**{one.name: one.name for one in dataclasses.fields(Promoted)})
    second = dataclasses.replace(first, model="other")
    for new in (first, second, dataclasses.replace(second, at="later")):
        promote(store, new)
    document = json.loads((tmp_path / "promoted" / "name.json").read_bytes())
    assert (document["previous"]["model"], document["current"]["at"]) == ("model", "later")


def test_a_published_set_computed_anew_does_not_forget_the_one_before_it(tmp_path):
    store = Store.open(tmp_path)
    facts = {"feature_days": "", "fingerprint": "", "at": "", "run": "", "files": {}, "sessions": 1, "rows": 1}
    for key in ("a" * 64, "b" * 64, "b" * 64):
        publish(store, "ES", CurrentSet(key, **facts, last_session=1, last_bar="", contract=""))
    assert read_pointer(store, "ES").previous.feature_set == "a" * 64


def test_a_run_of_a_part_holds_what_it_reads(run):
    """Its lease names the set that `only=counted` reads, which it neither makes nor has in its part of the graph."""
    store = Store(Path(run(5.0)))
    key = open_feature_set(store).key
    uses = last_uses(store, read_leases(store))[key]
    run(5.0, "only=counted")
    assert last_uses(store, read_leases(store))[key] > uses
