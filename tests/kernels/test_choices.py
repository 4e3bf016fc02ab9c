"""Choices of sub-expressions: each as its own sweep gives it, over the same bars, ranked together."""

import warnings

import numpy as np
import pandas as pd
import pytest

from kernels.dispatch import FallbackWarning
from kernels.expressions import choice, clip, col, hold, lag, param, prev, scan, where
from kernels.fallback import cuda_refusal
from kernels.grid import GridError, combinations
from kernels.indicators import ema, rsi, sma, zscore
from kernels.metrics import MetricError
from kernels.plots import plot_heat_map, plot_parallel
from kernels.preparation import SweepError
from kernels.result_file import read_parquet, write_parquet
from kernels.sampling import random_combinations
from kernels.strategy import Strategy
from kernels.sweep import sweep, warm_up
from kernels.values import ExpressionError, constant

CLOSE = col("adj_close")
SIGNALS = {"stretch": zscore(CLOSE, param("window")), "gap": (CLOSE - ema(CLOSE, 7)) / 10.0}
IDLE = {"flat": CLOSE * 0.0, "held": hold()}
GRID = {"window": [5, 20], "level": [0.4, 0.9, 1.5]}


def made(signal, idle):
    level = param("level")
    return Strategy("made", where(signal > level, -1.0, where(signal < -level, 1.0, idle)))


CHOSEN = made(choice("signal", SIGNALS), choice("idle", IDLE))


@pytest.fixture
def quick(contract):
    return {"instrument": contract, "executor": "numpy", "metrics": ["sharpe", "net_profit"]}


def test_every_choice_is_its_own_sweep_over_the_same_bars(random_bars, contract, same_bits, program_cache):
    bars = random_bars(2, bars=220, rolls=1)
    options = {"instrument": contract, "executor": "cpu", "cache": program_cache, "metrics": ["sharpe", "net_profit"]}
    found = sweep(CHOSEN, bars, grid=GRID, **options)
    assert [part.names for part in found.parts] == [
        {"signal": "stretch", "idle": "flat"}, {"signal": "stretch", "idle": "held"},
        {"signal": "gap", "idle": "flat"}, {"signal": "gap", "idle": "held"},
    ]  # fmt: skip
    assert found.parameters == ("signal", "idle", "window", "level")
    assert list(found.table.columns) == [*found.parameters, "sharpe", "net_profit"]
    assert len(found.table) == 6 + 6 + 3 + 3
    assert found.table["window"].isna().tolist() == [False] * 12 + [True] * 6
    row = 0
    for part in found.parts:
        strategy = made(SIGNALS[part.names["signal"]], IDLE[part.names["idle"]])
        grid = {name: values for name, values in GRID.items() if name in strategy.parameters}
        alone = sweep(strategy, bars, grid=grid, start=19, **options)
        assert part.result.start == found.start == 19  # of the window of 20 bars, also where no window is read
        assert same_bits(found.table["net_profit"].iloc[row : row + len(alone.table)], alone.table["net_profit"])
        assert found.trace(row + 1).equals(alone.trace(1)) and found.sessions(row + 1).equals(alone.sessions(1))
        row += len(alone.table)
    profits = found.table["net_profit"].to_numpy()
    assert found.best("net_profit")["net_profit"] == np.nanmax(profits)
    assert found.ranking("net_profit")[0] == int(np.nanargmax(profits))
    assert found.profile["programs"] == 4 and found.profile["compile_seconds"] > 0
    assert found.profile["combinations"] == 18 and found.profile["executor"] == "cpu"
    assert len(found.programs) == 4 and found.programs[0] is not None
    with pytest.raises(SweepError, match=r"made 4 programs: print those of result\.programs"):
        print(found.program)
    with pytest.raises(IndexError, match="rows 0 to 17"):
        found.trace(18)


