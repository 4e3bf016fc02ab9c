"""A combination's trace: fills of each bar against the table's sums, and the strategy's own values in between."""

import numpy as np
import pytest

from kernels.execution import Costs
from kernels.expressions import col, param
from kernels.indicators import ema, sma, zscore
from kernels.metrics import MetricError
from kernels.strategies import ema_cross, zscore_reversion
from kernels.sweep import sweep

METRICS = ["fees", "slippage", "net_profit", "trades"]


def test_fills_add_up_to_what_was_paid(random_bars, contract):
    bars = random_bars(3, bars=300, rolls=2, masks=3)
    costs = Costs(slippage_ticks=1.0, fee_bps=0.5)
    grid = {"window": [5, 9], "entry": [0.8], "exit": [0.0]}
    result = sweep(zscore_reversion(), bars, instrument=contract, costs=costs, grid=grid, metrics=METRICS, executor="numpy")
    for row in range(2):
        trace, table = result.trace(row), result.table.iloc[row]
        assert trace["contracts"].sum() * 12.5 == pytest.approx(table["slippage"], rel=1e-12)
        assert trace["contracts"].sum() * 2.1 + trace["notional"].sum() * 0.5e-4 == pytest.approx(table["fees"], rel=1e-12)
        paid = np.diff(trace["costs"], prepend=0.0)
        assert ((paid > 0) == (trace["fills"] > 0)).all() and trace["fills"].sum() > table["trades"] > 9
        moved = np.diff(trace["position"], prepend=0.0) != 0
        assert (trace["contracts"][moved] > 0).all()


@pytest.mark.parametrize("executor", ["numpy", "cpu"])
def test_the_values_in_between_are_the_strategys(random_bars, contract, executor, program_cache):
    bars = random_bars(3, bars=200)
    fast, slow = (ema(col("adj_close"), param(name)) for name in ("fast", "slow"))
    options = {"instrument": contract, "grid": {"fast": [3, 5], "slow": [9, 20]}, "metrics": METRICS}
    result = sweep(ema_cross(), bars, executor=executor, cache=program_cache, **options)
    trace = result.trace(3, show={"fast": fast, "slow": slow, "gap": fast - slow, "above": fast > slow})
    assert trace.iloc[:, : -4].equals(result.trace(3))
    begin = result.windows[0][0]
    for name, span in (("fast", 5), ("slow", 20)):
        expected = bars["adj_close"].ewm(span=span, adjust=False).mean()
        np.testing.assert_allclose(trace[name][begin:], expected[begin:], rtol=1e-12)
        assert trace[name][:begin].isna().all()
    inside = trace[begin:]
    assert (inside["gap"] == inside["fast"] - inside["slow"]).all()
    assert (inside["above"] == (inside["gap"] > 0)).all() and inside["above"].nunique() == 2
    assert (inside["target"] > 0).equals(inside["above"] == 1.0)


def test_what_cannot_be_shown_is_refused(random_bars, contract):
    options = {"instrument": contract, "grid": {"fast": [3], "slow": [9]}, "metrics": METRICS, "executor": "numpy"}
    result = sweep(ema_cross(), random_bars(3, bars=100), **options)
    close = col("adj_close")
    for show, message in (
        ({"equity": close}, "show='equity': a trace has a column of that name"),
        ({"x": col("volume")}, "show='x' reads 'volume', which the strategy does not"),
        ({"x": ema(close, param("slwo"))}, "reads 'slwo'"),
        ({"x": sma(close, "3min")}, r"show='x' reads bar\.time, which the strategy does not"),
        ({"x": zscore(close, 80)}, "needs 79 bars, the sweep starts at 8: give it start="),
    ):
        with pytest.raises(MetricError, match=message):
            result.trace(0, show=show)
