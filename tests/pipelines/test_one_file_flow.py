"""A whole flow of the user's in one module: each change reruns what reaches it, and the plan says in words what changed."""

import os
import sys

import pytest

from pipelines.cli import main
from pipelines.keying.code_reading import CodeReader

MODULE = """
from pathlib import Path

from pipelines.graphs.flow_table import Flow
from pipelines.graphs.node import Node, Resources, Retries

FACTOR = 1


def load(path: Path) -> list[float]:
    return [float(line) for line in path.read_text().split()]


def total(parts: list[list[float]]) -> float:
    return sum(sum(part) for part in parts) * FACTOR


def count(parts: list[list[float]]) -> int:
    return len(parts)


FLOW = Flow(
    (
        Node("load", load, per=("csv",), files={"path": "csv"}, retries=Retries(times=1), resources=Resources(memory=2**20)),
        Node("total", total, inputs={"parts": "load"}),
        Node("count", count, inputs={"parts": "load"}),
    ),
    files={"csv": lambda settings: sorted(Path("in").glob("*.csv"))},
)
"""


@pytest.fixture
def planned(tmp_path, monkeypatch, capsys):
    """Runs the flow once; returns a function that says of each task whether it is cached, or why not."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "in").mkdir()
    for name, text in (("a", "1 2"), ("b", "3")):
        (tmp_path / "in" / f"{name}.csv").write_text(text)
    stamp = iter(range(1, 100))

    def plan(change=("", "")):
        path = tmp_path / "one_file.py"
        path.write_text(MODULE.replace(*change))
        os.utime(path, ns=(next(stamp) * 10**9,) * 2)
        sys.modules.pop("one_file", None)
        capsys.readouterr()
        assert main(["plan", "flow=one_file:FLOW", "store=store"]) == 0
        rows = [line.split(maxsplit=3 if line.startswith("will") else 2) for line in capsys.readouterr().out.splitlines()[:-1]]
        return {row[2]: row[3].split(maxsplit=1)[1] for row in rows if row[0] == "will"}

    plan()
    assert main(["run", "flow=one_file:FLOW", "store=store", "cluster=serial", "--quiet"]) == 0
    yield plan
    sys.modules.pop("one_file", None)


def test_a_constant_or_function_reruns_only_what_reaches_it(planned):
    assert planned() == {} == planned(("FACTOR = 1", "FACTOR = 1  # a comment"))
    assert planned(("FACTOR = 1", "FACTOR = 2")) == {"total": "code changed: one_file:FACTOR"}
    assert planned(("len(parts)", "len(parts) + 1")) == {"count": "code changed: one_file:count"}
    assert planned(("times=1", "times=2")) == {} == planned(("2**20", "2**21"))


def test_t07_what_no_key_can_see_is_said_on_the_screen(planned, capsys):
    change = ("return len(parts)", "return len(__import__('o' + 's').sep * len(parts))")
    reasons = planned(change)
    assert list(reasons) == ["count"] and reasons["count"].startswith("code changed: one_file:count, ")
    said = "node count: one_file:count imports modules by names made at run time: those outside its folder are in no key"
    for words in (["plan"], ["run", "cluster=serial"]):
        capsys.readouterr()
        assert main([*words, "flow=one_file:FLOW", "store=store"]) == 0
        assert capsys.readouterr().err.count(said) == 1


def test_files_count_by_their_bytes_and_are_called_input(planned, tmp_path):
    (tmp_path / "in" / "a.csv").rename(tmp_path / "in" / "aa.csv")
    assert planned() == {}
    (tmp_path / "in" / "aa.csv").write_text("1 5")
    after = {"total": "input changed: parts", "count": "input changed: parts"}
    assert planned() == {"load[csv=0]": "input changed: path", **after}
    (tmp_path / "in" / "aa.csv").write_text("1 2")
    (tmp_path / "in" / "c.csv").write_text("1 2")
    assert planned() == after, "the same bytes under another name are there already"


def test_facts_kept_on_disk_are_of_the_code_that_found_them(tmp_path, monkeypatch):
    """What an older walkfold found in a module is not what this one finds: kept facts would make stale keys."""
    from pipelines.keying import code_reading

    first = CodeReader(tmp_path / "facts")
    assert first.facts("kernels.values") is not None
    first.save()
    kept = (tmp_path / "facts" / "code-facts.json").read_text()
    monkeypatch.setattr(code_reading, "_format", lambda: ["of another walkfold"])
    second = CodeReader(tmp_path / "facts")
    monkeypatch.setattr(code_reading, "_stored_facts", code_reading._StoredFacts)
    second = CodeReader(tmp_path / "facts")
    second.facts("kernels.values")
    second.save()
    assert (tmp_path / "facts" / "code-facts.json").read_text() != kept