def test_choices_that_are_rows_are_one_program(random_bars, quick, same_bits):
    bars = random_bars(3, bars=200, rolls=1, gaps=4)
    signals = {"stretch": zscore(CLOSE, 9), "gap": (CLOSE - ema(CLOSE, 7)) / 10.0, "flat": CLOSE * 0.0}
    grid = {"level": [0.4, 0.9]}
    found = sweep(made(choice("signal", signals), choice("idle", IDLE)), bars, grid=grid, **quick)
    assert found.profile["programs"] == 2  # a choice of the target held is no row
    assert list(found.table.columns) == ["signal", "idle", "level", "sharpe", "net_profit"]
    assert found.table["signal"].tolist() == ["stretch", "stretch", "gap", "gap", "flat", "flat"] * 2
    assert found.table["idle"].tolist() == ["flat"] * 6 + ["held"] * 6
    for place, (signal, other) in enumerate((s, i) for i in IDLE for s in signals):
        alone = sweep(made(signals[signal], IDLE[other]), bars, grid=grid, start=8, **quick)
        rows = found.table.iloc[2 * place : 2 * place + 2]
        assert same_bits(rows[["sharpe", "net_profit"]], alone.table[["sharpe", "net_profit"]])
        assert found.trace(2 * place + 1).equals(alone.trace(1))


def test_conditions_are_rows_too(random_bars, quick, same_bits):
    bars = random_bars(4, bars=150, gaps=3)
    entries = {"above": sma(CLOSE, 9) < CLOSE, "strong": rsi(CLOSE, 6) > 55.0}

    def entering(entry):
        return Strategy("entering", where(entry & ~prev(entry), param("size"), where(entry, hold(), 0.0)))

    grid = {"size": [0.5, 1.0]}
    found = sweep(entering(choice("entry", entries)), bars, grid=grid, **quick)
    assert found.profile["programs"] == 1 and found.program is not None
    for place, entry in enumerate(entries.values()):
        alone = sweep(entering(entry), bars, grid=grid, start=found.start, **quick).table
        assert same_bits(found.table.iloc[2 * place : 2 * place + 2][["net_profit"]], alone[["net_profit"]])


def test_a_choice_stands_anywhere(random_bars, quick, same_bits):
    """In windows, lags, steps and starts of scans, sources of windows, constraints; the same axis in several places."""
    bars = random_bars(5, bars=160, rolls=1)

    def built(pick):
        decay = pick("decay", {"slow": 0.9, "swept": param("decay_by")})
        window = pick("window", {"short": 5, "swept": param("n")})
        price = pick("price", {"close": CLOSE, "tilted": CLOSE + ema(CLOSE, window) * 0.01})
        smooth = scan(lambda state, x: decay * state + (1.0 - decay) * x, decay, price, warm_up=window)
        level = sma(price - prev(price), window) + clip(lag(smooth, window) * 0.0, -1.0, 1.0)
        target = where(level > 0.0, 1.0, where(smooth < CLOSE, 0.5, -1.0))
        return Strategy("built", target, constraint=window < 9.0)

    grid = {"decay_by": [0.5, 0.7], "n": [4, 8, 12]}
    found = sweep(built(choice), bars, grid=grid, **quick)
    assert found.parameters == (*built(choice).choices, "decay_by", "n")
    for part in found.parts:
        strategy = built(lambda axis, options, names=part.names: constant(options[names[axis]]))
        own = {name: values for name, values in grid.items() if name in strategy.parameters}
        alone = sweep(strategy, bars, grid=own, start=found.start, **quick).table
        assert len(alone) == 2 ** len(own)  # n = 12 breaks the constraint
        assert same_bits(part.result.table[["net_profit"]], alone[["net_profit"]])
    assert found.profile["programs"] == 8


