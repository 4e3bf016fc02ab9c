"""Choices of sub-expressions: each as its own sweep gives it, over the same bars, ranked together."""

import numpy as np
import pandas as pd
import pytest

from kernels.choices import sweep_choices
from kernels.expressions import col, hold, param, where
from kernels.grid import GridError
from kernels.indicators import ema, sma, zscore
from kernels.strategy import Strategy
from kernels.sweep import sweep

CLOSE = col("adj_close")
CHOICES = {
    "signal": {"stretch": zscore(CLOSE, param("window")), "gap": (CLOSE - ema(CLOSE, 7)) / 10.0},
    "idle": {"flat": CLOSE * 0.0, "held": hold()},
}
GRID = {"window": [5, 20], "level": [0.4, 0.9, 1.5]}


def made(signal, idle):
    level = param("level")
    return Strategy("made", where(signal > level, -1.0, where(signal < -level, 1.0, idle)))


def test_every_choice_is_its_own_sweep_over_the_same_bars(random_bars, contract, same_bits, program_cache):
    bars = random_bars(2, bars=220, rolls=1)
    options = {"instrument": contract, "executor": "cpu", "cache": program_cache, "metrics": ["sharpe", "net_profit"]}
    found = sweep_choices(made, CHOICES, bars, grid=GRID, **options)
    assert [one for one, _ in found.parts] == [
        {"signal": "stretch", "idle": "flat"}, {"signal": "stretch", "idle": "held"},
        {"signal": "gap", "idle": "flat"}, {"signal": "gap", "idle": "held"},
    ]  # fmt: skip
    assert list(found.table.columns) == ["signal", "idle", "window", "level", "sharpe", "net_profit"]
    assert len(found.table) == 6 + 6 + 3 + 3
    assert found.table["window"].isna().tolist() == [False] * 12 + [True] * 6
    row = 0
    for one, result in found.parts:
        strategy = made(CHOICES["signal"][one["signal"]], CHOICES["idle"][one["idle"]])
        grid = {name: GRID[name] for name in strategy.parameters}
        alone = sweep(strategy, bars, grid={name: grid[name] for name in GRID if name in grid}, start=19, **options)
        assert result.start == 19  # of the window of 20 bars, also where no window is read
        assert same_bits(found.table["net_profit"].iloc[row : row + len(alone.table)], alone.table["net_profit"])
        assert found.trace(row + 1).equals(alone.trace(1))
        row += len(alone.table)
    profits = found.table["net_profit"].to_numpy()
    assert found.best("net_profit")["net_profit"] == np.nanmax(profits)
    assert found.ranking("net_profit")[0] == int(np.nanargmax(profits))
    assert found.profile["programs"] == 4 and found.profile["compile_seconds"] > 0
    with pytest.raises(IndexError, match="rows 0 to 17"):
        found.trace(18)


def test_choices_that_are_rows_are_one_program(random_bars, contract, same_bits):
    bars = random_bars(3, bars=200, rolls=1, gaps=4)
    signals = {"stretch": zscore(CLOSE, 9), "gap": (CLOSE - ema(CLOSE, 7)) / 10.0, "flat": CLOSE * 0.0}
    idle = {"flat": CLOSE * 0.0, "held": hold()}
    options = {"instrument": contract, "executor": "numpy", "metrics": ["sharpe", "net_profit"]}
    grid = {"level": [0.4, 0.9]}
    found = sweep_choices(made, {"signal": signals, "idle": idle}, bars, grid=grid, **options)
    assert found.profile["programs"] == 2  # a choice of the target held is no row
    assert list(found.table.columns) == ["signal", "idle", "level", "sharpe", "net_profit"]
    assert found.table["signal"].tolist() == ["stretch", "stretch", "gap", "gap", "flat", "flat"] * 2
    assert found.table["idle"].tolist() == ["flat"] * 6 + ["held"] * 6
    for place, (signal, other) in enumerate((s, i) for i in idle for s in signals):
        alone = sweep(made(signals[signal], idle[other]), bars, grid=grid, start=8, **options)
        rows = found.table.iloc[2 * place : 2 * place + 2]
        assert same_bits(rows[["sharpe", "net_profit"]], alone.table[["sharpe", "net_profit"]])
        assert found.trace(2 * place + 1).equals(alone.trace(1))


def test_a_parameter_called_window_is_not_the_number_of_a_window(random_bars, contract):
    bars, windows = random_bars(2, bars=120), [(40, 80), (60, 120)]
    found = sweep_choices(made, CHOICES, bars, grid=GRID, windows=windows, instrument=contract, executor="numpy").table
    reads = found["signal"] == "stretch"
    assert found.loc[~reads, "window"].isna().all() and found.loc[reads, "window"].isin(GRID["window"]).all()
    assert found["scored_window"].dtype == np.int64
    for _, rows in found.groupby("signal"):
        assert sorted(rows["scored_window"].unique()) == [0, 1]


