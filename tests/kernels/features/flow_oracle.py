"""Order flow of bars in plain words: one bar, one event, one level at a time."""

import math

import numpy as np


def side_flow(price, size, before_price, before_size, better):
    """What one side's level gives: its size where it did not get worse, minus the old size where it did not get better."""
    if math.isnan(price) or math.isnan(before_price):
        return 0.0
    gained = size if price == before_price or better(price, before_price) else 0.0
    lost = before_size if price == before_price or better(before_price, price) else 0.0
    return gained - lost


def bar_aggregates(start, interval, book, trades):
    """Aggregates of one bar as a dict; `book` None where there is none at its end."""
    end = start + interval
    levels = book.bid_size.shape[1]
    inside = [i for i in range(len(book.ts)) if start <= book.ts[i] < end]
    flow = [0.0] * levels
    for i in inside:
        for level in range(levels if i else 0):
            flow[level] += side_flow(
                book.bid_price[i, level], book.bid_size[i, level], book.bid_price[i - 1, level],
                book.bid_size[i - 1, level], lambda a, b: a > b,
            )  # fmt: skip
            flow[level] -= side_flow(
                book.ask_price[i, level], book.ask_size[i, level], book.ask_price[i - 1, level],
                book.ask_size[i - 1, level], lambda a, b: a < b,
            )  # fmt: skip
    before = [i for i in range(len(book.ts)) if book.ts[i] < start]
    standing = [(start, before[-1])] if before else []
    standing += [(book.ts[i], i) for i in inside]
    spread, spread_time, depth, depth_time = 0.0, 0.0, [0.0] * levels, 0.0
    for number, (since, i) in enumerate(standing):
        held = float((standing[number + 1][0] if number + 1 < len(standing) else end) - since)
        if book.ask_price[i, 0] > book.bid_price[i, 0]:
            spread += (book.ask_price[i, 0] - book.bid_price[i, 0]) * held
            spread_time += held
        for level in range(levels):
            depth[level] += (book.bid_size[i, level] + book.ask_size[i, level]) / 2 * held
        depth_time += held
    last = standing[-1][1] if standing else None
    has_book = last is not None and bool(book.ask_price[last, 0] > book.bid_price[last, 0])
    sides = [(trades.side[i], trades.size[i]) for i in range(len(trades.ts)) if start <= trades.ts[i] < end]
    return {
        "imbalance": flow,
        "depth": [one / depth_time if depth_time else 0.0 for one in depth],
        "spread": spread / spread_time if has_book else np.nan,
        "bid": book.bid_price[last, 0] if has_book else np.nan,
        "ask": book.ask_price[last, 0] if has_book else np.nan,
        "bid_size": book.bid_size[last] if has_book else np.zeros(levels),
        "ask_size": book.ask_size[last] if has_book else np.zeros(levels),
        "bought": sum(size for side, size in sides if side == 1),
        "sold": sum(size for side, size in sides if side == -1),
        "trades": float(len(sides)),
        "has_book": has_book,
    }
