"""A poisoned artefact is refused where it is made, before it is written and whenever it is read, whole or one field of it.

Each kind of artefact that the flow gates is poisoned by one value; `perform` is what every runner calls at a node.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kernels.features.selection import FeatureSettings
from loaders.roll import RolledBars
from pipelines.commands import score
from pipelines.config.configuration import as_tree, load_settings
from pipelines.errors import CorruptArtefactError, NodeError, UsageError
from pipelines.execution.task_execution import Assignment, perform
from pipelines.feature_sets import open_feature_set
from pipelines.graphs.graph import Source
from pipelines.graphs.parts import Part, PartList
from pipelines.graphs.reading import Gate, read_artefact
from pipelines.models import promotions, scored_code, scoring
from pipelines.nodes import NODES
from pipelines.refresh import deliveries, refreshing
from pipelines.steps import feature_set as feature_set_step
from pipelines.steps import fold_rows
from pipelines.steps.feature_days import DayFeatures, day_features, joined_days
from pipelines.steps.feature_set import FeatureSet
from pipelines.steps.fold_rows import NormalisedFeatures
from pipelines.storage import artefacts
from pipelines.storage.store import Store
from pipelines.storage.store_leases import read_leases
from tests.loaders.rolls import day, part, rolled
from tests.pipelines.day_bars import bars_of
from training.folds import Fold
from validation.bar_rules import BarRules
from validation.errors import GateError, TargetGateError
from validation.findings import findings_table, no_findings
from validation.normalise import Normaliser
from validation.sanitise import sanitise_rolled

NODE = {node.name: node for node in NODES}
GATED = [node.name for node in NODES if node.gate is not None]
KEY, READER, LIST = "ab" * 32, "cd" * 32, "ef" * 32
BARS = bars_of(days=3)
NOTHING = pd.DataFrame(index=pd.RangeIndex(len(BARS)))
DATES = ("2024-03-11", "2024-03-12", "2024-03-13")


def sound() -> dict[str, Any]:
    """An artefact of every gated node that its gate passes."""
    outrights = part([row for date in DATES for row in day(date, ESH4=9, ESM4=5)])
    count = len(outrights.bars)
    report = {"file": "a", "records": count + 3, "outright": count, "dropped": {"spread": 3}}
    outrights = dataclasses.replace(outrights, report=report)
    series = rolled(outrights)
    days = day_features(BARS, NOTHING, FeatureSettings(), "America/Chicago", 5.0, 0.1)
    whole = joined_days([days.rows], BARS, NOTHING, 5.0, 0.1)
    normaliser = Normaliser(np.zeros(2), np.ones(2), np.array([3, 3]), 0, 3)
    normalised = NormalisedFeatures(np.zeros((3, 2), np.float32), normaliser, no_findings(), np.ones(3, bool), 20.0)
    return {
        "outright_parts": outrights, "traded_bars": outrights, "outrights": outrights, "rolled": series,
        "sanitised": sanitise_rolled(series.bars, BarRules()), "bars": BARS, "feature_days": days, "feature_set": whole,
        "normalised": normalised,
    }  # fmt: skip


SOUND = sound()


def within(name: str, field: str, poison: Callable[[Any], Any]) -> Any:
    """The artefact with one field replaced, `inner.field` in a dataclass inside it."""
    outer, dot, inner = field.partition(".")
    value = SOUND[name]
    old = getattr(value, outer)
    new = dataclasses.replace(old, **{inner: poison(getattr(old, inner))}) if dot else poison(old)
    return dataclasses.replace(value, **{outer: new})


def put(row: int, column: Any, wrong: Any) -> Callable[[Any], Any]:
    """A function that returns a copy of a table or a matrix with one wrong value."""

    def poison(value: Any) -> Any:
        copy = value.copy()
        if isinstance(value, pd.DataFrame):
            copy.loc[row, column] = wrong
        else:
            copy[row, column] = wrong
        return copy

    return poison


def unknown_action() -> pd.DataFrame:
    """Findings of one bar, with an action that no layer takes."""
    time = BARS["ts_event"].iloc[:1]
    return findings_table(time, ["ESH4"], 2, "return_clamp", "log return", [0.2], [0.1], "ignored")


POISONED = {
    **{(name, "bars"): (within(name, "bars", put(1, "volume", -1)), "volume") for name in GATED[:3]},
    ("outrights", "report"): (within("outrights", "report", lambda old: old | {"records": 1}), "records must be outright"),
    ("rolled", "bars"): (within("rolled", "bars", put(1, "role", "leading")), "role is one of followed"),
    ("sanitised", "accepted"): (within("sanitised", "accepted", put(1, "close", np.nan)), "close"),
    ("bars", None): (put(2, "high", 1.0)(BARS), "low <= open, close <= high"),
    ("feature_days", "rows"): (within("feature_days", "rows.features", put(400, 3, 6.0)), "row 400, .* = 6.0 is not within ±5"),
    ("feature_set", "features"): (within("feature_set", "features", put(400, 3, np.nan)), "row 400, .* = nan is not within ±5"),
    ("feature_set", "targets"): (within("feature_set", "targets", put(5, 2, 1.0)), "is not the close of the bar"),
    ("feature_set", "bars"): (within("feature_set", "bars", put(7, "adj_close", np.inf)), "adj_close"),
    ("feature_set", "names"): (within("feature_set", "names", lambda names: [names[1], *names[1:]]), "two features are named"),
    ("feature_set", "findings"): (within("feature_set", "findings", lambda old: unknown_action()), "action is one of"),
    ("sanitised", "findings"): (within("sanitised", "findings", lambda old: unknown_action()), "action is one of"),
    ("normalised", "z"): (within("normalised", "z", put(1, 1, 21.0)), "row 1, feature 1 = 21.0 is not within ±20"),
    ("normalised", "normaliser"): (within("normalised", "normaliser.scale", np.zeros_like), "feature 0 has mean 0 and scale 0"),
    ("normalised", "limit"): (within("normalised", "limit", lambda limit: 0.0), "limit|not within"),
}  # fmt: skip
CASES = pytest.mark.parametrize(("name", "field"), POISONED, ids=lambda value: str(value))


@pytest.fixture
def store(tmp_path) -> Store:
    return Store.open(tmp_path / "store")


def assignment(store: Store, function: Callable[..., Any], kind: Any, **more: Any) -> Assignment:
    parts = {"code": "", "configuration": {}, "libraries": {}}
    given = {"task": "node", "key": KEY, "inputs": {}, "constants": {}, "gate": None, **more}
    return Assignment(function=function, kind=kind, parts=parts, store=store, **given)


def written(store: Store, value: Any, key: str = KEY, task: str = "feature_set") -> None:
    """Publish a value with matching checksums past every gate, as a store does that someone else has written."""
    folder = store.begin(key)
    artefacts.write_parts(value, folder, type(value))
    store.publish(key, folder, {"task": task})


def test_every_gated_artefact_is_poisoned_here_and_every_field_that_a_node_reads_of_one():
    read = {tuple(source.partition(".")[::2]) for node in NODES for source in node.inputs.values()}
    fields = {(name, field) for name, field in read if name in GATED and field}
    assert {name for name, _ in POISONED} == set(GATED) == set(SOUND)
    assert fields <= set(POISONED) and {("rolled", "bars"), ("sanitised", "accepted"), ("feature_days", "rows")} < fields


@pytest.mark.parametrize("name", GATED)
def test_a_sound_artefact_passes_where_it_is_written_and_read(name, store):
    value, gate = SOUND[name], NODE[name].gate
    perform(assignment(store, lambda: value, type(value), gate=gate), print)
    read_artefact(store, KEY, type(value), gate)
    for field in getattr(gate, "fields", ()):
        assert type(read_artefact(store, KEY, type(value), gate, field)) is not type(value)


@CASES
def test_a_poisoned_value_is_not_written(name, field, store):
    value, message = POISONED[name, field]
    with pytest.raises(NodeError, match=message) as caught:
        perform(assignment(store, lambda: value, type(value), gate=NODE[name].gate), print)
    assert caught.value.exit_code == 3 and store.manifest(KEY) is None


@CASES
def test_a_poisoned_part_is_not_written_and_named(name, field, store):
    value, message = POISONED[name, field]
    split = assignment(
        store, lambda: value, type(value), gate=NODE[name].gate, split=lambda: [Part("20240311", {}, {"session": 20240311})]
    )
    with pytest.raises(NodeError, match=rf"{message}.*part 20240311"):
        perform(split, print)
    assert list(store.stored()) == []


def read_by_a_node(store: Store, name: str, field: str | None, kind: Any, parts: bool = False) -> None:
    source = Source(name, LIST if parts else KEY, kind, field, NODE[name].gate, parts)
    perform(assignment(store, lambda value: 0, int, key=READER, inputs={"value": source}), print)


@CASES
def test_a_poisoned_value_is_not_read_and_moved_aside(name, field, store):
    value, message = POISONED[name, field]
    written(store, value)
    with pytest.raises(CorruptArtefactError, match=rf"does not pass its gate after a cache read: .*({message}).*run again"):
        read_by_a_node(store, name, None, type(value))
    assert store.manifest(KEY) is None and store.manifest(READER) is None
    assert [path.name[:64] for path in (store.root / "corrupt").iterdir()] == [KEY]


@CASES
def test_a_poisoned_field_is_not_read_by_itself(name, field, store):
    value, message = POISONED[name, field]
    written(store, value)
    with pytest.raises(CorruptArtefactError, match=message):
        read_by_a_node(store, name, field, type(value))
    assert store.manifest(KEY) is None and store.manifest(READER) is None


def test_poisoned_rows_of_one_part_are_not_read_through_the_list(store):
    value, message = POISONED["feature_days", "rows"]
    written(store, value)
    written(store, PartList(pd.DataFrame({"part": ["a"], "key": [KEY]}), {}, ""), LIST)
    with pytest.raises(CorruptArtefactError, match=message):
        read_by_a_node(store, "feature_days", "rows", DayFeatures, parts=True)
    assert store.manifest(KEY) is None


@pytest.mark.parametrize("field", ["features", "targets", "bars", "names"])
def test_a_poisoned_feature_set_does_not_open(field, store):
    value, message = POISONED["feature_set", field]
    written(store, value)
    with pytest.raises(CorruptArtefactError, match=message):
        open_feature_set(store, KEY)
    assert store.manifest(KEY) is None


def test_a_field_without_a_check_of_its_own_is_judged_with_the_whole(store):
    """What a gate of the user's own refuses, it refuses also where another field is read."""

    def gate(value: RolledBars, where: str) -> None:
        if value.report["outright"] == 0:
            raise ValueError("nothing is left")

    value = dataclasses.replace(SOUND["rolled"], report={"outright": 0})
    for each in (gate, Gate(gate, {"report": lambda value, where: None})):
        written(store, value)
        with pytest.raises(CorruptArtefactError, match="nothing is left"):
            read_artefact(store, KEY, RolledBars, each, "schedule_text")
    written(store, SOUND["rolled"])
    assert read_artefact(store, KEY, RolledBars, gate, "schedule_text") == SOUND["rolled"].schedule_text


