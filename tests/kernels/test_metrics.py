"""Metrics: against formulas over the trace's equity, on degenerate accounts, and their annualisation."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kernels import tallies
from kernels.annualisation import periods_per_year, session_dates, sessions_per_year
from kernels.execution import Costs, Execution
from kernels.metrics import ALL_METRICS, MetricError, Totals, compute, metrics_markdown, ranking, reads
from kernels.order_statistics import order_statistics, period_returns
from kernels.portfolio import Terms
from kernels.strategies import ema_cross, positions
from kernels.sweep import sweep

FREE = Terms(1, 1.0, 0.0, 0.0, 0.0, 0.0)
RETURN_METRICS = ["total_return", "cagr", "volatility", "sharpe", "sortino", "calmar", "max_drawdown"]


def scores(equity, capital, periods_per_year=252.0, names=RETURN_METRICS, benchmark=None):
    """Metrics of an account with that equity at each close, every bar a period: the tallies on plain floats."""
    states, solvent = tallies.start(capital), 1.0
    levels = [1.0, *(benchmark if benchmark is not None else [1.0] * len(equity))]
    for bar, value in enumerate(np.asarray(equity, dtype=np.float64)):
        moment = tallies.Moment((), 0.0, value, capital, True, levels[bar + 1] / levels[bar] - 1.0)
        with np.errstate(all="ignore"):
            states = tallies.step(states, moment, FREE)
        solvent = 0.0 if value <= 0.0 else solvent
    final = {name: np.array([value], dtype=float) for name, value in states.items()}
    final |= {"profit": np.array([equity[-1] - capital]), "costs": np.zeros(1), "solvent": np.array([solvent])}
    returns = period_returns(np.asarray(equity, dtype=float)[:, np.newaxis], np.ones(len(equity), dtype=bool), capital)
    final |= order_statistics(returns)
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


def test_a_growth_beyond_float64_is_above_any_number():
    assert scores([300.0, 900.0], 100.0, periods_per_year=1e6)["cagr"] == math.inf
    assert scores([50.0, 20.0], 100.0, periods_per_year=1e6)["cagr"] == -1.0


def test_too_few_periods_are_undefined_and_no_loss_is_infinite():
    assert math.isnan(scores([101.0], 100.0)["sharpe"])
    found = scores([101.0, 103.0, 104.0], 100.0, names=[*RETURN_METRICS, "omega", "recovery_factor"])
    assert [found[name] for name in ("sortino", "calmar", "omega", "recovery_factor")] == [math.inf] * 4
    assert found["sharpe"] > 0
    flat = scores([100.0] * 3, 100.0, names=[*RETURN_METRICS, "omega", "recovery_factor"])
    assert all(math.isnan(flat[name]) for name in ("sortino", "calmar", "omega", "recovery_factor"))


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
        metrics=tuple(ALL_METRICS),
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
    expected = {
        **expected_of_returns(period, yearly),
        **expected_of_account(oracle, 500_000.0, years),
        **expected_against_buy_and_hold(bars, period, yearly, window, returns),
    }
    expected["calmar"] = expected["cagr"] / -expected["max_drawdown"]
    expected["recovery_factor"] = expected["total_return"] / -expected["max_drawdown"]
    assert set(expected) == set(ALL_METRICS)
    for name, value in expected.items():
        assert row[name] == pytest.approx(value, rel=1e-9, abs=1e-9 * max(1.0, abs(value))), name


def expected_of_returns(period, yearly):
    """Statistics of period returns by numpy and pandas, and by the definitions."""
    curve = pd.Series(np.concatenate([[1.0], np.cumprod(1 + period)]))
    falls = (curve / curve.cummax() - 1)[1:]
    return {
        "volatility": period.std(ddof=1) * yearly**0.5,
        "sharpe": period.mean() / period.std(ddof=1) * yearly**0.5,
        "sortino": period.mean() * yearly / (np.sqrt(np.mean(np.minimum(period, 0) ** 2)) * yearly**0.5),
        "omega": period[period > 0].sum() / -period[period < 0].sum(),
        "skew": pd.Series(period).skew(),
        "kurtosis": pd.Series(period).kurt(),
        "t_stat": period.mean() / (period.std(ddof=1) / np.sqrt(len(period))),
        "ulcer_index": np.sqrt((falls**2).mean()),
        "best_session": period.max(),
        "worst_session": period.min(),
        "positive_sessions": (period > 0).mean(),
        "var_95": np.percentile(period, 5),
        "cvar_95": np.sort(period)[: int((len(period) - 1) * 0.05) + 1].mean(),
        "tail_ratio": abs(np.percentile(period, 95)) / abs(np.percentile(period, 5)),
    }


def expected_of_account(oracle, capital, years):
    """What the fills of the ledger and its equity at every close amount to."""
    trips, path = oracle.trips, pd.Series(np.concatenate([[capital], oracle.equity]))
    peaks = np.flatnonzero((path == path.cummax()).to_numpy())
    flat = capital + np.concatenate([[0.0], np.cumsum(trips)[:-1]])
    sides = np.sign(oracle.position)
    return {
        "total_return": oracle.equity[-1] / capital - 1,
        "cagr": (oracle.equity[-1] / capital) ** (1 / years) - 1,
        "max_drawdown": (path / path.cummax() - 1).min(),
        "max_drawdown_duration": longest if (longest := np.diff(peaks, append=len(path) - 1).max()) > 1 else 0,
        "win_rate": (trips > 0).mean(),
        "profit_factor": trips[trips > 0].sum() / -trips[trips < 0].sum(),
        "expectancy": trips.mean(),
        "avg_trade": (trips / flat).mean(),
        "avg_win": trips[trips > 0].mean(),
        "avg_loss": trips[trips < 0].mean(),
        "sqn": np.sqrt(len(trips)) * trips.mean() / trips.std(ddof=1),
        "holding_time": holding_time(sides),
        "exposure": (oracle.position != 0).mean(),
        "turnover": oracle.notional / oracle.equity.mean() / years,
        "trades": len(trips),
        "fills": oracle.fills,
        "open_trades": float(oracle.position[-1] != 0),
        "rounded_to_zero": 0.0,  # no half of two contracts is less than one
        "fees": oracle.fees,
        "slippage": oracle.slippage,
        "final_equity": oracle.equity[-1],
        "net_profit": oracle.equity[-1] - capital,
        "gross_profit": oracle.equity[-1] - capital + oracle.fees + oracle.slippage,
    }


def holding_time(sides):
    """Mean length of the runs of one side, the last one apart where it is open."""
    cuts = np.flatnonzero(np.diff(sides)) + 1
    runs = [(run[0], len(run)) for run in np.split(sides, cuts)]
    return np.mean([length for side, length in runs[:-1] if side])


def expected_against_buy_and_hold(bars, period, yearly, window, returns):
    """Least squares on a contract held from the first bar on, executable bars alone, rolled at old_price."""
    level, mark, pending, levels = 0.0, None, np.nan, []
    for row in bars[["open", "close", "old_price", "masked"]].itertuples(index=False):
        pending = row.old_price if np.isnan(pending) else pending
        if not row.masked:
            if mark is None:
                level = row.close
            elif np.isnan(pending):
                level += row.close - mark
            else:
                level += pending - mark + row.close - row.open
            mark, pending = row.close, np.nan
        levels.append(level)
    held_at = bars["close"].where(~bars["masked"]).ffill().to_numpy()[window[0] : window[1]]
    points = pd.DataFrame({"level": levels[window[0] : window[1]], "price": held_at})
    sessions = bars["session"].to_numpy()[window[0] : window[1]]
    closes = points.groupby(sessions).last() if returns == "session" else points
    before = pd.concat([points.iloc[:1], closes.iloc[:-1]])
    held = (closes["level"].to_numpy() - before["level"].to_numpy()) / before["price"].to_numpy()
    slope, intercept = np.polyfit(held, period, 1)
    return {"beta": slope, "alpha": intercept * yearly}


@pytest.mark.parametrize("executor", ["numpy", "cpu"])
def test_order_statistics_do_not_depend_on_the_pieces(random_bars, contract, executor, monkeypatch, program_cache):
    bars = random_bars(9, bars=200, session_bars=11)
    options = {
        "instrument": contract,
        "grid": {"fast": [2, 3, 5], "slow": [7, 9, 12]},
        "metrics": ["var_95", "sharpe", "cvar_95", "tail_ratio"],
        "executor": executor,
        "cache": program_cache,
        "windows": [(20, 110), (80, 200)],
    }
    whole = sweep(ema_cross(), bars, **options).table
    monkeypatch.setattr("kernels.order_statistics.EQUITY_BYTES", 4000)  # two lanes a piece
    pd.testing.assert_frame_equal(sweep(ema_cross(), bars, **options).table, whole, check_exact=True)
    assert whole["var_95"].notna().all()


def test_only_requested_metrics_are_in_the_program(random_bars, contract):
    bars = random_bars(4, bars=60)
    result = sweep(positions(), bars, instrument=contract, metrics=["max_drawdown"], executor="numpy")
    assert list(result.table.columns) == ["max_drawdown"]


@pytest.mark.parametrize("name", ALL_METRICS)
def test_every_metric_is_documented(name):
    assert ALL_METRICS[name].doc and ALL_METRICS[name].source and ALL_METRICS[name].reads


def test_the_page_of_metrics_is_current():
    page = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
    assert page.read_text(encoding="utf-8") == metrics_markdown(), "run python docs/generate.py"


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


ORACLE = (
    "total_return", "cagr", "volatility", "sharpe", "sortino", "calmar", "omega", "max_drawdown", "var_95", "cvar_95",
    "tail_ratio", "beta",
)  # fmt: skip


def test_metrics_agree_with_empyrical():
    """The same equity curve through an independent library, with its own annualisation set to ours."""
    empyrical = pytest.importorskip("empyrical", reason="pip install empyrical-reloaded: an oracle for the metrics")
    draw = np.random.default_rng(8)
    returns = draw.normal(0.0004, 0.01, 400)
    market = draw.normal(0.0003, 0.009, 400)
    level = np.cumprod(1 + market)
    found = scores(equity_of(returns, 1e5), 1e5, 252.0, tuple(ORACLE), level)
    year = {"annualization": 252}
    expected = {
        "total_return": empyrical.cum_returns_final(returns),
        "cagr": empyrical.cagr(returns, **year),
        "volatility": empyrical.annual_volatility(returns, **year),
        "sharpe": empyrical.sharpe_ratio(returns, **year),
        "sortino": empyrical.sortino_ratio(returns, **year),
        "calmar": empyrical.calmar_ratio(returns, **year),
        "omega": empyrical.omega_ratio(returns, **year),
        "max_drawdown": empyrical.max_drawdown(returns),
        "var_95": empyrical.value_at_risk(returns),
        "cvar_95": empyrical.conditional_value_at_risk(returns),
        "tail_ratio": empyrical.tail_ratio(returns),
        "beta": empyrical.beta(returns, market),
    }
    for name in ORACLE:
        assert found[name] == pytest.approx(expected[name], rel=1e-9), name
