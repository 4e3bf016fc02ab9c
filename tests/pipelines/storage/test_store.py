"""The store shows an artefact whole or not at all, and never a changed byte."""

import dataclasses
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipelines.errors import CorruptArtefactError, StoreError
from pipelines.execution.task_execution import Assignment, perform
from pipelines.storage import artefacts
from pipelines.storage.store import Store
from pipelines.storage.store_files import write_text

KEY = "ab" * 32


@dataclasses.dataclass(frozen=True)
class Inner:
    scale: np.ndarray
    name: str


@dataclasses.dataclass(frozen=True)
class Sample:
    table: pd.DataFrame
    matrix: np.ndarray
    pair: tuple[int, int]
    note: dict
    inner: Inner


def sample() -> Sample:
    times = pd.DatetimeIndex(np.array([1_700_000_000_000_000_001, 1_700_000_000_000_000_003]), tz="UTC")
    table = pd.DataFrame(
        {"ts_event": times, "close": [1.5, np.nan], "contract": pd.Series(["ESH4", "ESM4"], dtype="str")}
    )
    return Sample(
        table,
        np.array([[1.0, np.nan], [-0.0, np.inf]], dtype=np.float32),
        (3, 7),
        {"rows": 2, "bound": float("nan")},
        Inner(np.array([2.5]), "inner"),
    )


def test_of_every_nan_an_artefact_holds_numpys_own(tmp_path):
    """Issue 9.4: the sign that arithmetic leaves in a NaN follows the processor; the bytes of an artefact do not."""
    for name, value in (("one", np.nan), ("other", -np.nan)):
        table = pd.DataFrame({"close": [1.5, value], "small": np.array([value, 2.0], np.float32)})
        whole = Sample(table, np.array([[value, 1.0]] * 40_000, np.float32).T, (3, 7), {"bound": value},
                       Inner(np.array(value), "inner"))
        assert np.signbit(whole.matrix[0]).all() == (name == "other")
        (tmp_path / name).mkdir()
        artefacts.write_parts(whole, tmp_path / name)
    written = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    assert written == {path.name: path.read_bytes() for path in (tmp_path / "other").iterdir()} and len(written) == 4
    assert np.signbit(whole.matrix[0]).all()  # the value that was written is left as it was


def publish(store: Store, key: str = KEY) -> None:
    folder = store.begin(key)
    artefacts.write_parts(sample(), folder)
    store.publish(key, folder, {"task": "sample"})


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "store")


def test_an_artefact_reads_back_with_types_bits_and_nanoseconds(store):
    publish(store)
    back = artefacts.read_parts(store.verified(KEY), Sample)
    pd.testing.assert_frame_equal(back.table, sample().table)
    assert back.table["ts_event"].dtype == "datetime64[ns, UTC]"
    assert back.table["ts_event"].astype("int64").tolist() == [1_700_000_000_000_000_001, 1_700_000_000_000_000_003]
    assert back.matrix.dtype == np.float32
    np.testing.assert_array_equal(np.asarray(back.matrix).view(np.int32), sample().matrix.view(np.int32))
    assert back.pair == (3, 7)
    assert (back.inner.scale.tolist(), back.inner.name) == ([2.5], "inner")
    assert back.note["rows"] == 2 and np.isnan(back.note["bound"])


def test_one_field_is_read_without_the_others(store):
    publish(store)
    (store.folder(KEY) / "table.parquet").write_bytes(b"")
    np.testing.assert_array_equal(artefacts.read_parts(store.folder(KEY), Sample, "matrix"), sample().matrix)


def test_arrays_read_from_the_store_cannot_be_changed(store):
    publish(store)
    back = artefacts.read_parts(store.verified(KEY), Sample)
    with pytest.raises(ValueError, match="read-only"):
        back.matrix[0, 0] = 2.0


def test_python_objects_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"columns \['mixed'\] hold Python objects"):
        artefacts.write_parts(pd.DataFrame({"mixed": [1, "a"]}), tmp_path)


def test_an_array_of_python_objects_is_refused_by_name(tmp_path):
    with pytest.raises(TypeError, match="is an array of Python objects; artefacts hold numbers only"):
        artefacts.write_parts(np.array([1, "a"], dtype=object), tmp_path)


def test_a_flipped_bit_of_a_table_does_not_read_as_data(tmp_path):
    """Without the store's checksum too: random numbers are stored as they are, and only a page's own checksum tells."""
    numbers = np.random.default_rng(0).integers(0, 2**62, 2000)
    artefacts.write_parts(pd.DataFrame({"numbers": numbers}), tmp_path)
    path = tmp_path / "value.parquet"
    data = bytearray(path.read_bytes())
    data[data.index(numbers[1000].tobytes())] ^= 1
    path.write_bytes(data)
    with pytest.raises(OSError, match="CRC"):
        artefacts.read_parts(tmp_path, pd.DataFrame)


@pytest.mark.parametrize("name", ["table.parquet", "matrix.npy", "values.json"])
def test_a_flipped_bit_is_found_set_aside_and_named(store, name):
    publish(store)
    path = store.folder(KEY) / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptArtefactError, match=rf"{name}.*run again"):
        store.verified(KEY)
    assert store.manifest(KEY) is None
    assert [folder.name[:64] for folder in (store.root / "corrupt").iterdir()] == [KEY]
    publish(store)
    assert store.verified(KEY).is_dir()


