import math
from typing import Any

import numpy as np
import pytest

from pipelines.report.document import ReportContent
from pipelines.report.errors import ReportError
from pipelines.report.overfitting import checked_ledger, overfitting, verdict, verdict_words
from training.statistics import deflated_sharpe, probabilistic_sharpe
from training.verdict import verdict as judge

LEDGER = {"test_looks": 9, "validation_trials": 991, "test_trials": 9}


@pytest.mark.parametrize("trials", [1, 7, 400])
@pytest.mark.parametrize("mean", [-0.5, 0.0, 0.05, 0.4, 1.5])
def test_words_are_those_of_training_for_any_number_of_trials(mean: float, trials: int) -> None:
    noise = np.random.default_rng(4).normal(size=30)
    profit = noise - noise.mean() + mean
    once = judge(profit, trials=1)
    expected = judge(profit, trials=trials)
    assert verdict_words(once.mean, once.p_value, trials) == (expected.words, expected.beats_flat)


def test_the_method_claims_no_number_of_trials(content: ReportContent) -> None:
    for entry in content.document["models"]:
        assert "shared among" not in entry["test"]["method"] and "bootstrap" in entry["test"]["method"]


def test_statistics_count_all_trials_of_the_ledger(content: ReportContent) -> None:
    result = overfitting(content.document, LEDGER)
    assert result["trials"] == 1_000
    models = {entry["model"]: entry for entry in content.document["models"]}
    assert [entry["model"] for entry in result["models"]] == [
        name for name, entry in models.items() if entry["kind"] != "benchmark"
    ]
    for entry in result["models"]:
        returns = np.array(models[entry["model"]]["session_returns"])
        assert entry["probabilistic"] == probabilistic_sharpe(returns)
        assert entry["deflated"] == deflated_sharpe(returns, 1_000, content.document["trial_sharpe_deviation"])
        assert entry["sharpe"] == pytest.approx(returns.mean() / returns.std(ddof=1) * math.sqrt(258.4))
    # The bracket of the expected maximum for N = 1000 is 3.26 standard deviations (reference value).
    assert result["expected_maximum"] / result["sharpe_deviation"] == pytest.approx(3.26, abs=0.005)


def test_more_trials_deflate_more(content: ReportContent) -> None:
    few, many = (overfitting(content.document, LEDGER | {"validation_trials": count}) for count in (10, 100_000))
    for less, more in zip(few["models"], many["models"], strict=True):
        assert more["deflated"] < less["deflated"]


def test_returns_that_do_not_vary_have_no_statistics(content: ReportContent) -> None:
    flat = content.document["models"][-1] | {"kind": "policy"}
    (entry,) = overfitting(content.document | {"models": [flat]}, LEDGER)["models"]
    assert (entry["sharpe"], entry["deflated"]) == (None, None)
    assert entry["reason"] == "session returns do not vary"


def _judged(content: ReportContent, names: tuple[str, ...], ledger: dict[str, int] = LEDGER) -> dict[str, Any]:
    chosen = [entry for entry in content.document["models"] if entry["model"] in names]
    return verdict(content.document | {"models": chosen}, ledger)


def test_headlines(content: ReportContent) -> None:
    two = _judged(content, ("dqn seed 0", "linear"))["headline"]
    assert two == "dqn seed 0 beats flat after costs; the other model does not."
    three = _judged(content, ("dqn seed 0", "linear", "ema_cross"))["headline"]
    assert three == "dqn seed 0 beats flat after costs; the other 2 models do not."
    assert _judged(content, ("dqn seed 0",))["headline"] == "dqn seed 0 beats flat after costs."
    assert _judged(content, ("ema_cross", "linear", "flat"))["headline"] == "No model beats flat after costs."
    assert _judged(content, ("flat",))["headline"] == "No model was evaluated on the test rows."


def test_a_loser_is_called_that(content: ReportContent) -> None:
    words = {entry["model"]: entry["words"] for entry in _judged(content, ("ema_cross", "linear"))["models"]}
    assert words == {
        "ema_cross": "does not beat flat after costs",
        "linear": "not distinguishable from flat on this much data",
    }


def test_many_looks_raise_the_bar(content: ReportContent) -> None:
    (few,) = _judged(content, ("dqn seed 0",))["models"]
    many = _judged(content, ("dqn seed 0",), LEDGER | {"test_trials": 1_000_000, "test_looks": 1_000_000})
    assert few["beats_flat"] and not many["models"][0]["beats_flat"]
    assert many["threshold"] == pytest.approx(0.025 / 1_000_000)
    assert "looked at 1,000,000 times" in many["looks"] and "kinder than the truth" in many["looks"]


@pytest.mark.parametrize("broken", [{"test_looks": -1}, {"test_trials": None}, {"validation_trials": 1.5}])
def test_a_ledger_without_its_counts_is_refused(broken: dict[str, object]) -> None:
    with pytest.raises(ReportError, match=f"ledger: {next(iter(broken))} = "):
        checked_ledger(LEDGER | broken)
