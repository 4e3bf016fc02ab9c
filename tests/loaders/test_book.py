"""The ten-level book against dicts of orders, by hand, on generated records and on the real order-by-order file."""

import numpy as np
import pytest

from loaders.book import book_from_orders, trades_from_orders
from loaders.errors import DataError

RECORD = np.dtype([
    ("instrument_id", "<u4"), ("ts_event", "<u8"), ("order_id", "<u8"), ("price", "<i8"), ("size", "<u4"), ("flags", "u1"),
    ("action", "S1"), ("side", "S1"),
])  # fmt: skip
POINT, LAST = 1_000_000_000, 128
REAL = "dbn/nautilus/esh4-glbx-mdp3-20231225.mbo.dbn.zst"


def records(*rows):
    """Records of (order, price, size, action, side, flags); a nanosecond apart."""
    made = np.zeros(len(rows), RECORD)
    for at, (order, price, size, action, side, flags) in enumerate(rows):
        made[at] = (1, 1000 + at, order, round(price * POINT), size, flags, action, side)
    return made


def slow_books(orders, every=1):
    """The book after every `every`-th complete event: dicts of orders, sorted levels."""
    resting, changed, seen, found = {}, False, 0, []
    for row in orders:
        action, key = row["action"], int(row["order_id"])
        if action == b"R":
            resting, changed = {}, True
        elif action in (b"A", b"M"):
            resting[key] = (row["side"], int(row["price"]), int(row["size"]))
            changed = True
        elif action == b"C" and key in resting:
            side, price, size = resting[key]
            left = size - int(row["size"])
            resting[key] = (side, price, left)
            if left <= 0:
                del resting[key]
            changed = True
        if row["flags"] & LAST and changed:
            changed = False
            if seen % every == 0:
                found.append((seen, int(row["ts_event"]), side_levels(resting, b"B", True), side_levels(resting, b"A", False)))
            seen += 1
    return found


def side_levels(resting, side, descending):
    depth = {}
    for own, price, size in resting.values():
        if own == side and size > 0:
            depth[price] = depth.get(price, 0) + size
    return [(price / POINT, depth[price]) for price in sorted(depth, reverse=descending)[:10]]


def assert_equal_books(book, expected):
    for at, ts, bids, asks in expected:
        assert book.ts[at] == ts
        for levels, price, size in ((bids, book.bid_price, book.bid_size), (asks, book.ask_price, book.ask_size)):
            filled = len(levels)
            assert list(zip(price[at, :filled], size[at, :filled], strict=True)) == levels
            assert np.isnan(price[at, filled:]).all() and not size[at, filled:].any()


def test_orders_come_move_shrink_and_go_by_hand():
    book = book_from_orders(
        records(
            (1, 100.0, 5, b"A", b"B", LAST),
            (2, 100.0, 3, b"A", b"B", LAST),
            (3, 100.5, 4, b"A", b"A", LAST),
            (1, 99.75, 6, b"M", b"B", LAST),
            (2, 100.0, 1, b"C", b"B", LAST),
            (9, 100.0, 2, b"T", b"A", LAST),
            (3, 100.5, 4, b"C", b"A", LAST),
        ),
        levels=2,
    )
    assert book.ts.tolist() == [1000, 1001, 1002, 1003, 1004, 1006]  # a trade changes nothing
    assert book.bid_size[:, 0].tolist() == [5, 8, 8, 3, 2, 2]
    assert book.bid_price[3].tolist() == [100.0, 99.75] and book.bid_size[3].tolist() == [3, 6]
    assert book.ask_price[2, 0] == 100.5 and np.isnan(book.ask_price[5]).all() and book.ask_size[5].tolist() == [0, 0]


def test_the_state_inside_an_event_is_not_shown_and_a_clear_empties_the_book():
    book = book_from_orders(
        records((1, 100.0, 5, b"A", b"B", 0), (2, 101.0, 3, b"A", b"A", LAST), (0, 0.0, 0, b"R", b"N", LAST))
    )
    assert book.ts.tolist() == [1001, 1002]
    assert (book.bid_size[0, 0], book.ask_size[0, 0], book.bid_size[1].sum()) == (5, 3, 0)


