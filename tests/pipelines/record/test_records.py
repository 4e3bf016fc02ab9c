"""Records: readable whatever a crash leaves, complete for what a run did, cheap."""

import hashlib
import json
import subprocess
import sys
import time
import types
from dataclasses import replace

import pytest

from pipelines.errors import UsageError
from pipelines.execution.measuring import Stopwatch, device_bytes, noted_warnings, peak_bytes, restart_peaks
from pipelines.execution.task_execution import Outcome
from pipelines.record.provenance import git_states
from pipelines.record.records import RECORD, SUMMARY, RunRecord, find_run, read_record, read_records, read_summaries
from pipelines.storage.store import Store
from tests.pipelines.small_flow import REPOSITORY

OUTCOME = Outcome(
    "sweep[fold=0,strategy=ema_cross,chunk=0]", "a" * 64, 1.0, False, "pid 1", 2**20,
    {"executor": "cpu", "fallback_reason": None, "bar_steps": 10}, {"queue": 0.1, "load": 0.2, "compute": 0.6, "publish": 0.1},
    output="b" * 64,
)  # fmt: skip


@pytest.fixture
def record(tmp_path) -> RunRecord:
    return RunRecord.begin(Store.open(tmp_path), {"command": "run", "fold": "0", "configuration": {"limit": float("inf")}})


def test_a_record_cut_at_any_byte_is_readable_up_to_there(record):
    record.append("began", task=OUTCOME.task)
    record.append("task", **vars(OUTCOME))
    record.append("retry", task="x", error="ConnectionError: é", tries=1, wait=0.5)
    record.end("done", 0, 2.0)
    path = record.folder / RECORD
    whole = path.read_bytes()
    (record.folder / SUMMARY).unlink()
    ends = [at for at in range(len(whole)) if whole[at : at + 1] == b"}" and whole[at + 1 : at + 2] == b"\n"]
    assert len(ends) == 5
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        found = read_record(record.folder)
        complete = sum(end < size for end in ends)
        assert found["status"] == ["unreadable", "running", "running", "running", "running", "done"][complete]
        assert len(found["tasks"]) == (complete >= 3) and len(found["retries"]) == (complete >= 4)
        assert found["in_hand"] == ([OUTCOME.task] if complete == 2 else [])


def test_a_line_that_a_full_disk_cut_does_not_spoil_the_next(record):
    with (record.folder / RECORD).open("ab") as stream:
        stream.write(b'{"event": "task", "task": "cu')
    record.append("task", **vars(OUTCOME))
    record.end("done", 0, 1.0)
    found = read_record(record.folder)
    assert found["status"] == "done" and [task["output"] for task in found["tasks"]] == ["b" * 64]


def test_every_line_is_json_for_every_reader(record):
    record.append("task", **vars(replace(OUTCOME, facts={"rate": float("nan")})))

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    lines = (record.folder / RECORD).read_text().splitlines()
    events = [json.loads(line, parse_constant=refuse) for line in lines if line]
    assert events[0]["configuration"] == {"limit": "Infinity"} and events[1]["facts"] == {"rate": "NaN"}


def test_appending_costs_less_than_a_millisecond(record):
    best = float("inf")
    for _ in range(20):
        begun = time.perf_counter()
        for _ in range(10):
            record.append("task", **vars(OUTCOME))
        best = min(best, (time.perf_counter() - begun) / 10)
    assert best < 1e-3


def test_a_killed_run_is_crashed_and_says_what_was_in_hand(own_flow):
    own_flow.code.write_text(own_flow.code.read_text().replace("if fail:", "time.sleep(60 if fail else 0)\n    if fail:"))
    process = own_flow.apart("run", *own_flow.words, "options.fail=true")
    store = Store(own_flow.folder / "store")
    found = []
    try:
        for _ in range(600):
            found = [row for row in read_records(store) if row["in_hand"] == ["total"]]
            if found:
                break
            time.sleep(0.1)
        assert found[0]["status"] == "running"
    finally:
        process.kill()
        process.communicate()
    (crashed,) = read_records(store)
    assert crashed["status"] == "crashed" and crashed["in_hand"] == ["total"]
    assert [task["task"] for task in crashed["tasks"]] == ["numbers[csv=0]", "numbers[csv=1]", "scaled"]
    assert read_summaries(store)[0]["status"] == "crashed"


