"""The whole flow on the small sample: every runner gives the same artefacts, and a second run computes nothing."""

import json
import shutil
from pathlib import Path

import pytest

from pipelines.cli import main
from pipelines.record.records import read_records
from pipelines.storage.store import Store


def run(capsys, store: Path, settings, *words: str) -> dict:
    """Run the command line in this process and return its JSON."""
    code = main(["run", "fold=0", f"store={store}", *settings, *words, "--json", "--quiet"])
    answer = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert code == 0, answer
    return answer


def test_the_serial_run_reports_every_model_and_a_second_run_finds_everything_cached(
    capsys, serial_store, small_settings
):
    answer = run(capsys, serial_store, small_settings, "cluster=serial")
    assert all(node["cached"] for node in answer["nodes"])
    assert {"buy_and_hold", "flat", "ema_cross", "zscore_reversion", "donchian_breakout", "linear"} <= set(
        answer["metrics"]
    )
    assert answer["metrics"]["flat"]["net_profit"] == 0.0
    assert answer["metrics"]["flat"]["sharpe"] is None
    assert (answer["fold"], answer["status"], answer["fallback_reason"]) == (0, "done", None)
    page = Path(answer["report"]).read_text()
    assert "<html" in page and "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page
    data_page = (Path(answer["report"]).parent / "../data.html").resolve()
    assert str(data_page) == answer["data_report"] and '<a href="../data.html">' in page
    assert "Every record is accounted for" in data_page.read_text()