def test_a_choice_inside_a_choice_is_made_where_it_is_read(random_bars, quick):
    bars = random_bars(6, bars=120)
    inner = choice("average", {"simple": sma(CLOSE, 9), "smooth": ema(CLOSE, 9)})
    signal = choice("signal", {"cross": CLOSE - inner, "held": hold() + 0.1, "plain": zscore(CLOSE, param("n"))})
    found = sweep(Strategy("nested", where(signal > 0.0, 1.0, -1.0)), bars, grid={"n": [5, 8]}, **quick)
    assert list(found.table.columns[:3]) == ["signal", "average", "n"]
    assert found.table["signal"].tolist() == ["cross", "cross", "held", "plain", "plain"]
    assert found.table["average"].fillna("").tolist() == ["simple", "smooth", "", "", ""]
    assert found.profile["programs"] == 3  # both averages are rows of one
    again = sweep(Strategy("nested", where(signal > 0.0, 1.0, -1.0)), bars, grid=found.table[["signal", "average", "n"]],
                  **quick)  # fmt: skip
    assert again.table.equals(found.table)


def test_the_grid_keeps_some_options(random_bars, quick):
    bars = random_bars(2, bars=120)
    whole = sweep(CHOSEN, bars, grid=GRID, **quick).table
    kept = sweep(CHOSEN, bars, grid={**GRID, "signal": np.array(["gap"]), "idle": ["held", "flat"]}, start=19, **quick)
    assert kept.table["signal"].tolist() == ["gap"] * 6 and kept.table["idle"].tolist() == ["held"] * 3 + ["flat"] * 3
    assert kept.table["window"].isna().all()  # an axis of the grid that no option kept reads
    rows = whole[(whole["signal"] == "gap") & (whole["idle"] == "held")]
    assert kept.table["net_profit"].tolist()[:3] == rows["net_profit"].tolist()
    named = pd.DataFrame({"signal": ["gap", "stretch"], "window": [np.nan, 5.0], "level": [0.9, 0.4]})
    found = sweep(CHOSEN, bars, grid=named, start=19, **quick).table
    assert found[["signal", "level"]].to_numpy().tolist() == [
        ["gap", 0.9], ["gap", 0.9], ["stretch", 0.4], ["stretch", 0.4],
    ]  # fmt: skip
    assert warm_up(CHOSEN, GRID) == 19 and warm_up(CHOSEN, {**GRID, "signal": ["gap"]}) == 6  # of ema(close, 7)


def test_a_parameter_called_window_is_not_the_number_of_a_window(random_bars, contract):
    bars, windows = random_bars(2, bars=120), [(40, 80), (60, 120)]
    found = sweep(CHOSEN, bars, grid=GRID, windows=windows, instrument=contract, executor="numpy")
    table = found.table
    reads = table["signal"] == "stretch"
    assert table.loc[~reads, "window"].isna().all() and table.loc[reads, "window"].isin(GRID["window"]).all()
    assert table["scored_window"].tolist() == [0] * 18 + [1] * 18
    second = sweep(CHOSEN, bars, grid=GRID, windows=windows[1:], instrument=contract, executor="numpy", start=19)
    for row in (0, 7, 13, 17):
        assert found.trace(18 + row).equals(second.trace(row))


def test_a_table_of_combinations_is_swept_by_every_choice(random_bars, contract):
    options = {"instrument": contract, "executor": "numpy", "metrics": ["net_profit"]}
    bars, pairs = random_bars(2, bars=120), [{"window": 5, "level": 1.0}, {"window": 9, "level": 0.5}]
    for grid in (pairs, pd.DataFrame(pairs)):
        found = sweep(CHOSEN, bars, grid=grid, **options).table
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
    batch = Strategy("batch", choice("target", targets))
    found = sweep(batch, bars, **options)
    one = sweep(batch, bars, grid={"target": ["trend"]}, **options)
    assert one.table["net_profit"].tolist() == found.table["net_profit"].tolist()[:1]
    assert found.profile["programs"] == 1 and found.table["target"].tolist() == list(targets)
    for row, (name, target) in enumerate(targets.items()):
        alone = sweep(Strategy("one", target), bars, **options).table
        assert same_bits(found.table.iloc[row : row + 1][["net_profit", "trades"]], alone[["net_profit", "trades"]])
        assert sweep(batch.chosen({"target": name}), bars, **options).table.equals(alone)


