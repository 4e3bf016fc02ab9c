"""Whatever happens to a writer or a disk, an artefact is there whole or not at all, and what was finished stays."""

import multiprocessing
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipelines.errors import CorruptArtefactError, StoreError
from pipelines.storage.store import Store
from tests.pipelines.storage import store_writer
from tests.pipelines.storage.store_writer import is_whole, key_of, publish

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.pipelines.storage.store_writer"])


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "store")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one megabyte."""
    with mounted(tmp_path / "disk", "size=1m") as folder:
        yield folder


def started(function, *arguments):
    """Start a process and return it with the end of the pipe that it speaks into."""
    hear, say = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=function, args=(*arguments, say))
    process.start()
    say.close()
    return process, hear


def heard(hear) -> list:
    """All that a process said before it ended."""
    found = []
    try:
        while True:
            found.append(hear.recv())
    except EOFError:
        return found


class mounted:  # noqa: N801 - used as a function
    """A tmpfs where the test may mount one; skips with the reason where it may not."""

    def __init__(self, folder: Path, options: str) -> None:
        self.folder, self.options = folder, options

    def __enter__(self) -> Path:
        self.folder.mkdir()
        self.run("mount", "-t", "tmpfs", "-o", self.options, "tmpfs", str(self.folder))
        return self.folder

    def read_only(self, on: bool) -> None:
        self.run("mount", "-o", f"remount,{'ro' if on else 'rw'}", str(self.folder))

    def __exit__(self, *error: object) -> None:
        subprocess.run(["umount", "-l", str(self.folder)], check=False)

    def run(self, *command: str) -> None:
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"cannot mount a small file system here ({error}); the injected errors cover these points")


@pytest.mark.parametrize("rounds", [8, pytest.param(200, marks=pytest.mark.acceptance, id="200 kills")])
def test_writers_killed_at_any_moment_lose_nothing_and_show_nothing_half(store, rounds):
    draw, begin, confirmed = random.Random(5), 0, set()
    for _ in range(rounds):
        writers = [started(store_writer.write_on, store, begin) for _ in range(2)]  # of the same keys
        assert all(hear.poll(60) for _, hear in writers)
        time.sleep(draw.random() * 0.04)
        for process, _ in writers:
            process.kill()
        said = {number for _, hear in writers for number in heard(hear)}
        for process, _ in writers:
            process.join()
        store = Store.open(store.root)
        assert list((store.root / "tmp").iterdir()) == []
        assert [number for number in sorted(said) if not is_whole(store, number)] == []
        confirmed |= said
        last = max(said)
        half_made = [number for number in range(last + 1, last + 3) if not is_whole(store, number)]
        for number in half_made:
            publish(store, number)
            assert is_whole(store, number)
        begin = last + 3
    lines = [int(line) for line in store.files.lines("ledger/numbers.jsonl") if line.isdigit()]
    assert confirmed <= set(lines)
    assert store.remembered("numbered")
    assert list((store.root / "corrupt").iterdir()) == []
    assert all(is_whole(store, number) for number in confirmed)


@pytest.mark.parametrize("step", [6, pytest.param(1, marks=pytest.mark.acceptance, id="every point")])
def test_a_writer_killed_at_each_point_of_the_write_path(store, step):
    process, hear = started(store_writer.count_points, store.root, 0)
    points = heard(hear)[0]
    process.join()
    assert points > 20
    for point in range(0, points + 1, step):
        process, hear = started(store_writer.die_at, store.root, point + 1, point)
        said = heard(hear)
        process.join()
        assert (process.exitcode, bool(said)) in ((-9, False), (0, True))
        visible = is_whole(store, point + 1)
        assert visible or not said
        store = Store.open(store.root)
        assert list((store.root / "tmp").iterdir()) == []
        if not visible:
            publish(store, point + 1)
        assert is_whole(store, point + 1)
    assert is_whole(store, 0)


@pytest.mark.parametrize("code", [store_writer.NO_SPACE, store_writer.NO_WRITING, store_writer.NO_DISK])
def test_an_error_of_the_disk_at_each_writing_call(store, code):
    process, hear = started(store_writer.fail_everywhere, store.root, code)
    said = heard(hear)
    process.join()
    assert process.exitcode == 0 and said[-1][0] == "end"
    refused = [point for what, point in said if what == "refused"]
    assert len(refused) >= 12, "opening, each fsync, the manifest and the rename must each have been refused once"
    for point in refused:
        is_whole(store, point)  # raises when it is there and not whole
    store = Store.open(store.root)
    assert list((store.root / "tmp").iterdir()) == []
    for point in refused:
        publish(store, point)
        assert is_whole(store, point)


def test_a_full_disk_keeps_what_was_finished_and_goes_on_when_there_is_space(small_disk):
    store = Store.open(small_disk / "store")
    number = 0
    with pytest.raises(OSError):
        for number in range(1000):
            publish(store, number, rows=5000)
    assert number > 2
    assert store.manifest(key_of(number)) is None
    for each in range(number):
        assert store.verified(key_of(each))
    for each in range(2):
        store.drop(key_of(each), store.withdraw(key_of(each)))
    for left in (store.root / "tmp").iterdir():  # of this process, which lives
        store.drop("", left)
    publish(store, number, rows=5000)
    assert store.verified(key_of(number))


def test_a_node_on_a_full_disk_says_so_and_leaves_no_rest(small_disk):
    from pipelines.execution.task_execution import _write

    store = Store.open(small_disk / "store")
    big = store_writer.numbered(1, rows=400_000)
    with pytest.raises(StoreError, match=r"the disk is full; free space there or choose another store with store=DIR"):
        _write(store, "node", key_of(1), big, type(big), {"task": "node"})
    assert list((store.root / "tmp").iterdir()) == []
    _write(store, "node", key_of(2), store_writer.numbered(2), type(big), {"task": "node"})
    assert is_whole(store, 2)


def test_a_limit_on_the_size_of_files_is_an_error_and_shows_nothing(tmp_path):
    script = (
        "import resource, signal, sys\nfrom pathlib import Path\nfrom pipelines.storage.store import Store\n"
        "from tests.pipelines.storage.store_writer import numbered, key_of\nfrom pipelines.storage import artefacts\n"
        "store = Store.open(Path(sys.argv[1]))\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\nfolder = store.begin(key_of(1))\n"
        "try:\n    artefacts.write_parts(numbered(1, 50_000), folder)\n    store.publish(key_of(1), folder, {'task': 'x'})\n"
        "except OSError as error:\n    print('refused')\nprint(store.manifest(key_of(1)))\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "store")]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["refused", "None"]


def test_a_store_that_became_read_only_can_be_read_and_says_that_it_cannot_be_written(tmp_path):
    disk = mounted(tmp_path / "disk", "size=4m")
    with disk as folder:
        store = Store.open(folder / "store")
        publish(store, 1)
        disk.read_only(True)
        assert is_whole(Store(store.root), 1)
        with pytest.raises(StoreError, match=r"cannot write the store .*Read-only file system; choose another"):
            Store.open(store.root)
        disk.read_only(False)
        path = store.folder(key_of(1)) / "matrix.npy"
        path.write_bytes(path.read_bytes()[:-1] + b"\x00")
        disk.read_only(True)
        with pytest.raises(CorruptArtefactError, match="could not be moved aside"):
            store.verified(key_of(1))


@pytest.mark.parametrize("name", ["table.parquet", "matrix.npy", "values.json", "manifest.json"])
@pytest.mark.parametrize("how", ["flipped first", "flipped middle", "flipped last", "cut", "emptied", "longer", "gone"])
def test_a_damaged_file_is_never_read_and_the_artefact_is_made_again(store, name, how):
    key = publish(store, 1)
    path = store.folder(key) / name
    data = bytearray(path.read_bytes())
    if how.startswith("flipped"):
        data[{"first": 0, "middle": len(data) // 2, "last": -1}[how.split()[1]]] ^= 0x40
    changed = {"cut": data[:-7], "emptied": b"", "longer": data + b"\0"}.get(how, data)
    path.unlink()
    if how != "gone":
        path.write_bytes(changed)
    try:
        whole = is_whole(store, 1)
    except CorruptArtefactError as error:
        assert "run again" in str(error)
        whole = False
    # a manifest may be damaged where nothing of the artefact depends on it: its task's name, its layout
    assert not whole or name == "manifest.json"
    publish(store, 1)
    assert is_whole(store, 1)


def test_damage_that_another_process_has_repaired_is_left_alone(store):
    key = publish(store, 1)
    seen = store.folder(key).lstat().st_ino
    store.folder(key).rename(store.root / "corrupt" / "elsewhere")
    publish(store, 1)
    assert store.set_aside(key, seen)
    assert is_whole(store, 1)
