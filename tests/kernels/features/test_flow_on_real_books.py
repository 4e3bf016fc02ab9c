"""Order flow of real ESH4 books in ten-second bars: aggregates against one event at a time, and sound features."""

import numpy as np
import pytest

from kernels.features.book_flow import BookEvents, Trades, bar_flow
from kernels.features.order_flow import flow_features
from kernels.features.returns import log_returns
from loaders.book import book_from_orders, trades_from_orders
from tests.kernels.features.flow_oracle import bar_aggregates

REAL = "dbn/nautilus/esh4-glbx-mdp3-20231225.mbo.dbn.zst"
OPENS = 1_703_545_200_000_000_000  # 2023-12-25T23:00Z, the end of the auction
SECONDS = 1_000_000_000
BARS = 359


@pytest.fixture(scope="module")
def real(shared_data):
    databento = pytest.importorskip("databento")
    orders = databento.DBNStore.from_bytes((shared_data / REAL).read_bytes()).to_ndarray()
    book, trades = book_from_orders(orders), trades_from_orders(orders)
    return BookEvents(**vars(book)), Trades(**vars(trades))


@pytest.fixture(scope="module")
def starts():
    return OPENS + np.arange(BARS, dtype=np.int64) * 10 * SECONDS


@pytest.fixture(scope="module")
def flow(real, starts):
    return bar_flow(starts, 10 * SECONDS, *real)


def test_aggregates_equal_one_event_at_a_time(real, starts, flow):
    events, trades = real
    for index in (0, 1, 100, 358):
        near = slice(*np.searchsorted(events.ts, [starts[index] - 600 * SECONDS, starts[index] + 11 * SECONDS]))
        part = BookEvents(*(column[near] for column in vars(events).values()))
        for name, value in bar_aggregates(starts[index], 10 * SECONDS, part, trades).items():
            np.testing.assert_allclose(getattr(flow, name)[index], value, rtol=1e-12, err_msg=f"{name} of bar {index}")


def test_no_book_while_the_auction_is_crossed_and_always_one_afterwards(real, flow):
    auction = bar_flow(OPENS - np.array([1200, 600, 60]) * SECONDS, 10 * SECONDS, *real)
    assert not auction.has_book.any() and np.isnan(auction.spread).all()
    assert flow.has_book.all()
    assert (flow.spread >= 0.25 - 1e-9).all() and flow.spread.mean() < 0.5


def test_all_trades_of_the_hour_are_counted(real, flow):
    trades = real[1]
    inside = (trades.ts >= OPENS) & (trades.ts < OPENS + BARS * 10 * SECONDS)
    assert flow.trades.sum() == inside.sum()
    assert flow.bought.sum() == trades.size[inside & (trades.side == 1)].sum()
    assert flow.sold.sum() == trades.size[inside & (trades.side == -1)].sum()


def test_features_exist_and_flow_pushes_the_price(bars_of, starts, flow):
    """Order flow imbalance and price changes go together (Cont, Kukanov, Stoikov), on these books too."""
    bars = bars_of(BARS).assign(close=(flow.bid + flow.ask) / 2)
    matrix, has_flow = flow_features(bars, np.clip(log_returns(bars), -0.1, 0.1), flow)
    assert has_flow.sum() == BARS - 239
    assert np.isfinite(matrix).all() and (np.abs(matrix) <= 5).all()
    change = np.diff((flow.bid + flow.ask) / 2)[238:]
    assert np.corrcoef(matrix[has_flow, 0], change)[0, 1] > 0.4
    assert matrix[has_flow, 8].mean() > 0.2