def test_a_field_with_a_check_opens_no_other_file(store):
    written(store, SOUND["feature_set"])
    (store.folder(KEY) / "features.npy").write_bytes(b"")
    with pytest.raises(CorruptArtefactError):
        read_artefact(store, KEY, FeatureSet, NODE["feature_set"].gate)
    written(store, SOUND["feature_set"])
    damaged = bytearray((store.folder(KEY) / "features.npy").read_bytes())
    damaged[-1] ^= 1
    (store.folder(KEY) / "features.npy").write_bytes(damaged)
    assert len(read_artefact(store, KEY, FeatureSet, NODE["feature_set"].gate, "bars")) == len(BARS)


def test_a_record_that_vanishes_between_tables_is_not_written(store):
    """Records in = accepted + quarantined, always; and a report counts the bars that are there."""
    fewer: dict[str, Any] = {
        "sanitised": dataclasses.replace(SOUND["sanitised"], accepted=SOUND["sanitised"].accepted.iloc[:-1]),
        "outrights": dataclasses.replace(SOUND["outrights"], bars=SOUND["outrights"].bars.iloc[:-1]),
    }
    for name, value in fewer.items():
        with pytest.raises(NodeError, match="nothing may vanish or appear"):
            perform(assignment(store, lambda value=value: value, type(value), gate=NODE[name].gate), print)


