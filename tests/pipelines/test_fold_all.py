"""`fold=all` where nobody has counted the folds yet: that is a stage of the run, recorded, told and refused as any other."""

import json
import os
import time
from pathlib import Path

import pytest

from pipelines.cli import main
from pipelines.storage.artefacts import read_parts
from pipelines.storage.store import Store

CODE = '''
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from pipelines.graphs.flow_table import Flow
from pipelines.graphs.node import Node, Resources


@dataclass(frozen=True)
class Options:
    count: int = 3
    fault: str = ""


@dataclass(frozen=True)
class Folds:
    folds: list[int]


def bars(count: int, fault: str) -> list[int]:
    if fault == "fails":
        raise ValueError("no bars today")
    if fault == "interrupted":
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
    return list(range(10 * count))


def folds(bars: list[int]) -> Folds:
    return Folds(list(range(len(bars) // 10)))


def fold(table: Folds, index: int) -> int:
    return table.folds[index]


def each(index: int) -> int:
    return index


def scored(bars: list[int], rows: int) -> int:
    return sum(bars[10 * rows : 10 * rows + 10])


def joined(scores: list[int]) -> list[int]:
    return scores


def side(bars: list[int]) -> int:
    return len(bars)


OWN = {"count": "options.count", "fault": "options.fault"}
NODES = (
    Node("bars", bars, settings=OWN),
    Node("folds", folds, inputs={"bars": "bars"}),
    Node("fold", fold, per=("fold",), inputs={"table": "folds"}, axes={"index": "fold"}),
    Node("scored", scored, per=("fold",), inputs={"bars": "bars", "rows": "fold"}),
    Node("joined", joined, inputs={"scores": "scored"}),
    Node("side", side, inputs={"bars": "bars"}),
)
FLOW = Flow(nodes=NODES, options=Options)
ON_A_GPU = Flow(nodes=(*NODES, Node("late", scored, per=("fold",), inputs={"bars": "bars", "rows": "fold"},
                                    resources=Resources(gpu=1))), options=Options)
UNCOUNTED = Flow(nodes=(Node("each", each, per=("fold",), axes={"index": "fold"}),))
'''
ALL = ["bars", "folds", *(f"{node}[fold={fold}]" for node in ("fold", "scored") for fold in range(3)), "joined", "side"]


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Runs a command on the flow in a folder of its own; returns its exit code, its JSON or text, and stderr."""
    module = f"counted_flow_{os.urandom(4).hex()}"
    (tmp_path / f"{module}.py").write_text(CODE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def run(*words, flow="FLOW"):
        capsys.readouterr()
        code = main([words[0], f"flow={module}:{flow}", "cluster=serial", *words[1:]])
        written = capsys.readouterr()
        return code, json.loads(written.out) if "--json" in words and written.out else written.out, written.err

    return run


def record(command, run=None):
    found = command("runs", "--json")[1]["runs"]
    return next(row for row in found if run in (None, row["run"]))


def events(tmp_path, run):
    path = tmp_path / "store" / "runs" / run / "record.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def test_what_counts_the_folds_is_computed_in_the_record_and_not_reported_as_cached(command, tmp_path):
    code, answer, _ = command("run", "fold=all", "--json")
    assert code == 0 and {row["name"]: row["cached"] for row in answer["nodes"]} == dict.fromkeys(ALL, False)
    assert [row["name"] for row in answer["artefacts"]] == ["joined", "side"]
    (key,) = (row["key"] for row in answer["artefacts"] if row["name"] == "joined")
    sums = [sum(range(10 * fold, 10 * fold + 10)) for fold in range(3)]
    assert read_parts(Store(tmp_path / "store").verified(key), list[int]) == sums
    kinds = [row["event"] for row in events(tmp_path, answer["run"])]
    assert kinds[0] == "started" and kinds.index("planned") < kinds.index("task"), "nothing is computed before the record"
    found = record(command)
    assert (found["fold"], found["folds"], found["planned"]) == ("all", [0, 1, 2], {"tasks": 10, "cached": 0})
    assert {row["task"] for row in found["tasks"]} == set(ALL) and set(found["reasons"].values()) == {"never computed"}
    assert found["placed"]["scored"] == {"where": "this process", "why": "cluster=serial"}
    code, again, _ = command("run", "fold=all", "--json")
    assert code == 0 and all(row["cached"] for row in again["nodes"]) and len(again["nodes"]) == 10
    assert record(command, again["run"])["planned"] == {"tasks": 10, "cached": 10}


def test_both_stages_are_told_and_run_on_the_same_cluster(command, tmp_path):
    code, answer, told = command("run", "fold=all", "cluster=threads", "workers=2", "--json")
    assert code == 0 and "[1/2] bars" in told and "[2/2] folds" in told and "[10/10]" in told
    found = record(command, answer["run"])
    assert {row["worker"].partition(":")[0] for row in found["tasks"]} == {"inproc"}, "every node ran on the cluster"
    assert [row["event"] for row in events(tmp_path, answer["run"])].count("cluster") == 1


@pytest.mark.parametrize(("fault", "code", "status"), [("fails", 4, "node_failed"), ("interrupted", 130, "interrupted")])
def test_what_goes_wrong_while_folds_are_counted_stands_in_the_record(command, fault, code, status):
    begun = time.monotonic()
    assert command("run", "fold=all", f"options.fault={fault}", "--quiet")[0] == code
    assert time.monotonic() - begun < 9
    found = record(command)
    assert (found["status"], found["exit_code"], found["folds"]) == (status, code, [])
    if fault == "fails":
        assert found["node"] == "bars" and "no bars today" in found["error"]
        assert list(Path("store/runs", found["run"], "logs").iterdir())


def test_a_plan_says_what_is_known_without_computing(command, tmp_path):
    code, found, _ = command("plan", "fold=all", "--json")
    assert code == 0 and [row["name"] for row in found["nodes"]] == ["bars", "folds", "side"]
    assert found["each_fold"] == {"fold": 1, "scored": 1, "joined": 0} and found["to_run"] == 3
    text = command("plan", "fold=all")[1]
    assert "later     scored  1 each fold\nlater     joined  once, of all folds\nall: this process (cluster=serial)\n" in text
    assert "3 of 3 nodes will run, then the rest: how many folds there are is known once the node folds has run" in text
    code, drawn, _ = command("graph", "fold=all", "--json")
    states = {row["name"]: row["state"] for row in drawn["nodes"]}
    assert states == {"bars": "will run", "folds": "will run", "side": "will run"} | dict.fromkeys(found["each_fold"], "later")
    assert "once the node folds has run" in command("graph", "fold=all")[1]
    assert not (tmp_path / "store").exists()
    assert command("run", "fold=all", "until=folds", "--quiet")[0] == 0
    found = command("plan", "fold=all", "--json")[1]
    assert len(found["nodes"]) == 10 and "each_fold" not in found


def test_a_part_counts_folds_only_where_it_needs_them(command):
    def computed(*words):
        code, found, _ = command("run", "fold=all", *words, "--json", "--quiet")
        return {row["name"] for row in found["nodes"]} if code == 0 else found["error"]

    assert computed("until=side") == {"bars", "side"}
    assert "reads fold[fold=0], which the store does not have" in computed("only=scored")
    assert "until=sored" in computed("until=sored")
    assert computed("until=scored[fold=2]") == {"bars", "folds", "fold[fold=2]", "scored[fold=2]"}
    assert "until=scored[fold=7]" in computed("until=scored[fold=7]")


def test_a_part_without_the_node_that_counts_is_refused_where_the_count_is_gone(command, tmp_path):
    assert command("run", "fold=all", "--quiet")[0] == 0
    store = Store(tmp_path / "store")
    key = next(row["key"] for row in record(command)["tasks"] if row["task"] == "folds")
    store.set_aside(key)
    code, found, _ = command("run", "fold=all", "only=scored", "--json")
    assert code == 2 and "this part of the flow leaves the node folds out: run until=folds first" in found["error"]
    assert command("run", "fold=all", "--quiet")[0] == 0


def test_a_damaged_table_of_folds_is_made_again(command, tmp_path):
    assert command("run", "fold=all", "--quiet")[0] == 0
    key = next(row["key"] for row in record(command)["tasks"] if row["task"] == "folds")
    for path in Store(tmp_path / "store").folder(key).iterdir():
        if path.name != "manifest.json":
            path.write_bytes(b"[]")
    code, answer, _ = command("run", "fold=all", "--json", "--quiet")
    assert code == 0 and [row["name"] for row in answer["nodes"] if not row["cached"]] == ["folds"]


def test_a_flow_that_does_not_count_its_folds_says_so(command):
    code, answer, _ = command("run", "fold=all", "--json", flow="UNCOUNTED")
    assert code == 2 and "fold=all: no node folds of the flow" in answer["error"]


def test_what_a_fold_needs_and_nobody_has_is_refused_before_the_first_node(command, monkeypatch):
    from kernels.fallback import FallbackReason, Refusal

    monkeypatch.setattr("kernels.fallback.cuda_refusal", lambda: Refusal(FallbackReason.NO_DEVICE, "no GPU is visible"))
    here, there = "it needs a GPU and cannot run here", "needs a GPU, but no worker has one"
    for cluster, message in (("serial", here), ("threads", there)):
        code, answer, _ = command("run", "fold=all", f"cluster={cluster}", "--json", "--quiet", flow="ON_A_GPU")
        assert code == 4 and f"late[fold=0]: {message}" in answer["error"]
        assert record(command)["tasks"] == [] and record(command)["status"] == "node_failed"


def test_a_run_of_all_folds_is_reproduced(command):
    run = command("run", "fold=all", "--json", "--quiet")[1]["run"]
    assert main(["run", "--reproduce", run, "--quiet"]) == 0
