"""Back-adjusted levels exist for charts, and neither a fill nor a signal can be made of them."""

import numpy as np
import pandas as pd
import pytest

from kernels.bars import BarsError, bar_inputs
from kernels.execution import Instrument
from kernels.strategies import STRATEGIES, positions
from kernels.sweep import sweep
from loaders.continuous import continuous_bars
from loaders.continuous_charts import CHART_COLUMNS, chart_bars
from loaders.errors import DataError
from loaders.types import BAR_COLUMNS
from tests.loaders.rolls import accepted, part, random_market, rolled

ES = Instrument("ES", 0.25, 50.0)
ROWS = [
    ("2024-03-04 15:00", "ESH4", 5000.0, 1), ("2024-03-04 15:00", "ESM4", 5050.0, 9),
    ("2024-03-05 15:00", "ESM4", 5060.0, 7), ("2024-03-05 15:00", "ESU4", 5111.0, 70),
    ("2024-03-06 15:00", "ESU4", 5120.0, 7),
]


def test_the_newest_contract_stands_and_the_past_moves_to_meet_it() -> None:
    rows = accepted(rolled(part(ROWS)).bars)
    chart = chart_bars(rows, "back_difference")
    assert {name: str(dtype) for name, dtype in chart.dtypes.items()} == CHART_COLUMNS
    assert chart["chart_close"].tolist() == [5000 + 50 + 51, 5060 + 51, 5120]
    assert chart["chart_contract"].tolist() == ["ESH4", "ESM4", "ESU4"]
    ratio = chart_bars(rows, "back_ratio")["chart_close"]
    np.testing.assert_allclose(ratio, [5000 * 5050 / 5000 * 5111 / 5060, 5060 * 5111 / 5060, 5120], rtol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_its_differences_are_those_of_the_forward_levels(seed: int) -> None:
    rows = accepted(rolled(random_market(seed)).bars)
    forward, chart = continuous_bars(rows), chart_bars(rows, "back_difference")
    np.testing.assert_array_equal(np.diff(chart["chart_close"]), np.diff(forward["adj_close"]))
    assert chart["chart_close"].iloc[-1] == forward["close"].iloc[-1]
    percent, ratio = continuous_bars(rows, "ratio"), chart_bars(rows, "back_ratio")
    np.testing.assert_allclose(np.diff(np.log(ratio["chart_close"])), np.diff(np.log(percent["adj_close"])), atol=1e-12)


def test_a_roll_rewrites_its_past_which_is_why_it_is_for_charts() -> None:
    whole, before = (chart_bars(accepted(rolled(part(rows)).bars), "back_difference") for rows in (ROWS, ROWS[:-1]))
    assert whole["chart_close"].iloc[0] != before["chart_close"].iloc[0]


def test_nothing_can_be_filled_or_decided_on_it() -> None:
    chart = chart_bars(accepted(rolled(part(ROWS)).bars), "back_difference")
    assert not set(chart.columns) & set(BAR_COLUMNS)
    with pytest.raises(BarsError, match="the bars have no column 'open'"):
        bar_inputs(chart)
    for strategy in (positions(), STRATEGIES["ema_cross"]()):
        with pytest.raises(BarsError, match="the bars have no column"):
            sweep(strategy, chart, instrument=ES, grid={name: [2.0] for name in strategy.parameters})


def test_beside_the_bars_it_moves_no_fill() -> None:
    rows = accepted(rolled(random_market(1)).bars)
    bars = continuous_bars(rows).assign(target=1.0)
    beside = pd.concat([bars, chart_bars(rows, "back_ratio")], axis=1)
    one, other = (sweep(positions(), table, instrument=ES, executor="numpy").trace(0) for table in (bars, beside))
    pd.testing.assert_frame_equal(one, other)


def test_an_unknown_method_is_refused_and_nothing_makes_nothing() -> None:
    rows = accepted(rolled(part(ROWS)).bars)
    with pytest.raises(DataError, match="adjustment 'difference' is not known here; known are back_difference, back_ratio"):
        chart_bars(rows, "difference")
    for method in ("back_difference", "back_ratio"):
        pd.testing.assert_frame_equal(chart_bars(rows.iloc[:0], method), chart_bars(rows, method).iloc[:0])