def test_numbers_are_choices_of_a_stop(random_bars, contract):
    bars = random_bars(2, bars=120)
    bars["high"], bars["low"] = bars[["open", "close"]].max(axis=1) + 2.0, bars[["open", "close"]].min(axis=1) - 2.0
    stopped = Strategy("stopped", where(sma(CLOSE, 5) < CLOSE, 1.0, -1.0), stop_loss=choice("stop", {"near": 0.0005,
                       "far": 0.5}), take_profit=choice("profit", {"none": 0.0, "soon": param("gain")}))  # fmt: skip
    found = sweep(stopped, bars, grid={"gain": [0.001]}, instrument=contract, executor="numpy", metrics=["fills"])
    fills = found.table.set_index(["stop", "profit"])["fills"]
    assert fills["near", "none"] > fills["far", "none"] and fills["far", "soon"] > fills["far", "none"]


def test_a_choice_whose_constraint_leaves_nothing_is_left_out(random_bars, quick):
    strategy = Strategy("some", where(sma(CLOSE, 5) < CLOSE, 1.0, 0.0), constraint=choice("side", {
        "no": param("a") < 0.0, "yes": param("a") > 0.0}))  # fmt: skip
    found = sweep(strategy, random_bars(2, bars=60), grid={"a": [1.0, 2.0]}, **quick)
    assert found.table["side"].tolist() == ["yes", "yes"]
    with pytest.raises(GridError, match="no combination fulfils choice"):
        sweep(strategy, random_bars(2, bars=60), grid={"a": [0.0]}, **quick)


def test_the_surface_of_choices(random_bars, quick, tmp_path):
    bars = random_bars(2, bars=200, session_bars=10)
    found = sweep(CHOSEN, bars, grid=GRID, windows=[(20, 110), (100, 200)], blocks=4, **quick)
    first = found.table[found.table["scored_window"] == 0]
    cells = found.heat_map("level", "signal", "net_profit")
    assert list(cells.index) == ["gap", "stretch"] and list(cells.columns) == GRID["level"]
    for signal in cells.index:
        rows = first[(first["signal"] == signal) & (first["level"] == 0.9)]
        assert cells.loc[signal, 0.9] == rows["net_profit"].max()
    row = 18 + 12 + 1  # the second window's gap, flat, 0.9: one step along the level alone
    beside = found.neighbours(row)
    assert beside[["row", "parameter", "step"]].to_numpy().tolist() == [
        [row - 1, "level", -1], [row + 1, "level", 1]
    ]  # fmt: skip
    assert found.neighbours(1)["row"].tolist() == [4, 0, 2]  # stretch, window 5, level 0.9
    stable = found.stability("net_profit", count=2, window=1)
    assert stable["net_profit"].iloc[0] == found.table["net_profit"].iloc[18:].max()
    assert plot_heat_map(cells, "net_profit").get_yticklabels()[0].get_text() == "gap"
    axes = plot_parallel(first, found.parameters, "net_profit")
    assert axes.get_xticklabels()[0].get_text() == "signal\nstretch, gap"
    assert len(axes.lines) == first["net_profit"].notna().sum()
    sums = found.session_sums(1)
    place = 0
    for part in found.parts:
        own = part.result.session_sums(1).sums
        assert sums.sums[place : place + len(own)].tolist() == own.tolist()
        place += len(own)
    assert place == len(sums.sums) == 18
    write_parquet(found, tmp_path / "choices.parquet")
    table, note = read_parquet(tmp_path / "choices.parquet")
    assert table.equals(found.table) and note["profile"]["programs"] == 4 and note["start"] == 19


