"""A small sample data set and a configuration that runs the whole flow on it in seconds."""

from collections.abc import Callable
from pathlib import Path

import pytest

from loaders.sample import write_sample
from pipelines.cli import main
from pipelines.storage.store import Store
from tests.pipelines.small_flow import OwnFlow, write_flow

Contents = dict[str, dict[str, str]]

SMALL = (
    "folds.train_bars=6000", "folds.validation_bars=2500", "folds.test_bars=2500", "folds.step_bars=2500",
    "sweep.grid.fast=5:20:5", "sweep.grid.slow=30:90:30", "sweep.grid.window=20,60", "sweep.grid.entry=1,2",
    "sweep.grid.exit=0", "sweep.chunk_combinations=4", "training.seeds=0,1", "training.dqn.steps=40", "training.dqn.looks=2",
    "workers=2",
)  # fmt: skip


@pytest.fixture(scope="session")
def small_sample(tmp_path_factory) -> Path:
    """Fifteen sessions with a roll, a clock change and every planted fault."""
    folder = tmp_path_factory.mktemp("data") / "sample"
    write_sample(folder, sessions=15)
    return folder


@pytest.fixture(scope="session")
def small_settings(small_sample) -> tuple[str, ...]:
    """Overrides for the whole flow on the small sample; the path is the production one."""
    return (f"data={small_sample}", *SMALL)


@pytest.fixture(scope="session")
def contents() -> Callable[[Path], Contents]:
    """A function that returns the checksums of the files of every artefact in a store."""

    def read(store: Path) -> Contents:
        opened = Store(store)
        keys = [folder.name for group in (store / "objects").iterdir() for folder in group.iterdir()]
        manifests = {key: opened.manifest(key) for key in keys}
        return {
            key: {name: part["sha256"] for name, part in row["files"].items()} for key, row in manifests.items() if row
        }

    return read


@pytest.fixture(scope="session")
def serial_store(tmp_path_factory, small_settings):
    """The flow run once, serially."""
    store = tmp_path_factory.mktemp("serial") / "store"
    assert main(["run", "fold=0", f"store={store}", *small_settings, "cluster=serial", "--quiet"]) == 0
    return store


@pytest.fixture
def own_flow(tmp_path, monkeypatch, capsys) -> OwnFlow:
    """A small flow of the user's own in the folder that the test runs in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return write_flow(tmp_path, capsys)
