"""A sweep cut in two and continued from its state equals one run, to the bit: positions, orders, tallies, indicators."""

import numpy as np
import pandas as pd
import pytest

from kernels.execution import Costs, Execution
from kernels.expressions import col, hold, param, where
from kernels.fallback import cuda_refusal
from kernels.indicators import ema, rsi, sma
from kernels.metrics import METRICS
from kernels.strategies import donchian_breakout, ema_cross, zscore_reversion
from kernels.strategy import Strategy
from kernels.sweep import SweepError, sweep

SOME = ("total_return", "sharpe", "max_drawdown", "trades", "win_rate", "beta", "best_session", "holding_time")
CLOSE = col("adj_close")


def stopped() -> Strategy:
    """Long above an average, short below, held near it, with a stop and a target."""
    average = sma(ema(CLOSE, 3), param("window"))
    target = where(average + 1.0 < CLOSE, 1.0, where(average - 1.0 > CLOSE, -1.0, hold()))
    return Strategy("stopped", target, stop_loss=param("stop"), take_profit=0.004)


def strength() -> Strategy:
    """Half a position against RSI."""
    return Strategy("strength", where(rsi(CLOSE, param("window")) > 60.0, -0.5, hold()))


RUNS = {
    "ema_cross": (ema_cross, {"fast": [3, 5], "slow": [8, 13]}, {}),
    "zscore": (zscore_reversion, {"window": [9], "entry": [0.8, 1.3], "exit": [0.2]}, {}),
    "channel": (donchian_breakout, {"window": [4, 9]}, {}),
    "stops": (stopped, {"window": [4, 9], "stop": [0.001, 0.003]}, {}),
    "stops at closes": (stopped, {"window": [4], "stop": [0.001]}, {"execution": Execution(fill="close")}),
    "delayed": (stopped, {"window": [4], "stop": [0.002]}, {"execution": Execution(signal_delay=2)}),
    "equity": (strength, {"window": [5, 8]}, {"instrument": None, "costs": Costs(fee_bps=1.0), "capital": 1.0}),
    "rebalanced": (strength, {"window": [5]}, {"execution": Execution(sizing="equity", contracts=1, rebalance=True)}),
}


def priced(bars: pd.DataFrame) -> pd.DataFrame:
    ends = bars[["open", "close"]]  # of a bar without levels its whole range
    basis = bars["close"] - bars["adj_close"]
    high, low = np.fmax(bars["adj_high"] + basis, ends.max(axis=1)), np.fmin(bars["adj_low"] + basis, ends.min(axis=1))
    return bars.assign(high=high, low=low)


@pytest.mark.parametrize(("name", "returns"), [*((name, "session") for name in RUNS), ("stops", "bar")])
def test_cut_in_two_equals_one_run(name, returns, random_bars, contract, same_bits):
    make, grid, options = RUNS[name]
    bars = priced(random_bars(31, bars=150, session_bars=30, rolls=3, masks=6, gaps=3))
    given = {
        "instrument": contract, "costs": Costs(slippage_ticks=1), "capital": 300_000.0, "metrics": tuple(METRICS),
        "returns": returns, "executor": "numpy", **options,
    }  # fmt: skip
    whole = sweep(make(), bars, grid=grid, **given)
    for cut in (40, 90, 91, 149):  # within a session, at its end, after its end, one bar before the last
        state = sweep(make(), bars.iloc[:cut], grid=grid, **given).state()
        found = sweep(make(), bars, resume=state, **given)
        for column in whole.table.columns:
            assert same_bits(found.table[column], whole.table[column]), (column, cut)
        ours, theirs = found.trace(0), whole.trace(0)
        for column in ("target", "position", "equity", "profit", "costs"):
            assert same_bits(ours[column][cut - 1 :], theirs[column][cut - 1 :])
            assert ours[column][: cut - 1].isna().all()


def test_continued_twice_and_on_threads(random_bars, contract, same_bits, program_cache):
    bars = priced(random_bars(32, bars=260, session_bars=30, rolls=2, masks=4))
    grid = {"window": [4, 7, 9], "stop": [0.001, 0.002, 0.003]}
    given = {"instrument": contract, "metrics": SOME, "capital": 300_000.0, "cache": program_cache, "threads": 2}
    whole = sweep(stopped(), bars, grid=grid, executor="numpy", windows=[(50, 260)], **given)
    first = sweep(stopped(), bars, grid=grid, executor="cpu", windows=[(50, 130)], **given)
    second = sweep(stopped(), bars.iloc[:200], executor="numpy", resume=first.state(), row_bytes=5000, **given)
    assert second.windows == ((50, 200),) and second.start == whole.start
    third = sweep(stopped(), bars, executor="cpu", resume=second.state(), **given)
    for column in whole.table.columns:
        assert same_bits(third.table[column], whole.table[column]), column
    assert third.best("sharpe").equals(whole.best("sharpe"))


