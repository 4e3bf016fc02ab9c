"""What a sweep is asked with: wrong kinds, names, times and sessions are named before anything runs."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kernels import program_cache as cache_module
from kernels.bars import BarsError
from kernels.execution import Costs, Execution, Instrument
from kernels.expressions import col, param, where
from kernels.grid import GridError
from kernels.indicators import ema, sma
from kernels.metrics import MetricError
from kernels.rows import WindowError
from kernels.strategies import ema_cross, positions
from kernels.strategy import Strategy
from kernels.sweep import SweepError, sweep

REPOSITORY = Path(__file__).resolve().parents[2]
GRID = {"fast": [2], "slow": [9]}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"instrument": "ES"}, SweepError, r"instrument='ES': must be a kernels\.execution\.Instrument"),
        ({"costs": 1.0}, SweepError, r"costs=1\.0: must be a kernels\.execution\.Costs"),
        ({"execution": "close"}, SweepError, r"execution='close': must be a kernels\.execution\.Execution"),
        ({"resume": {}}, SweepError, r"resume=\{\}: must be a kernels\.sweep_state\.SweepState"),
        ({"capital": "much"}, SweepError, "capital='much': must be a number"),
        ({"start": 8.0}, SweepError, r"start=8\.0: must be a whole number >= 0"),
        ({"start": -1}, SweepError, r"start=-1: must be a whole number >= 0"),
        ({"top": 1.5}, SweepError, r"top=1\.5: must be a whole number >= 1"),
        ({"top": True}, SweepError, "top=True: must be a whole number >= 1"),
        ({"blocks": 2.5}, SweepError, r"blocks=2\.5: must be a whole number >= 1"),
        ({"confirm": 0}, SweepError, "confirm=0: must be a whole number >= 1"),
        ({"threads": 0}, SweepError, "threads=0: must be a whole number >= 1"),
        ({"row_bytes": -1}, SweepError, "row_bytes=-1: must be a whole number >= 1"),
        ({"progress": 3}, SweepError, "progress=3: must be a function"),
        ({"metrics": "sharpe"}, MetricError, r"give a list of names, as metrics=\['sharpe'\]"),
        ({"metrics": []}, MetricError, "name at least one"),
        ({"windows": (0, 50)}, SweepError, r"windows=\(0, 50\): give a list of \(start, end\)"),
        ({"windows": [("2024", "2025")]}, SweepError, "searchsorted"),
        ({"windows": [(0, 20.5)]}, SweepError, r"window \(0, 20\.5\): start and end are numbers of bars"),
        ({"grid": {"fast": 5, "slow": [9]}}, GridError, r"the axis 'fast' is 5, no list of numbers"),
        ({"grid": {"fast": [[5]], "slow": [9]}}, GridError, r"the axis 'fast' holds \[5\]; its values are numbers"),
        ({"grid": [("fast", 5)]}, GridError, "a list holds combinations"),
        ({"grid": 5}, GridError, "grid=5: give axes"),
        ({"grid": {"fast": [2], "slow": [1e300]}}, WindowError, r"= 1e\+300: must be a whole number of bars"),
    ],
)
def test_a_wrong_argument_is_named(options, error, message, random_bars, contract):
    given = {"grid": GRID, "executor": "numpy", "instrument": contract, **options}
    with pytest.raises(error, match=message):
        sweep(ema_cross(), random_bars(3, bars=60), **given)


@pytest.mark.parametrize("name", ["sharpe", "combination", "precision", "symbol"])
def test_a_parameter_does_not_hide_behind_a_column_of_the_result(name, random_bars):
    strategy = Strategy("named", where(col("close") > ema(col("close"), param(name)), 1.0, -1.0))
    with pytest.raises(GridError, match=f"parameter '{name}' has the name of a column of the result: rename it"):
        sweep(strategy, random_bars(3, bars=60), grid={name: [3, 5]}, executor="numpy")


def test_a_list_of_combinations_is_a_grid(random_bars, contract):
    given = {"instrument": contract, "executor": "numpy"}
    bars = random_bars(3, bars=60)
    listed = sweep(ema_cross(), bars, grid=[{"fast": 3, "slow": 9}, {"fast": 2, "slow": 5}], **given)
    table = sweep(ema_cross(), bars, grid=pd.DataFrame({"fast": [3, 2], "slow": [9, 5]}), **given)
    pd.testing.assert_frame_equal(listed.table, table.table)


def _dates(bars):
    return bars.assign(session=pd.to_datetime(bars["session"].astype(str)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b.assign(ts_event=b["ts_event"].astype(str)), r"'ts_event' holds str, no times"),
        (lambda b: b.assign(ts_event=b["ts_event"].where(b.index != 5)), "bar number 5 has no ts_event"),
        (_dates, r"trade dates are numbers yyyymmdd; convert them: .*strftime\('%Y%m%d'\)"),
        (lambda b: b.assign(session=b["session"].where(b.index != 5)), "session nan is no trade date yyyymmdd"),
        (lambda b: b.assign(session=np.arange(len(b)) // 20), "session 0 is no trade date yyyymmdd"),
        (lambda b: b.assign(session=20241301), "session 20241301 is no trade date"),
        (lambda b: b.assign(session=np.where(b.index % 2, 20240102, 20240103)), "comes after 20240103"),
        (lambda b: b.assign(session="Monday"), "session 'Monday' is a str, not a number"),
        (lambda b: b.assign(masked=np.where(b.index == 5, np.nan, 0.0)), "masked is missing; it is True or False"),
        (lambda b: b.to_numpy(), "bars: a ndarray; give a DataFrame"),
    ],
)
def test_bars_of_another_form_are_named(change, message, random_bars, contract):
    bars = random_bars(24, bars=60)
    with pytest.raises(BarsError, match=message):
        sweep(positions(), change(bars), instrument=contract, executor="numpy")


@pytest.mark.parametrize("unit", ["us", "ms", "ns"])
def test_times_count_in_any_unit_and_without_a_zone_as_utc(unit, random_bars, contract):
    bars = random_bars(24, bars=60)
    given = {"instrument": contract, "executor": "numpy"}
    expected = sweep(positions(), bars, **given).table
    times = bars["ts_event"]
    for other in (times.dt.as_unit(unit), times.dt.tz_localize(None), times.dt.tz_convert("America/Chicago")):
        pd.testing.assert_frame_equal(sweep(positions(), bars.assign(ts_event=other), **given).table, expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Costs(fee_bps="1"), r"Costs\.fee_bps='1': must be a number"),
        (lambda: Instrument("ES", 0.25, None), r"Instrument\.multiplier=None: must be a number"),
        (lambda: Execution(contracts="1"), r"contracts='1': must be a whole number >= 1"),
        (lambda: Execution(contracts=float("nan")), "contracts=nan: must be a whole number >= 1"),
        (lambda: Execution(signal_delay=float("inf")), "signal_delay=inf: must be a whole number of bars >= 0"),
        (lambda: sma(col("close"), "30"), "window '30' has no unit: write '30s', or 30 for bars"),
        (lambda: ema(col("close"), "30s"), r"windows in time \('30s'\) are those of sma"),
    ],
)
def test_settings_and_windows_of_a_wrong_kind_are_named(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_a_result_prints_short_and_its_program_in_full(random_bars, contract):
    result = sweep(
        ema_cross(), random_bars(3, bars=60), grid=GRID, instrument=contract, executor="numpy", metrics=["trades"]
    )
    assert len(repr(result)) < 3000
    text = str(result.program)
    assert "family 0 is ema(col('adj_close'), param('fast'))" in text.splitlines()
    assert "state trades" in text and "return_sum" not in text


def test_where_no_folder_can_be_written_programs_are_kept_for_the_process(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr(cache_module, "_users_cache", lambda: tmp_path / "file" / "programs")
    folder = cache_module.default_cache()
    assert folder.is_dir() and folder != tmp_path / "file" / "programs"
    assert cache_module.default_cache() == folder
    monkeypatch.setattr(cache_module, "_users_cache", lambda: tmp_path / "programs")
    assert cache_module.default_cache() == tmp_path / "programs"


def test_compiled_functions_load_where_numba_can_cache_nothing():
    script = (
        "import importlib, pkgutil, numba.core.caching as caching\n"
        "caching.FunctionCache._impl_class._locator_classes = []\n"
        "from kernels.compiled import compiled\n"
        "print(compiled(lambda x: x + 1)(2))\n"
        "import kernels.features.ladders, kernels.sweep, loaders.book, validation.passes, training.environment\n"
    )
    answer = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True)
    assert answer.stdout.strip() == "3" and answer.returncode == 0, answer.stderr
