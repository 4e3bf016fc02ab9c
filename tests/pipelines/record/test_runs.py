"""Past runs: listed newest first, shown, compared; reproduced, or told what differs first and why; indexed as a page."""

import json
import re
import shutil
from html.parser import HTMLParser

import pytest

from pipelines.record.record_compare import compare_records
from pipelines.record.records import RunRecord
from pipelines.record.run_index import best_figures, changes_text, figures_text, page_values, write_index
from pipelines.storage.store import Store

pytestmark = pytest.mark.filterwarnings("always")


def run(own_flow, *words: str) -> str:
    return own_flow.json("run", *own_flow.words, *words)["run"]


def test_runs_are_listed_newest_first(own_flow):
    names = [run(own_flow), run(own_flow, "options.factor=3")]
    own_flow.command("run", *own_flow.words, "options.fail=true", "--quiet")
    listed = own_flow.json("runs")["runs"]
    assert [row["status"] for row in listed] == ["node_failed", "done", "done"]
    assert sorted(names) == sorted(row["run"] for row in listed[1:])
    assert [row["created"] for row in listed] == sorted((row["created"] for row in listed), reverse=True)
    lines = own_flow.command("runs").out.splitlines()
    assert [line.split()[0] for line in lines] == [row["run"] for row in listed]
    assert "node_failed" in lines[0] and "failed with" in lines[0]
    assert "2 run   2 cached" in lines[1] and "4 run   0 cached" in lines[2]


def test_one_run_is_shown_with_phases_and_warnings(own_flow):
    shown = own_flow.command("runs", run(own_flow)).out
    assert "  options:" not in shown and "status: done" in shown and "inputs: 2 files, 8 bytes" in shown
    line = next(line for line in shown.splitlines() if "  scaled  " in line)
    assert re.search(r" s  scaled  \w{12}  load \d\.\d\d  compute \d\.\d\d  publish \d\.\d\d  \d+ MiB$", line)
    assert "UserWarning: a warning that tells" in shown


def test_two_runs_are_compared_by_configuration_data_and_results(own_flow):
    first = run(own_flow)
    second = run(own_flow, "options.factor=3", "workers=7")
    found = own_flow.json("runs", first, second)
    assert not found["same"] and found["data"] == found["code"] == found["environment"] == []
    assert {row["name"]: (row["first"], row["second"]) for row in found["configuration"]} == {
        "options.factor": (2.0, 3.0),
        "workers": (0, 7),
    }
    assert found["results"]["differ"] == ["scaled", "total"] and found["results"]["same"] == 2
    (own_flow.folder / "data" / "b.csv").write_text("4.5\n")
    (own_flow.folder / "data" / "c.csv").write_text("1\n")
    third = run(own_flow)
    data = own_flow.json("runs", first, third)
    assert [(row["name"], row["first"] is None) for row in data["data"]] == [("csv/b.csv", False), ("csv/c.csv", True)]
    assert data["results"]["only_second"] == ["numbers[csv=2]"] and data["results"]["same"] == 1
    text = own_flow.command("runs", first, second).out
    assert f"{first}  →  {second}" in text and "  options.factor: 2 → 3\n" in text and "data: the same\n" in text
    assert "  2 of 4 artefacts in both runs have the same bytes\n" in text and "  differs: scaled\n" in text
    same = own_flow.json("runs", first, run(own_flow, "store=elsewhere") and first)
    assert same["same"]