@pytest.mark.gpu
def test_continued_on_a_gpu(random_bars, contract, same_bits, program_cache):
    refusal = cuda_refusal()
    if refusal is not None:
        pytest.skip(f"no CUDA here ({refusal.reason}): {refusal.message}")
    bars = priced(random_bars(32, bars=260, session_bars=30, rolls=2, masks=4))
    grid = {"window": [4, 7, 9], "stop": [0.001, 0.002, 0.003]}
    given = {"instrument": contract, "metrics": SOME, "capital": 300_000.0, "cache": program_cache}
    whole = sweep(stopped(), bars, grid=grid, executor="numpy", **given)
    state = sweep(stopped(), bars.iloc[:130], grid=grid, executor="cuda", **given).state()
    found = sweep(stopped(), bars, executor="cuda", resume=state, **given)
    for column in whole.table.columns:
        assert same_bits(found.table[column], whole.table[column]), column


def test_the_state_is_two_tables(random_bars, contract):
    bars = random_bars(33, bars=120)
    result = sweep(ema_cross(), bars, grid={"fast": [3], "slow": [8, 13]}, instrument=contract, metrics=["trades"],
                   executor="numpy")  # fmt: skip
    state = result.state()
    assert state.bar == 119 and state.ts_event == bars["ts_event"].iloc[119] and state.start == 12
    assert state.combinations.to_dict("list") == {"fast": [3, 3], "slow": [8, 13]}
    trace = result.trace(1).iloc[118]
    for name in ("position", "profit", "costs", "target"):
        assert state.values[name].iloc[1] == trace[name]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": {"fast": [3], "slow": [8]}}, "leave out grid="),
        ({"windows": [(0, 50)]}, "leave out windows="),
        ({"top": 3}, "leave out top="),
        ({"metrics": ["sharpe"]}, "the state lacks .*return_squares"),
        ({"metrics": ["var_95"]}, "need all returns"),
        ({"capital": 5.0}, r"came to be under .*capital 100000\.0.*, not .*capital 5\.0"),
        ({"costs": Costs(slippage_ticks=2)}, "give the same settings"),
        ({"precision": "fp32", "executor": "cuda"}, "in 'fp64' alone"),
    ],
)
def test_what_does_not_fit_the_state_is_named(change, message, random_bars, contract):
    bars = random_bars(33, bars=120)
    given = {"instrument": contract, "metrics": ["trades"], "executor": "numpy"}
    state = sweep(ema_cross(), bars[:100], grid={"fast": [3], "slow": [8]}, **given).state()
    with pytest.raises(SweepError, match=message):
        sweep(ema_cross(), bars, resume=state, **(given | change))


def test_other_bars_and_strategies_are_refused(random_bars, contract):
    bars = random_bars(33, bars=120)
    given = {"instrument": contract, "metrics": ["trades"], "executor": "numpy"}
    state = sweep(ema_cross(), bars[:100], grid={"fast": [3], "slow": [8]}, **given).state()
    with pytest.raises(SweepError, match=r"stands before bar 99 of .*; here that bar is absent: there are 80 bars"):
        sweep(ema_cross(), bars[:80], resume=state, **given)
    with pytest.raises(SweepError, match="here that bar is 2024-01-02 01:49"):
        sweep(ema_cross(), bars[10:], resume=state, **given)
    with pytest.raises(SweepError, match=r"of the strategy ema_cross \w{12}, not donchian_breakout \w{12}"):
        sweep(donchian_breakout(), bars, resume=state, **given)
    revised = bars.assign(close=bars["close"] + 1.0 * (bars.index == 50))
    with pytest.raises(SweepError, match=r"the 99 bars before the state .* the past was revised"):
        sweep(ema_cross(), revised, resume=state, **given)
    target, stopped = ema_cross().target, Strategy("ema_cross", ema_cross().target, stop_loss=0.01)
    bars["high"], bars["low"] = bars["open"] + 9.0, bars["open"] - 9.0
    for other in (stopped, Strategy("ema_cross", -1.0 * target)):  # of the same name, but not the same
        with pytest.raises(SweepError, match=r"of the strategy ema_cross \w{12}, not ema_cross \w{12}"):
            sweep(other, bars, resume=state, **given)
    kept = sweep(ema_cross(), bars, grid={"fast": [3], "slow": [8]}, **(given | {"metrics": ["var_95"]}))
    with pytest.raises(SweepError, match="need all returns"):
        kept.state()
