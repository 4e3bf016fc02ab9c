"""What a node returns is what it says and what the next node reads back; anything else fails the node that made it."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from pipelines.errors import NodeError
from pipelines.execution.serial_runner import run_serial
from pipelines.graphs.graph import build_graph
from pipelines.graphs.node import Node
from pipelines.graphs.node_checks import GraphError
from pipelines.storage.artefacts import read_parts, write_parts
from pipelines.storage.store import Store


@dataclass(frozen=True)
class Made:
    values: list[float]
    table: pd.DataFrame
    note: str | None = None


@dataclass(frozen=True)
class Outer:
    inner: Made


class Pair(NamedTuple):
    first: int
    second: float


TABLE = pd.DataFrame({"a": [1, 2]})
NULLS = pd.DataFrame({
    "whole": pd.array([1, None], dtype="Int64"), "at": pd.to_datetime(["2020-01-01", None]),
    "text": pd.array(["x", None], dtype="str"), "kind": pd.Categorical(["x", "y"]),
})  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, 1), (int, np.int64(7)), (int, 10**30), (float, 2), (float, np.float32(0.5)), (float, float("inf")),
        (bool, np.True_),
        (str, "a\0b"), (type(None), None), (int | None, None), (tuple[int, str], (1, "x")), (tuple[int, ...], (1, 2)),
        (set[int], {1, 2}), (dict[int, int], {1: 1}), (dict[str, tuple[int, int]], {"a": (1, 2)}), (Pair, Pair(1, 2.0)),
        (dict[str, Any], {"a": [1, {"b": None}]}), (list[list[int]], [[1], []]), (bytes, b"abc"), (Any, [1, "x"]),
    ],
)  # fmt: skip
def test_plain_values_come_back_as_they_were(kind, value, tmp_path):
    write_parts(value, tmp_path, kind)
    assert read_parts(tmp_path, kind) == value


@pytest.mark.parametrize(
    "value",
    [np.array(3.0), np.zeros((0, 3)), np.array(["abc", "d"]), np.asfortranarray(np.arange(6.0).reshape(2, 3)),
     np.zeros(2, dtype=[("a", "i4"), ("b", "f8")])],
)  # fmt: skip
def test_arrays_come_back_with_their_shape_and_dtype(value, tmp_path):
    write_parts(value, tmp_path, np.ndarray)
    back = read_parts(tmp_path, np.ndarray)
    assert back.shape == value.shape and back.dtype == value.dtype and back.tobytes() == value.tobytes()


@pytest.mark.parametrize("table", [TABLE, NULLS, pd.DataFrame(), TABLE[:0]])
def test_tables_come_back_as_they_were(table, tmp_path):
    write_parts(table, tmp_path, pd.DataFrame)
    pd.testing.assert_frame_equal(read_parts(tmp_path, pd.DataFrame), table, check_index_type=False, check_column_type=False)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (int, None, "what it returns is None, but its annotation says int"),
        (int, "text", "what it returns is 'text', but its annotation says int"),
        (int, 1.5, "what it returns is 1.5"),
        (pd.DataFrame, 3, "what it returns is 3, but its annotation says DataFrame"),
        (pd.DataFrame, TABLE.set_index(pd.Index(["p", "q"])), r"its index \[None\] would be lost; make it columns"),
        (pd.DataFrame, TABLE.set_index(pd.MultiIndex.from_tuples([(1, 2), (3, 4)])), "would be lost"),
        (pd.DataFrame, pd.DataFrame([[1, 2]], columns=["a", "a"]), r"its columns are \['a', 'a'\]"),
        (pd.DataFrame, pd.DataFrame([[1, 2]]), r"its columns are \[0, 1\]; name each by a text"),
        (Made, TABLE, "what it returns is of type DataFrame, but its annotation says Made"),
        (Made, Made("no list", TABLE), r"Made.values is 'no list', but its annotation says list\[float\]"),  # type: ignore[arg-type]
        (Made, Made([1.0, "x"], TABLE), r"Made.values\[1\] is 'x'"),  # type: ignore[list-item]
        (Outer, Outer(Made([], None)), "Outer.inner.table is None, but its annotation says DataFrame"),  # type: ignore[arg-type]
        (tuple[int, str], (1,), "has 1 members, not 2"),
        (dict[str, int], {1: 1}, "a key of what it returns is 1"),
        (str, "\ud800", "cannot be kept as JSON: .*surrogates"),
        (Any, pd.Series([1]), "Series is no plain value; return numbers, text"),
        (Any, np.array([object()]), "Python objects"),
    ],
)
def test_what_a_node_did_not_say_it_would_return_is_refused(kind, value, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        write_parts(value, tmp_path, kind)


class OddError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("its text fails too")


def says_one_returns_other() -> int:
    return "text"  # type: ignore[return-value]


def long_error() -> int:
    raise ValueError("boom " * 10_000)


def odd_error() -> int:
    raise OddError


def generator_exit() -> int:
    raise GeneratorExit


def exits() -> int:
    raise SystemExit(0)


@pytest.mark.parametrize("function", [says_one_returns_other, long_error, odd_error, generator_exit, exits])
def test_whatever_a_node_does_is_one_error_of_that_node(function, tmp_path):
    store = Store.open(tmp_path / "store")
    graph = build_graph((Node("made", function),), None, {}, {})
    with pytest.raises(NodeError, match=r"^made: ") as caught:
        run_serial(graph.tasks, store, lambda outcome: None)
    assert len(str(caught.value)) < 2200
    assert list((store.root / "objects").iterdir()) == [] == list((store.root / "tmp").iterdir())


class Callables:
    def __call__(self, x: int) -> int:
        return x

    def method(self) -> int:
        return 1


def plain(x: int) -> int:
    return x


def positional(x: int, /) -> int:
    return x


def generator() -> Iterator[int]:
    yield 1


async def coroutine() -> int:
    return 1


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (Node("a", functools.partial(plain, 1)), "is no plain function but a partial, whose state no key sees"),
        (Node("a", Callables()), "is no plain function but a Callables"),
        (Node("a", Callables().method), "is no plain function but a method"),
        (Node("a", Made), "is no plain function but a type"),
        (Node("a", int), "is no plain function but a type"),
        (Node("a", len), "is no plain function but a builtin"),
        (Node("a", None), "is no plain function but a NoneType"),  # type: ignore[arg-type]
        (Node("a", lambda: 1), "<lambda> does not say what it returns; annotate it"),
        (Node("a", generator), "is a generator or coroutine; return the whole value"),
        (Node("a", coroutine), "is a generator or coroutine"),
        (Node("a", positional, axes={"x": "p"}, per=("p",)), "take the / out of positional"),
        (Node("a", plain, axes={"x": "p"}, per=("p", "p")), "must be a tuple of axes, each once"),
        (Node("a", plain, axes={"x": "p"}, per="p"), "must be a tuple of axes"),  # type: ignore[arg-type]
        (Node("a", plain, inputs={"x": "a."}), "reads 'a.', which no node makes"),
        *[(Node(name, plain, axes={"x": "p"}, per=("p",)), "a name is up to 100 letters, digits and _")
          for name in ("", "../x", "/etc/x", "a b", "a.b", "a,b", "a[b=1]", "a\nb", "1a", "x" * 101, "a\0")],
    ],
)  # fmt: skip
def test_what_is_no_node_is_refused_before_anything_runs(row, message):
    with pytest.raises(GraphError, match=message.replace("[", r"\[")):
        build_graph((row,), None, {}, {"p": lambda place: [1, 2]})
