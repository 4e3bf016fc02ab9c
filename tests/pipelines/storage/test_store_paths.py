"""No key and no file name leads out of the store, and nothing in it is unpickled."""

import io
import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.errors import CorruptArtefactError, StoreError
from pipelines.storage import artefacts, manifests
from pipelines.storage.store import Store
from pipelines.storage.store_files import sha256_of
from tests.pipelines.storage.store_writer import Numbered, is_whole, key_of, publish

WRONG_KEYS = ["../" * 3 + "etc", "/etc/passwd", "..", "", "AB" * 32, "ab" * 31 + "/x", "ab" * 32 + "\n", "ab/" + "c" * 61]


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "store")


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return (Path.touch, (self.mark,))


def rewrite_manifest(store: Store, key: str, change) -> None:
    path = store.folder(key) / "manifest.json"
    manifest = json.loads(path.read_bytes())
    change(manifest)
    path.write_text(json.dumps(manifest))


def plant(store: Store, key: str, name: str, data: bytes) -> None:
    """Replace a file of an artefact, its checksum in the manifest included, as somebody who can write the store might."""
    path = store.folder(key) / name
    path.write_bytes(data)
    part = {"bytes": len(data), "sha256": sha256_of(path)}
    rewrite_manifest(store, key, lambda manifest: manifest["files"].update({name: part}))


@pytest.mark.parametrize("key", WRONG_KEYS)
@pytest.mark.parametrize("use", ["folder", "manifest", "verified", "begin", "withdraw", "set_aside"])
def test_a_key_is_sixty_four_hexadecimal_digits(store, key, use):
    with pytest.raises(StoreError, match="is not a content key"):
        getattr(store, use)(key)


@pytest.mark.parametrize("name", ["../outside", "/etc/hostname", "..", ".", "a/b", "a\\b", ".hidden", "manifest.json", "x\0y"])
def test_a_manifest_that_names_a_file_elsewhere_is_not_believed(store, name, tmp_path):
    key = publish(store, 1)
    outside = store.folder(key).parent / "outside"
    outside.write_bytes(b"secret")
    part = {"bytes": 6, "sha256": sha256_of(outside)}
    rewrite_manifest(store, key, lambda manifest: manifest["files"].update({name: part}))
    assert store.manifest(key) is None
    with pytest.raises(CorruptArtefactError):
        store.verified(key)
    assert outside.read_bytes() == b"secret"
    publish(store, 1)
    assert is_whole(store, 1)


def test_a_manifest_whose_parts_are_no_keys_is_not_believed(store):
    key = publish(store, 1)
    rewrite_manifest(store, key, lambda manifest: manifest.update(needs=["../../etc"]))
    assert store.manifest(key) is None


def test_a_manifest_of_another_artefact_is_not_believed(store):
    first = publish(store, 1)
    shutil.copytree(store.folder(first), store.folder(key_of(2)))
    assert store.manifest(key_of(2)) is None


@pytest.mark.parametrize("what", ["file", "manifest", "folder", "group"])
def test_links_are_not_followed(store, what, tmp_path):
    key = publish(store, 1)
    folder = store.folder(key)
    place = {
        "file": folder / "matrix.npy", "manifest": folder / "manifest.json", "folder": folder, "group": folder.parent
    }[what]  # fmt: skip
    real = tmp_path / "elsewhere"
    shutil.move(place, real)
    place.symlink_to(real)
    assert store.manifest(key) is None
    with pytest.raises(CorruptArtefactError):
        store.verified(key)
    if what == "group":
        with pytest.raises(StoreError, match="is a link; a store holds its own files"):
            publish(store, 1)
        assert sorted(path.name for path in real.iterdir()) == [key]
    else:
        publish(store, 1)
        assert is_whole(store, 1)
        assert real.exists()


@pytest.mark.parametrize("task", ["../../etc/cron", "/tmp/x", "a/b", ".bashrc", ""])
def test_a_task_name_cannot_name_a_file_elsewhere(store, task):
    with pytest.raises(StoreError, match="cannot name a file"):
        store.remember(task, {"key": key_of(1)})


def test_a_planted_pickle_is_not_loaded_as_an_array(store, tmp_path):
    mark = tmp_path / "ran"
    buffer = io.BytesIO()
    np.save(buffer, np.array([Bomb(mark)], dtype=object), allow_pickle=True)
    for data in (pickle.dumps(Bomb(mark)), buffer.getvalue()):
        key = publish(store, 1)
        plant(store, key, "matrix.npy", data)
        with pytest.raises(ValueError, match=r"pickle|Python objects in dtype"):
            artefacts.read_parts(store.verified(key), Numbered)
        store.set_aside(key)
    assert not mark.exists()


def test_a_planted_pickle_is_not_loaded_as_a_table_or_from_another_name(store, tmp_path):
    mark = tmp_path / "ran"
    bomb = pickle.dumps(Bomb(mark))
    key = publish(store, 1)
    plant(store, key, "table.parquet", bomb)
    plant(store, key, "table.pkl", bomb)
    with pytest.raises(pa.ArrowInvalid):
        artefacts.read_parts(store.verified(key), Numbered)
    # pickles in the metadata of a table, where pandas keeps its own, stay bytes
    table = pa.Table.from_pandas(pd.DataFrame({"value": [1.0]}))
    extension = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": bomb}
    field = pa.field("value", pa.float64(), metadata=extension)
    target = store.folder(key) / "table.parquet"
    pq.write_table(table.cast(pa.schema([field])).replace_schema_metadata({b"pandas": bomb}), target)
    plant(store, key, "table.parquet", target.read_bytes())
    with pytest.raises((ValueError, UnicodeDecodeError)):
        artefacts.read_parts(store.verified(key), Numbered, "table")
    assert not mark.exists()


def test_no_code_of_the_packages_unpickles():
    repository = Path(manifests.__file__).resolve().parents[2]
    # numba's own form of machine code is a pickle; it lies in the user's cache folder, as numba's cache does, never in a store
    machine_code = Path("kernels/compiled.py")
    words = ("import pickle", "allow_pickle=True", "read_pickle", "to_pickle", "import joblib", "weights_only=False")
    found = [
        f"{path.relative_to(repository)}: {word}"
        for package in ("pipelines", "loaders", "validation", "kernels", "training")
        for path in sorted((repository / package).rglob("*.py"))
        for word in words
        if word in path.read_text(encoding="utf-8") and path.relative_to(repository) != machine_code
    ]
    assert found == []
