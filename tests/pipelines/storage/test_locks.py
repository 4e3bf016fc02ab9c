"""One process holds a lock at a time, whoever dies meanwhile; who holds it is said."""

import dataclasses
import json
import multiprocessing
import os
import signal
import socket
import time
from pathlib import Path

import pytest

from pipelines.cli import main
from pipelines.errors import LockedError
from pipelines.storage import locks
from pipelines.storage.locks import locked
from pipelines.storage.processes import Owner
from pipelines.storage.remote_store import RemoteStore
from pipelines.storage.store import Store
from pipelines.storage.store_leases import LEASE_SECONDS

CONTEXT = multiprocessing.get_context("forkserver")


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "store")


@pytest.fixture(params=["local", "memory"])
def any_store(request, tmp_path):
    if request.param == "local":
        return Store.open(tmp_path / "store")
    return RemoteStore.connect(f"memory://locks-{os.urandom(4).hex()}", {}, tmp_path / "cache")


def hold(root: Path, said) -> None:
    """In a process: hold the lock until killed."""
    with locked(Store(root), "job", "refresh"):
        said.put(os.getpid())
        time.sleep(60)


def count_up(root: Path, rounds: int, lost) -> None:
    """In a process: read, wait and write a number under the lock, as often as it can be had."""
    store, done = Store(root), 0
    while done < rounds:
        try:
            with locked(store, "job", "refresh"):
                path = root / "number"
                number = int(path.read_text())
                time.sleep(0.002)
                path.write_text(str(number + 1))
                done += 1
        except LockedError:
            lost.put(1)
            time.sleep(0.001)


def left_by(store, **changes) -> str:
    """A lock as another process left it."""
    path = "locks/job/000000000001.json"
    facts = {"owner": dataclasses.asdict(Owner.this()), "host": socket.gethostname(), "ended": False}
    store.files.write(path, json.dumps({"since": "2024-03-01T00:00:00+00:00", **facts, **changes}).encode())
    return path


def test_the_second_is_told_who_holds_it_and_since_when(any_store):
    with locked(any_store, "job", "refresh") as held:
        assert held.taken_over == ""
        holder = rf"another refresh holds .*: pid {os.getpid()} on {socket.gethostname()} since .* \(\d+ s\)"
        with pytest.raises(LockedError, match=holder), locked(any_store, "job", "refresh"):
            pass
        with locked(any_store, "other", "refresh"):
            pass
    for _ in range(3):
        with locked(any_store, "job", "refresh") as held:
            assert held.taken_over == ""
    assert len(any_store.files.entries("locks/job")) == 1, "locks that were given back leave no files behind but the last"


def test_a_killed_holder_is_followed_at_once(store, capsys):
    said = CONTEXT.Queue()
    holder = CONTEXT.Process(target=hold, args=(store.root, said))
    holder.start()
    pid = said.get(timeout=30)
    with pytest.raises(LockedError, match=f"pid {pid} on"), locked(store, "job", "refresh"):
        pass
    os.kill(pid, signal.SIGKILL)
    holder.join()
    with locked(store, "job", "refresh") as held:
        assert f"pid {pid} on {socket.gethostname()}, which died" in held.taken_over


def test_a_holder_elsewhere_counts_until_it_stops_renewing(any_store, monkeypatch):
    left_by(any_store, owner=dataclasses.asdict(Owner("another host", 7, "1")), host="elsewhere")
    with pytest.raises(LockedError, match="pid 7 on elsewhere"), locked(any_store, "job", "refresh"):
        pass
    now = any_store.files.now()
    monkeypatch.setattr(type(any_store.files), "now", lambda self: now + LEASE_SECONDS + 5)
    with locked(any_store, "job", "refresh") as held:
        assert "pid 7 on elsewhere" in held.taken_over


def test_a_used_process_number_and_a_damaged_file_hold_nothing(store):
    left_by(store, owner={**dataclasses.asdict(Owner.this()), "started": "another time"})
    with locked(store, "job", "refresh") as held:
        assert held.path.endswith("000000000002.json")
    store.files.write("locks/job/000000000009.json", b"{")
    with locked(store, "job", "refresh") as held:
        assert held.path.endswith("000000000010.json")


def test_who_was_taken_for_dead_notices_before_it_publishes(store):
    with locked(store, "job", "refresh") as slow:
        slow.require()
        left_by(store, owner=dataclasses.asdict(Owner("another host", 7, "1")))
        store.files.write("locks/job/000000000099.json", store.files.read("locks/job/000000000001.json"))
        with pytest.raises(LockedError, match="nothing was published"):
            slow.require()


def test_of_many_that_want_it_one_has_it(store):
    (store.root / "number").write_text("0")
    lost = CONTEXT.Queue()
    racers = [CONTEXT.Process(target=count_up, args=(store.root, 25, lost)) for _ in range(4)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(timeout=60)
    assert [racer.exitcode for racer in racers] == [0] * 4
    assert (store.root / "number").read_text() == "100"
    assert not lost.empty(), "they got into each other's way, or nothing was tested"


def test_a_second_refresh_ends_with_5_and_says_why(store, tmp_path, capsys):
    (tmp_path / "data").mkdir()
    with locked(store, "refresh-ES", "refresh of ES"):
        code = main(["refresh", f"data={tmp_path / 'data'}", f"store={store.root}", "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert (code, answer["status"], answer["exit_code"]) == (5, "locked", 5)
    assert f"pid {os.getpid()} on {socket.gethostname()}" in answer["error"]


def test_a_lock_is_renewed_while_its_holder_lives(store, monkeypatch):
    monkeypatch.setattr(locks, "LEASE_SECONDS", 0.2)
    with locked(store, "job", "refresh") as holding:
        path = store.root / holding.path
        os.utime(path, (1, 1))
        until = time.monotonic() + 30
        while path.stat().st_mtime < 1e9 and time.monotonic() < until:
            time.sleep(0.01)
        assert path.stat().st_mtime > 1e9