def test_a_cut_file_makes_the_artefact_invisible(store):
    publish(store)
    path = store.folder(KEY) / "matrix.npy"
    path.write_bytes(path.read_bytes()[:-1])
    assert store.manifest(KEY) is None


def test_without_a_manifest_nothing_exists(store):
    folder = store.begin(KEY)
    artefacts.write_parts(sample(), folder)
    assert store.manifest(KEY) is None
    target = store.folder(KEY)
    target.parent.mkdir(parents=True)
    folder.rename(target)
    assert store.manifest(KEY) is None
    publish(store)
    assert store.manifest(KEY) is not None


def test_the_first_of_two_writers_wins_and_nothing_is_left_over(store):
    folders = [store.begin(KEY) for _ in range(2)]
    for folder in folders:
        artefacts.write_parts(sample(), folder)
    for folder in folders:
        store.publish(KEY, folder, {"task": "sample"})
    assert store.verified(KEY).is_dir()
    assert list((store.root / "tmp").iterdir()) == []


def test_what_a_killed_process_left_is_removed_at_the_next_start(store):
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom pipelines.storage.store import Store\n"
        "folder = Store(Path(sys.argv[1])).begin('cd' * 32)\n(folder / 'half').write_bytes(b'x')\n"
        "print('ready', flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(store.root)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        Store.open(store.root)
        assert len(list((store.root / "tmp").iterdir())) == 1, "a living writer must keep its folder"
        process.send_signal(signal.SIGKILL)
        process.wait()
    Store.open(store.root)
    assert list((store.root / "tmp").iterdir()) == []


def test_a_store_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot write the store .*choose another with store=DIR"):
        Store.open(tmp_path / "file" / "store")


def test_readers_of_a_replaced_text_see_old_or_new(tmp_path):
    path = tmp_path / "pointer.json"
    write_text(path, "old" * 1000)
    stop = time.monotonic() + 0.3
    seen = set()
    child = os.fork()
    if child == 0:
        while time.monotonic() < stop:
            write_text(path, "new" * 1000)
            write_text(path, "old" * 1000)
        os._exit(0)
    while time.monotonic() < stop:
        seen.add(path.read_text())
    os.waitpid(child, 0)
    assert seen <= {"old" * 1000, "new" * 1000}
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_replacement_leaves_the_old_text_and_no_rest(tmp_path, monkeypatch):
    path = tmp_path / "pointer.json"
    write_text(path, "old")

    def full(self, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("durable", [True, False])
def test_each_step_has_reached_the_disk_before_the_next(store, monkeypatch, durable):
    """The files and the manifest before their folder, the folder before the rename, the names beside it last."""
    steps: list[str] = []
    fsync, rename = os.fsync, Path.rename

    def synced(descriptor: int) -> None:
        steps.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    def renamed(path: Path, target: Path) -> Path:
        steps.append("rename")
        return rename(path, target)

    folder = store.begin(KEY)
    artefacts.write_parts(sample(), folder)
    names = sorted(path.name for path in folder.iterdir())
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    store.publish(KEY, folder, {"task": "sample"}, durable)
    if durable:
        assert steps[: len(names)] == names and steps[len(names)].startswith(".manifest.json.")
        assert steps[len(names) + 1 :] == [folder.name, "rename", KEY[:2]]
    else:
        assert steps == ["rename"]


def test_a_list_is_there_when_each_of_its_parts_is(store):
    parts = ["01" * 32, "02" * 32]
    for key in parts:
        publish(store, key)
    folder = store.begin(KEY)
    artefacts.write_parts(3, folder)
    store.publish(KEY, folder, {"task": "listed", "needs": parts})
    assert store.manifest(KEY) is not None
    (store.folder(parts[1]) / "manifest.json").unlink()
    assert store.manifest(KEY) is None and store.listed(KEY) is not None


def test_a_link_in_a_files_place_is_no_file_of_the_store_whatever_its_size(store, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    size = len(str(elsewhere))  # of a link to it
    folder = store.begin(KEY)
    for path in (folder / "part", elsewhere):
        path.write_bytes(b"x" * size)
    store.publish(KEY, folder, {"task": "sample"})
    assert store.manifest(KEY) is not None
    (store.folder(KEY) / "part").unlink()
    (store.folder(KEY) / "part").symlink_to(elsewhere)
    assert store.manifest(KEY) is None


def test_a_manifest_that_lists_itself_is_not_believed(store):
    publish(store)
    path = store.folder(KEY) / "manifest.json"
    manifest = json.loads(path.read_bytes())
    manifest["files"]["manifest.json"] = {"bytes": 1, "sha256": "0"}
    path.write_text(json.dumps(manifest))
    assert store.listed(KEY) is None


def test_a_store_that_is_gone_is_told_and_not_made_anew_in_its_place(store):
    """A file system that was unmounted: what would be written there is lost when it is back."""
    assignment = Assignment(
        task="node", key=KEY, function=lambda: 1, kind=int, inputs={}, constants={}, gate=None, parts={}, store=store
    )
    shutil.rmtree(store.root)
    with pytest.raises(StoreError, match=r"the store .* is gone; bring it back and run again"):
        perform(assignment, print)
    for write in (store.files.write, store.files.append):
        with pytest.raises(FileNotFoundError, match="the store is gone"):
            write("refs/node.json", b"1" if write == store.files.write else "1")
    assert not store.root.exists()
