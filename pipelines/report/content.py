"""Node: everything the report says that does not depend on the run that asks for it."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pipelines.report.curves import profit_curve, time_in_position
from pipelines.report.document import ReportContent, finite
from pipelines.report.errors import ReportError
from pipelines.report.funnel import checked_funnel
from pipelines.report.metrics_table import undefined_reason
from pipelines.report.sections import (
    findings_section,
    folds_section,
    plain,
    ranking_section,
    records,
    selection_section,
    training_section,
)
from pipelines.report.types import Evaluation, Ranking
from pipelines.report.uncertainty import model_intervals, profit_test, session_returns, trial_sharpe_deviation
from pipelines.steps.selecting import SelectionOverfitting


def report_content(
    funnel: dict[str, Any],
    findings: pd.DataFrame,
    quarantined: int,
    folds: list[dict[str, Any]],
    fold: int,
    rolls: pd.DataFrame,
    rankings: dict[str, Ranking],
    selections: dict[str, SelectionOverfitting],
    evaluations: list[Evaluation],
    training: list[dict[str, Any]],
    information: pd.DataFrame,
    hindsight: float,
    capital: float,
    currency: str,
    instrument: dict[str, Any],
    costs: dict[str, float],
    execution: dict[str, Any],
    edge: str | None = None,
    cautions: Sequence[str] = (),
    seed: int = 0,
    coverage: dict[str, Any] | None = None,
) -> ReportContent:
    """Compute and draw the report of one fold.

    `funnel`: see `checked_funnel`. `findings`, `quarantined`: the findings table and the number of quarantined rows.
    `folds`: every fold as `training.folds.fold_report` has it; `fold` is the index of the one reported. `rolls`: session
    (int32), left, entered (contracts), volume_left, volume_entered. `evaluations`: models in the order to show them; the
    first benchmark is rolled buy-and-hold. `training`: {"seed", "history": [{"step", "loss", "validation_profit"}],
    "chosen_step"}. `information`: horizon (bars), ic, low, high. `hindsight`: money the best possible positions would
    have made on the test rows, after costs. `edge`: a label the data carries. `cautions`: what a reader must know before
    the figures. `seed` is that of the bootstraps. `coverage`: minutes without a bar by reason, and a row a session
    (loaders.gaps_report). Raises ReportError when the funnel does not add up or an input contradicts another.
    """
    from pipelines.report.figures import draw_figures  # the plotting library: a run that finds all cached needs none

    _check(folds, fold, evaluations, capital)
    yearly = _sessions_per_year(evaluations, rankings)
    reference = next((entry for entry in evaluations if entry.kind == "benchmark"), None)
    document: dict[str, Any] = {
        "format": "walkfold report 1",
        **_plain_settings(instrument=instrument, costs=costs, execution=execution),
        "currency": currency,
        "capital": float(capital),
        "edge": edge,
        "cautions": list(cautions),
        "sessions_per_year": yearly,
        "funnel": checked_funnel(funnel),
        "findings": findings_section(findings, quarantined),
        "coverage": coverage,
        "rolls": records(rolls),
        "fold": int(fold),
        "folds": folds_section(folds),
        "models": [_model(entry, reference, hindsight, capital, seed) for entry in evaluations],
        "reference": None if reference is None else reference.model,
        "hindsight": finite(hindsight),
        "rankings": [ranking_section(strategy, ranking) for strategy, ranking in rankings.items()],
        "selections": [selection_section(strategy, selection) for strategy, selection in selections.items()],
        "trial_sharpe_deviation": trial_sharpe_deviation(rankings),
        "training": training_section(training),
        "information": records(information),
    }
    return ReportContent(document, draw_figures(document))


def _check(folds: Sequence[Mapping[str, Any]], fold: int, evaluations: Sequence[Evaluation], capital: float) -> None:
    numbers = [int(entry["index"]) for entry in folds]
    if fold not in numbers:
        raise ReportError(f"report of fold {fold}: the folds given are {numbers}")
    names = [entry.model for entry in evaluations]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ReportError(f"report of fold {fold}: models {repeated} occur twice; give each evaluation its own name")
    if not (math.isfinite(capital) and capital > 0.0):
        raise ReportError(f"report of fold {fold}: capital = {capital} must be a positive amount of money")


def _plain_settings(**settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: {field: plain(value) for field, value in given.items()} for name, given in settings.items()}


def _sessions_per_year(evaluations: Sequence[Evaluation], rankings: Mapping[str, Ranking]) -> float | None:
    """The number that annualised every model's metrics; without models that of the sweeps, else None.

    Raises ReportError where two models were annualised with different numbers: they could not be compared.
    """
    used = {entry.model: entry.sessions_per_year for entry in evaluations}
    if len(set(used.values())) > 1:
        raise ReportError(f"the models were annualised with different sessions a year, {used}; score them on one table")
    sweeps = [ranking.sessions_per_year for ranking in rankings.values()]
    return next(iter([*used.values(), *sweeps]), None)


def _model(
    entry: Evaluation, reference: Evaluation | None, hindsight: float, capital: float, seed: int
) -> dict[str, Any]:
    metrics = {name: float(value) for name, value in entry.metrics.items()}
    returns = session_returns(entry.sessions)
    other = reference if reference is not None and reference.model != entry.model else None
    net = float(entry.sessions["profit"].sum())
    return {
        "model": entry.model,
        "kind": entry.kind,
        "parameters": {name: plain(value) for name, value in entry.parameters.items()},
        "metrics": {name: finite(value) for name, value in metrics.items()},
        "undefined": {
            name: undefined_reason(name, metrics) for name, value in metrics.items() if not math.isfinite(value)
        },
        "share_of_hindsight": net / hindsight if hindsight > 0.0 else None,
        "time_in_position": time_in_position(entry.curve),
        "intervals": model_intervals(entry, other, seed),
        "test": profit_test(entry, seed),
        "sessions": {name: entry.sessions[name].tolist() for name in ("session", "profit", "gross", "equity")},
        "session_returns": None if returns is None else returns.tolist(),
        "curve": profit_curve(entry.curve, capital),
    }
