"""The nine order-flow features against pandas, their mask, their bounds, and what they may read."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from kernels.features.flow_table import FLOW_FEATURES, FLOW_LOOK_BACK
from kernels.features.order_flow import BarFlow, flow_features
from kernels.features.returns import log_returns, path_steps

ROWS, ROLL = 700, 400


def make_flow(rows, seed=2, levels=10):
    rng = np.random.default_rng(seed)
    middle = 5000 + np.cumsum(rng.integers(-2, 3, rows)) * 0.25
    spread = rng.choice([0.25, 0.5], rows)
    sizes = rng.integers(1, 80, (2, rows, levels)).astype(float)
    return BarFlow(
        imbalance=rng.integers(-300, 300, (rows, levels)).astype(float), depth=rng.random((rows, levels)) * 50 + 5,
        bid_size=sizes[0], ask_size=sizes[1], bid=middle - spread / 2, ask=middle + spread / 2,
        spread=spread * rng.uniform(0.8, 1.2, rows), bought=rng.poisson(30, rows) * 1.0, sold=rng.poisson(30, rows) * 1.0,
        trades=rng.poisson(20, rows) * 1.0, has_book=np.ones(rows, bool),
    )  # fmt: skip


@pytest.fixture(scope="module")
def bars(bars_of):
    return bars_of(ROWS, seed=6, rolls=(ROLL,))


@pytest.fixture(scope="module")
def returns(bars):
    return np.clip(log_returns(bars), -0.1, 0.1)


@pytest.fixture(scope="module")
def flow():
    return make_flow(ROWS)


@pytest.fixture(scope="module")
def expected(bars, returns, flow):
    depth = pd.DataFrame(flow.depth).rolling(240).mean()
    relative = pd.DataFrame(flow.imbalance) / depth
    weights = 2.0 ** -np.arange(10)
    mid = pd.Series((flow.bid + flow.ask) / 2)
    qb, qa = flow.bid_size[:, 0], flow.ask_size[:, 0]
    micro = (flow.ask * qb + flow.bid * qa) / (qb + qa)
    s60 = pd.Series(path_steps(bars, returns)).rolling(60).std()
    change = mid.diff()
    change[ROLL] = 0.0
    signed = pd.Series(flow.bought - flow.sold)
    deep = flow.bid_size.sum(axis=1), flow.ask_size.sum(axis=1)
    spread, trades = pd.Series(flow.spread), pd.Series(flow.trades)
    return pd.DataFrame({
        "ofi_l1": relative[0].clip(-5, 5),
        "ofi_ml": ((relative * weights).sum(axis=1, min_count=10) / weights.sum()).clip(-5, 5),
        "imb_l1": (qb - qa) / (qb + qa),
        "imb_l10": (deep[0] - deep[1]) / (deep[0] + deep[1]),
        "micro_dev": ((micro - mid) / (mid * s60)).clip(-5, 5),
        "spread_rel": np.log(spread / spread.rolling(240).mean()).clip(-3, 3),
        "trade_imb": signed / (flow.bought + flow.sold),
        "trade_rate": np.log((1 + trades) / (1 + trades.rolling(240).mean())).clip(-3, 3),
        "kyle_60": change.rolling(60).corr(signed),
    })


@pytest.mark.parametrize("feature", FLOW_FEATURES, ids=lambda feature: feature.name)
def test_feature_equals_its_formula_and_keeps_its_bounds(bars, returns, flow, expected, feature):
    matrix, has_flow = flow_features(bars, returns, flow)
    column = matrix[:, [row.name for row in FLOW_FEATURES].index(feature.name)]
    assert has_flow.tolist() == [False] * (FLOW_LOOK_BACK - 1) + [True] * (ROWS - FLOW_LOOK_BACK + 1)
    np.testing.assert_allclose(column[has_flow], expected[feature.name][has_flow], rtol=1e-9, atol=1e-9)
    assert not column[~has_flow].any()
    assert column.min() >= feature.low and column.max() <= feature.high
    assert column[has_flow].std() > 0.01


def test_a_bar_without_a_book_takes_its_look_back_out_whole(bars, returns, flow):
    gap = flow.has_book.copy()
    gap[300] = False
    broken = replace(flow, has_book=gap, spread=np.where(gap, flow.spread, np.nan), bid=np.where(gap, flow.bid, np.nan))
    matrix, has_flow = flow_features(bars, returns, broken)
    assert np.flatnonzero(~has_flow[239:]).tolist() == list(range(300 - 239, 540 - 239))
    assert np.isfinite(matrix).all() and not matrix[~has_flow].any()


def test_a_still_book_gives_finite_values(bars, returns):
    ones = np.ones((ROWS, 2))
    still = BarFlow(
        0 * ones, 0 * ones, 0 * ones + 1, 0 * ones + 1, 100 * ones[:, 0], 101 * ones[:, 0], ones[:, 0], 0 * ones[:, 0],
        0 * ones[:, 0], 0 * ones[:, 0], np.ones(ROWS, bool),
    )  # fmt: skip
    matrix, has_flow = flow_features(bars, returns, still)
    assert has_flow.sum() == ROWS - 239
    assert (matrix[-1] == 0).all()


@pytest.mark.parametrize("cut", [239, 240, 399, 401, 600])
def test_neither_later_bars_nor_the_start_change_a_bit(bars, returns, flow, cut):
    whole, _ = flow_features(bars, returns, flow)

    def part(rows):
        return BarFlow(*(getattr(flow, field.name)[rows] for field in fields(BarFlow)))

    past, _ = flow_features(bars.iloc[:cut], returns[:cut], part(slice(cut)))
    np.testing.assert_array_equal(past.view(np.int64), whole[:cut].view(np.int64))
    start = cut - 239
    late, _ = flow_features(bars.iloc[start:].reset_index(drop=True), returns[start:], part(slice(start, None)))
    np.testing.assert_array_equal(late[239:].view(np.int64), whole[cut:].view(np.int64))


def test_flow_of_other_bars_is_refused(bars, returns, flow):
    with pytest.raises(ValueError, match="order flow of 700 bars for 10"):
        flow_features(bars.iloc[:10], returns[:10], flow)
    assert flow_features(bars.iloc[:0], returns[:0], None)[0].shape == (0, 9)
