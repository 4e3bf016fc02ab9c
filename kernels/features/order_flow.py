"""Features 43-51: order flow of the bar, from its aggregates to the nine columns."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.features.flow_table import FLOW_FEATURES, FLOW_LOOK_BACK
from kernels.features.inputs import FLOOR, bounded, bounded_log, quotient
from kernels.features.liquidity import correlation
from kernels.features.returns import path_steps
from kernels.features.windows import Floats, mean_and_spread, products, window_sum


@dataclass(frozen=True)
class BarFlow:
    """Order flow of each bar, made by `kernels.features.book_flow.bar_flow`.

    imbalance: sum of e_l of the bar's book events, contracts [bars, levels].
    depth: time mean of (bid size + ask size) / 2 of each level, contracts [bars, levels].
    bid_size, ask_size: sizes of the levels at the bar's end [bars, levels], 0 where a level is empty.
    bid, ask: best prices at the bar's end [bars].
    spread: time mean of the best ask - the best bid, in price [bars].
    bought, sold: volume of aggressive buyers and sellers [bars]; trades: number of trades [bars].
    has_book: at the bar's end both sides stand, not crossed [bars]; prices of other rows are NaN, sizes 0.
    """

    imbalance: Floats
    depth: Floats
    bid_size: Floats
    ask_size: Floats
    bid: Floats
    ask: Floats
    spread: Floats
    bought: Floats
    sold: Floats
    trades: Floats
    has_book: NDArray[np.bool_]


def flow_features(
    bars: pd.DataFrame, clamped_returns: NDArray[np.float64], flow: BarFlow | None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The features of kernels.features.flow_table, float64 [bars, 9], and the rows that have them, bool [bars].

    A row has order flow when every bar of its look-back (FLOW_LOOK_BACK bars) has a book, a mid above zero and a return;
    any other row is nine zeros, never NaN, so that the columns exist with and without books. Like the market features
    a row reads its look-back alone.

    Args:
        bars: bars table sorted by time; `expiry` and `close` are read.
        clamped_returns: float64 [bars] of layer 2.
        flow: the bars' order flow, or None where there are no books.

    Raises:
        ValueError: flow is of other bars.
    """
    rows = len(bars)
    matrix = np.zeros((rows, len(FLOW_FEATURES)))
    if flow is None or not rows:
        return matrix, np.zeros(rows, bool)
    if len(flow.has_book) != rows:
        raise ValueError(f"order flow of {len(flow.has_book)} bars for {rows}; aggregate it to these bars")
    steps = path_steps(bars, clamped_returns)
    columns = _columns(flow, steps, _same_contract(bars))
    whole = np.isfinite(np.column_stack([columns[row.name] for row in FLOW_FEATURES])).all(axis=1)
    has_flow: NDArray[np.bool_] = whole & (
        window_sum(flow.has_book.astype(np.float64), FLOW_LOOK_BACK) == FLOW_LOOK_BACK
    )
    for index, row in enumerate(FLOW_FEATURES):
        matrix[has_flow, index] = columns[row.name][has_flow]
    return matrix, has_flow


def _columns(flow: BarFlow, steps: Floats, same_contract: NDArray[np.bool_]) -> dict[str, Floats]:
    levels = flow.depth.shape[1]
    relative = [
        quotient(flow.imbalance[:, level], window_sum(flow.depth[:, level], 240) / 240, 0.0) for level in range(levels)
    ]
    weights = 0.5 ** np.arange(levels)
    mid = np.where((flow.bid > 0) & flow.has_book, (flow.bid + flow.ask) / 2, np.nan)
    qb, qa = flow.bid_size[:, 0], flow.ask_size[:, 0]
    micro = quotient(flow.ask * qb + flow.bid * qa, qb + qa, np.nan)
    s60 = np.maximum(np.sqrt(mean_and_spread(steps, (60,))[60][1] / 59), FLOOR)
    deep_bid, deep_ask = flow.bid_size.sum(axis=1), flow.ask_size.sum(axis=1)
    return {
        "ofi_l1": bounded(relative[0], 5.0),
        "ofi_ml": bounded(sum(w * one for w, one in zip(weights, relative, strict=True)) / weights.sum(), 5.0),
        "imb_l1": bounded(quotient(qb - qa, qb + qa, 0.0), 1.0),
        "imb_l10": bounded(quotient(deep_bid - deep_ask, deep_bid + deep_ask, 0.0), 1.0),
        "micro_dev": bounded((micro - mid) / (mid * s60), 5.0),
        "spread_rel": bounded_log(quotient(flow.spread, window_sum(flow.spread, 240) / 240, 1.0), 3.0),
        "trade_imb": bounded(quotient(flow.bought - flow.sold, flow.bought + flow.sold, 0.0), 1.0),
        "trade_rate": bounded_log((1.0 + flow.trades) / (1.0 + window_sum(flow.trades, 240) / 240), 3.0),
        "kyle_60": _impact(mid, flow.bought - flow.sold, same_contract),
    }


def _impact(mid: Floats, signed: Floats, same_contract: NDArray[np.bool_]) -> Floats:
    change = np.full(len(mid), np.nan)
    change[1:] = np.where(same_contract[1:], mid[1:] - mid[:-1], np.where(np.isnan(mid[1:]), np.nan, 0.0))
    moved, pressed = (mean_and_spread(values, (60,))[60][1] for values in (change, signed))
    return correlation(moved, pressed, products(change, signed, 60))


def _same_contract(bars: pd.DataFrame) -> NDArray[np.bool_]:
    expiry = bars["expiry"].to_numpy()
    return np.append(False, expiry[1:] == expiry[:-1])
