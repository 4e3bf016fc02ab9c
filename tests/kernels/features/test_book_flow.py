"""Order flow of bars against one event at a time, by hand and on generated books."""

from dataclasses import fields

import numpy as np
import pytest

from kernels.features.book_flow import BookEvents, Trades, bar_flow
from kernels.features.order_flow import BarFlow
from tests.kernels.features.flow_oracle import bar_aggregates

NAN = np.nan


def book(ts, bids, asks):
    """A book of one level: (price, size) of each side at each time."""
    columns = [np.array([[row[index]] for row in side], float) for side in (bids, asks) for index in (0, 1)]
    return BookEvents(np.array(ts, np.int64), *columns)


def no_trades():
    return Trades(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int8))


def random_book(seed, events=400, levels=3, span=4_000):
    """A walking book with empty levels, clears and auctions; several events at one time."""
    rng = np.random.default_rng(seed)
    ts = np.sort(rng.integers(0, span, events)).astype(np.int64)
    middle = 100 + np.cumsum(rng.integers(-1, 2, events)) * 0.25
    width = rng.choice([0.25, 0.5, -0.25], events, p=[0.7, 0.25, 0.05])
    steps = np.arange(levels) * 0.25
    bid, ask = middle[:, None] - steps, (middle + width)[:, None] + steps
    sizes = rng.integers(1, 50, (2, events, levels)).astype(float)
    for price, size in ((bid, sizes[0]), (ask, sizes[1])):
        empty = np.maximum.accumulate(rng.random((events, levels)) < 0.05, axis=1)
        price[empty], size[empty] = np.nan, 0.0
    trades = Trades(
        np.sort(rng.integers(0, span, 150)).astype(np.int64), rng.integers(1, 9, 150).astype(float),
        rng.integers(-1, 2, 150).astype(np.int8),
    )  # fmt: skip
    return BookEvents(ts, bid, sizes[0], ask, sizes[1]), trades


def test_flow_of_an_event_by_hand():
    """Bid up: + its new size; bid size grows by 4: +4; ask down: - its new size; ask gone: nothing."""
    bids = [(100.0, 10), (100.25, 7), (100.25, 11), (100.25, 11), (100.25, 11)]
    asks = [(101.0, 5), (101.0, 5), (101.0, 5), (100.5, 3), (NAN, 0)]
    made = bar_flow(np.array([10]), 10, book([10, 11, 12, 13, 14], bids, asks), no_trades())
    assert made.imbalance[0, 0] == 7 + 4 - 3 + 0
    assert not made.has_book[0]


def test_spread_and_depth_are_means_over_time_from_the_book_that_stood_before():
    """Spread 0.5 for 4 ns (from before the bar), then 0.25 for 6 ns; depth (4 + 6)/2 and (8 + 6)/2."""
    made = bar_flow(np.array([100]), 10, book([50, 104], [(10.0, 4), (10.25, 8)], [(10.5, 6), (10.5, 6)]), no_trades())
    assert made.spread[0] == pytest.approx(0.5 * 0.4 + 0.25 * 0.6)
    assert made.depth[0, 0] == pytest.approx(5 * 0.4 + 7 * 0.6)
    assert (made.bid[0], made.ask[0], made.bid_size[0, 0], made.imbalance[0, 0]) == (10.25, 10.5, 8.0, 8.0)


def test_events_at_the_end_of_a_bar_belong_to_the_next_and_trades_are_summed_by_aggressor():
    trades = Trades(np.array([0, 5, 9, 10]), np.array([2.0, 3.0, 4.0, 8.0]), np.array([1, -1, 0, -1], np.int8))
    made = bar_flow(np.array([0, 10]), 10, book([0, 10], [(1.0, 1), (2.0, 2)], [(3.0, 1), (3.0, 1)]), trades)
    assert (made.bought.tolist(), made.sold.tolist(), made.trades.tolist()) == ([2.0, 0.0], [3.0, 8.0], [3.0, 1.0])
    assert made.bid.tolist() == [1.0, 2.0]
    assert made.imbalance[:, 0].tolist() == [0.0, 2.0]


@pytest.mark.parametrize("seed", range(6))
def test_every_aggregate_equals_one_event_at_a_time(seed):
    events, trades = random_book(seed)
    starts = np.array([0, 100, 250, 400, 1000, 1100, 1200, 3000, 3900, 4100], np.int64) + 7 * seed
    made = bar_flow(starts, 100, events, trades)
    for index, start in enumerate(starts):
        for name, value in bar_aggregates(start, 100, events, trades).items():
            np.testing.assert_allclose(getattr(made, name)[index], value, rtol=1e-12, err_msg=f"{name} of bar {index}")
    assert made.has_book.any()


def test_bars_read_their_own_events_and_the_one_before_them():
    """A chunk with the last event before it gives the bits of the whole."""
    events, trades = random_book(1)
    starts = np.arange(0, 4000, 100, dtype=np.int64)
    whole = bar_flow(starts, 100, events, trades)
    cut = int(np.searchsorted(events.ts, 2000)) - 1
    late = BookEvents(*(getattr(events, field.name)[cut:] for field in fields(BookEvents)))
    part = bar_flow(starts[20:], 100, late, trades)
    for field in fields(BarFlow):
        np.testing.assert_array_equal(getattr(part, field.name), getattr(whole, field.name)[20:], err_msg=field.name)


def test_bars_without_any_event_have_no_book():
    made = bar_flow(np.array([0, 10]), 10, random_empty(), no_trades())
    assert not made.has_book.any()
    assert np.isnan(made.spread).all() and made.trades.tolist() == [0.0, 0.0]
    assert bar_flow(np.empty(0, np.int64), 10, random_empty(), no_trades()).has_book.shape == (0,)


def random_empty():
    return BookEvents(np.empty(0, np.int64), *(np.empty((0, 2)) for _ in range(4)))


def test_disorder_is_refused():
    with pytest.raises(ValueError, match="book events do not stand in time order"):
        bar_flow(np.array([0]), 10, book([5, 4], [(1, 1)] * 2, [(2, 1)] * 2), no_trades())
    with pytest.raises(ValueError, match="bars overlap"):
        bar_flow(np.array([0, 5]), 10, random_empty(), no_trades())
