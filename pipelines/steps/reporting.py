"""From the artefacts of a fold to the content of its report."""

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.execution import Costs, Execution, Instrument
from loaders.gaps_report import GapReport
from loaders.outrights import OutrightBars
from loaders.roll import RolledBars
from loaders.stated_gaps import StatedGaps, few_lines
from pipelines.report.content import report_content
from pipelines.report.document import ReportContent
from pipelines.report.sections import records
from pipelines.report.types import Evaluation
from pipelines.steps.feature_set import FeatureSet
from pipelines.steps.fold_rows import FoldTable, NormalisedFeatures
from pipelines.steps.level_shifts import level_shifts
from pipelines.steps.modelling import LinearResult
from pipelines.steps.selecting import SelectionOverfitting
from pipelines.steps.sweeping import StrategyRanking
from training.policy import Policy
from validation.sanitise import Sanitised

FOLLOWED = "followed"


def data_label(truth_files: tuple[Path, ...]) -> dict[str, Any]:
    """Return what a generated data set says of itself in its truth.json; any other file of that name says nothing."""
    for path in truth_files:
        try:
            truth = json.loads(path.read_bytes())
        except (ValueError, RecursionError):
            continue
        if isinstance(truth, dict) and isinstance(truth.get("label"), str):
            return {"label": truth["label"]}
    return {"label": None}


def fold_report_content(
    parts: list[OutrightBars],
    rolled: RolledBars,
    gaps: GapReport,
    sanitised: Sanitised,
    feature_set: FeatureSet,
    table: FoldTable,
    fold: int,
    normalised: NormalisedFeatures,
    rankings: list[StrategyRanking],
    selections: list[SelectionOverfitting],
    strategy_models: list[Evaluation],
    policies: list[Policy],
    policy_models: list[Evaluation],
    linear: LinearResult,
    benchmarks: list[Evaluation],
    hindsight: float,
    label: dict[str, Any],
    stated: StatedGaps,
    capital: float,
    contract: Instrument,
    costs: Costs,
    execution: Execution,
    strategies: tuple[str, ...],
) -> ReportContent:
    """Gather a fold's artefacts into the report's content; raises ReportError when the data funnel does not add up."""
    return report_content(
        funnel=data_funnel(parts, rolled, sanitised, feature_set),
        findings=pd.concat([sanitised.findings, feature_set.findings, normalised.findings], ignore_index=True),
        quarantined=len(sanitised.quarantine),
        folds=table.reports,
        fold=fold,
        rolls=rolls(rolled),
        coverage={**gaps.report, "sessions": records(gaps.coverage)},
        rankings=dict(zip(strategies, rankings, strict=True)),
        selections=dict(zip(strategies, selections, strict=True)),
        evaluations=[*benchmarks, *strategy_models, linear.evaluation, *policy_models],
        training=[
            {"seed": policy.seed, "history": policy.history, "chosen_step": policy.chosen_step} for policy in policies
        ],
        information=linear.information,
        hindsight=hindsight,
        capital=capital,
        currency=contract.currency,
        instrument=asdict(contract),
        costs=asdict(costs),
        execution=asdict(execution),
        edge=label["label"],
        cautions=[*few_lines(stated.lines), *level_shifts(feature_set.bars, table.folds[fold].test, feature_set.return_limit)],
    )


def data_funnel(
    parts: list[OutrightBars], rolled: RolledBars, sanitised: Sanitised, feature_set: FeatureSet
) -> dict[str, Any]:
    """Count every record from the files to the features; each stage's loss is named by kind or rule."""
    dropped: Counter[str] = Counter()
    for part in parts:
        dropped.update(part.report["dropped"])
    outrights = sum(int(part.report["outright"]) for part in parts)
    counts = rolled.report
    rejected = sanitised.quarantine.loc[sanitised.quarantine["role"] == FOLLOWED, "rule"].value_counts()
    recorded = ~feature_set.bars["filled"].to_numpy()  # filled rows are no records
    bars, shown = int(recorded.sum()), recorded & np.asarray(feature_set.valid)
    return {
        "records": sum(int(part.report["records"]) for part in parts),
        "stages": [
            {"name": "outrights", "rows": outrights, "dropped": dict(dropped)},
            {
                "name": "followed contract",
                "rows": counts["followed"],
                "dropped": {
                    "other contract": counts["not_followed"],
                    "other contract beside a roll": counts["left"] + counts["next"],
                },
            },
            {"name": "accepted", "rows": bars, "dropped": {str(rule): int(rows) for rule, rows in rejected.items()}},
            {
                "name": "with features",
                "rows": int(shown.sum()),
                "dropped": _without_features(recorded, shown),
            },
        ],
    }


def _without_features(recorded: NDArray[np.bool_], shown: NDArray[np.bool_]) -> dict[str, int]:
    """Count the records no model sees: before every feature exists, and beside prices or returns without a logarithm."""
    first = int(np.argmax(shown)) if shown.any() else len(shown)
    warm_up, all_missing = int(recorded[:first].sum()), int(recorded.sum() - shown.sum())
    later = all_missing - warm_up
    return {"warm-up": warm_up, **({"no logarithm in the look-back": later} if later else {})}


def rolls(rolled: RolledBars) -> pd.DataFrame:
    """Return a row a roll: session, contract left and entered, and the volumes of the session before that decided it."""
    schedule = rolled.schedule
    changes = np.flatnonzero(schedule["expiry"].to_numpy()[1:] != schedule["expiry"].to_numpy()[:-1]) + 1
    return pd.DataFrame(
        {
            "session": schedule["session"].to_numpy()[changes],
            "left": schedule["contract"].to_numpy()[changes - 1],
            "entered": schedule["contract"].to_numpy()[changes],
            "volume_left": schedule["volume_left"].to_numpy()[changes],
            "volume_entered": schedule["volume"].to_numpy()[changes],
        }
    )
