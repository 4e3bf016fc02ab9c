"""Stops and targets: levels at ticks, and when a strategy may enter again."""

from decimal import Decimal

import numpy as np
import pytest

from kernels.execution import Costs, Execution, Instrument
from kernels.expressions import col, hold, where
from kernels.portfolio import terms
from kernels.stops import _worse_tick
from kernels.strategy import Strategy
from tests.kernels.paths import FREE, minutes, run


def stopped(price, fraction, side, tick, *, goal=False):
    """The price of the exit of a position opened at ``price``, touched by a bar that spans everything."""
    bars = minutes([price] * 3, [price] * 3, [side] * 3, high=[price, price, 1e6], low=[price, price, -1e6])
    kind = {"take_profit" if goal else "stop_loss": fraction}
    result = run(bars, Strategy("s", col("target"), **kind), instrument=Instrument("X", tick, 1.0), capital=1e7)
    return price + side * result.trace(0)["profit"].iloc[-1]


@pytest.mark.parametrize(
    ("price", "fraction", "side", "tick", "goal", "expected"),
    [
        (4001.0, 0.01, 1, 0.25, False, 3960.75),  # 3960.99
        (4001.0, 0.01, -1, 0.25, False, 4041.25),  # 4041.01
        (4001.0, 0.01, 1, 0.25, True, 4041.0),
        (4001.0, 0.01, -1, 0.25, True, 3961.0),
        (4000.0, 0.01, 1, 0.25, False, 3960.0),  # a whole tick stays where it is
        (4000.0, 0.01, -1, 0.25, True, 3960.0),
        (100.0, 0.07, 1, 0.25, False, 93.0),  # 100 x 0.07 is 7.000000000000001
        (100.0, 0.29, 1, 0.1, False, 71.0),
        (75.43, 0.013, 1, 0.01, False, 74.44),  # 74.44941
        (75.43, 0.013, -1, 0.01, False, 76.42),  # 76.41059
        (20.0, 0.5, 1, 12.5, False, 0.0),
    ],
)
def test_levels_are_at_the_worse_tick(price, fraction, side, tick, goal, expected):
    assert stopped(price, fraction, side, tick, goal=goal) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("tick", ["0.25", "0.1", "0.01", "0.005", "0.0000005", "0.15", "5", "0.015625"])
def test_a_level_is_the_float_of_a_decimal_price(tick):
    agreed = terms(Costs(), Instrument("X", float(tick), 1.0), Execution())
    scale = agreed.tick_parts / agreed.tick
    for count in (1, 3, 7, 333, 10_001, 123_457):
        price = float(Decimal(tick) * count)
        for long in (True, False):
            for inside in (0.0, 0.4):
                ticks = price * scale + (inside if long else -inside)
                assert _worse_tick(ticks, 0.0, long, agreed) == price  # so a bar that touches it is seen to


def test_without_an_instrument_a_level_is_as_it_is():
    bars = minutes([4001.0] * 3, [4001.0] * 3, [1] * 3, high=[4001.0, 4001, 5000], low=[4001.0, 4001, 1])
    trace = run(bars, Strategy("s", col("target"), stop_loss=0.01), execution=Execution(sizing="units"), capital=1e7).trace(0)
    assert 4001 + trace["profit"].iloc[-1] == pytest.approx(3960.99, abs=1e-9)
    assert terms(Costs(), None, Execution()).tick == 0.0


@pytest.mark.parametrize("fill", ["next_open", "next_close", "close"])
def test_a_roll_moves_a_level_to_a_tick(fill):
    # stop of 1 % of 4001: 3960.75; the new contract opens 100.1 above the old one's last price: 4060.85, at a tick 4060.75
    bars = minutes(
        [4001.0, 4001, 4001, 4101.25, 4101.25], [4001.0, 4001, 4001, 4101.25, 4101.25], [1] * 5,
        low=[4001.0, 4001, 4001, 4101, 4000], high=[4200.0] * 5, old_price=[np.nan] * 3 + [4001.15, np.nan],
        contract=["A"] * 3 + ["B"] * 2,
    )  # fmt: skip
    strategy = Strategy("s", col("target"), stop_loss=0.01)
    trace = run(bars, strategy, instrument=FREE, execution=Execution(fill), capital=1e7).trace(0)
    assert trace["profit"].iloc[-1] == pytest.approx(0.15 + (4060.75 - 4101.25), abs=1e-6)




@pytest.mark.parametrize(
    ("fill", "expected"),
    [("next_open", [0, 1, 1, 0, 1, 1, 1]), ("next_close", [0, 1, 1, 0, 1, 1, 1]), ("close", [1, 1, 1, 1, 1, 1, 1])],
)
def test_a_fresh_signal_on_the_bar_of_the_stop_enters(fill, expected):
    # 1, then held over the closes of bars 1 and 2; stopped in bar 3, at whose close the target is given again
    bars = minutes([100] * 7, [100] * 7, [1, np.nan, np.nan, 1, 1, 1, 1], low=[100.0, 100, 100, 90, 100, 100, 100])
    trace = run(bars, Strategy("s", col("target"), stop_loss=0.05), instrument=FREE, execution=Execution(fill), capital=1e6)
    assert trace.trace(0)["position"].tolist() == expected
    assert trace.trace(0)["fills"].sum() == 3  # in, out at the stop, in again


@pytest.mark.parametrize("fill", ["next_open", "next_close", "close"])
def test_a_target_that_was_given_all_along_is_no_fresh_signal(fill):
    bars = minutes([100] * 7, [100] * 7, [1, 1, 1, 1, 1, np.nan, 1], low=[100.0, 100, 100, 90, 100, 100, 100])
    strategy = Strategy("s", col("target"), stop_loss=0.05)
    position = run(bars, strategy, instrument=FREE, execution=Execution(fill), capital=1e6).trace(0)["position"]
    assert position[3:6].tolist() == [0, 0, 0]
    assert position[6] == (1 if fill == "close" else 0)  # given after a hold: at once, or at the next bar


def test_choices_that_share_their_parts_are_read_once():
    """Forty levels, each with the one below in both of its options, took 2^40 steps to read as soon as there was a stop."""
    target = hold()
    for level in range(40):
        low, high = (where(col("target") > bound, target, value) for bound, value in ((level + 0.5, 1.0), (-level, 0.0)))
        target = where(col("target") > level, low, high)
    bars = minutes([100.0] * 4, [100.0] * 4, [0.2, 0.2, -1, -1])
    assert run(bars, Strategy("s", target, stop_loss=0.5)).trace(0)["target"].tolist() == [1.0, 1.0, 0.0, 0.0]
