"""Metrics: against formulas over the trace's equity, on degenerate accounts, and their annualisation."""

import math

import numpy as np
import pandas as pd
import pytest

from kernels import tallies
from kernels.annualisation import periods_per_year, session_dates, sessions_per_year
from kernels.execution import Costs, Execution
from kernels.metrics import METRICS, MetricError, Totals, compute, ranking, reads
from kernels.portfolio import START, BarInputs, Terms
from kernels.strategies import positions
from kernels.sweep import sweep

FREE = Terms(1, 1.0, 0.0, 0.0, 0.0, 0.0)
RETURN_METRICS = ["total_return", "cagr", "volatility", "sharpe", "sortino", "calmar", "max_drawdown"]


def scores(equity, capital, periods_per_year=252.0, names=RETURN_METRICS):
    """Metrics of an account with that equity at each close, every bar a period: the tallies on plain floats."""
    states, lowest = tallies.start(capital), capital
    bar = BarInputs(1.0, 1.0, math.nan, False, True)
    for value in equity:
        value = np.float64(value)
        after = START._replace(profit=value - capital)
        with np.errstate(all="ignore"):
            states = tallies.step(states, tallies.Moment(START, after, 0.0, value, bar, True), FREE)
        lowest = min(lowest, value)
    final = {name: np.array([value], dtype=float) for name, value in states.items()}
    final |= {"profit": np.array([equity[-1] - capital]), "costs": np.zeros(1), "lowest": np.array([lowest])}
    totals = Totals(final, capital, len(equity), len(equity), periods_per_year, FREE)
    return {name: float(values[0]) for name, values in compute(names, totals).items()}


def equity_of(returns, capital):
    return capital * np.cumprod(1.0 + np.asarray(returns))


@pytest.mark.parametrize("returns", [[0.001] * 250, [0.0] * 250, [0.0003] * 120])
def test_constant_returns_have_no_sharpe(returns):
    # case B08: the spread of these is rounding, and 7e16 would win every ranking
    found = scores(equity_of(returns, 100_000.0), 100_000.0)
    assert math.isnan(found["sharpe"]) and math.isnan(found["sortino"])
    assert found["volatility"] == 0.0


def test_sharpe_of_small_but_genuine_spread():
    returns = [0.001, 0.001001] * 50
    expected = np.mean(returns) / np.std(returns, ddof=1) * 252**0.5
    assert scores(equity_of(returns, 1e5), 1e5)["sharpe"] == pytest.approx(expected, rel=1e-6)


def test_annualised_by_the_periods_of_the_calendar():
    # case B09: 252 days of 46 half hours
    returns = [0.0004, -0.0002, 0.0003, -0.0001, 0.0002, -0.0003, 0.0005, 0.0001]
    assert scores(equity_of(returns, 1e6), 1e6, 11592.0)["sharpe"] == pytest.approx(41.76526762296435, rel=1e-9)


@pytest.mark.parametrize(
    ("capital", "equity", "drawdown"),
    [
        (100_000.0, [88_000, 77_000, 80_000], -0.23),  # case B10: the capital is the first peak
        (100_000.0, [88_000], -0.12),
        (1000.0, [-200, -500, -1000], -2.0),  # case B11
        (1000.0, [500, 0, 250], -1.0),
        (100.0, [110, 121, 99], 99 / 121 - 1),
        (100.0, [110, 121, 130], 0.0),
    ],
)
def test_drawdown_by_hand(capital, equity, drawdown):
    assert scores(equity, capital)["max_drawdown"] == pytest.approx(drawdown, abs=1e-15)


@pytest.mark.parametrize("equity", [[-200, -500, -1000], [500, 0, 250]])
def test_a_ruined_account_has_no_return_statistics(equity):
    # case B11: percentage returns of a negative equity would be positive, or infinite
    found = scores(equity, 1000.0)
    assert all(math.isnan(found[name]) for name in ("sharpe", "sortino", "cagr", "calmar", "volatility"))
    assert found["total_return"] == equity[-1] / 1000 - 1


def test_a_growth_beyond_float64_is_undefined():
    assert math.isnan(scores([300.0, 900.0], 100.0, periods_per_year=1e6)["cagr"])


def test_too_few_periods_and_no_losses_are_undefined():
    assert math.isnan(scores([101.0], 100.0)["sharpe"])
    found = scores([101.0, 103.0, 104.0], 100.0)
    assert math.isnan(found["sortino"]) and math.isnan(found["calmar"]) and found["sharpe"] > 0


