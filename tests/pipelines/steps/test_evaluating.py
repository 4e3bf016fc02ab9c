"""Every figure of a model comes from one series of sessions: money adds up, the Sharpe ratio is that of the intervals."""

import math

import numpy as np
import pandas as pd
import pytest

from kernels.annualisation import sessions_per_year
from kernels.execution import Costs, Execution, Instrument
from pipelines.report.uncertainty import model_intervals
from pipelines.steps.evaluating import benchmark_evaluation, evaluate_positions, strategy_evaluation
from pipelines.steps.modelling import _chosen
from pipelines.steps.searching import sweep_search
from pipelines.steps.sweeping import METRICS, strategy_ranking, sweep_chunk
from training.folds import Fold
from training.linear import LinearModel

CONTRACT = Instrument("ES", 0.25, 50.0, fee_per_contract=2.10)
COSTS = Costs(slippage_ticks=1.0)
DAYS, BARS_A_DAY = 24, 50
# Both ends of the test rows cut a session.
FOLD = Fold(0, (0, 300), (310, 700), (725, 1_175))
TRADING = (CONTRACT, COSTS, Execution(), 100_000.0)


def bars(level: float = 5_000.0) -> pd.DataFrame:
    """A seeded walk on the tick over weekdays, with one holiday that makes a year shorter than all weekdays."""
    generator = np.random.default_rng(8)
    days = pd.bdate_range("2024-03-04", periods=DAYS + 1).delete(7)
    count = DAYS * BARS_A_DAY
    close = level + np.cumsum(generator.integers(-6, 7, count)) * 0.25
    opened = close + generator.integers(-2, 3, count) * 0.25
    starts = np.repeat(days.as_unit("ns").asi8 + 14 * 3_600_000_000_000, BARS_A_DAY)
    times = starts + np.tile(np.arange(BARS_A_DAY), DAYS) * 60_000_000_000
    table = pd.DataFrame({"ts_event": pd.DatetimeIndex(times, tz="UTC")})
    table["session"] = np.repeat(days.strftime("%Y%m%d").astype("int32"), BARS_A_DAY)
    table["contract"] = pd.Series(["ESM4"] * count, dtype="str")
    high, low = np.maximum(opened, close), np.minimum(opened, close)
    for name, values in (("open", opened), ("high", high), ("low", low), ("close", close)):
        table[name], table[f"adj_{name}"] = values, values
    return table.assign(old_price=np.nan, masked=False, volume=100)


def evaluation(level: float = 5_000.0):
    target = np.random.default_rng(9).integers(-1, 2, DAYS * BARS_A_DAY).astype(float)
    return evaluate_positions(bars(level), FOLD, target, "any", "policy", *TRADING)


def test_gross_less_fees_and_slippage_is_net():
    metrics = evaluation().metrics
    contracts = metrics["fees"] / 2.10  # sides times contracts
    assert contracts == pytest.approx(round(contracts), abs=1e-9) and contracts > 100
    assert metrics["slippage"] == pytest.approx(contracts * 12.50, abs=1e-6)
    assert metrics["costs"] == metrics["fees"] + metrics["slippage"]
    assert metrics["gross_profit"] - metrics["costs"] == pytest.approx(metrics["net_profit"], abs=1e-6)
    sessions = evaluation().sessions
    assert (sessions["gross"] - sessions["profit"]).sum() == pytest.approx(metrics["costs"], abs=1e-6)


def test_the_intervals_sharpe_is_the_metric():
    made = evaluation()
    table = bars()["session"].to_numpy()
    assert made.sessions["session"].tolist() == np.unique(table[FOLD.test[0] : FOLD.test[1]]).tolist()
    interval = model_intervals(made, None, 0)["sharpe"]
    assert interval["observations"] == len(made.sessions) == 10
    assert interval["estimate"] == pytest.approx(made.metrics["sharpe"], rel=1e-9)
    returns = (made.sessions["profit"] / (made.sessions["equity"] - made.sessions["profit"])).to_numpy()
    by_hand = returns.mean() / returns.std(ddof=1) * math.sqrt(made.sessions_per_year)
    assert made.metrics["sharpe"] == pytest.approx(by_hand, rel=1e-9)


def test_a_year_is_counted_from_the_calendar_of_the_data():
    # 24 sessions on 25 weekdays: 24/25 of the weekdays of a year.
    assert evaluation().sessions_per_year == pytest.approx(24 / 25 * 365.25 * 5 / 7)
    flat = benchmark_evaluation(bars(), FOLD, "flat", *TRADING)
    assert flat.sessions_per_year == evaluation().sessions_per_year


def test_a_ranking_knows_the_year_of_its_own_rows():
    table, grid = bars(), {"window": (5.0, 9.0)}
    name = "donchian_breakout"
    search = sweep_search(name, grid, "grid", 0, seed=0, judged=9)
    chunks = [
        sweep_chunk(table, FOLD, search, name, place, grid, "sharpe", 9, 1, *TRADING, "cpu", False) for place in (0, 1)
    ]
    ranking = strategy_ranking(chunks, search, name, "sharpe", 9)
    dates = pd.to_datetime(table["session"].iloc[: FOLD.validation[1]].astype(str)).to_numpy("datetime64[D]")
    assert ranking.sessions_per_year == pytest.approx(sessions_per_year(dates))
    assert ranking.sessions_per_year != evaluation().sessions_per_year
    assert set(METRICS) <= set(ranking.table.columns) and (ranking.table["slippage"] > 0).all()
    best = strategy_evaluation(table, FOLD, ranking, "donchian_breakout", *TRADING)
    assert best.parameters == ranking.best


def test_the_linear_models_parameters_are_the_chosen_candidate():
    candidates = [
        {"horizon": horizon, "quantile": quantile, "threshold": horizon * quantile, "validation_profit": 0.0}
        for horizon in (5, 60)
        for quantile in (0.5, 0.9)
    ]
    model = LinearModel(np.zeros((2, 1)), np.zeros(2), np.ones(1), [5, 60], 60, 60 * 0.9, 4, candidates)
    assert _chosen(model) == {"horizon": 60, "quantile": 0.9, "threshold": 54.0}
