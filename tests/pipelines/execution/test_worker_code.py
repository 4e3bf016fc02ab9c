"""A worker that has loaded other code than the driver's key says publishes nothing; a comment is no other code."""

import importlib
import sys
from pathlib import Path

import pytest

from pipelines.errors import ClusterError
from pipelines.execution.cluster import connected
from pipelines.execution.dask_runner import run_dask
from pipelines.execution.worker_code import expected_code, kept_source
from pipelines.graphs.graph import build_graph
from pipelines.graphs.node import Node
from pipelines.storage.store import Store
from tests.pipelines.execution.test_cluster import settings

BODY = "def made() -> int:\n    return {value}\n"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of the user's that is written, and written again; its name is new in every test."""
    name = f"user_code_{tmp_path.name}".replace("-", "_")
    path = tmp_path / f"{name}.py"
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write(text):
        path.write_text(text)
        importlib.invalidate_caches()
        loaded = importlib.reload(sys.modules[name]) if name in sys.modules else importlib.import_module(name)
        return build_graph((Node("made", loaded.made),), object(), {}, {})

    yield write
    sys.modules.pop(name, None)


def test_what_was_loaded_first_is_what_a_process_says_it_has(module):
    graph = module(BODY.format(value=1))
    assert expected_code(graph.tasks).first_difference() == ""
    commented = module("# a comment\n" + BODY.format(value=1))
    assert commented["made"].key == graph["made"].key
    assert expected_code(commented.tasks).first_difference() == ""
    edited = module(BODY.format(value=2))
    name = edited["made"].node.function.__module__
    assert edited["made"].key != graph["made"].key
    assert expected_code(edited.tasks).first_difference() == name
    assert kept_source(name, Path(name)) is None, "kept by name and file"


def test_a_worker_imports_what_the_driver_had_imported_so_that_registries_are_filled(module, tmp_path):
    graph = module(BODY.format(value=1))
    (tmp_path / f"{tmp_path.name}_put.py").write_text("import json\njson.walkfold_test_put = 1\n")
    importlib.invalidate_caches()
    name, function = f"{tmp_path.name}_put", graph["made"].node.function
    loaded = build_graph((Node("made", function),), object(), {}, {}, [name])
    assert loaded["made"].key != graph["made"].key and name not in sys.modules
    assert expected_code(loaded.tasks).first_difference() == "" and sys.modules.pop(name)
    (tmp_path / f"{name}.py").unlink()
    importlib.invalidate_caches()
    assert expected_code(loaded.tasks).first_difference().startswith(f"{name} (No module named")


def test_a_worker_with_the_old_code_refuses_before_anything_is_published(module, tmp_path):
    store = Store.open(tmp_path / "store")
    graph = module(BODY.format(value=1))
    with connected(settings("processes", 1)) as client:
        run_dask(graph.tasks, store, lambda outcome: None, client)
        edited = module(BODY.format(value=2))
        name = edited["made"].node.function.__module__
        with pytest.raises(ClusterError, match=rf"worker tcp.*: its code of {name} differs from the driver's; .*restart"):
            run_dask(edited.tasks, store, lambda outcome: None, client)
        assert store.manifest(edited["made"].key) is None
        run_dask(graph.tasks, store, lambda outcome: None, client)
