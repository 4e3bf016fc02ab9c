"""Whole contracts: what is whole but for rounding is whole, and what is rounded to none is counted."""

import numpy as np
import pytest

from kernels.execution import Execution
from kernels.expressions import col, param, where
from kernels.indicators import sma
from kernels.portfolio import whole_contracts
from kernels.rows import WindowError, window_sizes
from kernels.strategy import Strategy
from tests.kernels.paths import FREE, minutes, run


@pytest.mark.parametrize("percent", range(1, 101))
def test_every_percent_of_a_hundred_contracts_is_that_many(percent):
    for side in (1.0, -1.0):
        assert whole_contracts(side * percent / 100, 100) == side * percent  # 0.29 x 100 was 28, 0.57 x 100 was 56
    assert whole_contracts(percent / 100 - 1e-6, 100) == percent - 1  # what lacks more than rounding is not whole


def test_sizes_are_whole_but_for_rounding():
    bars = minutes([100] * 4, [100] * 4, [0.29, 0.57, 0.57, 0.57])
    trace = run(bars, instrument=FREE, execution=Execution(contracts=100), capital=1e6).trace(0)
    assert trace["position"].tolist() == [0, 29, 57, 57]
    # an equity of 1.15 at a price of 0.05 is 22.999999999999996 in float64
    bars = minutes([0.05] * 3, [0.05] * 3, [1, 1, 1])
    trace = run(bars, instrument=FREE, execution=Execution(sizing="equity"), capital=1.15).trace(0)
    assert trace["position"].tolist() == [0, 23, 23]


def test_the_size_that_cpu_computes_has_the_bits_of_numpy(program_cache, same_bits):
    draw = np.random.default_rng(3)
    bars = minutes([100] * 60, [100] * 60, draw.integers(-100, 101, 60) / 100)
    options = {"instrument": FREE, "capital": 1e4, "grid": {"lots": [1.0, 0.5]}, "metrics": ["turnover", "rounded_to_zero"]}
    strategy = Strategy("t", col("target") * param("lots"))
    for execution in (Execution(contracts=100), Execution(sizing="equity")):
        found, expected = (
            run(bars, strategy, execution=execution, executor=name, cache=program_cache, **options).table
            for name in ("cpu", "numpy")
        )
        assert same_bits(found, expected)


def test_sizes_rounded_to_zero_are_counted():
    target = [0.2, 0.2, 0.4, 1.0, 0.0, -0.3, -0.3]
    table = run(minutes([100] * 7, [100] * 7, target), instrument=FREE, execution=Execution(contracts=3), capital=1e6).table
    # 0.6, 0.6, 1.2, 3, 0, -0.9 contracts arrive in bars 1 to 6
    assert table["rounded_to_zero"][0] == 3
    by_equity = Execution(sizing="equity")
    table = run(minutes([100] * 7, [100] * 7, target), instrument=FREE, execution=by_equity, capital=200).table
    assert table["rounded_to_zero"][0] == 4  # 0.4, 0.4, 0.8, 2, 0, -0.6 contracts


def test_what_cannot_be_rounded_to_zero_leaves_no_trace():
    bars = minutes([100] * 5, [100] * 5, [1] * 5)
    plain = Strategy("s", where(col("target") > 0.5, 1.0, -0.5))
    names = {}
    for label, execution in {"two": Execution(contracts=2), "one": Execution(contracts=1)}.items():
        result = run(bars, plain, instrument=FREE, execution=execution, metrics=["rounded_to_zero"])
        names[label] = [state.name for state in result.program.program.states]
    assert names["two"] == [] and "rounded" in names["one"]  # half of two contracts is one, half of one is none


def test_a_window_that_is_a_share_of_bars_is_whole():
    close = np.arange(1.0, 200.0)
    bars = minutes(close, close, np.ones(len(close)))
    for share, bars_of_it in ((0.29, 29), (0.57, 57)):
        assert window_sizes(sma(col("close"), param("long") * share), {"long": np.array([100.0])}).tolist() == [bars_of_it]
    mean = Strategy("m", where(col("close") > sma(col("close"), param("long") * 0.29), 1.0, 0.0))
    assert run(bars, mean, grid={"long": [100.0]}).start == 28
    with pytest.raises(WindowError, match=r"= 2\.5: must be a whole number of bars"):
        run(bars, mean, grid={"long": [2.5 / 0.29]})
