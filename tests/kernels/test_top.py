"""The best of a grid without holding it: equal to the whole ranking's first rows; memory; progress; several symbols."""

import itertools
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from kernels import top as top_module
from kernels.bars import BarsError
from kernels.execution import Instrument
from kernels.executor import Run, Timed, host
from kernels.expressions import col, param, where
from kernels.grid import GridError, blocks, combinations, lattice
from kernels.metrics import MetricError
from kernels.numpy_executor import run as numpy_run
from kernels.preparation import SweepError
from kernels.progress import Progress, ProgressLines
from kernels.runners import Runner
from kernels.strategies import ema_cross, zscore_reversion
from kernels.strategy import Strategy
from kernels.sweep import sweep
from kernels.symbols import sweep_symbols

GRID = {"window": [5, 9, 14], "entry": [0.8, 1.3, 9.0], "exit": [-0.2, 0.4, 1.0]}
METRICS = ["sharpe", "net_profit", "max_drawdown", "trades"]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("block", [1, 4, 7, 1000])
def test_the_top_is_the_start_of_the_whole_ranking(monkeypatch, random_bars, contract, same_bits, metric, block):
    monkeypatch.setattr(top_module, "BLOCK", block)
    bars = random_bars(3, bars=200, rolls=1, masks=3)
    options = {"instrument": contract, "grid": GRID, "metrics": METRICS, "executor": "numpy"}
    whole = sweep(zscore_reversion(), bars, **options)
    order = whole.ranking(metric)
    best = sweep(zscore_reversion(), bars, rank_by=metric, top=6, **options)
    assert best.table["combination"].tolist() == order[:6].tolist()
    assert same_bits(best.table[whole.table.columns], whole.table.iloc[order[:6]])
    assert best.start == whole.start and best.profile["combinations"] == len(whole.table)
    assert best.trace(2).equals(whole.trace(int(order[2])))


def test_ties_go_to_the_earlier_combination_and_nan_is_never_kept(monkeypatch, random_bars, contract):
    monkeypatch.setattr(top_module, "BLOCK", 2)
    strategy = Strategy("level", where(col("close") > param("level"), 1.0, 0.0) * where(param("twin") > 0.0, 1.0, 1.0))
    bars = random_bars(1, bars=120)
    far = float(bars["close"].max()) + 1.0  # never traded: its Sharpe ratio is NaN
    near = float(bars["close"].median())
    grid = {"twin": [1, 2, 3], "level": [far, near]}
    found = sweep(strategy, bars, instrument=contract, grid=grid, metrics=["sharpe"], top=5, executor="numpy")
    assert found.table["combination"].tolist() == [1, 3, 5]
    with pytest.raises(MetricError, match="none of 3 combinations has a sharpe"):
        sweep(strategy, bars, instrument=contract, grid={"twin": [1, 2, 3], "level": [far]}, top=5, executor="numpy")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"top": 0}, "top=0: must be a whole number >= 1"),
        ({"confirm": 0}, "confirm=0: must be a whole number >= 1"),
        ({"blocks": 16}, "the best alone say nothing of the choice among all"),
        ({"rank_by": "trades"}, "rank_by='trades' is not among the metrics sharpe"),
    ],
)
def test_what_cannot_be_ranked_is_refused(random_bars, contract, change, message):
    options = {"top": 3, "metrics": ["sharpe"], "executor": "numpy", **change}
    with pytest.raises(SweepError, match=message):
        sweep(zscore_reversion(), random_bars(3, bars=100), instrument=contract, grid=GRID, **options)


@pytest.mark.parametrize("block", [1, 5, 1000])
def test_of_several_windows_the_best_of_each_are_kept(monkeypatch, random_bars, contract, same_bits, block):
    monkeypatch.setattr(top_module, "BLOCK", block)
    bars = random_bars(3, bars=300, rolls=1)
    options = {"instrument": contract, "grid": GRID, "metrics": METRICS, "executor": "numpy"}
    windows = [(20, 120), (120, 210), (200, 300)]
    whole = sweep(zscore_reversion(), bars, windows=windows, **options)
    count = len(whole.table) // 3
    of_window = [whole.table["sharpe"].to_numpy()[low : low + count] for low in range(0, 3 * count, count)]
    wanted = sorted({int(place) for values in of_window for place in np.argsort(-values, kind="stable")[:2]})
    assert 2 < len(wanted) < count and not any(np.isnan(values[wanted]).all() for values in of_window)
    best = sweep(zscore_reversion(), bars, windows=windows, top=2, **options)
    assert best.table["combination"].tolist() == 3 * wanted
    rows = [window * count + place for window in range(3) for place in wanted]
    assert same_bits(best.table[whole.table.columns], whole.table.iloc[rows])
    assert list(best.table.columns[:2]) == ["scored_window", "combination"]
    assert best.trace(len(wanted) + 1).equals(whole.trace(count + wanted[1]))
    assert best.best("sharpe")["sharpe"] == whole.best("sharpe")["sharpe"]