def test_two_folds_are_judged_together(capsys, serial_store, small_settings, tmp_path):
    store = tmp_path / "store"
    shutil.copytree(serial_store, store)
    words = ["fold=0,1", f"store={store}", *small_settings, "cluster=serial", "--quiet"]
    assert main(["run", *words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    pooled = answer["pooled"]
    report = json.loads(Path(pooled["report"]).with_suffix(".json").read_text())
    folds = [json.loads(Path(entry["report"]).with_suffix(".json").read_text()) for entry in answer["folds"]]
    for entry in pooled["models"]:
        each = [next(one for one in fold["models"] if one["model"] == entry["model"]) for fold in folds]
        dates = [date for one in each for date in one["sessions"]["session"]]
        assert entry["sessions"] == len(set(dates)) < len(dates)  # the border of the folds cuts a session
        assert entry["net_profit"] == pytest.approx(sum(one["metrics"]["net_profit"] for one in each), abs=1e-6)
    judged = {entry["model"] for entry in pooled["models"]}
    assert {"ema_cross", "linear", "dqn seed 0", "dqn seed 1", "flat"} <= judged and pooled["folds"] == [0, 1]
    trials = [fold["ledger"]["test_trials"] for fold in folds]
    assert pooled["ledger"]["test_trials"] == pooled["trials"] == sum(trials) == report["ledger"]["test_trials"]
    page = Path(pooled["report"]).read_text()
    assert pooled["headline"] in page and 'href="fold-1/report.html"' in page
    assert main(["run", *words]) == 0
    assert f"2 folds together: {pooled['headline']}" in capsys.readouterr().out
    assert "pooled" not in run(capsys, store, small_settings, "cluster=serial")


def test_the_report_of_a_run_agrees_with_itself(capsys, serial_store, small_settings):
    answer = run(capsys, serial_store, small_settings, "cluster=serial")
    report = json.loads(Path(answer["report"]).with_suffix(".json").read_text())
    assert report["edge"].startswith("generated data, no price is real: an edge of realistic size")
    models = {entry["model"]: entry for entry in report["models"]}
    for entry in models.values():
        metrics = entry["metrics"]
        assert metrics["gross_profit"] - metrics["costs"] == pytest.approx(metrics["net_profit"], abs=1e-6)
        assert metrics["costs"] == metrics["fees"] + metrics["slippage"]
    for entry in report["overfitting"]["models"]:
        if entry["sharpe"] is not None:
            assert entry["sharpe"] == pytest.approx(models[entry["model"]]["metrics"]["sharpe"], rel=1e-9)
    for seed in report["training"]:
        assert models[f"dqn seed {seed['seed']}"]["parameters"] == {"chosen_step": seed["chosen_step"]}
        assert seed["chosen_step"] in seed["step"]
    assert list(models["linear"]["parameters"]) == ["horizon", "quantile", "threshold"]
    assert report["costs"]["slippage_ticks"] == 1.0 and report["execution"]["fill"] == "next_open"


@pytest.mark.parametrize("cluster", ["threads", "processes"])
def test_every_cluster_makes_the_same_artefacts_bit_for_bit(
    capsys, tmp_path, serial_store, small_settings, cluster, contents
):
    run(capsys, tmp_path / "store", small_settings, f"cluster={cluster}")
    assert contents(tmp_path / "store") == contents(serial_store)


def test_the_plan_says_what_is_cached_and_why_the_rest_is_not(capsys, serial_store, small_settings):
    def planned(*words):
        assert main(["plan", "fold=0", f"store={serial_store}", *small_settings, *words, "--json"]) == 0
        return {row["name"]: row for row in json.loads(capsys.readouterr().out)["nodes"]}

    assert all(row["cached"] for row in planned().values())
    rows = planned("instrument.costs.slippage_ticks=2")
    assert rows["feature_set"]["cached"] and rows["normalised[fold=0]"]["cached"]
    chunk = rows["sweep[fold=0,strategy=ema_cross,chunk=0]"]
    assert not chunk["cached"] and chunk["reason"] == "configuration changed: costs.slippage_ticks"
    rows = planned("sweep.grid.fast=6")
    assert not rows["sweep[fold=0,strategy=ema_cross,chunk=0]"]["cached"]
    assert rows["sweep[fold=0,strategy=zscore_reversion,chunk=0]"]["cached"], "fast is no parameter of this strategy"


def test_a_plan_refuses_folds_that_do_not_exist_and_computes_nothing(capsys, tmp_path, serial_store, small_settings):
    assert main(["plan", "fold=99", f"store={serial_store}", *small_settings]) == 2
    assert "fold=99: there are" in capsys.readouterr().err
    assert main(["plan", "fold=all", f"store={serial_store}", *small_settings]) == 0
    capsys.readouterr()
    assert main(["plan", "fold=all", f"store={tmp_path / 'new'}", *small_settings, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"folds", "feature_set", "search[strategy=ema_cross]"} <= {row["name"] for row in found["nodes"]}
    assert found["each_fold"]["policy"] == 2 and found["each_fold"]["pooled"] == 0 and "search" not in found["each_fold"]
    assert not (tmp_path / "new").exists()


def test_a_damaged_artefact_is_recomputed_and_the_result_is_the_same(capsys, serial_store, small_settings, contents):
    before = contents(serial_store)
    store = Store(serial_store)
    reference = store.remembered("feature_set")[0]
    path = store.folder(reference["key"]) / "features.npy"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 16
    path.write_bytes(data)
    run(capsys, serial_store, small_settings, "cluster=serial", "training.seeds=0,1,2")
    assert {key: files for key, files in contents(serial_store).items() if key in before} == before


def test_looks_at_test_rows_are_counted_once_however_often_the_run_is_repeated(capsys, serial_store, small_settings):
    def looks():
        answer = run(capsys, serial_store, small_settings, "cluster=serial")
        return json.loads(Path(answer["report"]).with_suffix(".json").read_text())["ledger"]

    assert looks() == looks()


def test_what_the_source_says_of_its_own_gaps_comes_first(capsys, serial_store, small_settings, small_sample, tmp_path):
    """T24: on screen, in the record and on the first lines of both reports; only the reports are made anew."""
    store, data = tmp_path / "store", tmp_path / "data"
    shutil.copytree(serial_store, store)
    shutil.copytree(small_sample, data)
    (data / "condition.json").write_text('[{"date": "2024-03-05", "condition": "degraded"}]')
    said = "condition.json: not every day is available in full: 2024-03-05 degraded"
    words = ["run", "fold=0", f"store={store}", *small_settings, f"data={data}", "cluster=serial", "--quiet"]
    assert main(words) == 0
    assert f"  caution: {said}\n" in capsys.readouterr().out
    record = read_records(Store(store))[-1]
    run_ = [row["task"] for row in record["tasks"] if not row["cached"]]
    assert sorted(run_) == ["data_report_content", "pooled", "report_content[fold=0]", "stated_gaps"]
    lines = (store / "runs" / record["run"] / "record.jsonl").read_text().splitlines()
    assert [json.loads(line)["text"] for line in lines if '"warning"' in line] == [said]
    page = (store / "runs" / record["run"] / "data.html").read_text()
    assert f'<ul class="notes"><li>{said}.</li>' in page
    assert f'<p class="caution">{said}</p>' in (store / "runs" / record["run"] / "fold-0" / "report.html").read_text()


def test_the_funnel_accounts_for_every_planted_fault(capsys, serial_store, small_settings, small_sample):
    answer = run(capsys, serial_store, small_settings, "cluster=serial")
    funnel = json.loads(Path(answer["report"]).with_suffix(".json").read_text())["funnel"]
    truth = json.loads((small_sample / "truth.json").read_text())
    rejected = [fault for fault in truth["faults"] if fault["expected"]["action"] == "rejected"]
    accepted = next(stage for stage in funnel["stages"] if stage["name"] == "accepted")
    assert sum(accepted["dropped"].values()) == len(rejected)