def test_compared_code_environment_and_figures():
    old = {
        "run": "a", "tasks": [], "code": {"n": "1", "m": "1"}, "versions": {"numpy": "2.4.5"}, "machine": {"cores": 2},
        "git": [{"folder": "/x/repo", "commit": "c1", "dirty": False}], "metrics": {"0": {"flat": {"sharpe": 1.0}}},
    }  # fmt: skip
    new = {
        **old, "run": "b", "code": {"n": "2", "m": "1", "m[seed=1]": "3", "own": "4"}, "versions": {"numpy": "2.4.6"},
        "git": [{"folder": "/y/repo", "commit": "c1", "dirty": True}], "metrics": {"0": {"flat": {"sharpe": 2.0}}},
    }  # fmt: skip
    found = compare_records(old, new)
    assert found["code"] == ["m[seed=1]", "n"]
    assert [row["name"] for row in found["environment"]] == ["versions.numpy", "git.repo.dirty"]
    assert found["results"]["figures"] == [{"name": "0.flat.sharpe", "first": 1.0, "second": 2.0}]


def test_too_many_runs_are_refused(own_flow):
    done = own_flow.command("runs", "a", "b", "c")
    assert done.code == 2 and "shows one run or compares two, given 3" in done.err


def test_a_run_is_reproduced_to_the_byte_and_leaves_no_store_behind(own_flow):
    first = run(own_flow, "options.factor=3")
    objects = len(list((own_flow.folder / "store" / "objects").rglob("manifest.json")))
    done = own_flow.command("run", "--reproduce", first[:-2], "cluster=serial", "--quiet")
    assert (done.code, done.out) == (0, f"reproduced: 4 of 4 artefacts of {first} have the same bytes\n")
    assert not (own_flow.folder / "store" / "reproduced").exists()
    assert len(list((own_flow.folder / "store" / "objects").rglob("manifest.json"))) == objects
    again = own_flow.json("runs")["runs"][0]
    assert again["reproduces"] == first and again["status"] == "done" and not any(task["cached"] for task in again["tasks"])


def test_changed_data_is_the_first_that_differs(own_flow):
    first = run(own_flow)
    (own_flow.folder / "data" / "b.csv").write_text("4.5\n")
    found = own_flow.json("run", "--reproduce", first, code=1)
    assert found["status"] == "differs" and found["changed"]["data"] == ["csv/b.csv"]
    assert [row["task"] for row in found["differs"]] == ["numbers[csv=1]", "scaled", "total"]
    assert found["differs"][0]["reasons"] == ["data changed: csv/b.csv"]
    assert (own_flow.folder / "store" / "reproduced").is_dir() and found["store"].endswith(found["run"])
    assert own_flow.json("runs")["runs"][0]["status"] == "differs"


def test_changed_code_is_the_first_that_differs(own_flow):
    first = run(own_flow)
    own_flow.code.write_text(own_flow.code.read_text().replace("value * factor", "value * factor + 1"))
    process = own_flow.apart("run", "--reproduce", first, "--json")
    out, _ = process.communicate(timeout=120)
    found = json.loads(out)
    assert process.returncode == 1 and found["same"] == 2
    assert found["differs"][0]["task"] == "scaled" and found["differs"][0]["reasons"] == ["code changed"]
    assert [row["task"] for row in found["differs"]] == ["scaled", "total"]


def test_a_node_that_is_not_a_function_of_its_inputs_is_told_so(own_flow):
    first = run(own_flow, "options.again=true")
    found = own_flow.command("run", "--reproduce", first, "--quiet")
    assert found.code == 1
    assert "the first that differs: total: nothing recorded has changed: the node does not give" in found.out


def test_inputs_that_are_gone_and_secrets_that_are_withheld_refuse(own_flow):
    first = run(own_flow, "options.api_token=abc")
    withheld = own_flow.command("run", "--reproduce", first)
    assert withheld.code == 2 and "the record withholds options.api_token: give it again, options.api_token=…" in withheld.err
    other = own_flow.command("run", "--reproduce", first, "options.api_token=abc", "options.factor=9")
    assert other.code == 2 and "options.factor: a run is reproduced with its own configuration" in other.err
    shutil.move(own_flow.folder / "data", own_flow.folder / "moved")
    gone = own_flow.command("run", "--reproduce", first, "options.api_token=abc")
    assert gone.code == 2 and "its inputs are gone: data/a.csv (sha256 " in gone.err and "and 1 more; put them back" in gone.err
    moved = own_flow.command("run", "--reproduce", first, "options.api_token=abc", "data=moved", "--quiet")
    assert moved.code == 0 and moved.out.startswith("reproduced: 4 of 4 artefacts")
    assert len(own_flow.json("runs")["runs"]) == 2, "what was refused has no record"


