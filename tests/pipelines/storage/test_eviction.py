"""A store stays within its budget: the least recently used goes first, what somebody uses never does."""

import dataclasses
import errno
import json
import multiprocessing
import os
import time
from pathlib import Path

import pytest

from pipelines.cli import main
from pipelines.config.configuration import as_tree, load_settings
from pipelines.config.settings import Settings
from pipelines.errors import ConfigurationError, StoreError, UsageError
from pipelines.published import PublishedSet, PublishedSets
from pipelines.storage import store_leases
from pipelines.storage.eviction import evict, inventory, kept_keys, require_budget
from pipelines.storage.leftovers import remove_leftovers
from pipelines.storage.processes import Owner
from pipelines.storage.sizes import parse_size, size_text
from pipelines.storage.store import Store
from pipelines.storage.store_files import LocalFiles
from pipelines.storage.store_leases import LEASE_SECONDS, fold_ended, held, live, read_leases
from pipelines.storage.store_upkeep import kept_up
from tests.pipelines.storage.store_writer import is_whole, key_of, publish

CONTEXT = multiprocessing.get_context("forkserver")


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "store")


def keys_in(store: Store) -> set[str]:
    return {key for key, _ in store.stored()}


def use(store: Store, *numbers: int) -> None:
    with held(store, [key_of(number) for number in numbers]):
        pass


def size_of(store: Store, *numbers: int) -> int:
    return sum(one.bytes for one in inventory(store) if one.key in {key_of(number) for number in numbers})


def lease_of_another_host(store: Store, number: int, age: float) -> str:
    """A lease that a process of another machine renewed so many seconds ago."""
    path = "leases/000000000001.00000000.json"
    owner = dataclasses.asdict(Owner("another host", 1, "1"))
    store.files.write(path, json.dumps({"tick": 1, "keys": [key_of(number)], "owner": owner, "ended": False}).encode())
    when = store.files.now() - age
    os.utime(store.root / path, (when, when))
    return path


def hold(root: Path, number: int, said) -> None:
    """In a process: hold a lease until killed."""
    with held(Store(root), [key_of(number)]):
        said.send("held")
        time.sleep(300)


def test_the_least_recently_used_goes_first(store):
    for number in range(4):
        publish(store, number)
    use(store, 0, 1, 2, 3)
    use(store, 1)
    use(store, 3)
    use(store, 0)
    done = evict(store, size_of(store, 0, 3))
    assert {one.key for one in done.artefacts} == {key_of(1), key_of(2)} and done.over == 0
    assert keys_in(store) == {key_of(0), key_of(3)}
    assert is_whole(store, 0) and not is_whole(store, 1)
    assert list((store.root / "tmp").iterdir()) == []
    assert evict(store, size_of(store, 0)).artefacts[0].key == key_of(3)


def test_a_dry_run_says_what_would_go_and_removes_nothing(store):
    for number in range(3):
        publish(store, number)
    use(store, 1)
    assert len(evict(store, size_of(store, 1), dry_run=True).artefacts) == 2
    assert len(keys_in(store)) == 3


def test_what_a_live_run_holds_stays_and_the_rest_is_told(store):
    for number in range(3):
        publish(store, number)
    with held(store, [key_of(0), key_of(1)]):
        done = evict(store, 0)
        assert keys_in(store) == {key_of(0), key_of(1)}
        assert done.over == size_of(store, 0, 1)
    evict(store, 0)
    assert keys_in(store) == set()


def test_the_parts_of_a_list_that_a_run_holds_stay_and_count_as_used_with_it(store):
    for number in (1, 2, 3):
        publish(store, number)
    publish(store, 0, task="list", needs=(key_of(1), key_of(2)))
    with held(store, [key_of(0)]):
        evict(store, 0)
        assert keys_in(store) == {key_of(0), key_of(1), key_of(2)}
    publish(store, 3)
    use(store, 3)
    use(store, 0)
    assert next(one.key for one in inventory(store)) == key_of(3)


