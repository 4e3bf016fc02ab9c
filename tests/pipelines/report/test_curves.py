import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.report.curves import drawdown, keep_extremes, profit_curve, time_in_position


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300), st.integers(4, 60))
def test_thinning_keeps_ends_and_extremes_within_the_limit(values: list[float], limit: int) -> None:
    series = np.array(values)
    rows = keep_extremes(series, limit)
    assert len(rows) <= limit
    assert (np.diff(rows) > 0).all()
    assert rows[0] == 0 and rows[-1] == len(series) - 1
    assert series[rows].max() == series.max() and series[rows].min() == series.min()


def test_a_limit_without_room_for_extremes_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 4 points"):
        keep_extremes(np.zeros(10), 3)


def test_drawdown_counts_from_the_start_and_agrees_with_pandas() -> None:
    assert drawdown(np.array([-5.0, 10.0, 4.0, 12.0])).tolist() == [-5.0, 0.0, -6.0, 0.0]
    profit = np.random.default_rng(0).normal(size=500).cumsum()
    expected = pd.Series(profit) - pd.Series([0.0, *profit]).cummax().iloc[1:].reset_index(drop=True)
    np.testing.assert_array_equal(drawdown(profit), expected.to_numpy())


def test_a_long_curve_is_thinned_with_its_deepest_drawdown() -> None:
    equity = 1_000.0 + np.random.default_rng(1).normal(size=50_000).cumsum()
    times = pd.date_range("2024-01-01", periods=len(equity), freq="min", tz="UTC").as_unit("ns")
    curve = profit_curve(pd.DataFrame({"ts_event": times, "equity": equity, "position": 0.0}), capital=1_000.0)
    assert len(curve["profit"]) == len(curve["ts_event"]) == len(curve["drawdown"]) <= 2_000
    assert min(curve["drawdown"]) == drawdown(equity - 1_000.0).min()
    assert max(curve["profit"]) == (equity - 1_000.0).max()
    assert curve["ts_event"][0] == times[0].value and curve["ts_event"][-1] == times[-1].value


def test_time_in_position() -> None:
    shares = time_in_position(pd.DataFrame({"position": [2.0, 1.0, 0.0, -1.0]}))
    assert shares == {"long": 0.5, "flat": 0.25, "short": 0.25}
