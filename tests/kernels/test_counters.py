"""Which states a kernel may keep as integers: those that count, and nothing that could overflow, round or be -0."""

import pytest

from kernels.counters import counting_states
from kernels.expressions import col
from kernels.hoisting import hoist
from kernels.metrics import METRICS, reads
from kernels.trace import trace
from kernels.values import where
from tests.kernels.shipped import CASES


def counting(step, **initial):
    program = hoist(trace(step, initial)).program
    return counting_states(program, program)


def states(make):
    return lambda given: (make(given), {})


def test_a_state_that_adds_sets_or_keeps_a_small_constant_counts():
    up = col("x") > 0.0
    found = counting(
        states(lambda s: {"ups": where(up, s["ups"] + 1.0, s["ups"]), "run": where(up, s["run"] + 1.0, 0.0)}),
        ups=0.0, run=0.0,
    )  # fmt: skip
    assert found == {"ups", "run"}


def test_the_longest_of_a_counter_counts_too():
    up = col("x") > 0.0

    def step(s):
        run = where(up, s["run"] + 1.0, 0.0)
        return {"run": run, "longest": where(run > s["longest"], run, s["longest"])}

    assert counting(states(step), run=0.0, longest=0.0) == {"run", "longest"}


def test_a_sum_of_counters_may_overflow_and_stays_a_float():
    # 1 + 2 + … + n passes 2^31 at n = 65,536
    found = counting(states(lambda s: {"n": s["n"] + 1.0, "area": s["area"] + s["n"]}), n=0.0, area=0.0)
    assert found == frozenset()  # and n is needed as a float at every bar


@pytest.mark.parametrize("start", [0.5, -0.0, 17.0, float("nan"), float("inf")])
def test_a_start_that_is_no_small_whole_number_stays_a_float(start):
    assert counting(states(lambda s: {"n": s["n"] + 1.0}), n=start) == frozenset()


@pytest.mark.parametrize("added", [0.5, 100.0, col("x")])
def test_what_is_added_must_be_small_and_whole(added):
    assert counting(states(lambda s: {"n": s["n"] + added}), n=0.0) == frozenset()


def test_a_counter_that_prices_need_at_every_bar_stays_a_float():
    def step(s):
        side = where(col("x") > 0.0, 1.0, -1.0)
        return {"side": side, "sum": s["sum"] + s["side"] * col("y")}

    assert counting(states(step), side=0.0, sum=0.0) == frozenset()


def test_an_account_counts_trades_and_keeps_its_position_a_float():
    case = next(case for case in CASES if case.name == "ema_cross_all")
    program = case.program()
    found = counting_states(program, program)
    assert {"trades", "wins", "losses", "fills", "solvent"} <= found
    assert not found & {"target", "position", "profit", "costs", "return_sum", "held_bars"}
    assert found <= set(reads(tuple(METRICS)))


def test_many_small_numbers_added_in_one_bar_may_overflow_and_stay_floats():
    # 16 doubled ten times is 16,384 a bar: past 2^31 after 131,072 bars
    def doubled(times):
        def step(s):
            added = where(s["run"] > 2.0, 16.0, 0.0)
            for _ in range(times):
                added = added + added
            return {"n": s["n"] + added, "run": where(col("x") > 0.0, s["run"] + 1.0, 0.0)}

        return states(step)

    assert counting(doubled(0), n=0.0, run=0.0) == {"n", "run"}
    assert counting(doubled(1), n=0.0, run=0.0) == counting(doubled(10), n=0.0, run=0.0) == {"run"}

    def by_ones(s):
        n = s["n"]
        for _ in range(100):
            n = n + 1.0
        return {"n": n}

    assert counting(states(by_ones), n=0.0) == frozenset()