def test_a_killed_run_holds_nothing_any_more(store):
    publish(store, 1)
    hear, say = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=hold, args=(store.root, 1, say))
    process.start()
    assert hear.recv() == "held"
    evict(store, 0)
    assert keys_in(store) == {key_of(1)}
    process.kill()
    process.join()
    evict(store, 0)
    assert keys_in(store) == set()


def test_a_process_that_got_the_number_of_a_dead_one_does_not_hold_its_lease(store):
    this = Owner.this()
    assert this.runs() is True
    assert dataclasses.replace(this, started="1").runs() is False
    assert dataclasses.replace(this, pid=2**22 + 1).runs() is False
    assert dataclasses.replace(this, place="elsewhere").runs() is None


def test_a_lease_of_another_host_lasts_while_it_is_renewed(store):
    publish(store, 1)
    lease_of_another_host(store, 1, age=LEASE_SECONDS - 60)
    evict(store, 0)
    assert keys_in(store) == {key_of(1)}
    lease_of_another_host(store, 1, age=LEASE_SECONDS + 1)
    evict(store, 0)
    assert keys_in(store) == set()


def test_a_clock_that_moved_back_neither_ends_a_lease_nor_makes_it_last(store, monkeypatch):
    publish(store, 1)
    path = lease_of_another_host(store, 1, age=-86_400)  # renewed a day from now: the clock was put back since
    evict(store, 0)
    assert keys_in(store) == {key_of(1)}
    assert abs((store.root / path).stat().st_mtime - store.files.now()) < 60, "its time runs from when that was seen"
    later = store.files.now() + LEASE_SECONDS + 60
    assert not live(store, read_leases(store)[0], later)


def test_the_order_of_use_does_not_depend_on_the_clock(store):
    for number in range(3):
        publish(store, number)
    for number, when in ((0, 4e9), (1, 1e9), (2, 0)):  # each later run at an earlier hour
        use(store, number)
        for path in (*(store.root / "leases").iterdir(), *store.folder(key_of(number)).iterdir()):
            os.utime(path, (when, when))
    assert [one.key for one in inventory(store)] == [key_of(0), key_of(1), key_of(2)]


def test_a_lease_is_renewed_while_its_run_lives(store, monkeypatch):
    monkeypatch.setattr(store_leases, "LEASE_SECONDS", 0.2)
    with held(store, []):
        path = next((store.root / "leases").iterdir())
        os.utime(path, (1, 1))
        until = time.monotonic() + 30
        while path.stat().st_mtime < 1e9 and time.monotonic() < until:
            time.sleep(0.01)
        assert path.stat().st_mtime > 1e9
    assert read_leases(store)[0].ended


def test_leases_that_are_over_become_one_file_and_the_order_stays(store):
    for number in range(3):
        publish(store, number)
    use(store, 2)
    use(store, 0)
    with held(store, [key_of(1)]):
        assert fold_ended(store, keys_in(store)) == 2
        assert len(read_leases(store)) == 1
    use(store, 2)
    assert [one.key for one in inventory(store)] == [key_of(0), key_of(1), key_of(2)]
    assert fold_ended(store, keys_in(store)) == 2
    assert [one.key for one in inventory(store)] == [key_of(0), key_of(1), key_of(2)]
    assert [path.name for path in (store.root / "leases").iterdir()] == ["history.json"]


def test_the_current_published_set_the_one_before_it_and_promoted_models_stay(store):
    for number in range(9):
        publish(store, number)
    sets = PublishedSets.of(store, "ES", ["ret_1"])
    for number in (0, 2, 4):
        sets.record(PublishedSet(key_of(number), key_of(number + 1), f"run {number}"))
    (store.root / "promoted").mkdir()
    (store.root / "promoted" / "ES.json").write_text(json.dumps({"model": {"key": key_of(6)}}))
    (store.root / "published" / "ES.json").write_text(json.dumps({"feature_set": key_of(7)}))
    assert kept_keys(store) == {key_of(number) for number in (2, 3, 4, 5, 6, 7)}
    evict(store, 0)
    assert keys_in(store) == kept_keys(store)


