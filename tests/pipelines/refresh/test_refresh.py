"""A refresh publishes what is new and good, keeps what was published before a poisoned delivery, and does nothing twice."""

import dataclasses
import json
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import zstandard

from loaders.records import open_dbn
from loaders.sample import write_sample
from pipelines.cli import main
from pipelines.config.configuration import load_settings
from pipelines.errors import ConfigurationError, StoreError, UsageError
from pipelines.feature_sets import open_feature_set
from pipelines.record.records import read_records
from pipelines.refresh.freshness import sessions_since
from pipelines.refresh.published_pointer import (
    CurrentSet,
    Refusal,
    current_set,
    publish,
    read_pointer,
    refuse,
    roll_back,
)
from pipelines.storage.eviction import evict, kept_keys
from pipelines.storage.store import Store
from tests.pipelines.refresh.deliveries import Inbox, hole, outright_id, spoil

FIRST = 20240228


@pytest.fixture(scope="module")
def days(tmp_path_factory):
    """Five sessions of the sample in day files."""
    folder = tmp_path_factory.mktemp("days") / "sample"
    write_sample(folder, sessions=5, daily=True)
    return folder


@pytest.fixture(scope="module")
def refreshed_once(days, tmp_path_factory):
    """A data folder with the days until FIRST and the store they are published in; tests copy it."""
    place = tmp_path_factory.mktemp("published")
    inbox = Inbox.of(days, place, FIRST)
    assert main(["refresh", *inbox.words, "--quiet"]) == 0
    return place


@pytest.fixture
def inbox(days, refreshed_once, tmp_path):
    import shutil

    shutil.copytree(refreshed_once, tmp_path, dirs_exist_ok=True)
    return Inbox(days, tmp_path / "data")


def moment(text: str) -> int:
    return int(np.datetime64(text, "ns").astype(np.int64))


def test_nothing_new_does_nothing_and_says_so_at_once(inbox, capsys):
    before = inbox.pointer
    objects = sorted(path for path in (inbox.store.root / "objects").rglob("*"))
    started = time.perf_counter()
    code, answer = inbox.refresh(capsys)
    assert time.perf_counter() - started < 3
    assert (code, answer["status"], answer["files"]["new"]) == (0, "nothing new", [])
    assert inbox.pointer == before
    assert sorted(path for path in (inbox.store.root / "objects").rglob("*")) == objects
    last = read_records(inbox.store)[-1]
    assert (last["run"], last["command"], last["status"], last["tasks"]) == (answer["run"], "refresh", "done", [])


def test_a_new_day_is_published_and_only_what_it_reaches_is_computed(inbox, capsys):
    before = inbox.pointer.current
    inbox.deliver(20240229)
    code, answer = inbox.refresh(capsys)
    assert (code, answer["status"]) == (0, "published")
    assert answer["files"]["new"] == [inbox.path(20240229).name]
    assert answer["published"]["last_bar"] == "2024-02-29T23:59:00+00:00"
    # the UTC day ends session 20240229 and begins 20240301; one more day has a new bar after it
    assert answer["changed_sessions"] <= 3
    pointer = inbox.pointer
    assert pointer.previous == before and pointer.current.feature_set == answer["published"]["feature_set"]
    assert {before.feature_set, pointer.current.feature_set} <= kept_keys(inbox.store)
    evict(inbox.store, 0)
    assert inbox.store.manifest(before.feature_set) and inbox.store.manifest(pointer.current.feature_set)


def test_missed_days_are_caught_up_to_the_same_set_as_day_by_day(inbox, days, capsys, tmp_path):
    seen = [open_feature_set(inbox.store, inbox.pointer.current.feature_set)]
    for day in (20240229, 20240301):
        inbox.deliver(day)
        assert inbox.refresh(capsys)[0] == 0
        seen.append(open_feature_set(inbox.store, inbox.pointer.current.feature_set))
    for before in seen[:-1]:
        # the newest bar's features, too, were what they are now that the days after it are known
        rows = slice(0, len(before))
        assert len(before) < len(seen[-1])
        assert before.features.tobytes() == seen[-1].features[rows].tobytes()
        assert before.valid.tobytes() == seen[-1].valid[rows].tobytes()
        assert before.bars.equals(seen[-1].bars.iloc[rows])
    (tmp_path / "at_once").mkdir()
    once = Inbox.of(days, tmp_path / "at_once", 20240301)
    assert once.refresh(capsys)[0] == 0
    assert once.pointer.current.feature_set == inbox.pointer.current.feature_set
    files = [one.store.manifest(one.pointer.current.feature_set)["files"] for one in (inbox, once)]
    assert files[0] == files[1]


