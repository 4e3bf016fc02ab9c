"""Every statistic over periods against the sessions, or bars, that the result itself shows of the same combination."""

import numpy as np
import pandas as pd
import pytest

from kernels.execution import Costs, Execution
from kernels.metrics import ALL_METRICS
from kernels.strategies import ema_cross, positions
from kernels.sweep import sweep
from tests.kernels.paths import FREE, minutes, run


def of_periods(profit: np.ndarray, capital: float, yearly: float) -> dict[str, float]:
    """The statistics of the periods with these net profits, by numpy and pandas."""
    closes = capital + np.cumsum(profit)
    before = np.concatenate([[capital], closes[:-1]])
    period = profit / before
    peak = np.maximum.accumulate(np.concatenate([[capital], closes]))[1:]
    return {
        "best_session": period.max(),
        "worst_session": period.min(),
        "positive_sessions": (period > 0).mean(),
        "volatility": period.std(ddof=1) * yearly**0.5,
        "sharpe": period.mean() / period.std(ddof=1) * yearly**0.5,
        "sortino": period.mean() / np.sqrt(np.mean(np.minimum(period, 0) ** 2)) * yearly**0.5,
        "omega": period[period > 0].sum() / -period[period < 0].sum(),
        "t_stat": period.mean() / period.std(ddof=1) * len(period) ** 0.5,
        "skew": pd.Series(period).skew(),
        "kurtosis": pd.Series(period).kurt(),
        "ulcer_index": np.sqrt(np.mean((closes / peak - 1) ** 2)),
        "var_95": np.percentile(period, 5),
        "cvar_95": np.sort(period)[: (len(period) - 1) // 20 + 1].mean(),
        "tail_ratio": abs(np.percentile(period, 95)) / abs(np.percentile(period, 5)),
    }


@pytest.mark.parametrize("returns", ["session", "bar"])
@pytest.mark.parametrize("fill", ["next_open", "close"])
@pytest.mark.parametrize("first", [38, 39, 40])  # a session ends with bar 39: before, on and after a window's first bar
def test_statistics_are_those_of_the_sessions_of_the_same_combination(random_bars, contract, returns, fill, first):
    bars = random_bars(6, bars=300, session_bars=20, rolls=2, masks=8)
    result = sweep(
        positions(), bars, instrument=contract, costs=Costs(slippage_ticks=1), capital=300_000.0, returns=returns,
        execution=Execution(fill), windows=[(first, 290)], metrics=tuple(ALL_METRICS), executor="numpy",
    )  # fmt: skip
    sessions = result.sessions(0)["profit"].to_numpy()
    bars_alone = np.diff(result.trace(0)["equity"].to_numpy()[first:], prepend=300_000.0)
    profit = sessions if returns == "session" else bars_alone
    expected = of_periods(profit, 300_000.0, result.profile["periods_per_year"])
    for name, value in expected.items():
        assert result.table[name][0] == pytest.approx(value, rel=1e-9, abs=1e-12), name


@pytest.mark.parametrize("executor", ["numpy", "cpu"])
def test_a_first_bar_that_is_a_session_of_its_own_counts(executor, program_cache):
    opened, close = [100, 100, 99, 98], [100, 99, 98, 97]
    bars = minutes(opened, close, [1] * 4, session=[20240102, 20240103, 20240103, 20240104])
    options = {
        "instrument": FREE, "capital": 100.0, "executor": executor, "cache": program_cache,
        "metrics": ["best_session", "worst_session", "positive_sessions"],
    }  # fmt: skip
    result = run(bars, returns="session", **options)
    assert result.sessions(0)["profit"].tolist() == [0.0, -2.0, -1.0]
    assert result.table.iloc[0].tolist() == [0.0, -0.02, 0.0]  # the best was -0.0102
    by_bar = run(bars, returns="bar", **options).table
    assert by_bar["best_session"][0] == 0.0 and by_bar["worst_session"][0] == pytest.approx(-1 / 98)
    rising = minutes([100, 100, 101, 102], [100, 101, 102, 103], [1] * 4, session=bars["session"])
    assert run(rising, returns="session", **options).table["worst_session"][0] == 0.0


def test_sums_over_blocks_and_a_sweep_that_goes_on_count_it_too(random_bars, contract, same_bits):
    bars = random_bars(8, bars=200, session_bars=10)
    options = {
        "instrument": contract, "capital": 1e6, "executor": "numpy", "metrics": ["best_session", "worst_session", "beta"],
        "grid": {"fast": [2, 3], "slow": [5, 9]},
    }  # fmt: skip
    start = {"windows": [(29, 200)]}  # a session ends with bar 29
    whole = sweep(ema_cross(), bars, **start, **options)
    blocks = sweep(ema_cross(), bars, blocks=4, **start, **options)
    assert same_bits(whole.table, blocks.table)
    assert blocks.session_sums().counts.sum() == len(whole.sessions(0))
    state = sweep(ema_cross(), bars.iloc[:95], windows=[(29, 95)], **options).state()
    options.pop("grid")
    assert same_bits(sweep(ema_cross(), bars, resume=state, **options).table, whole.table)
