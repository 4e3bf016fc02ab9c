"""Real minutes of ES and GC, roll days included: a rule that rejects one of them is wrong."""

import numpy as np
import pytest

from loaders.dbn import read_bars
from validation.bar_rules import BarRules
from validation.sanitise import sanitise_bars

# file, root, tick; the same on generated bars: test_sanitise.py
SERIES = [("es-2013-2020", "ES", 0.25), ("gc-2013-2020", "GC", 0.1)]


@pytest.mark.parametrize(("name", "root", "tick"), SERIES)
def test_every_real_bar_is_accepted_at_its_price(shared_data, name, root, tick):
    bars, _ = read_bars(shared_data / "dbn" / "derived-lean" / f"{name}.ohlcv-1m.dbn.zst", root)
    good, findings = sanitise_bars(bars, BarRules(tick_size=tick))
    assert len(findings) == 0
    assert len(good) == len(bars) > 8_000
    in_time = bars.sort_values(["ts_event", "expiry"], kind="stable", ignore_index=True)
    np.testing.assert_array_equal(good["close"], in_time["close"] / 1e9)