def test_a_file_that_reached_the_limit_of_its_request_is_refused_and_moved_away(inbox, capsys):
    """T24: the rest of its day is missing, and the file itself says so."""
    before = inbox.pointer
    inbox.deliver(20240229)
    path = inbox.path(20240229)
    content = bytearray(zstandard.ZstdDecompressor().stream_reader(path.read_bytes(), read_across_frames=True).read())
    file = open_dbn(path)
    records = sum(len(chunk) for chunk in file.chunks())
    at = 8 + 16 + 2 + 8 + 8  # the prefix, dataset, schema, start and end come before the limit
    for limit, status in ((records, "poisoned"), (records + 1, "published")):
        content[at : at + 8] = limit.to_bytes(8, "little")
        path.write_bytes(zstandard.compress(bytes(content)))
        code, answer = inbox.refresh(capsys)
        assert (code, answer["status"]) == (3 if status == "poisoned" else 0, status)
        if status == "poisoned":
            assert answer["reasons"] == [
                f"{path.name}: holds as many records as its request was limited to, {records:,}; what came after is missing"]
            assert answer["set_aside"] and inbox.pointer == before


def test_a_late_correction_recomputes_its_days_alone(inbox, capsys):
    def move(records):
        records["volume"][records["instrument_id"] == outright_id(records)] += 1
        return records

    inbox.rewrite(20240226, move)
    code, answer = inbox.refresh(capsys)
    assert (code, answer["status"], answer["files"]["revised"]) == (0, "published", [inbox.path(20240226).name])
    assert answer["changed_sessions"] == 2, "its own, and the one whose look-back reaches into it"


def test_a_file_cut_short_is_refused_and_moved_away(inbox, capsys):
    before = inbox.pointer
    inbox.deliver(20240229)
    path = inbox.path(20240229)
    path.write_bytes(path.read_bytes()[:-300])
    code, answer = inbox.refresh(capsys)
    assert (code, answer["status"]) == (3, "poisoned")
    assert path.name in answer["reasons"][0]
    assert inbox.pointer == before, "what was published stays"
    assert not path.exists() and answer["set_aside"] == [str(inbox.folder / "refused" / answer["run"] / path.name)]
    said = json.loads((inbox.folder / "refused" / answer["run"] / f"{path.name}.reason.json").read_text())
    assert said == {"file": path.name, "reason": answer["reasons"][0]}
    assert read_records(inbox.store)[-1]["status"] == "data_rejected"
    assert inbox.refresh(capsys)[1]["status"] == "nothing new"
    inbox.deliver(20240229)
    assert inbox.refresh(capsys)[1]["status"] == "published"


def test_what_is_no_data_at_all_is_refused_too(inbox, capsys):
    inbox.path(20240229).write_bytes(b"<html>try again later</html>")
    code, answer = inbox.refresh(capsys)
    assert code == 3 and inbox.path(20240229).name in answer["reasons"][0]
    assert not inbox.path(20240229).exists()


def test_bars_of_another_interval_are_refused_and_moved_away(inbox, capsys):
    before = inbox.pointer.current

    def longer(records):
        records["rtype"] = 34
        return records

    inbox.rewrite(20240229, longer, schema=8)
    code, answer = inbox.refresh(capsys)
    assert (code, answer["status"], inbox.pointer.current) == (3, "poisoned", before)
    assert "holds ohlcv-1d, the published files ohlcv-1m" in answer["reasons"][0]
    assert answer["set_aside"] and not inbox.path(20240229).exists()
    assert inbox.refresh(capsys)[1]["status"] == "nothing new"