def test_a_fresh_feature_set_is_judged_before_it_is_cut_into_its_day(monkeypatch):
    """The bars around a day are cut away before anything is written: its targets are judged when they are fresh."""
    real = feature_set_step.targets
    monkeypatch.setattr(feature_set_step, "targets", lambda *given: real(*given) + 1.0)
    with pytest.raises(TargetGateError, match="fresh computation"):
        day_features(BARS, NOTHING, FeatureSettings(), "America/Chicago", 5.0, 0.1)


def test_fresh_normalised_features_are_judged(monkeypatch):
    real = fold_rows.normalise

    def doubled(*given: Any) -> Any:
        z, findings = real(*given)
        return np.where(np.isfinite(z), 30.0, z).astype(np.float32), findings

    monkeypatch.setattr(fold_rows, "normalise", doubled)
    fold = Fold(0, (300, 400), (400, 500), (500, 600))
    with pytest.raises(GateError, match="fresh computation"):
        fold_rows.normalised_features(SOUND["feature_set"], fold, 20.0)


class Made(dict[str, Any]):
    """Stands for a graph in which each task lies under KEY: what refresh reads of one."""

    def __missing__(self, name: str) -> Any:
        return dataclasses.make_dataclass("Task", ["key", "kind", "node"])(KEY, type(SOUND[name]), NODE[name])


