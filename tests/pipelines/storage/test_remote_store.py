"""A store in a bucket of a real S3-compatible server keeps the promises of one on a disk."""

import errno
import json
import multiprocessing
import random
import time

import numpy as np
import pytest

pytest.importorskip("s3fs", reason="s3fs comes with the [s3] extra")
pytest.importorskip("moto", reason="moto, the test server, comes with the [dev] extra")

from pipelines.cli import main
from pipelines.config.configuration import load_settings
from pipelines.errors import CorruptArtefactError, StoreError
from pipelines.feature_sets import open_feature_set
from pipelines.published import PublishedSet, PublishedSets
from pipelines.record.ledger import Ledger
from pipelines.record.records import RunRecord, read_records
from pipelines.storage import artefacts
from pipelines.storage.eviction import evict, inventory
from pipelines.storage.leftovers import remove_leftovers
from pipelines.storage.remote_files import RemoteFiles
from pipelines.storage.remote_store import RemoteStore
from pipelines.storage.store_files import Entry
from pipelines.storage.store_leases import LEASE_SECONDS, held
from pipelines.storage.store_opening import store_at
from pipelines.storage.store_upkeep import kept_up
from tests.pipelines.record.test_ledger import OPENED, RANGES, look
from tests.pipelines.storage import store_writer
from tests.pipelines.storage.bucket import running_bucket
from tests.pipelines.storage.store_writer import Numbered, is_whole, key_of, numbered, publish

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.pipelines.storage.store_writer"])


@pytest.fixture(scope="module")
def bucket():
    with running_bucket() as bucket:
        yield bucket


@pytest.fixture
def make(bucket, tmp_path):
    """A function that opens the test's store as the machine with the given name sees it."""
    prefix = f"test-{random.SystemRandom().getrandbits(48):x}/store"
    return lambda machine="first": bucket.store(tmp_path / machine, prefix)


@pytest.fixture
def store(make):
    return make()


def objects(store: RemoteStore, end: str = "") -> list[str]:
    return [entry.path for entry in store.files.entries("objects") if entry.path.endswith(end)]


def keys_in(store: RemoteStore) -> set[str]:
    return {key for key, _ in store.stored()}


def test_another_machine_reads_what_one_has_published_and_maps_it_into_memory(make):
    publish(make("first"), 1)
    other = make("second")
    found = artefacts.read_parts(other.verified(key_of(1)), Numbered)
    assert isinstance(found.matrix, np.memmap) and not found.matrix.flags.writeable
    np.testing.assert_array_equal(found.matrix, numbered(1).matrix)
    assert other.verified(key_of(1)) == other.root / "objects" / key_of(1)[:2] / key_of(1)


def test_an_artefact_exists_when_its_manifest_does_and_the_manifest_comes_last(store, monkeypatch):
    puts = []
    upload, create = RemoteFiles.upload, RemoteFiles.create
    monkeypatch.setattr(RemoteFiles, "upload", lambda self, source, path: (puts.append(path), upload(self, source, path)))
    monkeypatch.setattr(RemoteFiles, "create", lambda self, path, data: (puts.append(path), create(self, path, data))[1])
    publish(store, 1)
    assert [path.rpartition("/")[2] for path in puts] == ["matrix.npy", "table.parquet", "values.json", "manifest.json"]
    store.files.remove(puts[-1])
    assert store.manifest(key_of(1)) is None and keys_in(store) == set()
    publish(store, 1)
    assert is_whole(store, 1)


@pytest.mark.parametrize("point", range(4))
def test_a_server_that_fails_at_any_put_leaves_nothing_half_visible(store, monkeypatch, point):
    left = [point]

    def failing(method):
        def put(self, *arguments):
            left[0] -= 1
            if left[0] < 0:
                raise OSError(errno.EIO, "the server went away")
            return method(self, *arguments)

        return put

    with monkeypatch.context() as patched:
        for name in ("upload", "create"):
            patched.setattr(RemoteFiles, name, failing(getattr(RemoteFiles, name)))
        with pytest.raises(OSError, match="went away"):
            publish(store, 1)
    assert store.manifest(key_of(1)) is None
    assert len(objects(store)) == point
    publish(store, 1)
    assert is_whole(store, 1)