def test_cancels_of_unknown_orders_are_ignored_and_overlarge_ones_take_what_is_there():
    book = book_from_orders(
        records((7, 100.0, 5, b"C", b"B", LAST), (1, 100.0, 5, b"A", b"B", LAST), (1, 100.0, 9, b"C", b"B", LAST))
    )
    assert book.bid_size[:, 0].tolist() == [5, 0]


@pytest.mark.parametrize("seed", range(4))
def test_generated_records_equal_dicts_of_orders(seed):
    rng = np.random.default_rng(seed)
    rows = [
        (
            int(rng.integers(1, 40)), 100 + int(rng.integers(-20, 20)) * 0.25, int(rng.integers(1, 9)),
            rng.choice([b"A", b"C", b"M", b"T", b"F", b"R"], p=[0.4, 0.2, 0.25, 0.07, 0.07, 0.01]),
            rng.choice([b"A", b"B"]), int(rng.choice([0, LAST, LAST | 2])),
        )
        for _ in range(1500)
    ]  # fmt: skip
    orders = records(*rows)
    book, expected = book_from_orders(orders), slow_books(orders)
    assert len(book.ts) == len(expected) > 500
    assert_equal_books(book, expected)


def test_no_records_and_several_instruments():
    assert book_from_orders(np.zeros(0, RECORD)).bid_price.shape == (0, 10)
    two = records((1, 100.0, 5, b"A", b"B", LAST), (2, 100.0, 5, b"A", b"B", LAST))
    two["instrument_id"][1] = 2
    with pytest.raises(DataError, match="2 instruments"):
        book_from_orders(two)
    with pytest.raises(DataError, match="0 levels"):
        book_from_orders(two, levels=0)


def test_trades_have_the_aggressors_side():
    trades = trades_from_orders(
        records((1, 1.0, 2, b"T", b"B", 0), (1, 1.0, 3, b"A", b"B", 0), (2, 1.0, 4, b"T", b"A", 0), (3, 1.0, 5, b"T", b"N", 0))
    )
    assert (trades.ts.tolist(), trades.size.tolist(), trades.side.tolist()) == ([1000, 1002, 1003], [2, 4, 5], [1, -1, 0])


@pytest.fixture(scope="module")
def real(shared_data):
    databento = pytest.importorskip("databento")
    return databento.DBNStore.from_bytes((shared_data / REAL).read_bytes()).to_ndarray()


def test_the_real_file_equals_dicts_of_orders(real):
    assert len(real) == 68_792
    book = book_from_orders(real)
    assert len(book.ts) == 47_022
    assert_equal_books(book, slow_books(real, every=200))
    # in continuous trading (from 23:00Z) the book is never crossed
    trading = book.ts >= 1_703_545_200_000_000_000
    assert trading.sum() > 20_000
    assert (book.ask_price[trading, 0] > book.bid_price[trading, 0]).all()
    assert (np.diff(book.bid_price[trading], axis=1) < 0).all() and (np.diff(book.ask_price[trading], axis=1) > 0).all()


def test_trades_of_the_real_file_happen_at_the_prices_of_the_book(real):
    """A trade's price lies at the touch it took: at or above the ask before it for a buyer, at or below the bid."""
    book, trades = book_from_orders(real), trades_from_orders(real)
    rows = real[real["action"] == b"T"]
    late = (trades.ts >= 1_703_545_200_000_000_000 + 10**9) & (trades.side != 0)
    before = np.searchsorted(book.ts, trades.ts, "left") - 1
    price = rows["price"] / POINT
    bought, sold = late & (trades.side == 1), late & (trades.side == -1)
    assert bought.sum() > 500 and sold.sum() > 500
    assert (price[bought] >= book.ask_price[before[bought], 0]).mean() > 0.99
    assert (price[sold] <= book.bid_price[before[sold], 0]).mean() > 0.99
