"""A user's names against the names inside: columns, parameters and what a trace shows never stand for an internal series."""

import numpy as np
import pytest

from kernels.execution import Costs, Execution
from kernels.expressions import col, hold, param, where
from kernels.fallback import cuda_refusal
from kernels.grid import GridError
from kernels.indicators import sma
from kernels.metrics import MetricError
from kernels.portfolio import Terms
from kernels.program_inputs import Input
from kernels.simulation import RECORDED, account_graph
from kernels.strategies import ema_cross
from kernels.strategy import Strategy
from kernels.sweep import sweep
from tests.kernels.order_ledger import ohlc
from tests.kernels.shipped import same_tables

ONCE = (
    "capital", "bar open", "bar close", "bar old price", "bar mark", "bar high", "bar low", "bar buy and hold",
    "bar buy and hold before", "bar rolled", "bar masked", "period end", "bar time", "terms of trade", "terms ",
    *(f"terms {name}" for name in Terms._fields),
)  # fmt: skip
"""What internal series were called while they shared the names of columns."""

COSTS = Costs(fee_bps=0.5, slippage_ticks=1)
METRICS = ("net_profit", "fees", "sharpe", "beta", "trades")
GRID = {"level": [-0.5, 0.0, 0.5], "stop": [0.002]}


def reading(name: str) -> Strategy:
    """A strategy over a column of that name, in its own row, in a family and in a window in time."""
    own, level = col(name), param("level")
    slow = where(sma(own, "3min") > level, 1.0, hold())
    return Strategy("reading", where(own > level, slow, where(own < -level, -1.0, hold())), stop_loss=param("stop"))


def scored(name, bars, contract, executor, **options):
    given = {"instrument": contract, "costs": COSTS, "capital": 200_000.0, "metrics": METRICS, **options}
    return sweep(reading(name), bars, grid=GRID, executor=executor, **given)


@pytest.fixture(scope="module")
def bars(random_bars):
    table = ohlc(random_bars(41, bars=90, session_bars=20, rolls=2, masks=5), 41)
    return table.assign(own=np.random.default_rng(7).normal(size=90))


@pytest.fixture(scope="module")
def inside(bars, contract):
    """Every name inside: inputs, states, what is recorded, the operations, and what inputs were once called."""
    plan = scored("own", bars, contract, "numpy")._plan
    by_window = {Input.PERIOD_END, Input.BUY_AND_HOLD}  # made when a window is run
    assert {source for source in plan.columns if isinstance(source, Input)} >= set(Input) - by_window
    states = account_graph(plan.strategy, plan.conditions).initial
    return sorted({*ONCE, *(source.value for source in Input), *states, *RECORDED, "input", "state", "scored_window"})


def test_a_column_is_the_users_whatever_it_is_called(inside, bars, contract):
    short = bars.iloc[:40]
    expected, kept = scored("own", short, contract, "numpy"), short.columns.drop(["own", "target"])
    for name in inside:
        found = scored(name, short[kept].assign(**{name: short["own"]}), contract, "numpy")
        assert same_tables(found.table, expected.table), name


@pytest.mark.parametrize("name", ["terms of trade", "capital", "period end", "bar time", "bar.mark"])
def test_a_column_is_the_users_compiled_and_bar_by_bar(name, bars, contract, program_cache):
    found = scored(name, bars.assign(**{name: bars["own"]}), contract, "cpu", cache=program_cache)
    assert same_tables(found.table, scored("own", bars, contract, "numpy").table)
    shown = found.trace(1, show={"seen": col(name)})["seen"]
    assert (shown[found.start :] == bars["own"][found.start :]).all()


def test_a_column_that_is_not_there_is_missed_by_its_name(inside, bars, contract):
    without = bars.drop(columns=["own", "target"])
    for name in inside:
        with pytest.raises(ValueError, match=f"reads the column {name!r}, which the bars lack"):
            scored(name, without, contract, "numpy")


@pytest.mark.gpu
def test_a_column_is_the_users_on_a_gpu(bars, contract, program_cache):
    refusal = cuda_refusal()
    if refusal is not None:
        pytest.skip(f"no CUDA here ({refusal.reason}): {refusal.message}")
    expected = scored("own", bars, contract, "numpy").table
    for name in ("terms of trade", "capital", "period end", "bar time"):
        found = scored(name, bars.assign(**{name: bars["own"]}), contract, "cuda", cache=program_cache)
        assert same_tables(found.table, expected), name


