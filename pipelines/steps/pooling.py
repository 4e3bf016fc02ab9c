"""All folds of a run as one out-of-sample record: the test sessions of each model, one fold after another."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pipelines.report.document import finite
from training.bootstrap import mean_interval
from training.verdict import verdict

CONFIDENCE = 0.95


@dataclass(frozen=True)
class PooledContent:
    """What the folds say together, as JSON values; nothing where there are fewer than two folds."""

    document: dict[str, Any]


def pooled_folds(documents: list[dict[str, Any]], seed: int = 0) -> PooledContent:
    """Pool the net profits of each model's test sessions over the folds of a run.

    A session that the end of one fold's test rows and the start of the next one's share is one session with the sum of
    both. Only models that every fold has are pooled; none where test rows of two folds overlap, as a session would count
    twice: then `reason` says so. What depends on the ledger is computed when the page is written.
    """
    if len(documents) < 2:
        return PooledContent({})
    ordered = sorted(documents, key=lambda document: _test_rows(document)["first_ns"])
    names = [entry["model"] for entry in ordered[0]["models"]]
    common = [name for name in names if all(_models(document).get(name) for document in ordered)]
    reason = _overlap(ordered)
    return PooledContent(
        {
            "format": "walkfold pooled folds 1",
            "instrument": ordered[0]["instrument"]["symbol"],
            "currency": ordered[0]["currency"],
            "folds": [document["fold"] for document in ordered],
            "first": _test_rows(ordered[0])["first"],
            "last": _test_rows(ordered[-1])["last"],
            "sessions_per_year": finite(_mean_year(ordered)),
            "edge": ordered[0]["edge"],
            "reason": reason,
            "models": [] if reason else [_pooled([_models(one)[name] for one in ordered], seed) for name in common],
        }
    )


def _models(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {entry["model"]: entry for entry in document["models"]}


def _test_rows(document: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(fold for fold in document["folds"] if fold["fold"] == document["fold"])["test"]
    return found


def _mean_year(documents: Sequence[Mapping[str, Any]]) -> float:
    years = [document["sessions_per_year"] for document in documents if document["sessions_per_year"] is not None]
    return float(np.mean(years)) if years else float("nan")


def _overlap(documents: Sequence[Mapping[str, Any]]) -> str | None:
    for before, after in pairwise(documents):
        if _test_rows(after)["first_ns"] <= _test_rows(before)["last_ns"]:
            return (
                f"the test rows of folds {before['fold']} and {after['fold']} overlap, so a session would count twice: "
                "give folds.step_bars at least folds.test_bars, or run folds that lie apart"
            )
    return None


def _pooled(entries: Sequence[Mapping[str, Any]], seed: int) -> dict[str, Any]:
    """One model: its sessions in order, the test of their mean, its interval, and each fold's own profit."""
    profits: dict[int, float] = defaultdict(float)
    for entry in entries:
        for session, profit in zip(entry["sessions"]["session"], entry["sessions"]["profit"], strict=True):
            profits[int(session)] += float(profit)
    sessions = sorted(profits)
    values = np.array([profits[session] for session in sessions])
    judged, interval = verdict(values, trials=1, seed=seed), mean_interval(values, CONFIDENCE, seed)
    by_fold = [float(np.sum(entry["sessions"]["profit"])) for entry in entries]
    return {
        "model": entries[0]["model"],
        "kind": entries[0]["kind"],
        "sessions": {"session": sessions, "profit": values.tolist()},
        "net_profit": float(values.sum()),
        "fold_net_profit": by_fold,
        "folds_with_profit": sum(profit > 0.0 for profit in by_fold),
        "test": {
            "mean": judged.mean,
            "standard_error": judged.standard_error,
            "p_value": judged.p_value,
            "sessions": judged.sessions,
            "method": judged.method.partition(", error rate shared among")[0],
        },
        "interval": {
            "low": finite(interval.low),
            "high": finite(interval.high),
            "confidence": CONFIDENCE,
            "method": interval.method,
        },
    }