def test_bars_of_the_future_are_refused_and_come_in_once_the_clock_is_right(inbox, capsys, monkeypatch):
    from pipelines.refresh import refreshing

    inbox.deliver(20240229)
    before = inbox.pointer
    monkeypatch.setattr(refreshing.time, "time_ns", lambda: moment("2024-02-29T23:58:30"))
    code, answer = inbox.refresh(capsys)
    assert (code, answer["status"], inbox.pointer) == (3, "poisoned", before)
    assert "starts at 2024-02-29T23:59:00Z, and it is 2024-02-29T23:58:30Z by this machine" in answer["reasons"][0]
    assert inbox.path(20240229).exists() and answer["set_aside"] == []
    monkeypatch.setattr(refreshing.time, "time_ns", lambda: moment("2024-02-29T23:59:30"))
    code, answer = inbox.refresh(capsys)
    assert (code, answer["status"], answer["age_sessions"]) == (0, "published", 0)


def test_too_many_rejected_bars_poison_a_delivery_and_a_few_do_not(inbox, capsys):
    before = inbox.pointer
    inbox.rewrite(20240229, spoil(40))
    code, answer = inbox.refresh(capsys)
    assert (code, answer["status"]) == (3, "poisoned")
    assert "rejected as high_below_low" in answer["reasons"][0] and "refresh.max_rejected_share" in answer["reasons"][0]
    assert inbox.pointer.current == before.current
    assert answer["set_aside"] and not inbox.path(20240229).exists()
    inbox.rewrite(20240229, spoil(5))
    code, answer = inbox.refresh(capsys)
    assert (code, answer["status"]) == (0, "published")
    assert answer["rejected"]["high_below_low"] == 6, "one is planted in the sample"


def test_a_hole_in_a_session_keeps_the_published_set_and_is_not_computed_twice(inbox, capsys):
    before = inbox.pointer.current
    inbox.rewrite(20240229, hole(minutes=120))
    code, answer = inbox.refresh(capsys)
    assert code == 3 and "session 20240229 has 8.7% of a full session's minutes lost" in answer["reasons"][0]
    assert inbox.path(20240229).exists(), "the file itself is not to blame: the rest may still come"
    assert inbox.pointer.current == before
    again = inbox.refresh(capsys)
    assert again[0] == 3 and again[1]["reasons"] == answer["reasons"]
    assert read_records(inbox.store)[-1]["tasks"] == []
    assert inbox.refresh(capsys, "refresh.max_missing_share=0.2")[1]["status"] == "published"


