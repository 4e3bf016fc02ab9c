"""Any model on the test rows: its positions run through the program of the sweep, so that every figure means the same."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.execution import Costs, Execution, Instrument
from kernels.strategies import named_strategy, positions
from kernels.strategy import Strategy
from kernels.sweep import sweep
from pipelines.report.types import Evaluation
from pipelines.steps.sweeping import METRICS, StrategyRanking
from training.folds import Fold

BENCHMARKS = ("buy_and_hold", "flat")
BENCHMARK_TARGETS = {"buy_and_hold": 1.0, "flat": 0.0}


def strategy_evaluation(
    bars: pd.DataFrame,
    fold: Fold,
    ranking: StrategyRanking,
    strategy: str,
    contract: Instrument,
    costs: Costs,
    execution: Execution,
    capital: float,
) -> Evaluation:
    """Score a strategy's best validation combination once on the test rows; flat where no combination was defined."""
    if not ranking.best:
        target = np.zeros(len(bars))
        return evaluate_positions(bars, fold, target, strategy, "strategy", contract, costs, execution, capital)
    made = named_strategy(strategy)
    return _evaluate(
        made, bars, fold, strategy, "strategy", ranking.best, ranking.start, contract, costs, execution, capital
    )


def benchmark_evaluation(
    bars: pd.DataFrame,
    fold: Fold,
    benchmark: str,
    contract: Instrument,
    costs: Costs,
    execution: Execution,
    capital: float,
) -> Evaluation:
    """Score a benchmark on the test rows: the rolled position held throughout, or always flat."""
    target = np.full(len(bars), BENCHMARK_TARGETS[benchmark])
    return evaluate_positions(bars, fold, target, benchmark, "benchmark", contract, costs, execution, capital)


def evaluate_positions(
    bars: pd.DataFrame,
    fold: Fold,
    target: NDArray[np.float64],
    model: str,
    kind: str,
    contract: Instrument,
    costs: Costs,
    execution: Execution,
    capital: float,
) -> Evaluation:
    """Score given targets [bars] in [-1, 1], each decided at its bar's close, on the test rows."""
    with_target = bars.assign(target=np.asarray(target, dtype=np.float64))
    return _evaluate(positions(), with_target, fold, model, kind, {}, 0, contract, costs, execution, capital)


def _evaluate(
    strategy: Strategy,
    bars: pd.DataFrame,
    fold: Fold,
    model: str,
    kind: str,
    parameters: Mapping[str, float],
    start: int,
    contract: Instrument,
    costs: Costs,
    execution: Execution,
    capital: float,
) -> Evaluation:
    grid = {name: [value] for name, value in parameters.items()}
    result = sweep(
        strategy,
        bars.iloc[: fold.test[1]],
        grid=grid,
        costs=costs,
        instrument=contract,
        capital=capital,
        execution=execution,
        metrics=list(METRICS),
        windows=[fold.test],
        returns="session",
        executor="cpu",
        start=start,
        threads=1,
    )
    scores = {name: float(result.table[name].iloc[0]) for name in METRICS}
    trace = result.trace(0)
    scored = trace.iloc[fold.test[0] : fold.test[1]]
    return Evaluation(
        model=model,
        kind=kind,
        parameters=dict(parameters),
        metrics=scores | {"costs": scores["fees"] + scores["slippage"]},
        sessions=_sessions(scored, bars["session"].to_numpy()[fold.test[0] : fold.test[1]], capital),
        curve=scored[["ts_event", "equity", "position"]].reset_index(drop=True),
        sessions_per_year=float(result.profile["periods_per_year"]),
    )


def _sessions(scored: pd.DataFrame, session: NDArray[np.int32], capital: float) -> pd.DataFrame:
    """Money by trade date: net and gross profit of the session, equity at its end."""
    last = np.flatnonzero(np.append(session[1:] != session[:-1], True))
    gross = scored["profit"].to_numpy()[last]
    costs = scored["costs"].to_numpy()[last]
    net = gross - costs
    return pd.DataFrame(
        {
            "session": session[last].astype(np.int32),
            "profit": np.diff(net, prepend=0.0),
            "gross": np.diff(gross, prepend=0.0),
            "equity": capital + net,
        }
    )
