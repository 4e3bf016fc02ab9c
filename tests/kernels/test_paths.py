"""The price paths of paths.yaml, worked by hand in its comments: fills, sizes, stops, rolls, masks and costs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from kernels.execution import Costs, Execution, Instrument
from kernels.strategies import positions
from kernels.sweep import sweep

PATHS = yaml.safe_load((Path(__file__).parent / "paths.yaml").read_text(encoding="utf-8"))
CAPITAL = 10_000.0


def scored(path, bars_of, **options):
    bars = bars_of(path["open"], path["close"], path["target"], path.get("old_price"), path.get("masked"))
    if "high" in path:
        bars = bars.assign(high=np.array(path["high"], dtype=float), low=np.array(path["low"], dtype=float))
    return sweep(
        replace(positions(), stop_loss=path.get("stop"), take_profit=path.get("take")),
        bars,
        instrument=Instrument("HAND", tick_size=0.5, multiplier=10.0, fee_per_contract=path.get("fee", 2.0)),
        costs=Costs(**path.get("more_costs", {})),
        capital=CAPITAL,
        execution=Execution(
            path.get("fill", "next_open"),
            path.get("contracts", 1),
            path.get("delay", 0),
            path.get("sizing"),
            path.get("reserve", 0.0),
            path.get("rebalance", False),
        ),
        returns="bar",
        **options,
    )


@pytest.mark.parametrize("path", PATHS, ids=[path["name"] for path in PATHS])
def test_path_worked_by_hand(path, path_bars):
    trace = scored(path, path_bars, executor="numpy").trace(0)
    np.testing.assert_allclose(trace["position"], path["position"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(trace["profit"], path["profit"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(trace["costs"], path["costs"], rtol=0, atol=1e-9)
    equity = CAPITAL + np.array(path["profit"]) - np.array(path["costs"])
    np.testing.assert_allclose(trace["equity"], equity, rtol=0, atol=1e-9)


def test_paths_on_cpu_equal_numpy(path_bars, program_cache, same_bits):
    # the paths with both a roll and a mask take every branch of the step, and share one program
    both = [path for path in PATHS if "old_price" in path and "masked" in path and "fill" not in path]
    assert len(both) == 2
    for path in both:
        expected = scored(path, path_bars, executor="numpy").table
        assert same_bits(scored(path, path_bars, executor="cpu", cache=program_cache).table, expected), path["name"]
