"""Properties of content keys: equal for whatever says the same, different for whatever could make another artefact."""

import importlib
import json
import os
import random
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.graphs.graph import Task, build_graph
from pipelines.graphs.node import Node
from pipelines.graphs.node_checks import GraphError
from pipelines.keying.keys import code_digest, code_of, content_key, digest, plain

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
NAMES = st.text(max_size=4)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4))
NUMBER = count()


def shuffled(value: Any, dice: random.Random) -> Any:
    """The same value written in another way: dictionaries in another order, lists as tuples."""
    if isinstance(value, dict):
        names = list(value)
        dice.shuffle(names)
        return {name: shuffled(value[name], dice) for name in names}
    if isinstance(value, list):
        items = [shuffled(item, dice) for item in value]
        return tuple(items) if dice.random() < 0.5 else items
    return value


def told(value: Any) -> str:
    """What tells two settings apart: the type of each leaf, the sign of zero, every digit."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{name!r}:{told(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(told, value)) + "]"
    return f"{type(value).__name__} {value!r}"


@given(VALUES, st.integers())
def test_the_way_a_value_is_written_does_not_count(value, seed):
    assert digest(plain(shuffled(value, random.Random(seed)))) == digest(plain(value))


@given(VALUES, VALUES)
def test_two_values_have_one_digest_only_if_nothing_tells_them_apart(one, other):
    assert (digest(plain(one)) == digest(plain(other))) == (told(one) == told(other))


@given(st.sets(st.text(max_size=5) | st.integers(), max_size=8), st.integers())
def test_sets_have_no_order(members, seed):
    items = list(members)
    random.Random(seed).shuffle(items)
    assert digest(plain(set(items))) == digest(plain(frozenset(members)))


@given(st.lists(VALUES, min_size=4, max_size=4), st.lists(VALUES, min_size=4, max_size=4))
def test_a_key_is_equal_only_if_code_constants_inputs_and_libraries_are(one, other):
    def key(parts: list[Any]) -> str:
        return content_key(digest(parts[0]), {"a": parts[1]}, {"a": digest(parts[2])}, {"a": digest(parts[3])})

    assert (key(one) == key(other)) == (told(one) == told(other))


def test_values_digest_alike_in_processes_of_other_hash_seeds():
    examples = [{"b": [1.5, -0.0, 1e300], "a": {"é": None, "x": True}}, ["\U0001f600", "a\0b", 2**70], {"z": {}, "y": []}]
    script = (
        "import json, sys; from pipelines.keying.keys import digest, plain\n"
        "for value in json.loads(sys.argv[1]): print(digest(plain(value)), digest(plain(set(map(str, value)))))"
    )
    answers = {
        subprocess.run([sys.executable, "-c", script, json.dumps(examples)], env={**os.environ, "PYTHONHASHSEED": seed},
                       capture_output=True, text=True, check=True).stdout
        for seed in ("0", "7")
    }  # fmt: skip
    assert len(answers) == 1 and digest(plain(examples[0])) in answers.pop()


SOURCE = '''
LIMIT = {limit}


class Base:
    factor = {factor}

    def scaled(self, x):
        return x * self.factor


class Child(Base):
    pass


def helper(x, step={step}):
    return x + step


def unused(x):
    return x - {unused}


def node(x: int) -> float:
    value = Child().scaled(helper(x))
    return min(value, LIMIT)
'''
PARTS = ("limit", "factor", "step")
NUMBERS = st.fixed_dictionaries({name: st.integers(0, 9) for name in (*PARTS, "unused")})


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


def keyed(shop, text: str) -> str:
    """The digest of `node` in a module of this text; the name of the module stays, its file and its process are new ones."""
    name = "keyed_module"
    path = shop / f"{name}.py"
    path.write_text(text)
    os.utime(path, ns=(next(NUMBER) * 10**9,) * 2)
    sys.modules.pop(name, None)
    importlib.invalidate_caches()
    (shop / "__pycache__").exists() and [one.unlink() for one in (shop / "__pycache__").iterdir()]
    return code_digest(importlib.import_module(name).node)


def decorated(text: str, dice: random.Random) -> str:
    """The same code with comments, docstrings and blank lines in it."""
    lines = []
    for line in text.splitlines():
        if line and not line.startswith(" ") and dice.random() < 0.5:
            lines += ["", f"# {dice.random()}"]
        lines.append(line + (f"  # {dice.randrange(100)}" if line.strip() and dice.random() < 0.5 else ""))
        if line.startswith("def ") and dice.random() < 0.5:
            lines.append(f'    """Says {dice.randrange(100)}."""')
    return "\n".join(lines) + "\n" * dice.randrange(4)


@settings(max_examples=40, deadline=None)
@given(NUMBERS, NUMBERS, st.integers())
def test_the_code_of_a_node_is_what_it_reaches_and_nothing_else(shop, one, other, seed):
    same = all(one[name] == other[name] for name in PARTS)
    first = keyed(shop, SOURCE.format(**one))
    assert (keyed(shop, decorated(SOURCE.format(**other), random.Random(seed))) == first) == same


@dataclass(frozen=True)
class Held:
    handle: Any
    sizes: Any = field(default=(1, 2, 3))


def reads(sizes: Any, handle: Any) -> int:
    return len(sizes)


def task_of(held: Held) -> Task:
    row = Node("reads", reads, settings={"sizes": "sizes", "handle": "handle"})
    return build_graph((row,), held, {}, {}).tasks[0]


def key_of(held: Held) -> str:
    return task_of(held).key


def parts_of(held: Held) -> dict[str, Any]:
    """What the key is a digest of, with every definition of the code: it says what differs where two keys do."""
    task = task_of(held)
    return json.loads(json.dumps({"key": task.key, **task.parts, "definitions": dict(task.code.definitions)}, default=str))


def test_case_g10_keys_are_deterministic_or_refused_by_name(tmp_path):
    with pytest.raises(GraphError, match="does not say what it returns"):  # a: a lambda is no node at all
        build_graph((Node("a", lambda: 1),), None, {}, {})
    assert key_of(Held(None, [1, 2, 3])) == key_of(Held(None, (1, 2, 3))) != key_of(Held(None, (1, 2)))  # b
    with (tmp_path / "open").open("w") as stream:
        for handle in (stream, threading.Lock(), range(3), len):  # c
            with pytest.raises(GraphError, match=r"node reads: setting handle: .* cannot be part of a content key"):
                key_of(Held(handle))
    for seed in ("1", "2"):  # d
        command = "from tests.pipelines.keying.test_key_properties import *; print(json.dumps(parts_of(Held(None))))"
        answer = subprocess.run([sys.executable, "-c", command], env={**os.environ, "PYTHONHASHSEED": seed},
                                capture_output=True, text=True, check=True)  # fmt: skip
        there, here = json.loads(answer.stdout), parts_of(Held(None))
        differing = {name for name in here["definitions"] | there["definitions"]
                     if here["definitions"].get(name) != there["definitions"].get(name)}  # fmt: skip
        assert (differing, there) == (set(), here)


def test_keys_of_a_mapping_that_are_one_text_are_refused():
    with pytest.raises(TypeError, match="of which two are one text"):
        plain({1: "a", "1": "b"})


def test_the_opcode_table_and_the_printer_are_in_the_key_of_a_sweep():
    from pipelines.steps.sweeping import sweep_chunk

    reached = code_of([sweep_chunk])
    assert {"kernels.opcodes", "kernels.numba_text", "kernels.cpu_executor"} <= {name.partition(":")[0] for name in reached}