@pytest.mark.filterwarnings("always")
def test_a_run_records_what_it_did_and_on_what(own_flow, tmp_path):
    words = own_flow.words
    for arguments in (("init", "-q"), ("add", "."), ("-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x")):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    document = own_flow.json("run", *words)
    record = own_flow.json("runs", document["run"])
    assert record["status"] == "done" and record["exit_code"] == 0 and record["words"] == [*words]
    assert record["configuration"]["options"]["factor"] == 2.0 and record["config_file"] is None
    inputs = [(row["group"], row["path"], row["bytes"]) for row in record["inputs"]]
    assert inputs == [("csv", "data/a.csv", 4), ("csv", "data/b.csv", 4)]
    assert record["inputs"][0]["sha256"] == hashlib.sha256(b"1\n2\n").hexdigest()
    assert {row["folder"]: row["dirty"] for row in record["git"]}[str(tmp_path)] is False
    assert record["planned"] == {"tasks": 4, "cached": 0} and set(record["code"]) == {"numbers", "scaled", "total"}
    assert record["versions"]["python"] and record["machine"]["cores"] >= 1
    scaled = next(task for task in record["tasks"] if task["task"] == "scaled")
    assert set(scaled["timings"]) == {"load", "compute", "publish"} and sum(scaled["timings"].values()) <= scaled["seconds"]
    assert scaled["worker"].startswith("pid ") and scaled["peak_bytes"] > 2**20 and scaled["device_bytes"] == 0
    assert len(scaled["warnings"]) == 1 and scaled["warnings"][0].startswith("UserWarning: a warning that tells")
    again = own_flow.json("runs", own_flow.json("run", *words)["run"])
    assert all(task["cached"] for task in again["tasks"])
    outputs = [{task["task"]: task["output"] for task in one["tasks"]} for one in (record, again)]
    assert outputs[0] == outputs[1] and len(set(outputs[0].values())) == 4
    own_flow.code.write_text(own_flow.code.read_text() + "\n# a note\n")
    dirty = {row["folder"]: row["dirty"] for row in git_states([tmp_path / "data" / "a.csv", tmp_path])}
    assert dirty == {str(tmp_path): True}


def test_git_is_silent_outside_a_repository_and_without_git(tmp_path, monkeypatch):
    assert git_states([tmp_path / "nowhere"]) == [] or (tmp_path / ".git").exists() is False
    monkeypatch.setenv("PATH", "")
    assert git_states([REPOSITORY]) == []


@pytest.mark.filterwarnings("always")
def test_a_failed_run_names_the_node_and_the_cause(own_flow):
    assert own_flow.command("run", *own_flow.words, "options.fail=true", "--quiet").code == 4
    record = own_flow.json("runs", "20")
    assert (record["status"], record["exit_code"], record["node"], record["cause"]) == ("node_failed", 4, "total", "ValueError")


def test_prefixes_and_mistyped_names(tmp_path):
    store = Store.open(tmp_path)
    with pytest.raises(UsageError, match="there are no runs yet"):
        find_run(store, "2026")
    for name in ("20260101T000000Z-aaaa", "20260101T000000Z-bbbb", "20260202T000000Z-cccc"):
        (store.root / "runs" / name).mkdir()
        (store.root / "runs" / name / RECORD).write_text("")
    assert find_run(store, "202602").name == "20260202T000000Z-cccc"
    assert find_run(store, "20260101T000000Z-aaaa").name == "20260101T000000Z-aaaa"
    with pytest.raises(UsageError, match=r"2 runs begin so, the last is 20260101T000000Z-bbbb"):
        find_run(store, "202601")
    with pytest.raises(UsageError, match=r"did you mean '20260202T000000Z-cccc'\?"):
        find_run(store, "20260202T000000Z-cccd")
    with pytest.raises(UsageError, match="pipeline runs lists all"):
        find_run(store, "xyz")


def test_measuring():
    watch = Stopwatch()
    with watch.phase("load"):
        time.sleep(0.02)
    assert 0.02 <= watch.seconds["load"] < 5
    block = bytearray(200 * 2**20)
    block[::4096] = b"x" * len(block[::4096])
    high = peak_bytes()
    del block
    restart_peaks()
    assert high - peak_bytes() > 100 * 2**20, "the peak of one task is not that of an earlier one"
    assert device_bytes() == 0


@pytest.mark.filterwarnings("always")
def test_warnings_of_a_task_are_noted_once_each():
    import warnings

    with noted_warnings() as found:
        for _ in range(3):
            warnings.warn("hello", UserWarning, stacklevel=1)
    assert len(found) == 1 and found[0].startswith("UserWarning: hello (test_records.py:")


def test_memory_that_cupy_takes_through_rmm_counts_from_task_to_task(monkeypatch):
    """As on a worker of dask-cuda: cudf makes cupy allocate through RMM, and cupy's own pool holds nothing."""
    stack: list[int] = []  # peaks, as rmm.statistics keeps them: the bottom counters are never popped

    class Counted:
        peak_bytes = property(lambda self: stack[-1])

    fake = types.ModuleType("rmm.statistics")
    fake.get_statistics = lambda: Counted() if stack else None
    fake.enable_statistics = lambda: stack.append(0)
    fake.push_statistics = lambda: stack.append(0)
    fake.pop_statistics = stack.pop
    monkeypatch.setitem(sys.modules, "rmm", types.ModuleType("rmm"))
    monkeypatch.setitem(sys.modules, "rmm.statistics", fake)
    restart_peaks()
    stack[-1] = 4096
    assert device_bytes() == 4096
    restart_peaks()
    assert device_bytes() == 0 and len(stack) == 2