def test_a_trace_shows_what_was_chosen(random_bars, quick):
    bars = random_bars(2, bars=100)
    signals = {"stretch": zscore(CLOSE, 9), "gap": CLOSE - ema(CLOSE, 7)}
    signal = choice("signal", signals)
    found = sweep(Strategy("shown", where(signal > 0.0, 1.0, -1.0)), bars, **quick)
    for row, expression in enumerate(signals.values()):
        shown = found.trace(row, show={"value": signal})["value"]
        assert shown.equals(found.trace(row, show={"value": expression})["value"]) and shown.notna().any()
    with pytest.raises(MetricError, match="reads 'other', which the strategy does not"):
        found.trace(0, show={"value": choice("other", {"a": CLOSE})})


def test_progress_counts_the_combinations_of_all_choices(random_bars, quick):
    seen = []
    sweep(CHOSEN, random_bars(2, bars=80), grid=GRID, progress=seen.append, **quick)
    assert [one.total for one in seen] == [18] * len(seen) and seen[-1].done == 18
    assert [one.done for one in seen] == sorted(one.done for one in seen)


@pytest.mark.skipif(cuda_refusal() is None, reason="the GPU is there: nothing falls back")
def test_a_fallback_is_said_once(random_bars, contract, program_cache):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", FallbackWarning)
        found = sweep(CHOSEN, random_bars(2, bars=220, rolls=1), grid=GRID, instrument=contract, executor="cuda",
                      allow_fallback=True, cache=program_cache, metrics=["sharpe", "net_profit"])  # fmt: skip
    assert len(said) == 1 and found.profile["fallback_reason"] is not None
    assert found.profile["executor"] == "cpu"


def test_a_choice_prints_as_it_is_written():
    signal = choice("signal", {"slow": sma(CLOSE, 9), "swept": sma(CLOSE, param("n"))})
    text = "choice('signal', {'slow': sma(col('adj_close'), 9.0), 'swept': sma(col('adj_close'), param('n'))})"
    assert repr(signal) == text
    stop = choice("stop", {"none": 0.0, "near": 0.01})
    strategy = Strategy("printed", where(signal > prev(signal), 1.0, 0.0), stop_loss=stop)
    assert text in repr(strategy)
    assert str(strategy).splitlines() == [
        "printed",
        "  target: where((choice('signal') > lag(choice('signal'), 1)), 1.0, 0.0)",
        "  stop loss: choice('stop')",
        "  choice('signal'):",
        "    slow: sma(col('adj_close'), 9.0)",
        "    swept: sma(col('adj_close'), param('n'))",
        "  choice('stop'):",
        "    none: 0.0",
        "    near: 0.01",
    ]
    assert "choice" not in str(strategy.chosen({"signal": "slow", "stop": "near"}))
    assert strategy.choices == {"signal": ("slow", "swept"), "stop": ("none", "near")} and strategy.parameters == ("n",)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: choice("", {"a": CLOSE}), "the name of an axis is a string"),
        (lambda: choice("signal", [CLOSE]), r"give \{name: expression\}, at least one"),
        (lambda: choice("signal", {}), r"give \{name: expression\}, at least one"),
        (lambda: choice("signal", {1: CLOSE}), "the option 1 must be named by a string"),
        (lambda: choice("signal", {"a": CLOSE, "b": CLOSE > 1.0}), "'a' a number, 'b' a condition"),
        (lambda: prev(choice("idle", IDLE)), r"prev\(hold\(\)\): only the target"),
        (lambda: sma(choice("idle", IDLE), 5), r"reads hold\(\)"),
        (lambda: sma(CLOSE, choice("n", {"a": 5, "b": CLOSE})), "windows read parameters and numbers"),
        (lambda: Strategy("s", CLOSE, stop_loss=choice("s", {"a": CLOSE})), "only parameters and numbers may stand in it"),
        (
            lambda: Strategy("s", choice("a", {"x": CLOSE}) + choice("a", {"x": CLOSE * 2.0})),
            "strategy s: the axis 'a' is .* in one place, .* in another",
        ),
        (
            lambda: Strategy("s", choice("a", {"x": CLOSE}), stop_loss=choice("a", {"y": 0.1})),
            "the axis 'a' is .* in one place, .* in another",
        ),
        (lambda: Strategy("s", choice("mean", {"x": sma(CLOSE, param("mean"))})), "'mean' is an axis of choices and a par"),
        (lambda: CHOSEN.chosen({"signals": "gap"}), "has no choice 'signals', did you mean 'signal'"),
        (lambda: CHOSEN.chosen({"signal": "stretched"}), "has no option 'stretched', did you mean 'stretch'"),
    ],
)
def test_choices_that_cannot_be_say_why(wrong, message):
    with pytest.raises(ExpressionError, match=message):
        wrong()