def test_mixed_precision_confirms_what_it_keeps(monkeypatch, random_bars, contract, same_bits):
    def rounded(name, precision, *_):
        def run(*arguments):
            found = numpy_run(*arguments)
            low = found.states.astype(np.float32).astype(np.float64) if precision == "fp32" else found.states
            return Run(low, found.outputs)

        return Runner(name, Timed(run), host(numpy_run))

    monkeypatch.setattr("kernels.scoring.runner", rounded)
    monkeypatch.setattr("kernels.scoring.cuda_refusal", lambda: None)
    monkeypatch.setattr(top_module, "BLOCK", 4)
    bars = random_bars(3, bars=300, rolls=1)
    options = {"instrument": contract, "grid": GRID, "metrics": METRICS}
    for windows in (None, [(20, 160), (160, 300)]):
        exact = sweep(zscore_reversion(), bars, windows=windows, top=3, executor="numpy", **options)
        found = sweep(
            zscore_reversion(), bars, windows=windows, top=3, confirm=8, executor="cuda", precision="mixed", **options
        )
        assert same_bits(found.table, exact.table)  # the values are fp64's, so is their order
        agreement = found.profile["rank_agreement"]
        assert found.profile["precision"] == "mixed" and agreement["metric"] == "sharpe"
        assert agreement["confirmed"] >= 8 and 0.9 < agreement["spearman"] <= 1.0
        assert 0.0 < agreement["largest_difference"] < 1e-2
        assert found.profile["combinations"] == 24 and found.profile["confirmation"]["combinations"] >= 8
        assert found.trace(1).equals(exact.trace(1))


def test_blocks_enumerate_the_grid_in_its_order():
    grid = {"slow": [4, 7, 12, 20], "fast": [2, 3, 5, 8]}
    by_hand = [(slow, fast) for slow, fast in itertools.product(*grid.values()) if fast < slow]
    whole = combinations(grid, ema_cross())
    assert [tuple(row) for row in whole[["slow", "fast"]].to_numpy()] == by_hand
    for size in (1, 3, 16, 100):
        joined = pd.concat(list(blocks(grid, ema_cross(), size)), ignore_index=True)
        assert joined.equals(whole)
        assert all(len(block) for block in blocks(grid, ema_cross(), size))
        assert pd.concat(list(blocks(whole, ema_cross(), size)), ignore_index=True).equals(whole)
    assert lattice(grid, ema_cross()).size == 16
    with pytest.raises(GridError, match="no combination fulfils"):
        list(blocks({"fast": [9], "slow": [4, 5]}, ema_cross(), 1))
    with pytest.raises(GridError, match="sweeps 'fats'"):
        list(blocks({"fats": [9]}, ema_cross(), 1))


def test_progress_is_reported_chunk_by_chunk(random_bars, contract, monkeypatch, same_bits, capsys):
    monkeypatch.setattr("kernels.scoring.REPORTED", 10)
    seen = []
    options = {"instrument": contract, "grid": GRID, "executor": "numpy"}
    bars = random_bars(3, bars=100)
    found = sweep(zscore_reversion(), bars, progress=seen.append, **options)
    assert [one.done for one in seen] == [8, 16, 24] or seen[-1].done == len(found.table)
    assert all(one.total == len(found.table) for one in seen) and len(seen) == found.profile["chunks"] > 1
    assert seen[-1].bar_steps == found.profile["bar_steps"]
    assert same_bits(found.table, sweep(zscore_reversion(), bars, **options).table)
    half = Progress(done=256, total=1024, bar_steps=3_000_000_000, seconds=10.0)
    assert half.rate == 3e8 and half.remaining == 30.0
    assert str(half) == "256 of 1,024 combinations, 300 M bar-steps/s, 30 s left"
    lines = ProgressLines(every=1.0)
    for seconds in (0.5, 1.2, 1.9, 2.3):
        lines(Progress(1, 9, 10, seconds))
    lines(Progress(9, 9, 90, 2.4))
    assert capsys.readouterr().err.count("\n") == 3  # at 1.2, 2.3 and the end


