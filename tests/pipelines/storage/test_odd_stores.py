"""A store with something odd in it: the disk does not list a folder, a folder stands for a file, JSON nobody can parse.

Each command either works as if the odd file were not there or ends with an error that names it; nothing is taken for empty.
"""

import errno
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.errors import StoreError
from pipelines.execution.preflight import check_cluster
from pipelines.record.records import read_records
from pipelines.storage import listing, store_files
from pipelines.storage.leftovers import remove_leftovers
from pipelines.storage.locks import locked
from pipelines.storage.store import FOLDERS, Store
from pipelines.storage.store_files import LocalFiles, unfinished

pytestmark = pytest.mark.filterwarnings("ignore:a warning that tells:UserWarning")
DEEP = b"[" * 200_000
KEY = "ab" * 32
COMMANDS = (("plan",), ("runs",), ("clean",), ("run", "--quiet"))


@pytest.fixture
def flow(own_flow):
    """The own flow run once, so that its store holds one of everything."""
    assert own_flow.command("run", *own_flow.words, "--quiet").code == 0
    return own_flow


def command(flow, *words: str):
    return flow.command(*words, *(flow.words if words[0] in ("plan", "run") else ()))


def failing_listing(monkeypatch, folder: Path) -> None:
    """The disk gives the first names of a folder and then an error that names nothing, as readdir does."""
    real = os.scandir

    class Failing:
        def __init__(self, path: object) -> None:
            self.found, self.path = real(path), Path(str(path))

        def __enter__(self) -> "Failing":
            return self

        def __exit__(self, *error: object) -> None:
            self.found.close()

        def __iter__(self):
            yield from self.found
            if self.path == folder:
                raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(listing.os, "scandir", Failing)


@pytest.mark.parametrize(("folder", "words"), [
    ("leases", ("run", "--quiet")), ("leases", ("clean",)), ("objects", ("clean",)), ("runs", ("runs",)),
    ("tmp", ("run", "--quiet")), ("published", ("clean",)), ("refs", ("clean",)),
])  # fmt: skip
def test_a_folder_that_the_disk_does_not_list_is_named(flow, monkeypatch, folder, words):
    failing_listing(monkeypatch, flow.folder / "store" / folder)
    done = command(flow, *words)
    assert done.code == 4
    assert f"cannot list {flow.folder / 'store' / folder}: Input/output error; it must be a folder" in done.err