def test_equal_options_written_twice_are_one_choice(random_bars, quick):
    first, second = (choice("signal", {"a": zscore(CLOSE, 5), "b": CLOSE - ema(CLOSE, 5)}) for _ in range(2))
    found = sweep(Strategy("twice", where(first > 0.0, 1.0, where(second < -1.0, -1.0, 0.0))), random_bars(2, bars=60), **quick)
    assert found.table["signal"].tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({**GRID, "slow": [1]}, r"sweeps 'slow', which the strategy does not read \(it has: signal, idle, window, level"),
        ({**GRID, "signals": ["gap"]}, "sweeps 'signals', .* did you mean 'signal'"),
        ({**GRID, "signal": ["gaps"]}, "choice 'signal' has no option 'gaps', did you mean 'gap'"),
        ({**GRID, "signal": "gap"}, r"choice 'signal' is 'gap'; give a list of names, \['stretch'\]"),
        ({**GRID, "signal": 5}, r"choice 'signal' is 5; give a list of names"),
        ({**GRID, "signal": []}, r"choice 'signal' is \[\]; give a list of names"),
        ({**GRID, "signal": ["gap", "gap"]}, "names an option twice"),
        ({"level": [1.0]}, "parameter 'window' has no values"),
        ([{"signal": "gaps", "window": 5, "level": 1.0}], "has no option 'gaps'"),
        ([{"signal": "gap", "level": 1.0}, {"signal": None, "level": 1.0}], "combination 1 .* leaves a choice open"),
    ],
)
def test_wrong_grids_are_named(random_bars, contract, grid, message):
    with pytest.raises(GridError, match=message):
        sweep(CHOSEN, random_bars(2, bars=80), grid=grid, instrument=contract, executor="numpy")


def test_what_does_not_go_with_choices_says_why(random_bars, quick):
    bars = random_bars(2, bars=80)
    with pytest.raises(SweepError, match=r"top=5 with choices \('signal', 'idle'\): .* strategy.chosen"):
        sweep(CHOSEN, bars, grid=GRID, top=5, **quick)
    with pytest.raises(SweepError, match="precision='mixed' with choices"):
        sweep(CHOSEN, bars, grid=GRID, precision="mixed", **{**quick, "executor": "cuda"})
    alone = CHOSEN.chosen({"signal": "gap", "idle": "flat"})
    state = sweep(alone, bars, grid={"level": [0.9]}, **quick).state()
    with pytest.raises(SweepError, match=r"resume=.* with choices"):
        sweep(CHOSEN, bars, resume=state, **quick)
    with pytest.raises(SweepError, match="a state is of one program"):
        sweep(CHOSEN, bars, grid=GRID, **quick).state()
    for sampled in (lambda: random_combinations(CHOSEN, GRID, 3, 1), lambda: combinations(GRID, CHOSEN)):
        with pytest.raises(GridError, match="each with combinations of its own"):
            sampled()
    with pytest.raises(GridError, match="choice 'sharpe' has the name of a column of the result"):
        sweep(Strategy("s", choice("sharpe", {"a": CLOSE, "b": -CLOSE})), bars, **quick)
