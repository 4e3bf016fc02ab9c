"""One NaN where bits are promised or compared: issue 9.4 and 16.9, the sign that arithmetic leaves follows the processor."""

import numpy as np
import pytest

from kernels.canonical_nan import BLOCK, with_canonical_nan
from kernels.metrics import ALL_METRICS, Totals, compute
from kernels.portfolio import Terms
from kernels.strategies import ema_cross
from kernels.sweep import sweep

OWN = np.array(np.nan).view(np.int64)
OTHERS = np.array([-np.nan, np.array(0x7FF8_0000_0000_0007).view(np.float64), np.nan])


def bits_of_missing(values):
    return set(np.asarray(values)[np.isnan(values)].view(np.int64).tolist())


@pytest.mark.parametrize("name", ALL_METRICS)
def test_an_undefined_metric_is_one_nan(name):
    """`sqn` among them: 0 / 0 is a NaN of the other sign on x86."""
    for missing in (*OTHERS, 0.0):
        states = {state: np.full(9, missing) for metric in ALL_METRICS.values() for state in metric.reads}
        totals = Totals(states, 1e5, 100, 50, 252.0, Terms(1, 1.0, 0.0, 0.0, 0.0, 0.0))
        assert bits_of_missing(compute([name], totals)[name]) <= {int(OWN)}


def test_a_state_is_gone_on_with_whatever_the_sign_of_a_missing_value(random_bars):
    bars = random_bars(1, bars=120, gaps=3)
    missing = np.isnan(bars["adj_close"].to_numpy())
    assert missing[:99].any()
    signed = [bars.assign(adj_close=np.where(missing, nan, bars["adj_close"])) for nan in (-np.nan, np.nan)]
    given = {"executor": "numpy", "capital": 1e5}
    state = sweep(ema_cross(), signed[0].iloc[:100], grid={"fast": [3], "slow": [8]}, **given).state()
    assert len(sweep(ema_cross(), signed[1], resume=state, **given).table) == 1


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f8"])
def test_an_array_without_another_nan_is_given_back_itself(dtype):
    values = np.zeros(2 * BLOCK + 5, dtype)
    values[-2] = np.nan
    assert with_canonical_nan(values) is values
    values[-1] = -np.nan
    found = with_canonical_nan(values)
    assert found.dtype == values.dtype and np.isnan(found[-2:]).all() and not np.signbit(found[-2:]).any()
    assert np.signbit(values[-1]) and not found[:-2].any()
    whole = np.arange(3)
    assert with_canonical_nan(whole) is whole