def test_a_table_of_combinations_is_swept_by_every_choice(random_bars, contract):
    options = {"instrument": contract, "executor": "numpy", "metrics": ["net_profit"]}
    bars, pairs = random_bars(2, bars=120), [{"window": 5, "level": 1.0}, {"window": 9, "level": 0.5}]
    for grid in (pairs, pd.DataFrame(pairs)):
        found = sweep_choices(made, CHOICES, bars, grid=grid, **options).table
        stretch = found[(found["signal"] == "stretch") & (found["idle"] == "flat")]
        assert stretch[["window", "level"]].to_numpy().tolist() == [[5.0, 1.0], [9.0, 0.5]]
        rest = found[found["signal"] != "stretch"]
        assert set(rest["level"]) == {1.0, 0.5} and rest["window"].isna().all()


def test_strategies_without_parameters_are_scored_in_one_program(random_bars, contract, same_bits):
    options = {"instrument": contract, "executor": "numpy", "metrics": ["net_profit", "trades"], "start": 13}
    targets = {
        "trend": where(sma(CLOSE, 9) < CLOSE, 1.0, -1.0),
        "fade": where(zscore(CLOSE, 14) > 1.0, -1.0, 0.0),
        "long": 1.0,
    }
    bars = random_bars(2, bars=120)
    found = sweep_choices(lambda target: Strategy("batch", target), {"target": targets}, bars, **options)
    one = sweep_choices(lambda target: Strategy("batch", target), {"target": {"a": targets["trend"]}}, bars, **options)
    assert one.table["net_profit"].tolist() == found.table["net_profit"].tolist()[:1]
    assert found.profile["programs"] == 1 and found.table["target"].tolist() == list(targets)
    for row, target in enumerate(targets.values()):
        alone = sweep(Strategy("one", target), bars, **options).table
        assert same_bits(found.table.iloc[row : row + 1][["net_profit", "trades"]], alone[["net_profit", "trades"]])


def test_numbers_are_choices_of_a_stop(random_bars, contract):
    bars = random_bars(2, bars=120)
    bars["high"], bars["low"] = bars[["open", "close"]].max(axis=1) + 2.0, bars[["open", "close"]].min(axis=1) - 2.0
    found = sweep_choices(
        lambda stop: Strategy("stopped", where(sma(CLOSE, 5) < CLOSE, 1.0, -1.0), stop_loss=stop),
        {"stop": {"near": 0.0005, "far": 0.5}}, bars, instrument=contract, executor="numpy", metrics=["fills"],
    )  # fmt: skip
    assert found.table["fills"].iloc[0] > found.table["fills"].iloc[1]


@pytest.mark.parametrize(
    ("make", "choices", "message"),
    [
        (made, {"signal": [CLOSE]}, r"the axis 'signal' is \[col.*; give it \{name: expression\}"),
        (lambda signal: signal, {"signal": {"a": CLOSE}}, r"must return a kernels\.strategy\.Strategy"),
        (
            lambda signal: Strategy("s", CLOSE),
            {"signal": {"a": CLOSE, "b": CLOSE * 2.0}},
            "does not read the axis 'signal'",
        ),
        (lambda sharpe: Strategy("s", sharpe), {"sharpe": {"a": CLOSE, "b": -CLOSE}}, "has the name of a metric"),
    ],
)
def test_choices_that_cannot_be_swept_say_why(make, choices, message, random_bars, contract):
    with pytest.raises(GridError, match=message):
        sweep_choices(make, choices, random_bars(2, bars=80), instrument=contract)


@pytest.mark.parametrize(
    ("choices", "grid", "message"),
    [
        ({**CHOICES, "idle": {}}, GRID, "the axis 'idle' is {}; give it"),
        (CHOICES, {**GRID, "slow": [1]}, "sweeps 'slow', which no choice reads"),
        (CHOICES, {"level": [1.0]}, "parameter 'window' has no values"),
    ],
)
def test_wrong_axes_are_named(random_bars, contract, choices, grid, message):
    with pytest.raises(GridError, match=message):
        sweep_choices(made, choices, random_bars(2, bars=80), grid=grid, instrument=contract)


def test_a_name_stands_for_one_axis(random_bars, contract):
    averages = {"mean": {"simple": sma(CLOSE, param("mean")), "exponential": ema(CLOSE, param("mean"))}}
    with pytest.raises(GridError, match="an axis of the choices and of the grid"):
        sweep_choices(
            lambda mean: Strategy("m", where(mean < CLOSE, 1.0, 0.0)),
            averages,
            random_bars(2, bars=80),
            grid={"mean": [3]},
            instrument=contract,
        )
