"""Guards of a refresh, each by itself: a lock that was taken over, failures that are no poison, files that stay."""

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from pipelines import flow
from pipelines.commands import refresh
from pipelines.commands.options import Options
from pipelines.config.configuration import load_settings
from pipelines.errors import ConfigurationError, ExitCode, LockedError, NodeError, StoreError, UsageError
from pipelines.refresh import deliveries, refreshing
from pipelines.refresh.intake import Intake, fingerprint, set_aside
from pipelines.refresh.published_pointer import CurrentSet, Pointer, publish, read_pointer, roll_back
from pipelines.storage.store import Store

KEY, OTHER = "ab" * 32, "cd" * 32
PROMISED = "promised.dbn.zst"


def current(key: str = KEY, **more: Any) -> CurrentSet:
    facts = {"feature_days": key, "at": "", "run": "first", "files": {"known": "1"}, "sessions": 1, "rows": 1}
    return CurrentSet(key, **{"fingerprint": "mark", **facts, "last_session": 1, "last_bar": "", "contract": "ESH4", **more})


def good(**more: Any) -> deliveries.Delivery:
    facts = {"changed": (1,), "rows": 10, "rejected": {}, "ordinals": {}, "missing": {}, "lost": (), "shrunk": {}, "newest": 0}
    return deliveries.Delivery(**{**facts, **more})


class Lock:
    """A lock that is held, or was taken over by another process."""

    taken_over = ""

    def __init__(self, lost: bool = False) -> None:
        self.lost = lost

    def require(self) -> None:
        if self.lost:
            raise LockedError("another refresh has taken the lock over")


def job(folder: Path, *overrides: str, lost: bool = False, compute: Any = lambda graph, record: None) -> refreshing.Job:
    (folder / "data").mkdir(exist_ok=True)
    settings = load_settings([f"data={folder / 'data'}", f"store={folder / 'store'}", *overrides])
    record: Any = dataclasses.make_dataclass("Record", ["run"])("this")
    holding: Any = Lock(lost)
    return refreshing.Job(settings, Store.open(folder / "store"), record, holding, compute, print)


INTAKE = Intake({"known": "1", "fresh": "2"}, ("known", "fresh"), ("fresh",), (), (), {})


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """`judged(found)`: judge a delivery in a job; which sets were published."""
    published: list[CurrentSet] = []
    monkeypatch.setattr(refreshing, "new_set", lambda *given: current(OTHER))
    monkeypatch.setattr(refreshing, "publish", lambda store, name, new: published.append(new))

    def judge(found: deliveries.Delivery, before: Pointer = Pointer(current()), intake: Intake = INTAKE, **how: Any):  # noqa: B008
        monkeypatch.setattr(deliveries, "delivery", lambda *given: found)
        nothing: Any = None
        return refreshing._judged(job(tmp_path, **how), before, intake, "mark", nothing), published

    judge.published = published  # type: ignore[attr-defined]
    return judge


def test_a_refresh_whose_lock_was_taken_over_publishes_nothing(judged):
    with pytest.raises(LockedError, match="taken the lock over"):
        judged(good(), lost=True)
    assert judged.published == []
    assert judged(good())[1] == [current(OTHER)]


def node_error(code: ExitCode) -> Any:
    def compute(graph: Any, record: Any) -> None:
        raise NodeError("sanitised[file=1]", KEY, "ValueError", "no", "", int(code))

    return compute


def test_a_node_that_fails_is_no_poison_and_one_that_rejects_is(judged):
    with pytest.raises(NodeError):
        judged(good(), compute=node_error(ExitCode.NODE_FAILED))
    answer, published = judged(good(), compute=node_error(ExitCode.DATA_REJECTED))
    assert (answer["status"], published) == ("poisoned", [])
    assert answer["left"] == {"fresh": "it may be another's, or its definitions may still come"} and answer["set_aside"] == []


@pytest.mark.parametrize(("found", "said"), [
    (good(rejected={"off_tick": 11}), "11 of 10 delivered rows rejected as off_tick"),
    (good(missing={20240301: 0.051}), "session 20240301 has 5.1%"),
    (good(shrunk={20240301: 0.051}), "fewer than published"),
    (good(lost=(20240301,)), "1 published sessions are gone, first 20240301"),
    (good(newest=2**62), "the newest bar starts at"),
])  # fmt: skip
def test_what_is_poisoned_is_not_published(judged, found, said):
    answer, published = judged(found)
    assert (answer["status"], published) == ("poisoned", [])
    assert said in answer["reasons"][0]