def test_sessions_that_disappear_or_shrink_are_refused(inbox, capsys):
    kept = inbox.path(20240227).read_bytes()
    inbox.path(20240227).unlink()
    code, answer = inbox.refresh(capsys)
    assert code == 3 and answer["files"]["removed"] == [inbox.path(20240227).name]
    inbox.path(20240227).write_bytes(kept)
    assert inbox.refresh(capsys)[1]["status"] == "nothing new"
    inbox.rewrite(FIRST, lambda records: records[: len(records) // 3])
    code, answer = inbox.refresh(capsys)
    assert code == 3 and any("bars fewer than published" in reason for reason in answer["reasons"])
    assert answer["left"] == {} and inbox.path(FIRST).exists()


def test_a_node_that_rejects_the_data_poisons_the_delivery(inbox, capsys):
    def spreads(records):
        ids, counts = np.unique(records["instrument_id"], return_counts=True)
        return records[records["instrument_id"] == ids[counts.argmin()]]

    before = inbox.pointer.current
    inbox.rewrite(20240229, spreads)
    code, answer = inbox.refresh(capsys)
    assert (code, answer["status"], inbox.pointer.current) == (3, "poisoned", before)
    assert answer["left"] == {inbox.path(20240229).name: "it may be another's, or its definitions may still come"}


def test_the_first_delivery_is_judged_too_and_nothing_is_moved(days, tmp_path, capsys):
    inbox = Inbox.of(days, tmp_path, FIRST)
    inbox.rewrite(20240226, spoil(40))
    code, answer = inbox.refresh(capsys)
    assert (code, answer["published"], answer["set_aside"]) == (3, None, [])
    assert answer["left"] == {inbox.path(20240226).name: "nothing is published yet"}
    with pytest.raises(UsageError, match="nothing is published as ES"):
        current_set(inbox.store, "ES")


def test_rolling_back_serves_the_set_before_and_a_refresh_does_not_undo_it(inbox, capsys):
    before = inbox.pointer.current
    inbox.deliver(20240229)
    inbox.refresh(capsys)
    code, answer = inbox.refresh(capsys, "--rollback")
    assert (code, answer["status"], inbox.pointer.current) == (0, "rolled back", before)
    assert open_feature_set(inbox.store, current_set(inbox.store, "ES").feature_set).key == before.feature_set
    assert inbox.refresh(capsys)[1]["status"] == "taken back"
    assert inbox.pointer.current == before
    assert inbox.refresh(capsys, "--rollback")[0] == 2, "there is no set before it"
    inbox.deliver(20240301)
    assert inbox.refresh(capsys)[1]["status"] == "published"


def test_changed_configuration_publishes_another_set_and_other_names_stay_apart(inbox, capsys):
    before = inbox.pointer.current
    answer = inbox.refresh(capsys, "instrument.limits.feature=4.5")[1]
    assert answer["status"] == "published" and inbox.pointer.previous == before
    fewer = inbox.refresh(capsys, "instrument.roll.months=M", "refresh.max_missing_share=1")[1]
    assert (fewer["status"], fewer["published"]["contract"]) == ("published", "ESM4")
    assert fewer["published"]["rows"] < before.rows
    inbox.refresh(capsys, "refresh.name=other")
    assert read_pointer(inbox.store, "other").current.feature_set == before.feature_set


def made(number: int) -> CurrentSet:
    return CurrentSet(f"{number:064x}", f"{number + 10**6:064x}", "f", "now", "run", {}, 1, 1, 1, "t", "ESH4")


def test_a_reader_sees_the_old_set_or_the_new_one(tmp_path):
    store = Store.open(tmp_path / "store")
    publish(store, "ES", made(0))
    over, seen, wrong = threading.Event(), set(), []

    def read():
        while not over.is_set():
            one = read_pointer(store, "ES").current
            seen.add(one.feature_set)
            if int(one.feature_days, 16) != int(one.feature_set, 16) + 10**6:
                wrong.append(one)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(1, 200):
        publish(store, "ES", made(number))
    over.set()
    reader.join()
    assert wrong == [] and len(seen) > 2
    assert read_pointer(store, "ES").previous == made(198)


def test_a_damaged_pointer_is_told_and_not_overwritten(tmp_path):
    store = Store.open(tmp_path / "store")
    publish(store, "ES", made(1))
    refuse(store, "ES", Refusal("f", ("why",), "now", "run"))
    assert read_pointer(store, "ES").refusal("f").reasons == ("why",)
    store.files.write("published/ES.json", b"{")
    for broken in (lambda: read_pointer(store, "ES"), lambda: publish(store, "ES", made(2)), lambda: roll_back(store, "ES")):
        with pytest.raises(StoreError, match="is damaged"):
            broken()


HOOK = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.stdin.read())"


def test_hooks_get_the_result_as_json_and_no_shell_reads_their_words(inbox, capsys, tmp_path):
    place = tmp_path / "a; touch b $(c)"
    hooks = [
        f"refresh.{name}=['{sys.executable}','-c','{HOOK}','{place} {name}']"
        for name in ("on_success", "on_poisoned", "on_failure", "on_stale")
    ]
    inbox.deliver(20240229)
    _, answer = inbox.refresh(capsys, *hooks)
    told = json.loads((tmp_path / f"{place.name} on_success").read_text())
    assert answer["warnings"] == [] and told["hook"] == "on_success" and told["published"] == answer["published"]
    stale = json.loads((tmp_path / f"{place.name} on_stale").read_text())
    assert stale["stale"] and stale["age_sessions"] > 2
    inbox.rewrite(20240301, spoil(40))
    inbox.refresh(capsys, *hooks)
    assert json.loads((tmp_path / f"{place.name} on_poisoned").read_text())["reasons"]
    for path in inbox.folder.glob("*.dbn.zst"):
        path.unlink()
    code, _ = inbox.refresh(capsys, *hooks)
    told = json.loads((tmp_path / f"{place.name} on_failure").read_text())
    assert code == 2 and told["exit_code"] == 2 and "holds no DBN file" in told["error"]


def test_sessions_are_counted_by_the_exchange_not_by_the_clock():
    rule = load_settings().instrument.session
    friday = moment("2024-03-01T21:59")
    assert sessions_since(friday, moment("2024-03-03T12:00"), rule) == 0, "a weekend ages nothing"
    assert sessions_since(friday, moment("2024-03-04T21:59"), rule) == 0, "Monday's session has not ended"
    assert sessions_since(friday, moment("2024-03-04T22:00"), rule) == 1
    assert sessions_since(friday, moment("2024-03-08T23:00"), rule) == 5
    assert sessions_since(moment("2024-03-28T20:00"), moment("2024-03-31T12:00"), rule) == 0, "Good Friday is no session"
    assert sessions_since(friday, moment("2024-02-01T00:00"), rule) == 0, "a clock that is behind"
    assert sessions_since(moment("2023-12-29T20:00"), moment("2024-12-31T23:30"), rule) == 259, "but 3 holidays"
    always = dataclasses.replace(rule, calendar="always", turns_at="00:00", timezone="UTC")
    assert sessions_since(moment("2024-03-01T10:00"), moment("2024-03-03T10:00"), always) == 1
    assert sessions_since(moment("2024-03-01T10:00"), moment("2024-03-01T23:00"), always) == 0


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("refresh.max_rejected_share=2", "must be a share from 0 to 1"),
        ("refresh.refused=../elsewhere", "must be a plain name"),
        ("refresh.name=a/b", "must be a plain name"),
        ("refresh.hook_seconds=0", "must be above 0"),
        ("refresh.max_cost_usd=-1", "must be 0 or more"),
        ("refresh.download.source=ftp", "must be none or databento"),
        ("refresh.download.source=databento", "symbols is empty"),
        ("refresh.stale_session=1", "did you mean 'stale_sessions'"),
    ],
)
def test_settings_that_mean_nothing_are_refused(override, said):
    with pytest.raises(ConfigurationError, match=said):
        load_settings([override])


