"""Linear baseline: ridge forecasts of tradable profit at several horizons, traded beyond a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.execution import Costs, Execution, Instrument
from training.errors import TrainingError
from training.evaluation import aligned
from training.folds import Fold, Rows
from training.market import FLAT, POSITIONS, Market, market, money_scale, path_profit
from training.ranking import information_coefficient

LONG = 2


@dataclass(frozen=True)
class LinearSettings:
    """Candidates of the baseline: `horizons` in bars, `quantiles` of the forecast's size on train rows as thresholds.

    `penalty` is the ridge penalty per train row, on features of unit variance.
    """

    horizons: tuple[int, ...] = (5, 15, 60)
    quantiles: tuple[float, ...] = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
    penalty: float = 0.02

    def __post_init__(self) -> None:
        """Refuse candidates that mean nothing."""
        if not self.horizons or min(self.horizons) < 1:
            raise ValueError(f"linear.horizons = {self.horizons}: name at least one horizon of 1 bar or more")
        if not self.quantiles or not all(0.0 <= one < 1.0 for one in self.quantiles):
            raise ValueError(f"linear.quantiles = {self.quantiles}: name at least one, each in [0, 1)")
        if not self.penalty >= 0.0:
            raise ValueError(f"linear.penalty = {self.penalty}: must be 0 or more")


@dataclass(frozen=True)
class LinearModel:
    """Ridge weights [H, F] and intercepts [H] float64, one row a horizon, and what is traded of them.

    Forecasts are of the profit of a long position over the horizon, in units of `scale` [1] (money). `horizon` and
    `threshold` were chosen on the validation rows among `looks` candidates, all of which are in `candidates`.
    """

    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    scale: NDArray[np.float64]
    horizons: list[int]
    horizon: int
    threshold: float
    looks: int
    candidates: list[dict[str, Any]]


def fit_linear(
    features: NDArray[np.float32],
    bars: pd.DataFrame,
    fold: Fold,
    settings: LinearSettings,
    instrument: Instrument,
    costs: Costs,
    execution: Execution,
) -> LinearModel:
    """Fit on the fold's train rows, choose horizon and threshold by net profit on its validation rows.

    `features` [bars, F] float32, normalised with the fold's normaliser. Labels that would reach past the train rows are
    missing, not zero. Sums run in a fixed order, so the result does not depend on the number of threads.
    """
    table = market(bars, fold.train, instrument, costs, execution)
    validation = market(bars, fold.validation, instrument, costs, execution)
    scale = money_scale(table)
    train_rows = features[table.start : table.start + table.decisions]
    fitted = [
        _ridge(train_rows, forward_profit(table, horizon) / scale, settings.penalty) for horizon in settings.horizons
    ]
    weights, intercepts = np.stack([one[0] for one in fitted]), np.array([one[1] for one in fitted])
    candidates: list[dict[str, Any]] = []
    validation_rows = features[validation.start : validation.start + validation.decisions]
    for number, horizon in enumerate(settings.horizons):
        size = np.abs(_forecast(train_rows, weights[number], intercepts[number]))
        seen = _forecast(validation_rows, weights[number], intercepts[number])
        for quantile in settings.quantiles:
            threshold = float(np.nanquantile(size, quantile))
            gross, paid = path_profit(validation, threshold_actions(seen, threshold))
            profit = float(gross.sum() - paid.sum())
            candidates.append(
                {"horizon": horizon, "quantile": quantile, "threshold": threshold, "validation_profit": profit}
            )
    best = max(candidates, key=lambda one: float(one["validation_profit"]))
    return LinearModel(
        weights=weights,
        intercepts=intercepts,
        scale=np.array([scale]),
        horizons=list(settings.horizons),
        horizon=best["horizon"],
        threshold=best["threshold"],
        looks=len(candidates),
        candidates=candidates,
    )


def linear_positions(model: LinearModel, features: NDArray[np.float32], rows: Rows) -> NDArray[np.float64]:
    """Target positions in {-1, 0, 1} [bars] decided at the rows [start, stop), 0.0 elsewhere; flat at `start`."""
    number = model.horizons.index(model.horizon)
    forecast = _forecast(features[slice(*rows)], model.weights[number], model.intercepts[number])
    return aligned(POSITIONS[threshold_actions(forecast, model.threshold)], rows, len(features))


def information_coefficients(
    model: LinearModel,
    features: NDArray[np.float32],
    bars: pd.DataFrame,
    rows: Rows,
    instrument: Instrument,
    seed: int = 0,
) -> pd.DataFrame:
    """Spearman correlation of forecast and tradable outcome on the rows, one line a horizon, with its interval.

    Columns: horizon int64, coefficient, low, high float64, observations int64, method str.
    """
    table = market(bars, rows, instrument, Costs(), Execution())
    seen = features[table.start : table.start + table.decisions]
    lines = []
    for number, horizon in enumerate(model.horizons):
        forecast = _forecast(seen, model.weights[number], model.intercepts[number])
        found = information_coefficient(forecast, forward_profit(table, horizon), horizon, seed=seed)
        lines.append((horizon, found.estimate, found.low, found.high, found.observations, found.method))
    columns = ["horizon", "coefficient", "low", "high", "observations", "method"]
    return pd.DataFrame(lines, columns=columns).astype({"horizon": np.int64, "observations": np.int64, "method": "str"})


def forward_profit(table: Market, horizon: int) -> NDArray[np.float64]:
    """Gross money [T] of a long position opened on the bar after each row and held for `horizon` bars.

    NaN where the rows end earlier or the bar after the row cannot execute: a missing label is not a zero.
    """
    count = table.decisions
    result = np.full(count, np.nan)
    if horizon > count:
        return result
    complete = count - horizon + 1
    result[:complete] = table.gross[:complete, FLAT, LONG]
    for bar in range(1, horizon):
        result[:complete] += table.gross[bar : bar + complete, LONG, LONG]
    result[table.after[:, FLAT, LONG] != LONG] = np.nan
    return result


def threshold_actions(forecast: NDArray[np.float64], threshold: float) -> NDArray[np.int8]:
    """Action numbers [n]: the forecast's sign where its size reaches `threshold`, else (and for NaN) as before.

    Flat until the first forecast of that size.
    """
    strong = (np.abs(forecast) >= threshold) & (forecast != 0.0)
    last = np.maximum.accumulate(np.where(strong, np.arange(len(forecast)), -1))
    signs = np.where(forecast > 0.0, LONG, 0)
    return np.where(last >= 0, signs[np.maximum(last, 0)], FLAT).astype(np.int8)


def _ridge(
    rows: NDArray[np.float32], labels: NDArray[np.float64], penalty: float
) -> tuple[NDArray[np.float64], float]:
    known = np.isfinite(rows).all(axis=1) & np.isfinite(labels)
    if not known.any():
        raise TrainingError("no train row has finite features and a label; give the fold more train bars")
    x, y = rows[known].astype(np.float64), labels[known]
    centre, level = x.mean(axis=0), float(y.mean())
    x -= centre
    # einsum instead of a matrix product, _solved instead of LAPACK: these split their sums by processor and threads.
    gram = np.einsum("ij,ik->jk", x, x) / len(x) + penalty * np.eye(x.shape[1])
    weights: NDArray[np.float64] = _solved(gram, np.einsum("ij,i->j", x, y - level) / len(x))
    return weights, level - float(np.einsum("j,j->", centre, weights))


def _solved(matrix: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """x of matrix x = right [F] by Gauss-Jordan elimination, for a positive definite matrix [F, F], which needs no pivots.

    Raises TrainingError for a matrix that is not.
    """
    rows = np.column_stack([matrix, right])
    for pivot in range(len(rows)):
        if not rows[pivot, pivot] > 0.0:
            raise TrainingError(
                f"feature {pivot} is constant on the train rows or a sum of others, and linear.penalty is 0; give a penalty > 0"
            )
        rows[pivot] /= rows[pivot, pivot]
        factors = rows[:, pivot].copy()
        factors[pivot] = 0.0
        rows -= factors[:, np.newaxis] * rows[pivot]
    return rows[:, -1].copy()


def _forecast(rows: NDArray[np.float32], weights: NDArray[np.float64], intercept: float) -> NDArray[np.float64]:
    """Forecasts [n], feature by feature, so that a row's value does not depend on how many rows there are."""
    total = np.full(len(rows), intercept)
    for column, weight in enumerate(weights):
        total += rows[:, column].astype(np.float64) * weight
    return total
