"""The drawn flow: states of nodes, a layout whose boxes never touch, an SVG that is one."""

import itertools
import random
from xml.etree import ElementTree

import pytest

from pipelines.graphs.planning import PlannedTask
from pipelines.nodes import NODES
from pipelines.viewing.graph_layout import GAP, implied, layered
from pipelines.viewing.graph_state import node_states
from pipelines.viewing.graph_svg import graph_svg
from tests.pipelines.graphs.test_graph import graph

SVG = "{http://www.w3.org/2000/svg}"


def edges_of(nodes):
    return [(source.partition(".")[0], node.name) for node in nodes for source in dict.fromkeys(node.inputs.values())]


def test_edges_that_a_longer_way_says_too():
    assert implied([("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("a", "d"), ("x", "d")]) == {("a", "c"), ("a", "d")}
    assert implied([("a", "b")]) == set()


@pytest.mark.parametrize("seed", range(12))
def test_boxes_never_overlap_and_edges_go_down(seed):
    source = random.Random(seed)
    names = [f"n{at}" for at in range(source.randint(1, 30))]
    edges = [(a, b) for at, b in enumerate(names) for a in names[:at] if source.random() < 0.12]
    widths = {name: source.uniform(40, 220) for name in names}
    drawn = layered(names, edges, widths)
    level = {name: at for at, row in enumerate(drawn.layers) for name in row}
    assert sorted(level) == sorted(names)
    for a, b in edges:
        assert level[a] < level[b] and len(drawn.paths[a, b]) == level[b] - level[a] - 1
    for row in drawn.layers:
        placed = sorted(row, key=lambda name: drawn.centres[name])
        for left, right in itertools.pairwise(placed):
            distance = drawn.centres[right] - drawn.centres[left]
            assert distance >= (widths[left] + widths[right]) / 2 + GAP - 1e-6
    assert all(drawn.centres[name] - widths[name] / 2 + 1e-6 >= 0 for name in names)
    assert all(drawn.centres[name] + widths[name] / 2 <= drawn.width + 1e-6 for name in names)
    assert layered(names, edges, widths) == drawn


def test_two_parallel_chains_do_not_cross():
    names = ["a", "b", "a1", "b1", "a2", "b2", "end"]
    edges = [("a", "b1"), ("b", "a1"), ("a1", "a2"), ("b1", "b2"), ("a2", "end"), ("b2", "end")]
    x = layered(names, edges, dict.fromkeys(names, 50.0)).centres
    assert (x["a"] < x["b"]) == (x["b1"] < x["a1"]) == (x["b2"] < x["a2"])


def test_states_are_collapsed_by_node():
    tasks = graph().tasks
    rows = [PlannedTask(task, at != 1, "code changed" if at == 1 else "cached") for at, task in enumerate(tasks)]
    nodes = _nodes(tasks)
    states = {one.name: one for one in node_states(nodes, rows)}
    assert (states["part"].state, states["part"].tasks, states["part"].cached) == ("partly", 3, 2)
    assert states["part"].words == "2 cached, 1 will run: code changed" and states["whole"].words == "cached"
    assert node_states(nodes, None)[0].state == "unknown" and node_states(nodes, [])[0].state == "none"


def _nodes(tasks):
    found = {}
    for task in tasks:
        found.setdefault(task.node.name, task.node)
    return tuple(found.values())


def test_the_svg_has_a_box_a_node_and_says_why():
    states = node_states(NODES, None)
    root = ElementTree.fromstring(graph_svg(states, "a <title> & more"))
    titles = [element.text for element in root.iter(f"{SVG}title")]
    assert sorted(text.splitlines()[0] for text in titles) == sorted(node.name for node in NODES)
    paths = list(root.iter(f"{SVG}path"))
    assert len(paths) == len(set(edges_of(NODES)))
    boxes = [element for element in root.iter(f"{SVG}rect") if float(element.get("width")) > 10]
    width, height = (float(part) for part in root.get("viewBox").split()[2:])
    for box in boxes:
        assert float(box.get("x")) >= 0 and float(box.get("x")) + float(box.get("width")) <= width
        assert float(box.get("y")) >= 0 and float(box.get("y")) + float(box.get("height")) <= height
    assert root.find(f"{SVG}text").text == "a <title> & more"


@pytest.mark.filterwarnings("always")
def test_the_command_draws_text_and_svg_with_reasons(own_flow):
    text = own_flow.command("graph", *own_flow.words).out
    assert "numbers × csv (2)   " in text and "will run: never computed" in text
    assert text.endswith("0 of 4 tasks are cached; pipeline plan says why each of the others runs\n")
    assert own_flow.command("run", *own_flow.words, "--quiet").code == 0
    rows = {row["name"]: row for row in own_flow.json("graph", *own_flow.words, "options.factor=3")["nodes"]}
    assert rows["numbers"]["state"] == "cached" and rows["numbers"]["tasks"] == 2
    assert rows["scaled"]["reasons"] == {"configuration changed: factor": 1} and rows["total"]["state"] == "will run"
    drawn = own_flow.command("graph", *own_flow.words, "options.factor=3", "--svg", "flow.svg")
    assert (drawn.code, drawn.out) == (0, "flow.svg\n")
    root = ElementTree.parse(own_flow.folder / "flow.svg").getroot()
    said = {element.text.splitlines()[0]: element.text for element in root.iter(f"{SVG}title")}
    assert "1 × configuration changed: factor" in said["scaled"] and "cached" in said["numbers"]
    refused = own_flow.command("graph", *own_flow.words, "--svg", "nowhere/flow.svg")
    assert refused.code == 2 and "--svg nowhere/flow.svg: cannot be written" in refused.err
    shown = own_flow.command("runs", "--quiet")
    assert shown.code == 0


def test_without_data_the_flow_is_drawn_without_state(own_flow):
    drawn = own_flow.command("graph")
    assert drawn.code == 0 and "without cache state: " in drawn.out and "cached" not in drawn.out.partition("without cache")[0]
    assert own_flow.command("graph", "fold=0").code == 2
    assert not (own_flow.folder / "store").exists()