def test_a_run_that_begins_while_another_evicts_gets_its_artefacts_back(store, monkeypatch):
    for number in range(2):
        publish(store, number)
    beginning = held(store, [key_of(1)])
    withdraw = Store.withdraw

    def meanwhile(self, key):
        hidden = withdraw(self, key)
        if key == key_of(1):
            beginning.__enter__()
        return hidden

    monkeypatch.setattr(Store, "withdraw", meanwhile)
    done = evict(store, 0)
    assert [one.key for one in done.artefacts] == [key_of(0)] and done.over == size_of(store, 1)
    assert is_whole(store, 1)
    beginning.__exit__(None, None, None)


def test_two_cleaners_at_once_evict_each_artefact_once(store, monkeypatch):
    for number in range(4):
        publish(store, number)
    withdraw, other = Store.withdraw, []

    def meanwhile(self, key):
        if not other:
            other.append(None)
            other.append(evict(store, 0))
        return withdraw(self, key)

    monkeypatch.setattr(Store, "withdraw", meanwhile)
    assert len(evict(store, 0).artefacts) == 0 and len(other[1].artefacts) == 4
    assert keys_in(store) == set()


def test_leftovers_go_when_nobody_has_touched_them_for_a_lease(store):
    folder = store.begin(key_of(1))  # of this process, which lives
    (folder / "half").write_bytes(b"x" * 1000)
    torn = store.root / "refs" / ".numbered.json.123.0a1b2c3d"
    torn.write_bytes(b"x")
    assert remove_leftovers(store).count == 0
    old = store.files.now() - LEASE_SECONDS - 1
    for path in (folder / "half", folder, torn):
        os.utime(path, (old, old))
    found = remove_leftovers(store, dry_run=True)
    assert (found.count, found.bytes) == (2, 1001) and folder.exists()
    assert remove_leftovers(store).count == 2
    assert not folder.exists() and not torn.exists()


def test_leftovers_from_the_future_are_dated_now(store):
    folder = store.begin(key_of(1))
    os.utime(folder, (4e9, 4e9))
    assert remove_leftovers(store).count == 0
    assert folder.stat().st_mtime <= store.files.now()


def test_a_budget_that_a_run_cannot_fit_is_refused_with_the_one_it_needs(store):
    publish(store, 0, task="sweep[fold=0]")
    publish(store, 1, task="bars")
    one, both = size_of(store, 0), size_of(store, 0, 1)
    tasks = {key_of(0): "sweep", key_of(1): "bars", key_of(2): "sweep"}
    require_budget(store, tasks, both + one)
    with pytest.raises(ConfigurationError, match=r"too small for this run.*set store_budget to .* or more, or to none"):
        require_budget(store, tasks, both + one - 1)


def test_a_run_begins_only_with_a_budget_that_it_fits(store):
    publish(store, 0)
    settings = load_settings([f"store={store.root}", f"store_budget={size_of(store, 0) - 1}"])
    begun = []
    run = kept_up(store, settings, {key_of(0): "numbered"}, lambda event, **facts: None)
    with pytest.raises(ConfigurationError, match="too small for this run"), run:
        begun.append(0)
    assert begun == []


def test_a_lease_that_cannot_be_written_is_told_before_anything_runs(store, monkeypatch):
    def full(files, path, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(LocalFiles, "write", full)
    begun = []
    refusal = pytest.raises(StoreError, match=r"cannot write a lease in the store .*No space left on device; free space")
    with refusal, held(store, [key_of(0)]):
        begun.append(0)
    assert begun == []


def test_a_run_that_ends_well_brings_the_store_within_its_budget(store):
    for number in range(3):
        publish(store, number)
    budget = size_of(store, 0, 1)
    settings = load_settings([f"store={store.root}", f"store_budget={budget}"])
    told = []
    with pytest.raises(ZeroDivisionError), kept_up(store, settings, {key_of(0): "numbered"}, told.append):
        raise ZeroDivisionError
    assert len(keys_in(store)) == 3 and told == [], "a run that failed evicts nothing"
    use(store, 2)
    with kept_up(store, settings, {key_of(0): "numbered"}, lambda event, **facts: told.append((event, facts))):
        assert len(keys_in(store)) == 3
    assert keys_in(store) == {key_of(0), key_of(2)}
    freed = budget - size_of(store, 0)
    assert told == [("evicted", {"where": "store", "artefacts": 1, "bytes": freed, "over": 0})]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("20GB", 20 * 10**9),
        ("1.5 GiB", 3 * 2**29),
        ("512B", 512),
        ("1048576", 2**20),
        ("0", 0),
        ("7mb", 7 * 10**6),
        ("none", None),
    ],
)
def test_sizes_are_read_as_people_write_them(text, count):
    assert parse_size(text) == count