def test_a_record_without_outputs_is_refused(own_flow):
    own_flow.code.write_text(own_flow.code.read_text())
    record = RunRecord.begin(Store.open(own_flow.folder / "store"), {"configuration": {"data": "x"}})
    record.end("node_failed", 4, 1.0)
    done = own_flow.command("run", "--reproduce", record.run)
    assert done.code == 2 and "its record holds no outputs of tasks to compare with" in done.err


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.found += [value for name, value in attrs if name in ("href", "src") and value]


def test_the_index_links_what_exists_and_survives_a_move(own_flow, serial_store, tmp_path):
    store = tmp_path / "copied"
    shutil.copytree(serial_store, store)
    page = write_index(Store(store))
    parser = Links()
    parser.feed(page.read_text(encoding="utf-8"))
    targets = [link for link in parser.found if not link.startswith("#")]
    assert len(targets) >= 4 and "script" not in parser.tags
    assert all((page.parent / target).is_file() for target in targets)
    assert any(target.endswith("fold-0/report.html") for target in targets)
    assert "No model beats flat" in page.read_text() or "beats flat" in page.read_text()


def test_the_index_escapes_and_counts_what_it_leaves_out():
    rows = [
        {"run": f"r{at}", "status": "done", "computed": 1, "cached": 0, "command": "run", "fold": "<b>",
         "feature_set": "f" * 64, "data": "data", "files": 2, "data_report": f"/x/runs/r{at}/data.html", "seconds": 61.0}
        for at in range(3)
    ]  # fmt: skip
    values = page_values([*rows, {"run": "r9", "status": "node_failed", "error": "no", "computed": 0, "cached": 0}], 7)
    assert [row["run"].text for row in values["runs"]] == ["r9", "r2", "r1", "r0"] and values["older"] == 3
    assert values["failed"] == 1 and values["runs"][0]["bad"] and values["runs"][1]["time"] == "1:01 min"
    assert [(row["runs"], row["first"], row["last"], row["report"].target) for row in values["sets"]] == [
        (3, "r0", "r2", "r2/data.html")
    ]


def test_headlines():
    one = {"headlines": {"0": "No model beats flat after costs."}}
    assert figures_text(one) == "No model beats flat after costs." and figures_text({}) == ""
    words = ("No model beats flat after costs.", "2 of 3 models beat flat after costs.", "x beats flat after costs.")
    many = {"headlines": {str(at): text for at, text in enumerate(words)}}
    assert figures_text(many) == "2 of 3 folds have a model that beats flat after costs."
    metrics = {"0": {"a": {"net_profit": 1.0}, "b": {"net_profit": None}}, "1": {"a": {"net_profit": 3.0, "sharpe": 2.0}}}
    assert best_figures({"metrics": metrics}) == {"fold": "1", "model": "a", "net_profit": 3.0, "sharpe": 2.0, "of": 2}
    assert best_figures({}) is None


def test_a_list_of_runs_says_what_was_asked_for_beside_the_fold():
    assert changes_text({"words": ["fold=0", "seed=2", "until=a"], "config_file": "desk.yaml"}) == (
        "seed=2 until=a --config desk.yaml"
    )
    assert changes_text({"words": ["fold=0"], "config_file": None}) == changes_text({}) == ""
    row = {"run": "r", "status": "done", "computed": 1, "cached": 0, "command": "run", "fold": "0", "words": ["fold=0", "a=1"]}
    assert page_values([row], 1)["runs"][0]["changes"] == "a=1"
