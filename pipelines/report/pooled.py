"""Writes the page of all folds together: its verdict and deflated Sharpe ratios, for all looks the ledger holds.

Runs at every run of several folds, cached or not, so it imports numpy alone and only where it needs it.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines.report.document import finite
from pipelines.report.formats import instant, number, significant
from pipelines.report.overfitting import CONFIDENCE, checked_ledger, headline, verdict_words
from pipelines.report.view_tables import Table
from pipelines.report.writing import render_page, write_page


def pooled_report(document: Mapping[str, Any], ledger: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Any]:
    """The folds' document with what the looks make of it.

    `ledger` counts every look at rows of any of the folds once. The error rate is shared among all trials on their test
    rows, which is stricter than among the pooled models; profits of sessions stand for returns, as every fold begins with
    the same capital. The spread of the trials' Sharpe ratios is that of chance, as no trial was made on all folds.
    """
    counts = checked_ledger(ledger)
    models = [entry for entry in document["models"] if entry["kind"] != "benchmark"]
    trials = max(counts["test_trials"], len(models), 1)
    tried = max(counts["validation_trials"] + counts["test_trials"], len(models), 1)
    judged = [_judged(entry, trials, tried, document["sessions_per_year"]) for entry in document["models"]]
    tested = [entry for entry in judged if entry["kind"] != "benchmark"]
    winners = [entry["model"] for entry in tested if entry["beats_flat"]]
    return {
        **document,
        "models": judged,
        "verdict": {
            "headline": headline(winners, len(tested)) if document["reason"] is None else "The folds are not pooled.",
            "error_rate": 1.0 - CONFIDENCE,
            "trials": trials,
            "threshold": (1.0 - CONFIDENCE) / trials,
        },
        "deflation": {"trials": tried, "sharpe_deviation": "what chance alone gives for this many sessions"},
        "ledger": counts,
        "run": dict(run),
    }


def write_pooled(report: Mapping[str, Any], path: Path) -> None:
    """Write the page and beside it its JSON (suffix .json), each atomically."""
    write_page(path, render_page("pooled.html", page_values(report), {}), report)


def _judged(entry: Mapping[str, Any], trials: int, tried: int, yearly: float | None) -> dict[str, Any]:
    import numpy as np

    from training.statistics import deflated_sharpe, probabilistic_sharpe, sharpe_ratio

    words, beats = verdict_words(entry["test"]["mean"], entry["test"]["p_value"], trials)
    profits = np.array(entry["sessions"]["profit"], dtype=np.float64)
    ratio = sharpe_ratio(profits) if len(profits) > 1 else math.nan
    varies = len(profits) > 2 and ratio != 0.0
    return {
        **entry,
        "words": words,
        "beats_flat": beats,
        "sharpe": finite(ratio * math.sqrt(yearly)) if varies and yearly is not None else None,
        "probabilistic": finite(probabilistic_sharpe(profits)) if varies else None,
        "deflated": finite(deflated_sharpe(profits, tried)) if varies else None,
    }


def page_values(report: Mapping[str, Any]) -> dict[str, Any]:
    """Everything the template names."""
    verdict, ledger = report["verdict"], report["ledger"]
    looks = number(ledger["test_looks"], "count")
    return {
        "title": f"{report['instrument']}, {len(report['folds'])} folds together",
        "instrument": report["instrument"],
        "folds": [(fold, f"fold-{fold}/report.html") for fold in report["folds"]],
        "first": instant(report["first"]),
        "last": instant(report["last"]),
        "edge": report["edge"],
        "run": report["run"]["run"],
        "created": report["run"]["created"],
        "reason": report["reason"],
        "headline": verdict["headline"],
        "looks": f"The test rows of these folds have been looked at {looks} times, counting one for each model and fold.",
        "words": _words(report["models"]),
        "test": _test(report),
        "models": _table(report),
        "by_fold": _by_fold(report),
        "facts_rows": [
            ("Trials in the ledger", number(report["deflation"]["trials"], "count")),
            ("on validation rows", number(ledger["validation_trials"], "count")),
            ("on test rows", number(ledger["test_trials"], "count")),
        ],
    }


def _words(models: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    groups: dict[str, list[str]] = {}
    for entry in sorted(models, key=lambda entry: not entry["beats_flat"]):
        if entry["kind"] != "benchmark":
            p_value = entry["test"]["p_value"]
            shown = number(p_value, "ratio") if p_value >= 0.01 else significant(p_value, 2)
            groups.setdefault(entry["words"], []).append(f"{entry['model']} (p = {shown})")
    return [(words, ", ".join(names)) for words, names in groups.items()]


def _test(report: Mapping[str, Any]) -> str:
    if not report["models"]:
        return ""
    verdict = report["verdict"]
    return (
        f"Tested: mean net profit of all test sessions above zero, {report['models'][0]['test']['method']}. The error rate "
        f"of {number(verdict['error_rate'], 'fraction')} is shared among all {number(verdict['trials'], 'count')} trials on "
        f"test rows of these folds: a model needs p \N{LESS-THAN OR EQUAL TO} {verdict['threshold']:.2g}."
    )


def _table(report: Mapping[str, Any]) -> Table:
    currency, rows = report["currency"], []
    for entry in report["models"]:
        low, high = (number(entry["interval"][end], "signed_money", currency) for end in ("low", "high"))
        rows.append(
            [
                entry["model"],
                number(entry["net_profit"], "signed_money", currency),
                f"{number(entry['test']['mean'], 'signed_money', currency)} ({low} to {high})",
                number(entry["test"]["sessions"], "count"),
                f"{entry['folds_with_profit']} of {len(report['folds'])}",
                number(entry["sharpe"], "ratio"),
                number(entry["probabilistic"], "fraction"),
                number(entry["deflated"], "fraction"),
            ]
        )
    titles = ("Model", "Net profit", "Net profit a session, 95%", "Sessions", "Folds with profit", "Sharpe (annual)")
    return Table((*titles, "PSR", "Deflated Sharpe"), rows)


def _by_fold(report: Mapping[str, Any]) -> Table:
    rows = [
        [entry["model"], *(number(profit, "signed_money", report["currency"]) for profit in entry["fold_net_profit"])]
        for entry in report["models"]
    ]
    return Table(("Model", *(f"Fold {fold}" for fold in report["folds"])), rows)
