"""Models of a fold: policies trained by seed and the linear baseline, each scored once on the test rows."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from kernels.execution import Costs, Execution, Instrument
from pipelines.report.types import Evaluation
from pipelines.steps.evaluating import evaluate_positions
from pipelines.steps.fold_rows import NormalisedFeatures
from training.dqn_settings import DqnSettings
from training.evaluation import policy_positions
from training.folds import Fold
from training.hindsight import hindsight_optimum
from training.linear import LinearModel, LinearSettings, fit_linear, information_coefficients, linear_positions
from training.policy import Policy


@dataclass(frozen=True)
class LinearResult:
    """The linear baseline, its score on the test rows and the information coefficient of each of its forecasts."""

    evaluation: Evaluation
    information: pd.DataFrame


def policy(
    normalised: NormalisedFeatures,
    bars: pd.DataFrame,
    fold: Fold,
    settings: DqnSettings,
    seed: int,
    contract: Instrument,
    costs: Costs,
    execution: Execution,
) -> Policy:
    """Train one seed on the fold's train rows; validation rows choose the checkpoint, test rows are not read."""
    from training.dqn import (
        train_policy,  # here, because torch takes a second to load and a cached run needs none of it
    )

    last = fold.validation[1]
    return train_policy(
        np.asarray(normalised.z)[:last], bars.iloc[:last], fold, settings, seed, contract, costs, execution
    )


def policy_evaluation(
    trained: Policy,
    normalised: NormalisedFeatures,
    bars: pd.DataFrame,
    fold: Fold,
    seed: int,
    contract: Instrument,
    costs: Costs,
    execution: Execution,
    capital: float,
) -> Evaluation:
    """Score a policy's greedy positions once on the test rows."""
    target = policy_positions(trained, np.asarray(normalised.z), bars, fold.test, contract, costs, execution)
    scored = evaluate_positions(bars, fold, target, f"dqn seed {seed}", "policy", contract, costs, execution, capital)
    return replace(scored, parameters={"chosen_step": trained.chosen_step})


def linear_model(
    normalised: NormalisedFeatures,
    bars: pd.DataFrame,
    fold: Fold,
    settings: LinearSettings,
    contract: Instrument,
    costs: Costs,
    execution: Execution,
) -> LinearModel:
    """Fit the linear baseline on train rows and choose its horizon and threshold on validation rows."""
    last = fold.validation[1]
    return fit_linear(np.asarray(normalised.z)[:last], bars.iloc[:last], fold, settings, contract, costs, execution)


def linear_evaluation(
    model: LinearModel,
    normalised: NormalisedFeatures,
    bars: pd.DataFrame,
    fold: Fold,
    contract: Instrument,
    costs: Costs,
    execution: Execution,
    capital: float,
) -> LinearResult:
    """Score the linear baseline and its forecasts on the test rows."""
    features = np.asarray(normalised.z)
    target = linear_positions(model, features, fold.test)
    information = information_coefficients(model, features, bars, fold.test, contract)
    scored = evaluate_positions(bars, fold, target, "linear", "linear", contract, costs, execution, capital)
    return LinearResult(
        replace(scored, parameters=_chosen(model)), information.rename(columns={"coefficient": "ic"})
    )


def _chosen(model: LinearModel) -> dict[str, float | int | str | bool | None]:
    """What was chosen on the validation rows: the horizon in bars, the quantile and the threshold it stands for."""
    chosen = (model.horizon, model.threshold)
    candidate = next(one for one in model.candidates if (one["horizon"], one["threshold"]) == chosen)
    return {name: candidate[name] for name in ("horizon", "quantile", "threshold")}


def hindsight(bars: pd.DataFrame, fold: Fold, contract: Instrument, costs: Costs, execution: Execution) -> float:
    """The most that positions in {-1, 0, 1} could have earned on the test rows after costs, knowing every price."""
    return hindsight_optimum(bars, fold.test, contract, costs, execution)
