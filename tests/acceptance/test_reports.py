"""What whole runs report on data without an edge and with one: `pipeline run` itself, read from its reports."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from loaders.sample import write_sample
from pipelines.cli import main

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(3600)]

MARKETS = 20
ERROR_RATE = 0.025


def report(folder: Path, edge: str, seed: int, capsys) -> dict:
    """Run fold 0 with the default configuration on a sample of this edition and seed; return its report."""
    write_sample(folder / "data", seed=seed, edge=edge)
    assert main(["run", "fold=0", f"data={folder / 'data'}", f"store={folder / 'store'}", "--json", "--quiet"]) == 0
    answer = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    return json.loads(Path(answer["report"]).with_suffix(".json").read_text())


def judged(page: dict) -> list[dict]:
    """The models a verdict was spoken on: all but the benchmarks."""
    return [model for model in page["models"] if model["kind"] != "benchmark"]


def test_without_an_edge_the_reports_keep_their_error_rate_and_gross_is_zero(tmp_path, capsys):
    called, gross, runs = [], [], 0
    for seed in range(MARKETS):
        page = report(tmp_path / str(seed), "0", 200 + seed, capsys)
        called += [row["beats_flat"] for row in page["verdict"]["models"]]
        runs += any(row["beats_flat"] for row in page["verdict"]["models"])
        gross.append(np.mean([model["sessions"]["gross"] for model in judged(page)], axis=0))
    pooled = np.concatenate(gross)
    error = pooled.std(ddof=1) / np.sqrt(len(pooled))
    with capsys.disabled():
        print(
            f"\nedge=0: {sum(called)} of {len(called)} models in {runs} of {MARKETS} runs reported as better than flat; "
            f"pooled gross {pooled.mean():,.1f} a session over {len(pooled)} sessions, {pooled.mean() / error:.2f} SE"
        )
    assert sum(called) <= stats.binom.ppf(0.999, len(called), ERROR_RATE)
    assert runs <= stats.binom.ppf(0.999, MARKETS, ERROR_RATE)
    assert abs(pooled.mean()) <= 3.0 * error


def test_a_realistic_edge_is_reported_as_not_distinguishable(tmp_path, capsys):
    page = report(tmp_path, "real", 7, capsys)
    with capsys.disabled():
        print("\nedge=real: " + "; ".join(f"{row['model']}: {row['words']}" for row in page["verdict"]["models"]))
    assert not any(row["beats_flat"] for row in page["verdict"]["models"])


def test_a_learnable_edge_is_reported_as_better_than_flat(tmp_path, capsys):
    page = report(tmp_path, "power", 7, capsys)
    words = {row["model"]: row["beats_flat"] for row in page["verdict"]["models"]}
    profit = {model["model"]: round(sum(model["sessions"]["profit"])) for model in judged(page)}
    with capsys.disabled():
        print(f"\nedge=power: net {profit}; {page['verdict']['headline']}")
    assert all(words[model] for model in words if model.startswith("dqn"))
    assert words["zscore_reversion"]
    assert page["edge"] is not None and "power" in page["edge"]
