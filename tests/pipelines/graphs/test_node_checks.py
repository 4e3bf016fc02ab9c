"""Types at both ends of an arrow, the order of a table, and what is refused before a graph is built."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from pipelines.graphs.flow_table import replaced
from pipelines.graphs.graph import build_graph
from pipelines.graphs.node import Node
from pipelines.graphs.node_checks import GraphError, check_nodes, fits


@dataclass(frozen=True)
class Table:
    rows: int
    parts: list[float] | None


class Wide(Table):
    pass


@pytest.mark.parametrize(
    ("offered", "wanted", "fit"),
    [
        (int, int, True),
        (int, float, True),
        (float, int, False),
        (int, int | None, True),
        (int | None, int, False),
        (int | None, float | None, True),
        (Wide, Table, True),
        (Table, Wide, False),
        (list[Wide], Sequence[Table], True),
        (list[Wide], list[Wide], True),
        (list[int], list[str], False),
        (list[int], list, True),
        (list[int], Iterable[int], True),
        (dict[str, int], Mapping[str, float], True),
        (dict[str, int], Mapping[int, int], False),
        (tuple[int, ...], Sequence[int], True),
        (tuple[int, str], tuple[int, str], True),
        (NDArray[np.float64], NDArray[np.float64], True),
        (NDArray[np.float64], NDArray[np.int64], False),
        (pd.DataFrame, pd.DataFrame, True),
        (pd.DataFrame, Any, True),
        (pd.DataFrame, pd.Series, False),
    ],
)
def test_what_fits_where(offered, wanted, fit):
    assert fits(offered, wanted) is fit


def make() -> Table:
    raise AssertionError("checking computes nothing")


def optional(parts: Sequence[float] | None) -> Table:
    raise AssertionError


def strict(parts: list[float]) -> Table:
    raise AssertionError


def unknown(table: Nowhere) -> Table:  # noqa: F821
    raise AssertionError


def bare(rows) -> Table:
    raise AssertionError


def test_annotations_that_are_text_are_read_and_a_missing_value_must_be_expected():
    table = Node("table", make)
    assert len(check_nodes([table, Node("next", optional, inputs={"parts": "table.parts"})])) == 2
    message = r"node next wants parts: list\[float\], but node table makes list\[float\] \| None"
    with pytest.raises(GraphError, match=message):
        check_nodes([table, Node("next", strict, inputs={"parts": "table.parts"})])


def test_a_table_may_be_in_any_order_and_a_circle_is_refused():
    first, second = Node("first", make), Node("second", optional, inputs={"parts": "first.parts"})
    assert [node.name for node in check_nodes([second, first])] == ["first", "second"]
    circle = [Node("a", optional, inputs={"parts": "b.parts"}), Node("b", optional, inputs={"parts": "a.parts"})]
    with pytest.raises(GraphError, match="circle: a → b → a"):
        check_nodes(circle)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (Node("bad", unknown, inputs={"table": "table"}), "its annotation names 'Nowhere'"),
        (Node("bad", bare, inputs={"rows": "table.rows"}), "does not say the type of its parameter 'rows'"),
        (Node("bad", optional, inputs={"parts": "table.part"}), "no field 'part'; did you mean 'parts'"),
        (Node("bad", optional, axes={"parts": "place"}), "axis 'place' is not among its axes"),
        (Node("bad", optional, inputs={"parts": "table.parts"}, narrowed={"x": max}), "narrowed 'x' is no parameter"),
    ],
)
def test_mistakes_in_a_node_are_named(node, message):
    with pytest.raises(GraphError, match=message):
        check_nodes([Node("table", make), node])


@dataclass(frozen=True)
class Settings:
    limit: float = 1.0


def limited(limit: float) -> float:
    raise AssertionError


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (Node("one", limited, settings={"limit": "limt"}), "no configuration key 'limt'; did you mean 'limit'"),
        (Node("one", limited, axes={"limit": "plaice"}, per=("plaice",)), "no axis 'plaice'; did you mean 'place'"),
        (Node("one", limited, files={"limit": "csvs"}), "no group of files 'csvs'; did you mean 'csv'"),
        (Node("one", limited, axes={"limit": "odd"}, per=("odd",)), r"axis odd: '\.\./x' is no value"),
        (Node("one", limited, axes={"limit": "twice"}, per=("twice",)), r"one\[twice=1\]: an axis has this value twice"),
    ],
)
def test_what_the_graph_does_not_have_is_named_with_the_nearest(node, message):
    axes = {"place": lambda place: [1], "odd": lambda place: ["../x"], "twice": lambda place: [1, 1]}
    with pytest.raises(GraphError, match=message):
        build_graph([node], Settings(), {"csv": ()}, axes)


def test_a_replaced_node_takes_what_only_it_needed_with_it():
    table = (
        Node("source", make),
        Node("middle", optional, inputs={"parts": "source.parts"}),
        Node("other", make),
        Node("last", optional, inputs={"parts": "middle.parts"}),
        Node("aside", make),
    )
    made = replaced(table, Node("middle", optional, inputs={"parts": "other.parts"}))
    assert [node.name for node in made] == ["middle", "other", "last", "aside"]
    with pytest.raises(GraphError, match="no node 'midle' to replace"):
        replaced(table, Node("midle", make))