@pytest.mark.parametrize("found", [
    good(rejected={"off_tick": 10}), good(rows=20_000, rejected={"off_tick": 20}), good(missing={20240301: 0.05}),
    good(shrunk={20240301: 0.05}),
])  # fmt: skip
def test_what_lies_at_its_threshold_is_published(judged, found):
    answer, published = judged(found)
    assert answer["status"] == "published" and len(published) == 1


def test_sessions_may_shrink_where_no_file_changed(judged):
    unchanged = dataclasses.replace(INTAKE, new=())
    answer, published = judged(good(lost=(20240301,), shrunk={20240302: 0.5}), intake=unchanged)
    assert answer["status"] == "published" and len(published) == 1


def test_only_bars_after_now_are_not_remembered(judged, tmp_path):
    store = job(tmp_path).store
    judged(good(newest=2**62))
    assert read_pointer(store, "ES").refused == ()
    judged(good(lost=(20240301,)))
    assert [one.fingerprint for one in read_pointer(store, "ES").refused] == ["mark"]


def test_a_new_file_moves_and_all_others_stay(tmp_path):
    work = job(tmp_path)
    data = tmp_path / "data"
    for name in ("fresh", "known", PROMISED):
        (data / name).write_text(name)
    promise = {"filename": PROMISED, "size": 8, "hash": "sha256:" + "0" * 64, "urls": {}}
    (data / "manifest.json").write_text(json.dumps({"files": [promise]}))
    blamed = dict.fromkeys(("fresh", "known", PROMISED), "bad")
    nothing_yet = refreshing._refused(work, Pointer(), "mark", ["bad"], blamed)
    assert (nothing_yet["set_aside"], set(nothing_yet["left"].values())) == ([], {"nothing is published yet"})
    answer = refreshing._refused(work, Pointer(current()), "mark", ["bad"], blamed)
    assert answer["set_aside"] == [str(data / "refused" / "this" / "fresh")]
    assert answer["left"] == {"known": "a revision of a published file", PROMISED: "manifest.json promises it"}
    assert json.loads((data / "refused" / "this" / "fresh.reason.json").read_text()) == {"file": "fresh", "reason": "bad"}
    assert (data / "known").is_file() and (data / PROMISED).is_file() and not (data / "fresh").exists()


def test_nothing_moves_where_no_folder_is_named_for_it(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "fresh").write_text("x")
    settings = job(tmp_path, "refresh.refused=").settings
    assert set_aside(settings, {"fresh": "bad"}, "this") == ([], {"fresh": "refresh.refused is empty"})
    assert (tmp_path / "data" / "fresh").is_file()


def test_only_new_files_that_exceed_the_limit_themselves_are_to_blame(tmp_path):
    limits = job(tmp_path).settings.refresh
    found = good(rejected={"off_tick": 30}, ordinals={"off_tick": {0: 12, 1: 11, 2: 7}})
    assert deliveries.files_to_blame(found, limits, ["a", "b", "c"], {"b", "c"}) == ["b"]


def test_a_rollback_to_a_set_that_is_gone_changes_nothing(tmp_path):
    store = Store.open(tmp_path)
    with pytest.raises(UsageError, match="nothing to roll back to"):
        roll_back(store, "ES")
    for key in (KEY, OTHER):
        publish(store, "ES", current(key))
    with pytest.raises(StoreError, match="is gone or damaged; the published one stays"):
        roll_back(store, "ES")
    assert read_pointer(store, "ES").current == current(OTHER)
    assert [json.loads(line)["event"] for line in store.files.lines("published/ES.history.jsonl")] == ["published"] * 2


