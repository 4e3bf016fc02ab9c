"""What the ledger says about the figures: deflated Sharpe ratios and the verdict, for all trials ever made.

Runs at every run, cached or not, so it imports numpy alone and only inside the functions that need it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pipelines.report.document import finite
from pipelines.report.errors import ReportError

CONFIDENCE = 0.975
LEDGER_COUNTS = ("test_looks", "validation_trials", "test_trials")


def checked_ledger(ledger: Mapping[str, Any]) -> dict[str, int]:
    """The ledger's counts as integers; raises ReportError naming a count that is missing or negative."""
    for name in LEDGER_COUNTS:
        if not isinstance(ledger.get(name), int) or ledger[name] < 0:
            raise ReportError(
                f"ledger: {name} = {ledger.get(name)!r} must be a count >= 0; read it from the ledger file"
            )
    return {str(name): int(count) for name, count in ledger.items()}


def overfitting(document: Mapping[str, Any], ledger: Mapping[str, int]) -> dict[str, Any]:
    """Sharpe ratio, PSR, expected maximum without skill and deflated Sharpe of every model that is not a benchmark.

    The number of trials is all the ledger holds, on validation and on test rows. Ratios are yearly, probabilities in
    [0, 1]; None with a reason where the session returns do not support a value.
    """
    from training.statistics import expected_maximum_sharpe

    models = [entry for entry in document["models"] if entry["kind"] != "benchmark"]
    trials = max(ledger["validation_trials"] + ledger["test_trials"], len(models), 1)
    sessions = max((len(entry["sessions"]["profit"]) for entry in models), default=0)
    deviation = document["trial_sharpe_deviation"]
    source = "standard deviation of the trials' Sharpe ratios on validation rows"
    if deviation is None:
        deviation = 1.0 / math.sqrt(max(sessions - 1, 1))
        source = "what chance alone gives for this many sessions (no sweep recorded one)"
    yearly = document["sessions_per_year"]
    year = math.nan if yearly is None else math.sqrt(yearly)  # None: nothing was swept or evaluated
    return {
        "trials": trials,
        "sharpe_deviation": finite(deviation * year),
        "sharpe_deviation_source": source,
        "expected_maximum": finite(expected_maximum_sharpe(trials, deviation) * year),
        "models": [_deflated(entry, trials, deviation, year) for entry in models],
    }


def _deflated(entry: Mapping[str, Any], trials: int, deviation: float, year: float) -> dict[str, Any]:
    import numpy as np

    from training.statistics import deflated_sharpe, probabilistic_sharpe, sharpe_ratio

    result: dict[str, Any] = {"model": entry["model"], "sharpe": None, "probabilistic": None, "deflated": None}
    if entry["session_returns"] is None:
        return result | {"reason": "the account was ruined: returns on equity at or below zero mean nothing"}
    returns = np.array(entry["session_returns"], dtype=np.float64)
    if len(returns) < 3:
        return result | {"reason": f"{len(returns)} sessions are too few"}
    if sharpe_ratio(returns) == 0.0:
        return result | {"reason": "session returns do not vary"}
    values = {
        "sharpe": sharpe_ratio(returns) * year,
        "probabilistic": probabilistic_sharpe(returns),
        "deflated": deflated_sharpe(returns, trials, deviation),
    }
    undefined = any(math.isnan(value) for value in values.values())
    return {
        "model": entry["model"],
        **{name: None if math.isnan(value) else value for name, value in values.items()},
        "reason": "the returns' skew and tails leave its variance undefined" if undefined else None,
    }


def verdict_words(mean: float, p_value: float, trials: int) -> tuple[str, bool]:
    """The words of `training.verdict` for a mean and its one-sided p-value, and whether they say "beats flat".

    The p-value is computed once, with the content; how many trials share the error rate is known only now.
    """
    from training.verdict import BEATS, LOSES, UNCLEAR

    beats = mean > 0.0 and p_value <= (1.0 - CONFIDENCE) / trials
    rate = f"{100.0 * (1.0 - CONFIDENCE):.3g}"
    return (BEATS.format(rate=rate) if beats else UNCLEAR if mean > 0.0 else LOSES), beats


def verdict(document: Mapping[str, Any], ledger: Mapping[str, int]) -> dict[str, Any]:
    """The report's first words: which models beat flat after costs, how often the test rows were looked at."""
    models = [entry for entry in document["models"] if entry["kind"] != "benchmark"]
    trials = max(ledger["test_trials"], len(models), 1)
    judged = []
    for entry in models:
        words, beats = verdict_words(entry["test"]["mean"], entry["test"]["p_value"], trials)
        judged.append(
            {"model": entry["model"], "words": words, "beats_flat": beats, "p_value": entry["test"]["p_value"]}
        )
    return {
        "headline": headline([entry["model"] for entry in judged if entry["beats_flat"]], len(judged)),
        "looks": _looks(ledger["test_looks"], len(document["models"])),
        "error_rate": 1.0 - CONFIDENCE,
        "trials": trials,
        "threshold": (1.0 - CONFIDENCE) / trials,
        "method": models[0]["test"]["method"] if models else None,
        "models": judged,
    }


def headline(winners: Sequence[str], judged: int) -> str:
    """How many of the models that were judged beat flat, and which."""
    if not judged:
        return "No model was evaluated on the test rows."
    if not winners:
        return "No model beats flat after costs."
    if len(winners) == judged == 1:
        return f"{winners[0]} beats flat after costs."
    if len(winners) == 1:
        others = "the other model does not" if judged == 2 else f"the other {judged - 1} models do not"
        return f"{winners[0]} beats flat after costs; {others}."
    return f"{len(winners)} of {judged} models beat flat after costs."


def _looks(count: int, shown: int) -> str:
    if count == 0:
        return "The ledger records no look at the test rows of this fold."
    times = "once" if count == 1 else "twice" if count == 2 else f"{count:,} times"
    sentence = (
        f"The test rows of this fold have been looked at {times}, counting one for each model; {shown} are shown here."
    )
    if count > shown:
        sentence += " Looks beyond these make the figures kinder than the truth."
    return sentence
