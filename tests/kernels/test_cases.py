"""Cases of families b and g that concern sweeps: the same values in every engine, chunk, thread and process."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from kernels import numpy_executor, runners
from kernels.execution import Costs, Execution, Instrument
from kernels.executor import host
from kernels.expressions import col, isnan, param, where
from kernels.fallback import cuda_refusal
from kernels.indicators import ema, ffill, rolling_sum, sma, valid_over
from kernels.rows import RowWriter
from kernels.strategies import positions
from kernels.strategy import Strategy
from kernels.sweep import sweep
from kernels.symbols import sweep_symbols
from tests.kernels.host_shim import run_text

NAN = float("nan")
UNIT = Instrument("UNIT", tick_size=0.01, multiplier=1.0)


def row(expression, x):
    """The expression's series where ``col("x")`` is x."""
    return RowWriter({"x": np.asarray(x, dtype=float)}, host(numpy_executor.run)).row(expression)


@pytest.fixture(scope="module")
def shim_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("shim")


@pytest.mark.parametrize("parts", [1, 2, 5, 10])
def test_windows_and_averages_do_not_restart_in_parts(parts, path_bars, same_bits):
    # case G02: mean of 4 of 0…9; EMA of span 3 of 1…10 is 5.03125 at index 5, not 6.0 as where it restarts in a part
    np.testing.assert_array_equal(row(sma(col("x"), 4), np.arange(10.0)), [NAN] * 3 + [1.5 + n for n in range(7)])
    assert row(ema(col("x"), 3), np.arange(1.0, 11.0))[5] == 5.03125
    ramp = list(range(1, 11))
    bars = path_bars(ramp, ramp, [0.0] * 10)
    level = Strategy("level", where(ema(col("close"), param("span")) > param("level"), 1.0, 0.0))
    grid = {"span": [3], "level": [0.5 * n for n in range(20)]}
    options = {"instrument": UNIT, "executor": "numpy", "metrics": ["net_profit", "trades"], "returns": "bar"}
    whole = sweep(level, bars, grid=grid, **options)
    lanes = sweep(level, bars, grid=grid, row_bytes=8 * 10 // parts, **options)
    assert same_bits(lanes.table, whole.table)
    piece = 10 // parts
    found = sweep(level, bars[: max(piece, 4)], grid=grid, **options)
    for stop in [*range(max(2 * piece, 5), 10, piece), 10]:
        found = sweep(level, bars[:stop], resume=found.state(), **options)
    assert same_bits(found.table, whole.table)


def test_sums_over_missing_values(shim_folder, same_bits):
    # case G04: a window's sum is NaN where one of its values is; with at least one value present the sum of those
    x = np.array([NAN, 10, 20, NAN, 40, 60, 110])
    filled = where(isnan(col("x")), 0.0, col("x"))
    present = where(valid_over(col("x"), 2) > 0.0, rolling_sum(filled, 2), NAN)
    expected = [NAN, 10, 30, 20, 40, 100, 170]
    np.testing.assert_array_equal(row(present, x), expected)
    np.testing.assert_array_equal(row(rolling_sum(col("x"), 2), x), [NAN, NAN, 30, NAN, NAN, 100, 170])
    # a family, its program run as CUDA text: the same values and the same pattern of missing ones
    node = ema(present, param("span"))
    lanes = {"span": np.array([1.0, 3.0])}
    both = [
        RowWriter({"x": x}, host(execute)).family(node, lanes).matrix
        for execute in (numpy_executor.run, lambda *given: run_text(shim_folder, *given))
    ]
    np.testing.assert_array_equal(both[0][:, 0], expected)
    assert same_bits(*both)


def test_means_skip_what_is_missing_and_fill_stays_in_its_group(path_bars):
    # case G05: the mean of 2, 4, 0/0, 6 is 4; a fill crosses no group
    with np.errstate(invalid="ignore"):
        x = [2.0, 4.0, float(np.float64(0.0) / 0.0), 6.0]
    mean = rolling_sum(where(isnan(col("x")), 0.0, col("x")), 4) / valid_over(col("x"), 4)
    assert row(mean, x)[3] == 4.0
    np.testing.assert_array_equal(row(ffill(col("x")), [1, NAN]), [1, 1])
    parts = []
    for symbol, values in (("A", [1.0, NAN, NAN]), ("B", [NAN, 0.0, NAN])):
        parts.append(path_bars([1, 2, 3], [1, 2, 3], [0.0] * 3).assign(symbol=symbol, y=values))
    filled = Strategy("filled", ffill(col("y")))
    found = sweep_symbols(filled, pd.concat(parts, ignore_index=True), instruments={"A": UNIT, "B": UNIT},
                          metrics=["exposure"], executor="numpy", returns="bar")  # fmt: skip
    np.testing.assert_array_equal(found.by_symbol["A"].trace(0)["target"], [1, 1, 1])
    np.testing.assert_array_equal(found.by_symbol["B"].trace(0)["target"], [0, 0, 0])  # no 1 of A's reaches it


def test_sums_and_ties_are_decided_once(path_bars, program_cache):
    # case G06: 2^24 + 1 + 1 - 2^24 is 2 in float64 (0 in float32); of equal results the earlier combination wins
    assert row(rolling_sum(col("x"), 4), [16777216, 1, 1, -16777216])[3] == 2.0
    bars = path_bars([100, 101, 103, 102], [101, 103, 102, 105], [0.0] * 4)
    tie = Strategy("tie", where(col("close") > param("level"), 1.0, 0.0))
    grid = {"level": [200.0, 50.0, 40.0, 30.0]}  # the last three hold the same position
    options = {"instrument": UNIT, "metrics": ["net_profit"], "returns": "bar", "cache": program_cache}
    for repeat in range(10):
        executor, threads = ("numpy", 1) if repeat % 2 else ("cpu", 1 + repeat % 3)
        found = sweep(tie, bars, grid=grid, executor=executor, threads=threads, row_bytes=1 + 100 * repeat, **options)
        assert found.best("net_profit").name == 1 and found.ranking("net_profit").tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize("visible", ["", "-1", "0,2,-1,1", "GPU-0a1b2c3d", "MIG-4e5f6a7b", "1,0"])
def test_any_list_of_visible_devices_is_understood(visible):
    # case G09: the list is CUDA's own to read; nothing here parses it, so no UUID is taken for a number
    pytest.importorskip("cupy")
    code = "from kernels.fallback import cuda_refusal; r = cuda_refusal(); print(r.reason if r else 'runs')"
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": visible}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    answer = found.stdout.strip()
    assert answer in ("runs", "no_cuda_device", "driver_too_old", "nvrtc_missing")
    if visible in ("", "-1"):
        assert answer != "runs"


class DeviceFullError(MemoryError):
    """Stands for cupy's error of a full device, a MemoryError too."""


@pytest.mark.parametrize(("most", "windows"), [(64, None), (7, [(0, 20), (10, 30)])])
def test_a_full_device_takes_smaller_parts(most, windows, random_bars, monkeypatch, same_bits):
    # case G11: lanes that do not fit run in halves; every combination is in the result once
    bars = random_bars(40, bars=30)
    level = Strategy("level", where(col("close") > param("level"), 1.0, 0.0))
    grid = {"level": np.linspace(bars["close"].min(), bars["close"].max(), 1000).tolist()}
    options = {"instrument": UNIT, "executor": "numpy", "metrics": ["net_profit", "trades"], "windows": windows}
    whole = sweep(level, bars, grid=grid, **options)

    run = numpy_executor.run

    def small(program, inputs, start, stop, states):
        if states.shape[1] > most:
            raise DeviceFullError(f"{states.shape[1]} lanes")
        return run(program, inputs, start, stop, states)

    monkeypatch.setattr(runners.numpy_executor, "run", small)
    found = sweep(level, bars, grid=grid, **options)
    assert len(found.table) == len(whole.table) and same_bits(found.table, whole.table)
    assert found.profile["halved_for_memory"] > 0 and whole.profile["halved_for_memory"] == 0


def test_a_device_without_room_for_one_combination_says_so(random_bars, monkeypatch):
    # case G11: not even one fits
    def full(*given):
        raise DeviceFullError("nothing fits")

    monkeypatch.setattr(runners.numpy_executor, "run", full)
    with pytest.raises(DeviceFullError, match="nothing fits"):
        sweep(positions(), random_bars(40, bars=30), instrument=UNIT, executor="numpy", metrics=["trades"])


def _b(opened, high, low, close, target, **given):
    times = pd.date_range("2024-03-01", periods=len(opened), freq="min", tz="UTC").as_unit("ns")
    columns = {"open": opened, "high": high, "low": low, "close": close, "target": target}
    return pd.DataFrame({"ts_event": times, **{name: np.array(c, dtype=float) for name, c in columns.items()}}), given


# a target filled at the open of bar 1; B01, B02, B03: a stop of 5, 2.5 or 2 %, a take profit of 5 %
ENGINES = {
    "B01": (_b([100, 100, 100], [100, 100, 106], [100, 100, 94], [100, 100, 104], [1, 1, 1], stop=0.05, take=0.05), -5.0),
    "B01 gap": (_b([100, 100, 94], [100, 100, 106], [100, 100, 93], [100, 100, 104], [1, 1, 1], stop=0.05, take=0.05), -6.0),
    "B02": (_b([100, 100, 85], [100, 100, 86], [100, 100, 84], [100, 100, 85], [1, 1, 1], stop=0.025), -15.0),
    "B02 short": (_b([100, 100, 110], [100, 100, 111], [100, 100, 109], [100, 100, 110], [-1, -1, -1], stop=0.025), -10.0),
    "B03": (_b([100, 100, 100.5], [100, 101, 102], [100, 97, 100], [100, 100.5, 101], [1, 1, 1], stop=0.02), -2.0),
    "B06": (_b([4000, 4000, 4100, 4150], [4000, 4000, 4100, 4150], [4000, 4000, 4100, 4150], [4000, 4000, 4100, 4150],
               [1, -1, 0, 0], fee=2.0), 46.73),
    "B12": (_b([100, 100, 100, 104, 110], [100, 100, 100, 105, 111], [100, 100, 100, 103, 109], [100, 100, 100, 104, 110],
               [0, 1, 1, 1, 1], fee=10.0), 9.9),
    "B14": (_b([100, 100, 104, 100, 104, 100], [100, 104, 104, 104, 104, 104], [100] * 6, [100, 104, 100, 104, 100, 104],
               [0, 1, 0, 1, 0, 1], equity=True), 1000.0 * ((100 / 104) ** 2 - 1)),
}  # fmt: skip


@pytest.mark.parametrize("case", ENGINES)
def test_every_engine_books_the_same(case, program_cache, shim_folder, same_bits):
    # case G12: numpy, cpu, the text of the GPU (and the GPU where there is one); B04, B07 belong to a later part
    (bars, given), expected = ENGINES[case]
    strategy = replace(positions(), stop_loss=given.get("stop"), take_profit=given.get("take"))
    metrics = ["net_profit", "trades", "fees", "max_drawdown"]
    options = {
        "instrument": None if given.get("equity") else UNIT, "capital": 1000.0, "costs": Costs(fee_bps=given.get("fee", 0.0)),
        "metrics": metrics, "returns": "bar", "cache": program_cache, "execution": Execution(),
    }  # fmt: skip
    engines = ["numpy", "cpu", *(["cuda"] if cuda_refusal() is None else [])]
    found = {engine: sweep(strategy, bars, executor=engine, **options) for engine in engines}
    assert found["numpy"].table["net_profit"][0] == pytest.approx(expected, abs=1e-9)
    for engine, result in found.items():
        assert same_bits(result.table, found["numpy"].table), engine
    plan = found["numpy"]._plan
    text = replace(plan, execute=lambda *run: run_text(shim_folder, *run))
    states = ["profit", "costs", "trades", "drawdown"]
    for name, values in text.totals(states, {}, 1)[0].states.items():
        assert same_bits(values, plan.totals(states, {}, 1)[0].states[name]), name