@pytest.mark.parametrize("returns", ["session", "bar"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_metrics_equal_independent_formulas_on_the_trace(random_bars, ledger, contract, returns, seed):
    bars = random_bars(seed, bars=400, session_bars=30, rolls=3, masks=15)
    costs = Costs(fee_bps=0.1, slippage_ticks=1)
    window = (37, 391)
    result = sweep(
        positions(),
        bars,
        instrument=contract,
        costs=costs,
        capital=500_000.0,
        execution=Execution(contracts=2),
        windows=[window],
        returns=returns,
        executor="numpy",
    )
    row, trace = result.table.iloc[0], result.trace(0)
    scored = trace.iloc[window[0] :]
    oracle = ledger(bars.iloc[: window[1]], trace["target"].to_numpy(), contract, costs, 500_000.0, 2, first=window[0])
    np.testing.assert_allclose(scored["equity"], oracle.equity, rtol=1e-12)
    closes = scored.groupby("session")["equity"].last() if returns == "session" else scored["equity"]
    period = np.diff(np.concatenate([[500_000.0], closes])) / np.concatenate([[500_000.0], closes[:-1]])
    yearly = result.profile["periods_per_year"]
    years = len(period) / yearly
    path = pd.Series(np.concatenate([[500_000.0], oracle.equity]))
    expected = {
        "total_return": oracle.equity[-1] / 500_000 - 1,
        "cagr": (oracle.equity[-1] / 500_000) ** (1 / years) - 1,
        "volatility": period.std(ddof=1) * yearly**0.5,
        "sharpe": period.mean() / period.std(ddof=1) * yearly**0.5,
        "sortino": period.mean() * yearly / (np.sqrt(np.mean(np.minimum(period, 0) ** 2)) * yearly**0.5),
        "max_drawdown": (path / path.cummax() - 1).min(),
        "win_rate": (oracle.trips > 0).mean(),
        "profit_factor": oracle.trips[oracle.trips > 0].sum() / -oracle.trips[oracle.trips < 0].sum(),
        "expectancy": oracle.trips.mean(),
        "exposure": (oracle.position != 0).mean(),
        "turnover": oracle.notional / oracle.equity.mean() / years,
        "trades": len(oracle.trips),
        "fees": oracle.fees,
        "slippage": oracle.slippage,
        "final_equity": oracle.equity[-1],
        "net_profit": oracle.equity[-1] - 500_000,
        "gross_profit": oracle.equity[-1] - 500_000 + oracle.fees + oracle.slippage,
    }
    expected["calmar"] = expected["cagr"] / -expected["max_drawdown"]
    assert set(expected) == set(METRICS)
    for name, value in expected.items():
        assert row[name] == pytest.approx(value, rel=1e-9, abs=1e-7), name


def test_only_requested_metrics_are_in_the_program(random_bars, contract):
    bars = random_bars(4, bars=60)
    result = sweep(positions(), bars, instrument=contract, metrics=["max_drawdown"], executor="numpy")
    assert list(result.table.columns) == ["max_drawdown"]


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_documented(name):
    assert METRICS[name].doc and METRICS[name].reads


def test_unknown_metric_lists_the_known_ones():
    with pytest.raises(MetricError, match=r"metric 'sharp' is unknown: use some of total_return, cagr"):
        reads(["sharp"])


def test_ranking_skips_nan_and_keeps_the_order_of_ties():
    values = np.array([np.nan, 1.0, 3.0, np.nan, 3.0, 2.0])
    assert ranking("sharpe", values).tolist() == [2, 4, 5, 1]
    assert ranking("volatility", values).tolist() == [1, 5, 2, 4]
    assert ranking("sharpe", np.array([np.nan])).tolist() == []


def dates(*days):
    return np.array(days, dtype="datetime64[D]")


def test_sessions_a_year_by_hand():
    week = np.arange("2024-03-04", "2024-03-09", dtype="datetime64[D]")  # Monday to Friday
    assert sessions_per_year(week) == pytest.approx(365.25 * 5 / 7)
    assert sessions_per_year(week[[0, 1, 3, 4]]) == pytest.approx(4 / 5 * 365.25 * 5 / 7)  # a holiday on Wednesday
    assert sessions_per_year(np.arange("2024-03-04", "2024-03-18", dtype="datetime64[D]")) == pytest.approx(365.25)
    assert sessions_per_year(dates("2024-03-05")) == pytest.approx(365.25 * 5 / 7)
    year = np.arange("2023-01-01", "2024-01-01", dtype="datetime64[D]")
    weekdays = year[np.is_busday(year)]
    assert len(weekdays) == 260
    assert sessions_per_year(np.delete(weekdays, [3, 50, 99, 120, 150, 170, 200, 230])) == pytest.approx(252, abs=1)


def test_bars_a_year_count_the_bars_of_a_session():
    # half hours of a 23-hour session: never sqrt(252), never 24 hours
    stamps = np.concatenate(
        [
            pd.date_range(f"{day}T00:00", periods=46, freq="30min", tz="UTC").as_unit("ns")
            for day in ("2024-03-04", "2024-03-05", "2024-03-06", "2024-03-07", "2024-03-08")
        ]
    )
    bars = pd.DataFrame({"ts_event": pd.to_datetime(stamps, utc=True).as_unit("ns")})
    assert periods_per_year(bars, "bar") == pytest.approx(46 * 365.25 * 5 / 7)
    assert periods_per_year(bars, "session") == pytest.approx(365.25 * 5 / 7)
    labelled = bars.assign(session=np.repeat([20240304, 20240305, 20240306, 20240307, 20240308], 46).astype(np.int32))
    assert (session_dates(labelled) == session_dates(bars)).all()