def test_a_published_set_whose_artefact_is_gone_is_computed_again(tmp_path, monkeypatch):
    work, asked = job(tmp_path), []
    monkeypatch.setattr(refreshing, "fingerprint", lambda settings, files: "mark")
    monkeypatch.setattr(refreshing, "_computed", lambda *given: asked.append(given[-1]) or {})
    refreshing._outcome(work, Pointer(current()), INTAKE)
    assert asked == ["mark"]
    folder = work.store.begin(KEY)
    (folder / "values.json").write_text("1")
    work.store.publish(KEY, folder, {"task": "feature_set"})
    assert refreshing._outcome(work, Pointer(current()), INTAKE)["status"] == "nothing new" and asked == ["mark"]


def test_a_refusal_is_repeated_without_the_work_and_a_fault_refuses_at_once(tmp_path, monkeypatch):
    work = job(tmp_path)
    monkeypatch.setattr(refreshing, "fingerprint", lambda settings, files: "poisoned mark")
    monkeypatch.setattr(refreshing, "_computed", lambda *given: pytest.fail("it was computed"))
    refused = refreshing.Refusal("poisoned mark", ("bad",), "", "an earlier run")
    answer = refreshing._outcome(work, Pointer(current(), refused=(refused,)), INTAKE)
    assert (answer["status"], answer["reasons"], answer["since"]) == ("poisoned", ["bad"], "an earlier run")
    faulty = dataclasses.replace(INTAKE, faults={"known": "cut short"})
    assert refreshing._outcome(work, Pointer(current()), faulty)["reasons"] == ["cut short"]


def test_a_damaged_journal_of_downloads_is_named(tmp_path, monkeypatch):
    download = ("refresh.download.source=databento", "refresh.download.symbols=[ES.FUT]", "refresh.download.start=2024-01-02")
    work = job(tmp_path, *download)
    for data in (b"{", b"[" * 100_000):
        work.store.files.write("downloads/ES.json", data)
        with pytest.raises(StoreError, match=r"downloads/ES\.json in the store .* is damaged"):
            refreshing._fetched(work)


def test_holes_are_held_against_a_delivery_where_they_are_larger_than_when_they_were_published(monkeypatch):
    table = pd.DataFrame({"session": [1, 2, 3], "open": [1000, 1000, 500], "missing": [100, 60, 0]})
    monkeypatch.setattr(deliveries, "_coverage", lambda graph, store: table)
    nothing: Any = None
    assert deliveries._missing(nothing, nothing, current(missing={"1": 0.1, "2": 0.05})) == {2: 0.06}
    assert deliveries._missing(nothing, nothing, current()) == {1: 0.1, 2: 0.06}
    assert deliveries._missing(nothing, nothing, None) == {deliveries.TOGETHER: 160 / 2500}  # an archive may have a bad day


def test_the_short_cut_is_not_taken_where_the_users_own_code_runs():
    """Its files are not among those that the fingerprint names."""
    assert fingerprint(load_settings(["data=x"]), {}) is not None
    for own in ("features.modules=[mine]", "flow=mine:FLOW"):
        assert fingerprint(load_settings(["data=x", own]), {}) is None


@pytest.mark.parametrize("name", ["few_rejected", "max_lost_sessions", "stale_sessions"])
def test_counts_below_zero_are_refused(name):
    with pytest.raises(ConfigurationError, match=f"refresh.{name} is -1, must be 0 or more"):
        load_settings(["data=x", f"refresh.{name}=-1"])


def test_what_a_refresh_answers_holds_no_secret(tmp_path, monkeypatch):
    work = job(tmp_path, "store_options.secret=hunter2hunter2")
    found = {"name": "ES", "status": "poisoned", "reasons": ["the server said hunter2hunter2"], "stale": False}
    options = Options("refresh", (), json=True, quiet=True, debug=False, config=None)
    document = refresh._kept(options, work.settings, work.store, work.holding, lambda job: dict(found))
    assert document["reasons"][0].startswith("the server said ") and "hunter2" not in json.dumps(document)


def test_a_flow_that_makes_no_feature_set_cannot_be_published(tmp_path, monkeypatch):
    opened = SimpleNamespace(files={}, graph=lambda folds: {})
    monkeypatch.setattr(flow, "open_flow", lambda settings: opened)
    with pytest.raises(UsageError, match="publishes a feature set, and the flow walk_forward has no node gaps"):
        refreshing._computed(job(tmp_path), Pointer(), dataclasses.replace(INTAKE, files={}), "mark")
