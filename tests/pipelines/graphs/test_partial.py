"""Parts of a flow: what only, from and until leave of it, what is missing, and the commands that run one stage."""

import json

import pytest

from pipelines.cli import main
from pipelines.errors import UsageError
from pipelines.graphs.partial import Part, cut, require_inputs
from pipelines.storage.store import Store
from tests.pipelines.graphs.test_graph import graph


def names(**arguments):
    words = {name.rstrip("_"): value for name, value in arguments.items()}
    return [task.name for task in cut(graph(), Part.of(words)).tasks]


def test_only_from_and_until():
    assert names(only="part") == ["part[file=0]", "part[file=1]", "part[file=2]"]
    assert names(only="part[file=1],label") == ["part[file=1]", "label"]
    assert names(from_="whole") == ["whole", "label"]
    assert names(from_="part[file=2]") == ["part[file=2]", "whole", "label"]
    assert names(until="whole") == ["part[file=0]", "part[file=1]", "part[file=2]", "whole"]
    assert names(from_="whole", until="whole") == ["whole"]
    assert len(names()) == 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"only": "hole"}, r"only=hole: the flow has no such node; did you mean 'whole'\?"),
        ({"until": "part[file=9]"}, r"did you mean 'part\[file=\d\]'\?"),
        ({"only": "part", "until": "whole"}, "leave from= and until= out"),
        ({"from": "label", "until": "part"}, "nothing lies between"),
        ({"from": "xyz"}, "the flow has part, whole, label"),
    ],
)
def test_a_wrong_name_is_refused_with_the_nearest(words, message):
    with pytest.raises(UsageError, match=message):
        cut(graph(), Part.of(words))


def test_what_the_store_lacks_is_named(tmp_path):
    whole = graph()
    part = cut(whole, Part(only=("whole",)))
    with pytest.raises(UsageError, match=r"whole reads part\[file=0\] and 2 more, .* run until=part first"):
        require_inputs(part, whole, Store.open(tmp_path))
    require_inputs(cut(whole, Part(until=("whole",))), whole, Store.open(tmp_path))


def answer(capsys, *words):
    assert main([*words, "--json", "--quiet"]) == 0
    return json.loads(capsys.readouterr().out.strip().splitlines()[-1])


def test_a_run_in_parts_makes_what_a_whole_run_makes(capsys, tmp_path, small_settings, serial_store, contents):
    store = (f"store={tmp_path / 'store'}", *small_settings, "cluster=serial")
    assert main(["run", "fold=0", "only=ranking", *store, "--quiet"]) == 2
    assert "run until=sweep first" in capsys.readouterr().err
    until = answer(capsys, "run", "fold=0", "until=feature_set", *store)
    assert until["report"] is None and [row["name"] for row in until["artefacts"]] == ["feature_set"]
    assert all(key in contents(serial_store) for key in (node["key"] for node in until["nodes"]))
    planned = answer(capsys, "plan", "fold=0", "until=normalised", *store)
    assert [row["name"] for row in planned["nodes"] if not row["cached"]] == ["folds", "fold[fold=0]", "normalised[fold=0]"]
    trained = answer(capsys, "train", "fold=0", *store)
    assert [row["model"] for row in trained["models"]] == ["dqn seed 0", "dqn seed 1", "linear"]
    evaluated = answer(capsys, "evaluate", "fold=0", *store)
    assert {row["model"] for row in evaluated["models"]} >= {"buy_and_hold", "flat", "ema_cross", "linear", "dqn seed 1"}
    ended = answer(capsys, "run", "fold=0", "from=report_content", "until=report_content", *store, "store=" + str(serial_store))
    assert {row["model"]: row["metrics"] for row in evaluated["models"]}.keys() == ended["metrics"].keys()
    for row in evaluated["models"]:
        for name, value in row["metrics"].items():
            assert ended["metrics"][row["model"]][name] == value
