"""A ten-level book from order-by-order records (MBO): the state after each of the exchange's packets that changes it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.compiled import compiled
from loaders.errors import DataError
from loaders.types import PRICE_SCALE, UNDEF_PRICE

LEVELS = 10
LAST_OF_PACKET = 128  # Databento's F_LAST: the records of one event are complete
_ACTIONS = {b"A": 1, b"C": 2, b"M": 3, b"R": 4}  # trades, fills and "none" leave the book as it is


@dataclass(frozen=True, eq=False)
class Book:
    """The book after each event, in time order.

    ts: int64 ns UTC [n], ts_event of the event's last record. bid_price, ask_price: float64 [n, levels], NaN where a
    level is empty; bid_size, ask_size: float64 [n, levels], contracts, 0 where it is empty. Best level first.
    """

    ts: NDArray[np.int64]
    bid_price: NDArray[np.float64]
    bid_size: NDArray[np.float64]
    ask_price: NDArray[np.float64]
    ask_size: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trades:
    """Trades in time order: ts int64 ns UTC, size float64, side int8 (1 the buyer was the aggressor, -1 the seller, 0
    unknown), each [n]."""

    ts: NDArray[np.int64]
    size: NDArray[np.float64]
    side: NDArray[np.int8]


def book_from_orders(records: NDArray[Any], levels: int = LEVELS) -> Book:
    """Build the book of one instrument from its MBO records.

    The state is taken after the last record of each event (flag F_LAST) in which the book changed. An order modified to
    another price or a larger size keeps its identity; what its place in the queue is does not matter to a book of sums.
    A record of an order that is not known (a file that starts in mid-session without a snapshot) is ignored where it
    takes away and counts as new where it modifies.

    Args:
        records: structured array with fields `ts_event`, `order_id`, `price`, `size`, `flags`, `action`, `side`.
        levels: price levels on each side.

    Raises:
        DataError: records of several instruments, or levels is not positive.
    """
    if levels < 1:
        raise DataError(f"book of {levels} levels; give at least 1")
    instruments = np.unique(records["instrument_id"]) if len(records) else np.empty(0)
    if len(instruments) > 1:
        raise DataError(f"MBO records of {len(instruments)} instruments ({instruments[:3]} …); build each one's book apart")
    orders, order = np.unique(records["order_id"], return_inverse=True)
    prices, rank = np.unique(np.where(records["price"] == UNDEF_PRICE, 0, records["price"]), return_inverse=True)
    action = _codes(records["action"], _ACTIONS)
    side = _codes(records["side"], {b"B": 1, b"A": 2})
    last = (records["flags"] & LAST_OF_PACKET) != 0
    shown, ranks, sizes = _replay(
        order.astype(np.int64), rank.astype(np.int64), records["size"].astype(np.int64), action, side, last,
        len(orders), len(prices), levels,
    )  # fmt: skip
    floats = np.append(prices / PRICE_SCALE, np.nan)  # rank -1 reads the NaN
    ts = records["ts_event"][shown].astype(np.int64)
    return Book(
        ts, floats[ranks[:, 0]], sizes[:, 0].astype(np.float64), floats[ranks[:, 1]], sizes[:, 1].astype(np.float64)
    )


def trades_from_orders(records: NDArray[Any]) -> Trades:
    """The trades among MBO (or trades) records: action `T`, with the aggressor's side."""
    chosen = records[records["action"] == b"T"]
    side = _codes(chosen["side"], {b"B": 1, b"A": -1})
    return Trades(chosen["ts_event"].astype(np.int64), chosen["size"].astype(np.float64), side)


def _codes(letters: NDArray[Any], table: dict[bytes, int]) -> NDArray[np.int8]:
    codes = np.zeros(len(letters), np.int8)
    for letter, code in table.items():
        codes[letters == letter] = code
    return codes


@compiled
def _show(depth, ranks, sizes):  # type: ignore[no-untyped-def]
    """Write the first filled levels of one side, best price first, into ranks and sizes [levels]."""
    found = 0
    for at in range(len(depth)):
        if found == len(ranks):
            break
        if depth[at] > 0:
            ranks[found], sizes[found] = at, depth[at]
            found += 1


@compiled
def _replay(order, rank, size, action, side, last, order_count, price_count, levels):  # type: ignore[no-untyped-def]
    """Replay the records; returns rows shown, and [shown, 2, levels] price ranks (-1 empty) and sizes."""
    rows = len(order)
    held_rank = np.zeros(order_count, np.int64)
    held_size = np.zeros(order_count, np.int64)
    held_side = np.zeros(order_count, np.int8)
    depth = np.zeros((2, price_count), np.int64)
    shown = np.empty(rows, np.int64)
    ranks = np.full((rows, 2, levels), -1, np.int64)
    sizes = np.zeros((rows, 2, levels), np.int64)
    count, changed = 0, False
    for row in range(rows):
        act, one = action[row], order[row]
        if act == 4:
            depth[:] = 0
            held_size[:] = 0
            changed = True
        elif act == 1 or act == 3:
            if held_size[one] > 0:
                depth[held_side[one] - 1, held_rank[one]] -= held_size[one]
                held_size[one] = 0
            if side[row] > 0:
                held_rank[one], held_size[one], held_side[one] = rank[row], size[row], side[row]
                depth[side[row] - 1, rank[row]] += size[row]
            changed = True
        elif act == 2 and held_size[one] > 0:
            gone = min(size[row], held_size[one])
            depth[held_side[one] - 1, held_rank[one]] -= gone
            held_size[one] -= gone
            changed = True
        if last[row] and changed:
            shown[count] = row
            _show(depth[0][::-1], ranks[count, 0], sizes[count, 0])
            for level in range(levels):  # ranks of bids were counted from the highest price
                if ranks[count, 0, level] >= 0:
                    ranks[count, 0, level] = price_count - 1 - ranks[count, 0, level]
            _show(depth[1], ranks[count, 1], sizes[count, 1])
            count += 1
            changed = False
    return shown[:count], ranks[:count], sizes[:count]
