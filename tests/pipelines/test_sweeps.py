"""`pipeline sweep`: the sweep alone, resumed after a kill; executors and fallbacks told, counted, and never in a key."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kernels.calibration import Calibration, Speed, this_machine
from kernels.dispatch import Choice
from kernels.fallback import FallbackReason, Refusal, cuda_refusal
from pipelines import calibrations
from pipelines.cli import main
from pipelines.execution.machine import Machine, executor_of, facts_of
from pipelines.execution.task_execution import Outcome
from pipelines.storage.store import Store

REPOSITORY = Path(__file__).resolve().parents[2]
NO_GPU = Refusal(FallbackReason.NO_DEVICE, "no NVIDIA GPU is visible")


def answer(capsys, *words: str) -> dict:
    capsys.readouterr()
    code = main([*words, "--json", "--quiet"])
    found = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert code == 0, found
    return found


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("sweeps") / "store"


@pytest.fixture
def sweep(capsys, store, small_settings):
    def command(*words: str) -> dict:
        return answer(capsys, "sweep", "fold=0", f"store={store}", "cluster=serial", *small_settings, *words)

    return command


@pytest.fixture
def no_gpu(monkeypatch):
    for place in ("kernels.scoring", "kernels.fallback"):
        monkeypatch.setattr(f"{place}.cuda_refusal", lambda: NO_GPU)


def test_the_sweep_alone_names_the_best_of_each_strategy(capsys, sweep, store, small_settings):
    found = sweep()
    assert {row["name"].partition("[")[0] for row in found["nodes"]} & {
        "strategy_evaluation",
        "policy",
        "report_content",
    } == set()
    assert (found["fold"], found["status"], found["executor"], found["fallback_reason"]) == (0, "done", "cpu", None)
    assert [row["strategy"] for row in found["sweeps"]] == ["ema_cross", "zscore_reversion", "donchian_breakout"]
    opened = Store(store)
    for row in found["sweeps"]:
        name = f"ranking[fold=0,strategy={row['strategy']}]"
        key = next(node["key"] for node in found["nodes"] if node["name"] == name)
        table = pd.read_parquet(opened.verified(key) / "table.parquet")
        assert row["combinations"] >= len(table) == table["sharpe"].notna().sum()
        best = table.iloc[int(np.nanargmax(table["sharpe"]))]
        assert best.name == 0 and row["search"].startswith("every combination of the grid")
        assert row["overfitting"]["reason"] == "the validation rows hold fewer than 12 sessions"
        assert row["best"] == {parameter: best[parameter] for parameter in row["best"]}
        assert row["metrics"]["sharpe"] == best["sharpe"]
    assert main(["sweep", "fold=0", f"store={store}", "cluster=serial", "--quiet", *small_settings]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3 and lines[0].startswith("fold 0: ema_cross") and "sharpe" in lines[0]
    again = sweep()
    assert all(row["cached"] for row in again["nodes"]) and again["sweeps"] == found["sweeps"]
    assert again["executor"] == "cpu"  # known from beside the artefact, though nothing ran
    lines = [line for path in (store / "ledger").rglob("*.jsonl") for line in path.read_text().splitlines() if line]
    ledger = [json.loads(line).get("rows") for line in lines]
    assert set(ledger) - {None} == {"validation"}  # the test rows were not looked at


def test_auto_takes_the_calibration_which_is_in_no_key(sweep, store, monkeypatch, tmp_path):
    monkeypatch.setattr(calibrations, "calibration_file", lambda: tmp_path / "calibration.json")
    words = ["sweep.executor=auto", "sweep.strategies=[ema_cross]"]
    keys = _chunks(sweep(*words, f"store={tmp_path / 'plain'}"))
    speeds = Calibration(this_machine(os.cpu_count() or 1), Speed(0.5, 1e9, 1e-12, 0.0), Speed(0.1, 1e12, 1e-12, 0.0))
    calibrations.save(speeds, tmp_path / "calibration.json")
    asked = []

    def choose(*arguments):
        asked.append(arguments[3])
        return Choice("cpu", "estimated faster", {})

    monkeypatch.setattr("kernels.scoring.choose", choose)
    found = sweep(*words, f"store={tmp_path / 'calibrated'}")
    assert _chunks(found) == keys and found["executor"] == "cpu"
    assert asked == [calibrations.for_threads(speeds, 1)] * len(keys)


def _chunks(found: dict) -> dict[str, str]:
    return {row["name"]: row["key"] for row in found["nodes"] if row["name"].startswith("sweep[")}


def test_a_share_of_the_threads_has_a_share_of_the_rate():
    machine = this_machine(8)
    whole = Calibration(machine, Speed(0.001, 8e9, 1e-9, 1e-7), None)
    assert calibrations.for_threads(whole, 2).cpu == Speed(0.001, 2e9, 1e-9, 1e-7)
    assert calibrations.for_threads(whole, 16) == whole


@pytest.mark.skipif(cuda_refusal() is None, reason="a GPU is here, so nothing falls back")
def test_a_gpu_that_is_missing_stops_the_run_or_is_told_and_counted(capsys, no_gpu, sweep, store, small_settings):
    words = ["sweep", "fold=0", f"store={store}", "cluster=serial", *small_settings, "sweep.executor=cuda", "--quiet"]
    assert main(words) == 4
    error = capsys.readouterr().err
    assert "executor=cuda cannot run here (no_cuda_device)" in error and error.count("\n") == 1
    assert answer(capsys, "runs", f"store={store}")["runs"][0]["tasks"] == []  # told before anything ran
    found = sweep("sweep.executor=cuda", "sweep.allow_fallback=true")
    assert (found["executor"], found["fallback_reason"]) == ("cpu", "no_cuda_device")
    again = sweep("sweep.executor=cuda", "sweep.allow_fallback=true")
    assert (again["executor"], again["fallback_reason"]) == ("cpu", "no_cuda_device")
    chunks = len(_chunks(found))
    counted = answer(capsys, "runs", f"store={store}", "--fallbacks")["fallbacks"]
    assert counted == [{"reason": "no_cuda_device", "sweeps": chunks, "runs": 1, "last": found["run"]}]
    assert main(["runs", f"store={store}", "--fallbacks"]) == 0
    assert f"{chunks} sweeps in 1 runs, last {found['run']}" in capsys.readouterr().out
    record = next(row for row in answer(capsys, "runs", f"store={store}")["runs"] if row["run"] == found["run"])
    facts = [task["facts"] for task in record["tasks"] if task["task"].startswith("sweep[")]
    assert all(row["executor"] == "cpu" and row["fallback_reason"] == "no_cuda_device" for row in facts)
    assert all(row["bar_steps_per_second"] > 0 and "fell back" in row["why"] for row in facts)


def test_nothing_fell_back_in_an_empty_store(capsys, tmp_path):
    assert main(["runs", f"store={tmp_path}", "--fallbacks"]) == 0
    assert capsys.readouterr().out == "nothing fell back in 0 runs\n"
    with pytest.raises(SystemExit) as stopped:
        main(["plan", "fold=0", "--fallbacks"])
    assert stopped.value.code == 2


def test_a_killed_sweep_goes_on_with_the_chunks_it_lacks(capsys, tmp_path, store, sweep, small_settings):
    reference = sweep("sweep.chunk_combinations=1")
    fresh = tmp_path / "store"
    words = ["sweep", "fold=0", f"store={fresh}", "cluster=serial", *small_settings, "sweep.chunk_combinations=1"]
    killed = subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", *words, "--quiet"], cwd=REPOSITORY, stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    while len(list((fresh / "refs").glob("sweep[[]*"))) < 3 and time.monotonic() < deadline:
        assert killed.poll() is None
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    resumed = answer(capsys, *words)
    chunks = [row for row in resumed["nodes"] if row["name"].startswith("sweep[")]
    done = [row for row in chunks if row["cached"]]
    assert 3 <= len(done) < len(chunks)
    assert resumed["sweeps"] == reference["sweeps"]
    assert _chunks(resumed) == _chunks(reference)


def test_a_sample_is_searched_and_counted_as_drawn(capsys, sweep, tmp_path, small_settings):
    words = ["sweep.strategies=[ema_cross]", "sweep.search=sobol", "sweep.samples=5", f"store={tmp_path}"]
    found = sweep(*words, "sweep.seed=3")
    (row,) = found["sweeps"]
    assert row["combinations"] == 5 and row["search"] == "5 sobol combinations (seed 3) of a grid of 6"
    ledger = [json.loads(line) for line in next((tmp_path / "ledger").glob("*.jsonl")).read_text().splitlines() if line]
    assert [look["trials"] for look in ledger] == [5]
    again = sweep(*words, "sweep.seed=3", "sweep.chunk_combinations=2")
    assert again["sweeps"] == found["sweeps"] and len(_chunks(again)) == 3
    again = sweep(*words, "sweep.seed=4")
    ledger = [json.loads(line) for line in next((tmp_path / "ledger").glob("*.jsonl")).read_text().splitlines() if line]
    assert sum(look["trials"] for look in ledger) >= 10  # another draw is more trials, on the same rows
    for wrong, message in (
        (["sweep.search=sobol"], "sweep.samples is 0 with sweep.search=sobol"),
        (["sweep.samples=4"], "sweep.samples is 4 with sweep.search=grid"),
        (["sweep.search=genetic"], "must be one of grid, random, sobol"),
        (["sweep.search=random", "sweep.samples=7", "sweep.strategies=[ema_cross]"], "the grid of ema_cross has 6"),
        (["sweep.keep=0"], "sweep.keep is 0"),
        (["sweep.seed=-1"], "sweep.seed is -1"),
        (["sweep.overfitting_combinations=1"], "a choice needs two"),
    ):
        assert main(["sweep", "fold=0", f"store={tmp_path}", "--quiet", *small_settings, *wrong]) == 2
        assert message in capsys.readouterr().err


def test_a_strategy_with_choices_is_refused_before_anything_runs(capsys, tmp_path, monkeypatch, small_settings):
    (tmp_path / "choosing_desk.py").write_text(
        "from kernels.expressions import choice, col, param, where\n"
        "from kernels.indicators import ema, sma\n"
        "from kernels.strategy import Strategy\n"
        "close = col('adj_close')\n"
        "means = choice('mean', {'simple': sma(close, param('fast')), 'smooth': ema(close, param('fast'))})\n"
        "both = Strategy('both', where(close > means, 1.0, 0.0))\n"
        "smooth = both.chosen({'mean': 'smooth'})\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    words = [*small_settings, f"store={tmp_path / 'store'}"]
    assert main(["plan", "fold=0", "--quiet", *words, "sweep.strategies=[choosing_desk:both]"]) == 2
    said = capsys.readouterr().err
    assert "choosing_desk:both has choices (mean: simple, smooth)" in said
    assert "made by strategy.chosen({'mean': 'simple'})" in said
    assert main(["plan", "fold=0", "--quiet", *words, "sweep.strategies=[choosing_desk:smooth]"]) == 0


def test_executors_of_several_sweeps_are_joined():
    def outcome(**facts):
        return Outcome("sweep", "k", 1.0, False, "", 0, facts)

    assert executor_of([outcome()], "auto") == {"executor": "auto", "fallback_reason": None}
    mixed = [outcome(executor="cuda", fallback_reason=None), outcome(executor="cpu", fallback_reason="cupy_missing")]
    assert executor_of(mixed, "cuda") == {"executor": "cpu, cuda", "fallback_reason": "cupy_missing"}
    assert facts_of(None) == facts_of({}) == {} and facts_of({"facts": {"executor": "cpu"}}) == {"executor": "cpu"}
    assert Machine().calibration(1) is None
