"""The table of nodes becomes a graph: sources and types are checked, fan-out is expanded, nothing is computed."""

from dataclasses import dataclass

import pytest

from pipelines.graphs.graph import build_graph
from pipelines.graphs.node import Node
from pipelines.graphs.node_checks import GraphError, check_nodes
from pipelines.graphs.planning import plan
from pipelines.storage.store import Store


@dataclass(frozen=True)
class Part:
    rows: int
    name: str


@dataclass(frozen=True)
class Whole:
    rows: int


def part(index: int) -> Part:
    raise AssertionError("building a graph computes nothing")


def whole(parts: list[Part], scale: float) -> Whole:
    raise AssertionError("building a graph computes nothing")


def label(rows: int) -> str:
    raise AssertionError("building a graph computes nothing")


def wrong(rows: str) -> str:
    raise AssertionError("building a graph computes nothing")


@dataclass(frozen=True)
class Inner:
    scale: float


@dataclass(frozen=True)
class Configuration:
    inner: Inner


NODES = (
    Node("part", part, axes={"index": "file"}, per=("file",)),
    Node("whole", whole, inputs={"parts": "part"}, settings={"scale": "inner.scale"}),
    Node("label", label, inputs={"rows": "whole.rows"}),
)
AXES = {"file": lambda place: range(3)}


def graph(scale: float = 1.0, count: int = 3):
    return build_graph(NODES, Configuration(Inner(scale)), {}, {"file": lambda place: range(count)})


def keys_of(made):
    return {task.name: task.key for task in made.tasks}


def test_fan_out_and_gathering():
    made = graph()
    assert [task.name for task in made.tasks] == ["part[file=0]", "part[file=1]", "part[file=2]", "whole", "label"]
    assert made["whole"].upstream == ("part[file=0]", "part[file=1]", "part[file=2]")
    assert made["label"].upstream == ("whole",)


def test_a_setting_changes_the_keys_of_its_node_and_of_all_that_reads_it_only():
    before, after = keys_of(graph(1.0)), keys_of(graph(2.0))
    assert {name for name in before if before[name] != after[name]} == {"whole", "label"}


def test_one_more_file_leaves_the_other_files_alone():
    before, after = keys_of(graph(count=3)), keys_of(graph(count=4))
    assert {name for name in before if before[name] != after[name]} == {"whole", "label"}
    assert set(after) - set(before) == {"part[file=3]"}


def test_keys_name_the_artefact_not_the_place():
    keys = keys_of(graph())
    assert len(set(keys.values())) == len(keys)


def test_only_what_a_target_needs():
    names = [task.name for task in graph().needed_for(["part[file=1]"]).tasks]
    assert names == ["part[file=1]"]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        (
            (*NODES, Node("bad", wrong, inputs={"rows": "whole.rows"})),
            r"node bad wants rows: str, but node whole makes int",
        ),
        (
            (*NODES, Node("bad", label, inputs={"rows": "whole.row"})),
            r"node bad: whole makes Whole, which has no field 'row'",
        ),
        ((*NODES, Node("bad", label, inputs={"rows": "hole.rows"})), r"no node makes; did you mean 'whole'\?"),
        ((*NODES, Node("bad", label)), r"nothing fills the parameter 'rows' of label"),
        ((*NODES, Node("bad", label, inputs={"row": "whole.rows"})), r"no single parameter 'row'"),
        ((*NODES, Node("whole", label, inputs={"rows": "whole.rows"})), r"two nodes are named whole"),
        (
            (*NODES, Node("bad", label, inputs={"rows": "part.rows"})),
            r"wants rows: int, but node part makes list\[int\]",
        ),
    ],
)
def test_an_inconsistent_table_is_refused_and_names_both_nodes(nodes, message):
    with pytest.raises(GraphError, match=message):
        check_nodes(nodes)


def test_the_plan_says_why(tmp_path):
    store = Store.open(tmp_path)
    assert {row.reason for row in plan(graph(), store)} == {"never computed"}
    first = graph(1.0)["whole"]
    store.remember(first.name, {"key": first.key, "parts": first.parts})
    rows = {row.task.name: row.reason for row in plan(graph(2.0), store)}
    assert rows["whole"] == "configuration changed: scale"
    store.remember("label", {"key": "x", "parts": {**graph(1.0)["label"].parts, "code": "older"}})
    rows = {row.task.name: row.reason for row in plan(graph(2.0), store)}
    assert rows["label"] == "code changed; input changed: rows"


def test_the_nearest_earlier_run_explains_what_changed(tmp_path):
    store = Store.open(tmp_path)
    task = graph(2.0)["whole"]
    near = {"key": "near", "parts": {**task.parts, "configuration": {"scale": 3.0}}}
    far = {"key": "far", "parts": {**task.parts, "configuration": {"scale": 3.0}, "inputs": {"parts": []}, "code": "x"}}
    store.remember("whole", near)
    store.remember("whole", far)
    assert [one["key"] for one in store.remembered("whole")] == ["far", "near"]
    rows = {row.task.name: row.reason for row in plan(graph(2.0), store)}
    assert rows["whole"] == "configuration changed: scale"