def test_the_end_of_a_session_cannot_be_known_from_within(bars, contract):
    # was: the bar that ends a session, known at its close, on bars that have no such column at all
    for name in ("period end", "bar.period_end"):
        with pytest.raises(ValueError, match="which the bars lack"):
            sweep(Strategy("ahead", where(col(name) > 0.0, 1.0, 0.0)), bars, instrument=contract, executor="numpy")


def test_what_is_inside_prints_apart_from_columns(bars, contract):
    named = scored("bar.mark", bars.assign(**{"bar.mark": bars["own"]}), contract, "numpy")
    rows = [line.split(" is ", 1)[1] for line in str(named.program).splitlines() if line.startswith("row ")]
    assert {"bar.mark", "col('bar.mark')"} <= set(rows)


def test_a_parameter_may_be_called_like_a_state(bars, contract, same_bits):
    def strategy(name: str) -> Strategy:
        return Strategy("held", where(col("own") > param(name), 1.0, where(col("own") < -1.0, -1.0, hold())))

    given = {"instrument": contract, "metrics": ("net_profit", "trades"), "executor": "numpy"}
    for name in ("state position", "position", "target"):
        whole = sweep(strategy(name), bars, grid={name: [0.1, 0.7]}, **given)
        state = sweep(strategy(name), bars.iloc[:40], grid={name: [0.1, 0.7]}, **given).state()
        resumed = sweep(strategy(name), bars, resume=state, **given)
        assert same_tables(resumed.table, whole.table), name
        for column in ("target", "position", "equity"):
            assert same_bits(resumed.trace(1)[column][39:], whole.trace(1)[column][39:]), name


def test_a_parameter_called_like_a_column_of_a_result_is_refused(bars, contract):
    def over(name: str):
        strategy = Strategy("named", where(col("own") > param(name), 1.0, -1.0))
        return sweep(strategy, bars, grid={name: [0.0, 0.5]}, instrument=contract, metrics=["sharpe"], executor="numpy")

    for name in ("combination", "precision", "symbol", "scored_window", "sharpe"):
        with pytest.raises(GridError, match=f"parameter {name!r} has the name of a column of the result: rename it"):
            over(name)
    for name in ("row", "parameter", "step"):
        with pytest.raises(MetricError, match=f"{name!r} is a parameter of the sweep and a column of neighbours: rename"):
            over(name).neighbours(0)
    for name in ("row", "mean", "worst", "best", "lead", "neighbours"):
        with pytest.raises(MetricError, match=f"{name!r} is a parameter of the sweep and a column of stability: rename"):
            over(name).stability("sharpe")


def test_a_parameter_called_window_keeps_its_column(bars, contract):
    strategy = Strategy("named", where(sma(col("own"), param("window")) > 0.0, 1.0, -1.0))
    options = {"instrument": contract, "metrics": ["sharpe"], "executor": "numpy", "windows": [(10, 50), (50, 90)]}
    table = sweep(strategy, bars, grid={"window": [2, 3]}, **options).table
    assert table["window"].tolist() == [2, 3, 2, 3] and table["scored_window"].tolist() == [0, 0, 1, 1]


def test_hold_in_a_window_is_what_was_decided_before_it(bars, contract):
    """What a strategy held when the window begins is known there; ``start`` makes it forget."""
    decided = np.where(np.arange(90) < 5, 1.0, np.nan)
    table = bars.assign(target=decided, masked=False, old_price=np.nan, contract="C0")
    strategy = Strategy("held", where(col("target") > 0.0, 1.0, hold()))
    options = {"instrument": contract, "metrics": ["trades"], "executor": "numpy", "windows": [(40, 60)]}
    carried = sweep(strategy, table, **options).trace(0)
    assert carried["position"][40] == 0.0 and (carried["position"][41:] == 1.0).all()
    fresh = sweep(strategy, table, start=40, **options).trace(0)
    assert (fresh["position"][40:] == 0.0).all()


def test_shown_values_begin_with_the_first_decision(bars, contract):
    for fill in ("next_open", "close"):
        result = sweep(
            ema_cross(), bars, grid={"fast": [2], "slow": [5]}, instrument=contract, execution=Execution(fill=fill),
            windows=[(20, 60)], executor="numpy",
        )  # fmt: skip
        trace = result.trace(0, show={"own": col("adj_close") * 2.0, "up": col("adj_close") > 0.0, "current": hold()})
        assert trace["own"][:20].isna().all() and (trace["own"][20:] == 2.0 * bars["adj_close"][20:60]).all()
        assert trace["up"][20] == 1.0 and (trace["current"][21:].to_numpy() == trace["target"][20:-1].to_numpy()).all()