def test_each_symbol_has_its_own_account(random_bars, contract, same_bits):
    other = Instrument("MICRO", tick_size=0.25, multiplier=5.0, fee_per_contract=0.6)
    first, second = random_bars(1, bars=150), random_bars(2, bars=120, rolls=1)
    mixed = pd.concat([first.assign(symbol="ES"), second.assign(symbol="MES")]).sort_values("ts_event", kind="stable")
    both = sweep_symbols(
        zscore_reversion(), mixed, instruments={"MES": other, "ES": contract}, grid=GRID, executor="numpy"
    )
    assert list(both.by_symbol) == ["ES", "MES"]
    for symbol, bars, instrument in (("ES", first, contract), ("MES", second, other)):
        alone = sweep(zscore_reversion(), bars, instrument=instrument, grid=GRID, executor="numpy")
        assert same_bits(both[symbol].table, alone.table)
        assert both[symbol].trace(0).equals(alone.trace(0))
    assert both.table["symbol"].value_counts().to_dict() == {"ES": len(alone.table), "MES": len(alone.table)}
    with pytest.raises(SweepError, match="symbol 'MES' has no instrument: given are ES"):
        sweep_symbols(zscore_reversion(), mixed, instruments={"ES": contract}, grid=GRID)
    with pytest.raises(BarsError, match="several instruments need a column 'symbol'"):
        sweep_symbols(zscore_reversion(), first, instruments={"ES": contract}, grid=GRID)
    with pytest.raises(BarsError, match="2 symbols"):
        sweep(zscore_reversion(), mixed, instrument=contract, grid=GRID)


TEN_MILLIONS = """
import resource, sys
import numpy as np, pandas as pd
from kernels.execution import Instrument
from kernels.expressions import col, param, where, hold
from kernels.strategy import Strategy
from kernels.sweep import sweep

draw = np.random.default_rng(5)
close = 100 + np.cumsum(draw.normal(0, 0.1, 30))
times = pd.date_range("2024-01-02", periods=30, freq="h", tz="UTC").as_unit("ns")
bars = pd.DataFrame({"ts_event": times, "open": close, "close": close})
x = col("close")
band = Strategy("band", where(x > param("up"), 1.0, where(x < param("down"), -1.0, where(x > param("out"), 0.0, hold()))))
grid = {"up": np.linspace(99, 102, 250), "down": np.linspace(98, 101, 200), "out": np.linspace(98, 102, 200)}
found = sweep(band, bars, instrument=Instrument("X", 0.01, 1.0), grid=grid, metrics=["sharpe", "trades"], capital=1e4,
              returns="bar", top=1000, executor="cpu", threads=2)
assert found.profile["combinations"] == 10_000_000 and len(found.table) == 1000
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, found.profile["seconds"]["total"])
"""


@pytest.mark.acceptance
def test_ten_million_combinations_fit_into_two_gigabytes():
    answer = subprocess.run([sys.executable, "-c", TEN_MILLIONS], capture_output=True, text=True, check=True)
    peak, seconds = map(float, answer.stdout.split())
    print(f"peak {peak / 1e6:.0f} MB, {seconds:.1f} s")
    assert peak < 2e9
    assert np.isfinite(seconds)


def test_symbols_may_be_numbers_and_are_never_missing(random_bars, contract):
    one, other = (random_bars(seed, bars=80).assign(symbol=name) for seed, name in ((4, 5_002), (5, 17)))
    both = sweep_symbols(
        ema_cross(), pd.concat([one, other], ignore_index=True), instruments={"5002": contract, "17": contract},
        grid={"fast": [3], "slow": [8]}, executor="numpy",
    )  # fmt: skip
    assert list(both.by_symbol) == ["5002", "17"] and both.table["symbol"].tolist() == ["5002", "17"]
    with pytest.raises(BarsError, match="row 3 of the bars has no symbol"):
        sweep_symbols(ema_cross(), one.assign(symbol=["a"] * 3 + [None] + ["a"] * 76), instruments={}, grid={})