def test_a_folder_that_may_not_be_listed_is_not_taken_for_an_empty_one(tmp_path, monkeypatch):
    """Leases that cannot be seen would let eviction take what live runs use."""
    store = Store.open(tmp_path)

    def refused(path: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(listing.os, "scandir", refused)
    for ask in (lambda: store.files.entries("leases"), lambda: list(store.stored()), lambda: store.keys_from("abcdef")):
        with pytest.raises(StoreError, match=r"cannot list .*Permission denied"):
            ask()


def replace_by_folder(path: Path) -> None:
    path.unlink()
    (path / "inside").mkdir(parents=True)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize("how", [replace_by_folder, lambda path: path.write_bytes(DEEP)], ids=["a folder", "nested JSON"])
def test_a_folder_for_a_file_or_json_beyond_parsing_ends_no_command(flow, how, words):
    store = flow.folder / "store"
    kinds = ("refs/*.json", "leases/*.json", "objects/*/*/manifest.json", "runs/*/summary.json", "code/*.json")
    for kind in kinds:
        found = sorted(store.glob(kind))
        assert found or kind.startswith("leases")
        for path in found[:1]:
            how(path)
    (store / "leases" / "000000000099.abcdabcd.json").mkdir()
    (store / "leases" / "000000000098.abcdabcd.json").write_bytes(DEEP)
    done = command(flow, *words)
    assert "Traceback" not in done.err and "RecursionError" not in done.err
    assert done.code == 0 or f"{store / 'refs'}" in done.err or f"{store / 'code'}" in done.err
    assert done.code == 0 or how is replace_by_folder


@pytest.mark.parametrize("name", [name for name in FOLDERS if name not in ("corrupt", "code")])
def test_a_file_for_a_folder_of_the_store_is_named(tmp_path, name):
    Store.open(tmp_path)
    (tmp_path / name).rmdir()
    (tmp_path / name).write_text("")
    with pytest.raises(StoreError, match=rf"cannot write the store .*\({tmp_path / name}\)"):
        Store.open(tmp_path)
    with pytest.raises(StoreError, match=f"cannot list {tmp_path / name}: Not a directory"):
        Store(tmp_path).files.entries(name)


@pytest.mark.parametrize("data", [DEEP, b"{}", b"\xff", b""])
def test_a_damaged_lock_is_nobodys(tmp_path, data):
    store = Store.open(tmp_path)
    (tmp_path / "locks" / "refresh-ES").mkdir(parents=True)
    (tmp_path / "locks" / "refresh-ES" / f"{1:012d}.json").write_bytes(data)
    with locked(store, "refresh-ES", "refresh") as holding:
        assert holding.path.endswith(f"{2:012d}.json")


def test_a_pointer_that_the_disk_does_not_give_is_no_empty_one(tmp_path, monkeypatch):
    store = Store.open(tmp_path)
    store.files.write("published/ES.json", b"{}")

    def failing(path: Path) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(store_files, "read_regular", failing)
    with pytest.raises(StoreError, match=rf"cannot read {tmp_path}/published/ES\.json: Input/output error"):
        LocalFiles(tmp_path).read("published/ES.json")
    assert store.manifest(KEY) is None  # an artefact is made again


def test_a_manifest_that_needs_itself_is_read(tmp_path):
    store = Store.open(tmp_path)
    folder = store.begin(KEY)
    (folder / "values.json").write_text("1")
    store.publish(KEY, folder, {"task": "node", "needs": [KEY]})
    assert store.manifest(KEY)["needs"] == [KEY]


DYING = """
import os, signal, sys
from pathlib import Path
from pipelines.execution import preflight
from pipelines.storage.store import Store

store = Store.open(Path(sys.argv[1]))


def killed(*anything):
    assert preflight._store_refusal(store, anything[-1].token) == ""
    (store.root / "tmp" / f".{preflight.unfinished('draft')}.{os.getpid()}.{'ab' * 4}").write_bytes(b"")
    os.kill(os.getpid(), signal.SIGKILL)


preflight.surveyed = killed
preflight.check_cluster([], store, None)
"""


def test_what_a_check_of_the_cluster_left_is_removed_when_its_run_was_killed(tmp_path):
    assert check_cluster is not None
    store = tmp_path / "store"
    environment = {**os.environ, "PYTHONPATH": os.fspath(Path(__file__).parents[3])}
    done = subprocess.run([sys.executable, "-c", DYING, str(store)], env=environment, capture_output=True, check=False)
    assert done.returncode == -9, done.stderr
    assert len(list((store / "tmp").iterdir())) == 2
    mine = store / "tmp" / unfinished("preflight")  # of a process that lives
    other = store / "tmp" / f"preflight.elsewhere.{2**22 + 1}.{'cd' * 4}"  # of another host: only its age tells
    for path in (mine, other):
        path.write_bytes(b"")
    Store.open(store)
    assert sorted((store / "tmp").iterdir()) == sorted([mine, other])


def test_a_file_that_a_dead_process_left_goes_as_its_folders_do(tmp_path):
    """Of an artefact in a bucket that is being evicted a file lies there."""
    gone = 2**22 + 1  # beyond the largest process id of Linux
    (Store.open(tmp_path).root / "tmp" / f"evicted-ab.{socket.gethostname()}.{gone}.{'ab' * 4}").write_bytes(b"x")
    Store.open(tmp_path)
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("folder", ["refs", "scores", "downloads", "locks/refresh-ES", "code", "promoted"])
def test_drafts_of_dead_writers_are_removed_wherever_they_lie(tmp_path, folder):
    store = Store.open(tmp_path)
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    draft, kept = tmp_path / folder / f".ES.json.77.{'ab' * 4}", tmp_path / folder / "ES.json"
    for path in (draft, kept):
        path.write_text(json.dumps({}))
        os.utime(path, (1, 1))
    assert remove_leftovers(store).count == 1
    assert kept.is_file() and not draft.exists()


def test_what_is_damaged_is_told_in_the_record_and_computed_again_in_the_same_run(flow):
    store = Store(flow.folder / "store")
    made = {row["task"]: key for key, row in store.stored()}
    numbers = store.folder(made["scaled"]) / "values.json"
    numbers.write_bytes(numbers.read_bytes().replace(b"2", b"4"))
    shutil.rmtree(store.folder(made["total"]))
    assert flow.command("run", *flow.words, "--quiet").code == 0
    first, again = read_records(store)
    assert (first["damaged"], len(again["damaged"])) == ([], 1)
    assert "of scaled: the bytes of values.json differ" in again["damaged"][0]["error"]
    assert sorted(task["task"] for task in again["tasks"] if not task["cached"]) == ["scaled", "total"]
    assert json.loads((store.folder(made["total"]) / "values.json").read_bytes()) == {"values": [13.0]}