def test_objects_of_writers_that_died_are_removed_after_a_lease(store, monkeypatch):
    publish(store, 1)
    key, torn = key_of(2), f"objects/{key_of(2)[:2]}/{key_of(2)}/writer/matrix.npy"
    store.files.write(torn, b"half")
    assert remove_leftovers(store).count == 0 and torn in objects(store)
    now = store.files.now()
    monkeypatch.setattr(RemoteFiles, "now", lambda self: now + LEASE_SECONDS + 5)
    assert remove_leftovers(store, dry_run=True).bytes == 4
    assert remove_leftovers(store).count == 1
    assert objects(store, "half") == [] and store.manifest(key) is None
    assert is_whole(store, 1)


@pytest.mark.parametrize("name", ["table.parquet", "matrix.npy", "values.json"])
@pytest.mark.parametrize("how", ["flipped", "cut", "gone"])
def test_damage_in_the_bucket_is_found_moved_aside_and_made_good(make, name, how):
    publish(make("first"), 1)
    store = make("second")
    path = objects(store, name)[0]
    data = bytearray(store.files.read(path))
    data[len(data) // 2] ^= 1
    store.files.remove(path)
    if how != "gone":
        store.files.write(path, bytes(data) if how == "flipped" else bytes(data[:-5]))
    with pytest.raises(CorruptArtefactError, match=rf"{name}.*moved to s3://.*/corrupt, run again"):
        store.verified(key_of(1))
    assert store.manifest(key_of(1)) is None
    assert [entry.path[:72] for entry in store.files.entries("corrupt")] == [f"corrupt/{key_of(1)}"]
    publish(store, 1)
    assert is_whole(store, 1) and is_whole(make("third"), 1)


def test_damage_of_the_local_copy_costs_only_reading_it_again(store):
    publish(store, 1)
    path = store.folder(key_of(1)) / "matrix.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    assert is_whole(store, 1)
    assert store.files.entries("corrupt") == []


def test_a_local_copy_of_what_another_machine_has_replaced_is_not_read(make):
    """The manifest in the bucket counts, also where this machine's copy is whole."""
    first, second = make("first"), make("second")
    publish(first, 1)
    assert first.set_aside(key_of(1))
    folder = second.begin(key_of(1))
    artefacts.write_parts(numbered(2), folder)
    second.publish(key_of(1), folder, {"task": "numbered"})
    assert first.cache.manifest(key_of(1)) is not None
    theirs, mine = (artefacts.read_parts(store.verified(key_of(1)), Numbered) for store in (second, first))
    assert mine.table.equals(theirs.table) and mine.table.equals(numbered(2).table)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", json.dumps({"task": "x", "key": "y", "files": {}}).encode()])
def test_a_damaged_manifest_is_no_artefact_and_is_replaced(store, data):
    publish(store, 1)
    store.files.write(objects(store, "manifest.json")[0], data)
    assert store.manifest(key_of(1)) is None
    publish(store, 1)
    assert is_whole(store, 1)


@pytest.mark.parametrize("field", ["folder", "file"])
@pytest.mark.parametrize("name", ["../../../x", "/etc/hostname", ".."])
def test_no_name_in_a_manifest_leads_elsewhere(store, field, name):
    publish(store, 1)
    path = objects(store, "manifest.json")[0]
    manifest = json.loads(store.files.read(path))
    if field == "folder":
        manifest["folder"] = name
    else:
        manifest["files"][name] = manifest["files"].pop("matrix.npy")
    store.files.write(path, json.dumps(manifest).encode())
    assert store.manifest(key_of(1)) is None
    with pytest.raises(CorruptArtefactError):
        store.verified(key_of(1))


@pytest.mark.parametrize(
    ("processes", "rounds"), [(3, 3), pytest.param(8, 20, marks=pytest.mark.acceptance, id="8 writers")]
)
def test_writers_of_one_key_at_once_leave_one_whole_artefact(make, processes, rounds):
    store = make()
    barrier, said = CONTEXT.Barrier(processes, timeout=120), CONTEXT.Queue()
    workers = [
        CONTEXT.Process(target=store_writer.publish_together, args=(make(f"w{at}"), range(rounds), barrier, said))
        for at in range(processes)
    ]
    for worker in workers:
        worker.start()
    found = [said.get(timeout=240) for _ in range(processes * rounds)]
    for worker in workers:
        worker.join()
    assert sorted(found) == [(number, True) for number in range(rounds) for _ in range(processes)]
    assert len(objects(store, "manifest.json")) == rounds
    assert len(objects(store, "matrix.npy")) == rounds, "the losers have removed what they put"


@pytest.mark.parametrize("rounds", [3, pytest.param(60, marks=pytest.mark.acceptance, id="60 kills")])
def test_killed_writers_lose_nothing_and_show_nothing_half(store, make, rounds):
    draw, begin = random.Random(3), 0
    for _ in range(rounds):
        hear, say = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(target=store_writer.write_on, args=(store, begin, say))
        process.start()
        say.close()
        assert hear.poll(60)
        time.sleep(draw.random() * 0.1)
        process.kill()
        process.join()
        said = []
        try:
            while True:
                said.append(hear.recv())
        except EOFError:
            pass
        reader = make("reader")
        assert all(is_whole(reader, number) for number in said)
        begin = said[-1] + 2
        if not is_whole(reader, begin - 1):
            publish(reader, begin - 1)
        assert is_whole(store, begin - 1)


def test_the_least_recently_used_is_evicted_and_what_a_run_holds_is_not(make):
    store, other = make("first"), make("second")
    for number in range(4):
        publish(store, number)
    for number in (0, 1, 2, 3, 0):
        with held(other, [key_of(number)]):
            pass
    one = inventory(store)[0].bytes
    with held(other, [key_of(1)]):
        done = evict(store, 2 * one)
        assert keys_in(store) == {key_of(1), key_of(0)}
    assert {row.key for row in done.artefacts} == {key_of(2), key_of(3)}
    assert objects(store, "manifest.json") == objects(other, "manifest.json")
    assert len(objects(store)) == 2 * 4, "the data objects of what was evicted are gone too"
    assert list((store.root / "tmp").iterdir()) == []


def test_the_local_folder_stays_within_its_budget_and_loses_nothing(make):
    store = make()
    for number in range(3):
        publish(store, number)
    with held(store, [key_of(2)]):
        assert len(evict(store.cache, 0, uses_of=store).artefacts) == 2
        assert {key for key, _ in store.cache.stored()} == {key_of(2)}
    assert all(is_whole(store, number) for number in range(3))


def test_references_ledger_and_published_sets_are_shared(make):
    first, second = make("first"), make("second")
    first.remember("node", {"key": key_of(1)})
    second.remember("node", {"key": key_of(2)})
    assert [row["key"] for row in first.remembered("node")] == [key_of(2), key_of(1)]
    for store, key in ((first, "k1"), (second, "k2"), (first, "k2")):
        Ledger.of(store, "ES").record(look(key), OPENED)
    assert Ledger.of(second, "ES").summary(RANGES, OPENED)["test_looks"] == 2
    for store, name in ((first, "a"), (second, "b"), (first, "c")):
        PublishedSets.of(store, "ES", ["ret_1"]).record(PublishedSet(f"set {name}", key_of(1), f"run {name}"))
    assert [row.feature_set for row in PublishedSets.of(second, "ES", ["ret_1"]).sets()] == ["set a", "set b", "set c"]


def test_records_of_runs_are_shared_and_their_reports_are_in_the_bucket(make):
    record = RunRecord.begin(make("first"), {"command": "run"})
    (record.folder / "report.html").write_text("x" * 10)
    assert len(read_records(make("second"))) == 1
    record.append("ended", status="done")
    second = make("second")
    assert [row["status"] for row in read_records(second)] == ["done"]
    assert second.files.read(f"runs/{record.run}/report.html") == b"x" * 10
    assert not (second.root / "runs" / record.run / "report.html").exists()


def test_a_store_that_cannot_be_written_says_what_to_do(bucket, tmp_path):
    with pytest.raises(StoreError, match=r"cannot write the store s3://nowhere/x: .*bucket exists.*pip install"):
        RemoteStore.connect("s3://nowhere/x", bucket.options, tmp_path)
    with pytest.raises(StoreError, match=r"cannot write the store unheard://x"):
        RemoteStore.connect("unheard://x", {}, tmp_path)


def test_a_server_that_does_not_answer_is_not_taken_for_an_empty_store(store, monkeypatch):
    publish(store, 1)

    def away(*arguments, **options):
        raise ValueError("could not connect")  # whatever class the file system's own errors have

    import fsspec

    monkeypatch.setattr(fsspec.core, "url_to_fs", away)
    with pytest.raises(StoreError, match=r"cannot read the store s3://.*could not connect; run again"):
        store.manifest(key_of(1))


def test_any_other_fsspec_file_system_will_do(tmp_path):
    store = RemoteStore.connect("memory://walkfold-test", {}, tmp_path / "first")
    publish(store, 1)
    assert is_whole(RemoteStore.connect("memory://walkfold-test", {}, tmp_path / "second"), 1)
    publish(store, 1)
    assert len(objects(store, "matrix.npy")) == 1
    evict(store, 0)
    assert objects(store) == []


@pytest.mark.acceptance
def test_the_whole_flow_runs_in_a_bucket_with_the_artefacts_of_a_local_store(
    bucket, tmp_path, small_settings, serial_store, contents, capsys
):
    url = bucket.url("flow")
    remote = (f"store={url}", *(f"store_options.{name}={value}" for name, value in bucket.options.items()))
    for machine, cluster in (("first", "processes"), ("second", "serial")):
        options = (*small_settings, *remote, f"store_cache={tmp_path / machine}", f"cluster={cluster}")
        assert main(["run", "fold=0", *options, "--quiet", "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert all(row["cached"] for row in document["nodes"]) == (machine == "second")
    store = store_at(url, bucket.options, tmp_path / "third")
    local = contents(serial_store)
    found = {key: {name: part["sha256"] for name, part in row["files"].items()} for key, row in store.stored()}
    assert found == local
    assert len(open_feature_set(store)) > 0
    assert [row["status"] for row in read_records(store)] == ["done", "done"]
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"not-to-be-seen" not in path.read_bytes(), path
    for entry in store.files.entries(""):
        assert b"not-to-be-seen" not in (store.files.read(entry.path) or b""), entry.path


def test_a_run_leaves_the_local_folder_within_its_budget(make):
    store = make()
    for number in range(3):
        publish(store, number)
    size = sum(one.bytes for one in inventory(store.cache))
    settings = load_settings([f"store={store.url}", f"store_cache_budget={size // 3}"])
    with kept_up(store, settings, {}, lambda event, **facts: None):
        assert len(inventory(store.cache)) == 3
    assert len(inventory(store.cache)) == 1 and len(keys_in(store)) == 3


@pytest.mark.parametrize("path", ["runs/../../outside/record.jsonl", "runs/.hidden/record.jsonl", "/etc/record.jsonl"])
def test_a_name_in_the_bucket_that_leads_elsewhere_is_not_fetched(store, monkeypatch, path):
    fetched = []
    found = [Entry(path, 9, 0.0), Entry("runs/a/record.jsonl", 9, 0.0)]
    monkeypatch.setattr(RemoteFiles, "entries", lambda files, folder: found)
    monkeypatch.setattr(RemoteFiles, "download", lambda files, path, target: fetched.append(path))
    store.pull("runs", "record.jsonl")
    assert fetched == ["runs/a/record.jsonl"]


def test_the_lines_of_a_journal_stay_in_the_order_of_their_writing(store):
    lines = [f"line {number}" for number in range(12)]
    for line in lines:
        store.files.append("ledger/ES.jsonl", line)
    assert store.files.lines("ledger/ES.jsonl") == lines


def test_a_list_in_the_bucket_is_there_when_each_of_its_parts_is(store):
    for number in (1, 2):
        publish(store, number)
    folder = store.begin(key_of(3))
    artefacts.write_parts(3, folder)
    store.publish(key_of(3), folder, {"task": "listed", "needs": [key_of(1), key_of(2)]})
    assert store.manifest(key_of(3)) is not None
    assert store.set_aside(key_of(2))
    assert store.manifest(key_of(3)) is None and store.listed(key_of(3)) is not None