def test_arguments_and_folders_that_do_not_exist_are_told(tmp_path, capsys):
    assert main(["refresh", f"data={tmp_path / 'no'}", f"store={tmp_path / 'store'}"]) == 2
    assert "no such folder" in capsys.readouterr().err and not (tmp_path / "store").exists()
    assert main(["refresh", "at=06:00"]) == 2
    assert "belongs to `pipeline refresh --install`" in capsys.readouterr().err


def test_a_store_elsewhere_is_published_and_rolled_back_alike(inbox, capsys, tmp_path):
    store = f"store=memory://refresh-{tmp_path.name}"
    words = (store, f"store_cache={tmp_path / 'cache'}")
    assert inbox.refresh(capsys, *words)[1]["status"] == "published"
    assert inbox.refresh(capsys, *words)[1]["status"] == "nothing new"
    inbox.deliver(20240229)
    answer = inbox.refresh(capsys, *words)[1]
    assert answer["status"] == "published"
    back = inbox.refresh(capsys, *words, "--rollback")[1]
    assert back["published"]["feature_set"] == inbox.pointer.current.feature_set != answer["published"]["feature_set"]


def test_a_folder_that_changes_while_it_is_read_publishes_nothing(inbox, capsys, monkeypatch):
    from pipelines.refresh import refreshing

    whole = refreshing.take_in

    def slow(*arguments):
        found = whole(*arguments)
        inbox.deliver(20240301)
        return found

    before = inbox.pointer
    inbox.deliver(20240229)
    monkeypatch.setattr(refreshing, "take_in", slow)
    code, answer = inbox.refresh(capsys)
    assert code == 4 and "changed while it was read" in answer["error"] and inbox.pointer == before


def kill_at(inbox, seconds: float) -> bool:
    """Start a refresh and kill it; say whether it was still running."""
    command = [sys.executable, "-m", "pipelines.cli", "refresh", *inbox.words, "--quiet"]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        started.wait(timeout=seconds)
        return False
    except subprocess.TimeoutExpired:
        started.kill()
        started.wait()
        return True


