"""From book events and trades to the order flow of bars."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernels.features.order_flow import BarFlow
from kernels.features.windows import Floats


@dataclass(frozen=True)
class BookEvents:
    """The book after each event, one instrument, in time order: `ts` int64 ns [n], the rest float64 [n, levels].

    Prices are NaN and sizes 0 where a level is empty (an empty book after a clear has only such levels).
    """

    ts: NDArray[np.int64]
    bid_price: Floats
    bid_size: Floats
    ask_price: Floats
    ask_size: Floats


@dataclass(frozen=True)
class Trades:
    """Trades of one instrument in time order: `ts` int64 ns, `size` float64, `side` int8 [n].

    side is 1 where the buyer was the aggressor, -1 where the seller was, 0 where neither is known.
    """

    ts: NDArray[np.int64]
    size: Floats
    side: NDArray[np.int8]


def bar_flow(starts: NDArray[np.int64], interval: int, book: BookEvents, trades: Trades) -> BarFlow:
    """Aggregate events to bars [start, start + interval).

    e_l of an event against the one before it (Cont, Kukanov, Stoikov 2014), for each level: the bid gives its size where
    its price did not fall, minus the size before where it did not rise; the ask the same with both signs turned. A side
    that is empty before or after gives nothing, so neither the first event of a session nor a clear is flow. The book
    before the bar's first event is the one that stood at its start; a crossed book (an auction's) is none. Bars read
    their own events and the last one before them: a chunk that brings that event along gives the bits of the whole.

    Args:
        starts: first nanosecond of each bar, rising.
        interval: length of a bar in nanoseconds.
        book, trades: of the same instrument.

    Raises:
        ValueError: times fall, or bars overlap.
    """
    _check_order(starts, interval, book, trades)
    first, stop = (np.searchsorted(book.ts, edge, "left") for edge in (starts, starts + interval))
    stretches = _stretches(book.ts, starts, interval, first, stop)
    # In an auction the book is crossed: its prices are no offers to trade at, so it is none. NaN is no book either.
    two_sided = book.ask_price[:, 0] > book.bid_price[:, 0]
    spread = np.where(two_sided, book.ask_price[:, 0] - book.bid_price[:, 0], np.nan)
    mean_spread = _time_mean(spread, *stretches, len(starts))
    has_book = np.isfinite(mean_spread)
    has_book[has_book] = two_sided[stop[has_book] - 1]
    depth = (book.bid_size + book.ask_size) / 2
    bought, sold, count = _trade_sums(starts, interval, trades)
    return BarFlow(
        imbalance=_sums(_event_flow(book), first, stop),
        depth=np.column_stack([np.nan_to_num(_time_mean(level, *stretches, len(starts))) for level in depth.T]),
        **_at_end(book, stop, has_book),
        spread=np.where(has_book, mean_spread, np.nan),
        bought=bought,
        sold=sold,
        trades=count,
        has_book=has_book,
    )


def _check_order(starts: NDArray[np.int64], interval: int, book: BookEvents, trades: Trades) -> None:
    for name, times in (("book events", book.ts), ("trades", trades.ts)):
        if (np.diff(times) < 0).any():
            raise ValueError(f"{name} do not stand in time order; sort them by time, keeping the order within one")
    if (np.diff(starts) < interval).any():
        raise ValueError(f"bars overlap or fall: starts must be at least {interval} ns apart")


def _event_flow(book: BookEvents) -> Floats:
    """e_l of every event [n, levels]; 0 for the first."""
    flow = np.zeros(book.bid_size.shape)
    for price, size, sign in ((book.bid_price, book.bid_size, 1.0), (book.ask_price, book.ask_size, -1.0)):
        now, before = sign * price[1:], sign * price[:-1]  # better is larger on both sides
        both = np.isfinite(now) & np.isfinite(before)
        change = np.where(now >= before, size[1:], 0.0) - np.where(now <= before, size[:-1], 0.0)
        flow[1:] += sign * np.where(both, change, 0.0)
    return flow


def _stretches(
    ts: NDArray[np.int64], starts: NDArray[np.int64], interval: int, first: NDArray[np.intp], stop: NDArray[np.intp]
) -> tuple[NDArray[np.intp], Floats, NDArray[np.intp]]:
    """Within each bar, how long which event's book stood.

    Returns:
        event of each stretch (-1 for none), its nanoseconds, and the first stretch of each bar. A bar begins with the
        book of the event before it.
    """
    counts = stop - first + 1
    begins = np.cumsum(counts) - counts
    total = int(counts.sum())
    bar = np.repeat(np.arange(len(starts)), counts)
    event = np.arange(total) - begins[bar] + first[bar] - 1
    since = np.where(event < first[bar], starts[bar], ts[np.maximum(event, 0)] if len(ts) else 0)
    until = np.append(since[1:], 0)
    until[begins[1:] - 1] = starts[:-1] + interval
    if total:
        until[-1] = starts[-1] + interval
    return event, (until - since).astype(np.float64), begins


def _time_mean(values: Floats, event: NDArray[np.intp], weights: Floats, begins: NDArray[np.intp], rows: int) -> Floats:
    """Mean of an event column over the time of each bar at which it is known; NaN where it never is."""
    if not len(values) or not rows:
        return np.full(rows, np.nan)
    seen = np.where(event >= 0, values[np.maximum(event, 0)], np.nan)
    held = np.where(np.isnan(seen), 0.0, weights)
    total = np.add.reduceat(np.nan_to_num(seen) * held, begins)
    length = np.add.reduceat(held, begins)
    mean: Floats = np.divide(total, length, out=np.full(rows, np.nan), where=length > 0)
    return mean


def _sums(values: Floats, first: NDArray[np.intp], stop: NDArray[np.intp]) -> Floats:
    """Sums over the rows first to stop of each bar, [bars, levels]; sizes are whole numbers, so they are exact."""
    running = np.vstack([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    summed: Floats = running[stop] - running[first]
    return summed


def _trade_sums(starts: NDArray[np.int64], interval: int, trades: Trades) -> tuple[Floats, Floats, Floats]:
    first, stop = (np.searchsorted(trades.ts, edge, "left") for edge in (starts, starts + interval))
    columns = [np.where(trades.side == side, trades.size, 0.0) for side in (1, -1)]
    sums = _sums(np.column_stack(columns), first, stop)
    return np.asarray(sums[:, 0]), np.asarray(sums[:, 1]), (stop - first).astype(np.float64)


def _at_end(book: BookEvents, stop: NDArray[np.intp], has_book: NDArray[np.bool_]) -> dict[str, Floats]:
    """Best prices and the sizes of all levels at the end of each bar."""
    last = np.where(has_book, stop - 1, 0)
    return {
        "bid_size": _taken(book.bid_size, last, has_book, 0.0),
        "ask_size": _taken(book.ask_size, last, has_book, 0.0),
        "bid": _taken(book.bid_price[:, 0], last, has_book, np.nan),
        "ask": _taken(book.ask_price[:, 0], last, has_book, np.nan),
    }


def _taken(values: Floats, rows: NDArray[np.intp], known: NDArray[np.bool_], missing: float) -> Floats:
    if not len(values):
        return np.full((len(rows), *values.shape[1:]), missing)
    shown = known.reshape(-1, *(1,) * (values.ndim - 1))
    taken: Floats = np.where(shown, np.nan_to_num(values[rows], nan=missing), missing)
    return taken