def test_a_small_number_without_a_unit_is_not_taken_for_bytes():
    with pytest.raises(UsageError, match="'20' would be bytes: write the unit"):
        parse_size("20")


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1 parsec", "1e9"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(UsageError, match="is not a size"):
        parse_size(text)
    with pytest.raises(ConfigurationError, match="store_budget"):
        load_settings([f"store_budget={text}"])


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 123_456, 999_999_999, 10**12 + 1, 5 * 10**15])
def test_a_written_size_is_never_less_than_it_was(count):
    assert count <= parse_size(size_text(count)) <= count * 1.1


def test_credentials_reach_neither_records_nor_messages():
    settings = load_settings(
        ["store=s3://bucket/x", "store_options.secret=hush", "store_options.client_kwargs.region=hush"]
    )
    assert settings.store_options == {"secret": "hush", "client_kwargs": {"region": "hush"}}
    assert isinstance(settings, Settings)
    assert "hush" not in json.dumps(as_tree(settings))
    assert "hush" not in repr(settings)
    with pytest.raises(ConfigurationError) as refused:
        load_settings(["store=s3://bucket/x", "store_options=hush"])
    assert "store_options" in str(refused.value) and "hush" not in str(refused.value)
    with pytest.raises(ConfigurationError, match="holds a password"):
        load_settings(["store=sftp://me:hush@host/x"])


def test_the_command_shows_sizes_by_node_and_evicts_to_a_budget(store, capsys):
    for number in range(3):
        publish(store, number, task=f"sweep[fold={number}]")
    publish(store, 3, task="bars")
    use(store, 3)
    total, bars = size_of(store, 0, 1, 2, 3), size_of(store, 3)
    with held(store, [key_of(2)]):
        assert main(["clean", f"store={store.root}", "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
    assert shown["bytes"] == total and "evicted" not in shown
    assert [(row["node"], row["artefacts"], row["pinned"]) for row in shown["nodes"]] == [
        ("sweep", 3, size_of(store, 2)), ("bars", 1, 0)
    ]  # fmt: skip
    use(store, 3)
    assert main(["clean", f"store={store.root}", f"budget={bars}", "--dry-run"]) == 0
    assert "3 artefacts" in capsys.readouterr().out and len(keys_in(store)) == 4
    assert main(["clean", f"store={store.root}", f"budget={bars}"]) == 0
    assert keys_in(store) == {key_of(3)}
    assert main(["clean", f"store={store.root}/elsewhere"]) == 2 and not (store.root / "elsewhere").exists()
    assert "there is no store in" in capsys.readouterr().err
    assert main(["clean", f"store={store.root}", "budget=lots"]) == 2
    assert "'lots' is not a size" in capsys.readouterr().err


def test_damaged_artefacts_are_shown_and_go_with_a_budget(store, capsys):
    key = publish(store, 1)
    store.set_aside(key)
    assert main(["clean", f"store={store.root}"]) == 0
    assert "of damaged artefacts in corrupt/" in capsys.readouterr().out
    assert main(["clean", f"store={store.root}", "budget=1GB"]) == 0
    assert store.files.entries("corrupt") == []


def test_dry_run_belongs_to_clean(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["runs", "--dry-run"])
    assert ended.value.code == 2
    assert "belongs to `pipeline clean`" in capsys.readouterr().err