@pytest.mark.acceptance
def test_a_refresh_killed_at_any_moment_leaves_the_old_set_or_the_new_one(inbox, days, capsys, tmp_path):
    inbox.deliver(20240229)
    old, killed = inbox.pointer.current, 0
    (tmp_path / "undisturbed").mkdir()
    other = Inbox.of(days, tmp_path / "undisturbed", 20240229)
    assert other.refresh(capsys)[0] == 0
    new = other.pointer.current.feature_set
    for attempt in range(30):
        killed += kill_at(inbox, 0.3 + 0.15 * attempt)
        seen = inbox.pointer.current
        assert seen == old or seen.feature_set == new
        assert inbox.store.manifest(seen.feature_set)
        inbox.store.verified(seen.feature_set)
    assert killed >= 5
    assert inbox.refresh(capsys)[1]["published"]["feature_set"] == new
    assert inbox.pointer.previous == old


def test_a_cleaner_at_the_wrong_moment_takes_nothing_of_the_new_set(inbox, capsys, monkeypatch):
    from pipelines.refresh import deliveries

    judge = deliveries.delivery

    def evicted_first(*arguments):
        evict(inbox.store, 0)
        return judge(*arguments)

    inbox.deliver(20240229)
    monkeypatch.setattr(deliveries, "delivery", evicted_first)
    assert inbox.refresh(capsys)[1]["status"] == "published"
    assert open_feature_set(inbox.store, inbox.pointer.current.feature_set).features.shape[0] == inbox.pointer.current.rows


def test_user_features_are_refreshed_too_without_the_short_cut(inbox, capsys, monkeypatch, tmp_path):
    (tmp_path / "own_refresh_features.py").write_text(
        "from kernels.features.user import feature\n\n\n"
        '@feature("own_zero", low=-1.0, high=1.0, warm_up=1, formula="0")\n'
        "def own_zero(bars, clamped_returns):\n"
        '    """Zero."""\n'
        "    return clamped_returns * 0.0\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    words = ("features.modules=own_refresh_features",)
    code, answer = inbox.refresh(capsys, *words)
    assert (code, answer.get("status")) == (0, "published"), answer
    assert inbox.refresh(capsys, *words)[1]["status"] == "nothing new"


def test_a_hook_is_told_no_secret(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DATABENTO_API_KEY", "db-very-secret")
    (tmp_path / "db-very-secret").mkdir()
    hook = f"refresh.on_failure=['{sys.executable}','-c','{HOOK}','{tmp_path / 'told'}']"
    assert main(["refresh", f"data={tmp_path / 'db-very-secret'}", f"store={tmp_path / 'store'}", hook, "--json"]) == 2
    told = (tmp_path / "told").read_text()
    assert json.loads(told)["status"] == "failed" and "holds no DBN file" in told
    kept = "".join(path.read_text() for path in (tmp_path / "store" / "runs").rglob("*.json*"))
    assert "db-very-secret" not in told + kept + capsys.readouterr().out


def test_a_refresh_that_is_interrupted_says_so_and_gives_the_lock_back(inbox, capsys, monkeypatch):
    from pipelines.refresh import refreshing

    def stopped(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(refreshing, "take_in", stopped)
    before = inbox.pointer
    code, answer = inbox.refresh(capsys)
    assert (code, answer["status"], inbox.pointer) == (130, "interrupted", before)
    assert read_records(inbox.store)[-1]["status"] == "interrupted"
    monkeypatch.undo()
    assert inbox.refresh(capsys)[1]["taken_over"] == ""


@pytest.mark.acceptance
def test_a_hole_that_was_published_is_not_held_against_a_correction_beside_it(inbox, capsys):
    inbox.rewrite(20240229, hole(minutes=120))
    assert inbox.refresh(capsys, "refresh.max_missing_share=0.2")[1]["status"] == "published"
    inbox.deliver(20240301)
    assert inbox.refresh(capsys)[1]["status"] == "published"
    inbox.rewrite(20240301, lambda records: records[records["volume"] > 0])
    inbox.rewrite(20240229, hole(minutes=118))
    assert inbox.refresh(capsys)[1]["status"] == "published", "less is missing than before"
    inbox.rewrite(20240229, hole(minutes=150))
    assert inbox.refresh(capsys)[0] == 3


def test_a_few_quiet_minutes_of_a_session_that_has_just_begun_are_no_hole(inbox, capsys):
    inbox.rewrite(20240229, hole(minutes=6, at=23))
    code, answer = inbox.refresh(capsys)
    assert (code, answer["status"]) == (0, "published"), answer["reasons"]