def test_a_refresh_judges_what_it_reads(store, monkeypatch):
    value, message = POISONED["sanitised", "accepted"]
    written(store, value)
    days = pd.DataFrame({"key": ["a"], "session": [20240311], "rows": [1]})
    monkeypatch.setattr(deliveries, "days_of", lambda store, key: days)
    with pytest.raises(CorruptArtefactError, match=message):
        deliveries.delivery(Made(), store, None)
    value, message = POISONED["feature_set", "bars"]
    written(store, value)
    with pytest.raises(CorruptArtefactError, match=message):
        refreshing.new_set(Made(), refreshing.Job(load_settings(["data=x"]), store, None, None, None, None), {}, "")


def test_a_score_judges_the_scale_of_its_fold(store):
    value, message = POISONED["normalised", "normaliser"]
    written(store, value)
    promoted = dataclasses.make_dataclass("Promoted", ["artefacts"])({"normalised[fold=0]": KEY})
    with pytest.raises(CorruptArtefactError, match=message):
        scoring._normalised(store, promoted, SOUND["feature_set"], 0)
    value, _ = POISONED["normalised", "limit"]
    written(store, value)
    with pytest.raises(CorruptArtefactError, match="the limit of layer 4 is 0, must be above 0"):
        scoring._normalised(store, promoted, SOUND["feature_set"], 0)


def test_a_feature_set_has_a_name_for_each_feature(store):
    value = within("feature_set", "names", lambda names: names[:-1])
    with pytest.raises(NodeError, match="41 features by name are counted, but there are 42"):
        perform(assignment(store, lambda: value, FeatureSet, gate=NODE["feature_set"].gate), print)


def test_bars_without_a_contract_month_are_named_and_no_stage_is_blamed(store):
    """Of continuous symbols and of equities neither definition nor symbol tells it; the schema would blame the stage."""
    bars = SOUND["outrights"].bars
    unknown = bars.assign(contract="ES.v.0", expiry=bars["expiry"].where(bars.index > 1, 0))
    value = dataclasses.replace(SOUND["outrights"], bars=unknown)
    with pytest.raises(NodeError, match=r"2 bars of ES\.v\.0 have no contract month: .*put the definition files") as caught:
        perform(assignment(store, lambda: value, type(value), gate=NODE["outrights"].gate), print)
    assert caught.value.exit_code == 3 and "stage" not in str(caught.value)


def test_a_score_judges_the_published_set(store, monkeypatch):
    value, message = POISONED["feature_set", "bars"]
    written(store, value)
    monkeypatch.setattr(scored_code, "require_same", lambda *given: None)
    settings = load_settings(["data=x"])
    promoted = dataclasses.make_dataclass("Promoted", ["run", "kind", "model", "code", "configuration", "artefacts"])
    model = promoted("run", "linear", "linear", {}, as_tree(settings), {"linear": READER})
    published = dataclasses.make_dataclass("Published", ["feature_set"])(KEY)
    with pytest.raises(CorruptArtefactError, match=message):
        score._scored(store, model, published, settings)
    assert [lease.keys for lease in read_leases(store)] == [{KEY, READER}], "what it reads is held against eviction"


def promoted(store: Store, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Promote the linear model of a run, of which the store holds the fold and the feature set."""
    tasks = {"fold[fold=0]": READER, "feature_set": KEY, "linear[fold=0]": LIST, "normalised[fold=0]": LIST}
    record = {"run": "run", "configuration": {}, "tasks": [{"task": task, "key": key} for task, key in tasks.items()]}
    monkeypatch.setattr(promotions, "_record", lambda store, run: record)
    written(store, Fold(0, (300, 400), (400, 500), (500, 600)), READER)
    return promotions.find_model(store, "run", "linear", None, "ES", "a reason", "now")


def test_promoting_judges_the_bars_and_needs_the_models_artefacts(store, monkeypatch):
    value, message = POISONED["feature_set", "bars"]
    written(store, value)
    with pytest.raises(CorruptArtefactError, match=message):
        promoted(store, monkeypatch)
    written(store, SOUND["feature_set"])
    with pytest.raises(UsageError, match=r"linear\[fold=0\] of run run is no longer in the store; run the fold again"):
        promoted(store, monkeypatch)
