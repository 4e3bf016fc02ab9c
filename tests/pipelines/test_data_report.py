"""The data report of the small sample, made by its nodes: what was planted is on the page, a changed set has a previous."""

import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from loaders.sample import write_sample
from pipelines.config.configuration import load_settings
from pipelines.execution.serial_runner import run_serial
from pipelines.flow import flow_graph
from pipelines.graphs.planning import plan
from pipelines.record.records import RunRecord
from pipelines.results import DATA_CONTENT, finish_data
from pipelines.storage.store import Store


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store.open(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def report(store, small_settings):
    """A function that computes the data report with these overrides and returns its JSON, path and what had to run."""

    def make(*words: str) -> tuple[dict, Path, list[str]]:
        settings = load_settings((*small_settings, *words))
        graph = flow_graph(settings, ()).needed_for([DATA_CONTENT])
        waiting = [row.task for row in plan(graph, store) if not row.cached]
        run_serial(waiting, store, lambda outcome: None)
        record = RunRecord.begin(store, {"command": "test"})
        path = Path(finish_data(graph, settings, store, record))
        return json.loads(path.with_suffix(".json").read_text()), path, [task.name for task in waiting]

    return make


@pytest.fixture(scope="module")
def first(report):
    return report()


def planted_rejects(truth: dict) -> Counter:
    """Planted faults that layer 1 rejects, by rule and trade date, which turns at 17:00 Chicago."""
    faults = [fault for fault in truth["faults"] if fault["expected"]["action"] == "rejected"]
    local = pd.to_datetime([fault["time"] for fault in faults], utc=True).tz_convert("America/Chicago")
    dates = (local.tz_localize(None) + pd.Timedelta(hours=7)).strftime("%Y%m%d").astype(int)
    return Counter((date, fault["expected"]["rule"]) for date, fault in zip(dates, faults, strict=True))


def check_against_truth(page: dict, truth: dict) -> None:
    found = Counter({(row["session"], row["rule"]): row["rows"] for row in page["rejected"]})
    assert page["funnel"]["records"] == truth["records"]
    assert page["coverage"]["short"] == truth["half_days"]
    assert page["coverage"]["without_bars"] == truth["holidays"]
    opened = page["coverage"]["open"]
    assert [day for day in truth["holidays"] if opened[str(day)]] == []
    assert [day for day in truth["half_days"] if not 1_000 < opened[str(day)] < 1_200] == []
    assert [(row["session"], row["left"], row["entered"]) for row in page["rolls"]] == [
        (row["session"], row["from"], row["to"]) for row in truth["rolls"]
    ]
    assert found == planted_rejects(truth)
    assert page["findings"]["quarantined"] == found.total() > 0


def test_what_was_planted_and_only_that_is_on_the_page(first, small_sample):
    page, path, _ = first
    check_against_truth(page, json.loads((small_sample / "truth.json").read_text()))
    assert len(page["days"]["session"]) == 15
    assert [entry["name"] for entry in page["features"]][:2] == ["ret_1", "ret_2"]
    assert page["previous"] is None
    assert path.stat().st_size < 1_500_000


@pytest.mark.acceptance
def test_half_days_holidays_and_faults_of_the_whole_sample_are_on_its_page(tmp_path):
    write_sample(tmp_path / "data")
    settings = load_settings((f"data={tmp_path / 'data'}",))
    store = Store.open(tmp_path / "store")
    graph = flow_graph(settings, ()).needed_for([DATA_CONTENT])
    run_serial(graph.tasks, store, lambda outcome: None)
    path = Path(finish_data(graph, settings, store, RunRecord.begin(store, {"command": "test"})))
    truth = json.loads((tmp_path / "data" / "truth.json").read_text())
    assert len(truth["half_days"]) == 5 and truth["holidays"] == [20240329]
    check_against_truth(json.loads(path.with_suffix(".json").read_text()), truth)
    assert path.stat().st_size < 1_500_000


def test_a_second_run_computes_nothing_and_says_the_same(first, report):
    page, _, waiting = report()
    assert waiting == []
    assert {name: value for name, value in page.items() if name != "run"} == {
        name: value for name, value in first[0].items() if name != "run"
    }


def test_a_changed_set_is_compared_with_the_one_before_and_that_one_still_with_none(first, report):
    changed, _, waiting = report("instrument.bars.max_ratio=1.5", "instrument.bars.min_ratio=0.7")
    assert DATA_CONTENT in waiting and "outrights[file=0]" not in waiting
    previous = changed["previous"]
    assert previous["feature_set"] == first[0]["run"]["feature_set"] != changed["run"]["feature_set"]
    assert previous["run"] == first[0]["run"]["run"]
    assert previous["added"] == previous["gone"] == []
    assert max(drift["psi"] for drift in previous["drift"].values()) < 0.01
    again, _, _ = report()
    assert again["previous"] is None


def test_training_settings_do_not_touch_it(first, report):
    assert report("training.dqn.steps=50", "sweep.rank_by=sortino")[2] == []
