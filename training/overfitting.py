"""Probability of backtest overfitting by combinatorially symmetric cross-validation (CSCV).

Bailey, Borwein, López de Prado, Zhu: The Probability of Backtest Overfitting, Journal of Computational Finance 20(4),
2017. The periods are cut into S blocks; each of the C(S, S/2) ways to take half of the blocks is a history on which the
best combination is chosen, and the other half shows where that combination ranks among all when it counts.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BLOCKS = 16
SUBSETS_AT_ONCE = 1024
"""Subsets whose combinations are held in memory at once."""

RELATIVE_SPREAD = 1e-12
"""Returns whose variance is at most this part of their mean square are constant, as in kernels.metrics."""


class OverfittingError(ValueError):
    """Returns from which no probability of overfitting follows; the message names what is missing."""


@dataclass(frozen=True)
class Overfitting:
    """``probability``: share of the subsets in whose other half the chosen combination ranks in the lower half.

    ``logits``: ln(w / (1 - w)) of each subset, w being the chosen one's relative rank in (0, 1) among all; a tie counts
    half. ``loss``: share of the subsets in whose other half the chosen one loses money.
    """

    probability: float
    loss: float
    logits: NDArray[np.float64]


def block_edges(periods: int, blocks: int = BLOCKS) -> NDArray[np.int64]:
    """Cuts of the periods, in order, into blocks whose lengths differ by one at most [blocks + 1].

    Raises ``OverfittingError`` for fewer than two periods a block.
    """
    if periods < 2 * blocks:
        raise OverfittingError(f"{periods} periods are too few for {blocks} blocks: give at least {2 * blocks}")
    return np.arange(blocks + 1, dtype=np.int64) * periods // blocks


def block_sums(
    returns: NDArray[np.float64], blocks: int = BLOCKS
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Sums and sums of squares [combinations, blocks] of period returns [combinations, periods], and each block's length."""
    edges = block_edges(returns.shape[1], blocks)
    sums = np.add.reduceat(returns, edges[:-1], axis=1)
    squares = np.add.reduceat(returns * returns, edges[:-1], axis=1)
    return sums, squares, np.diff(edges)


def probability_of_backtest_overfitting(
    sums: NDArray[np.float64], squares: NDArray[np.float64], counts: NDArray[np.int64]
) -> Overfitting:
    """The probability that choosing the best Sharpe ratio overfits, from sums and sums of squares of returns.

    ``sums`` and ``squares`` [combinations, S] over S blocks of ``counts`` [S] periods; S is even. All combinations that
    were tried belong in: the best ones alone tell nothing of the choice among all. A combination with constant returns is
    never chosen; where the others are ranked it counts as 0, which a flat account earned. Of equals the first is chosen.

    Raises ``OverfittingError`` for fewer than two combinations, an odd number of blocks, shapes that do not fit, values
    that are not finite, or where in some half no combination has a Sharpe ratio.
    """
    _check(sums, squares, counts)
    blocks = len(counts)
    halves = np.array(list(itertools.combinations(range(blocks), blocks // 2)), dtype=np.int64)
    chosen = np.zeros((len(halves), blocks))
    np.put_along_axis(chosen, halves, 1.0, axis=1)
    ranks, means = [], []
    for low in range(0, len(chosen), SUBSETS_AT_ONCE):
        rank, mean = _ranked(chosen[low : low + SUBSETS_AT_ONCE], sums, squares, counts.astype(np.float64))
        ranks.append(rank)
        means.append(mean)
    relative = np.concatenate(ranks)
    return Overfitting(
        probability=float(np.mean((relative < 0.5) + 0.5 * (relative == 0.5))),
        loss=float(np.mean(np.concatenate(means) < 0.0)),
        logits=np.log(relative / (1.0 - relative)),
    )


def _ranked(
    inside: NDArray[np.float64], sums: NDArray[np.float64], squares: NDArray[np.float64], counts: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each subset's best combination: its relative rank outside the subset, and its mean return there."""
    outside = 1.0 - inside
    history = _sharpe(_summed(inside, sums), _summed(inside, squares), _summed(inside, counts[np.newaxis])[:, 0])
    if np.isnan(history).all(axis=1).any():
        raise OverfittingError("in some half of the blocks no combination has a Sharpe ratio: none traded there")
    best = np.nanargmax(history, axis=1)[:, np.newaxis]
    periods = _summed(outside, counts[np.newaxis])[:, 0]
    later_sums = _summed(outside, sums)
    later = np.nan_to_num(_sharpe(later_sums, _summed(outside, squares), periods), nan=0.0)
    own = np.take_along_axis(later, best, axis=1)
    rank = (later < own).sum(axis=1) + 0.5 * ((later == own).sum(axis=1) + 1.0)  # 1 .. combinations, ties averaged
    mean = np.take_along_axis(later_sums, best, axis=1)[:, 0] / periods
    return rank / (later.shape[1] + 1.0), mean


def _summed(chosen: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums [subsets, combinations] of each combination's values [combinations, S] over the chosen blocks [subsets, S].

    Not a matrix product, whose sums BLAS orders by processor and threads.
    """
    return np.asarray(np.einsum("sb,cb->sc", chosen, values))


def _sharpe(
    total: NDArray[np.float64], squares: NDArray[np.float64], periods: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Mean over standard deviation (ddof=1) a period [subsets, combinations]; NaN where the returns are constant."""
    count = periods[:, np.newaxis]
    spread = (squares - total * total / count) / (count - 1.0)
    varied = spread > RELATIVE_SPREAD * squares / count
    deviation = np.sqrt(np.where(varied, spread, np.nan))
    return np.asarray(total / count / deviation)


def _check(sums: NDArray[np.float64], squares: NDArray[np.float64], counts: NDArray[np.int64]) -> None:
    if sums.ndim != 2 or sums.shape != squares.shape or sums.shape[1:] != counts.shape:
        raise OverfittingError(f"sums {sums.shape} and squares {squares.shape} must be [combinations, {counts.shape}]")
    if len(sums) < 2:
        raise OverfittingError(f"{len(sums)} combinations: a choice needs at least two")
    if len(counts) < 2 or len(counts) % 2 or counts.min() < 1:
        raise OverfittingError(f"{len(counts)} blocks of {counts.tolist()} periods: give an even number, none empty")
    if not (np.isfinite(sums).all() and np.isfinite(squares).all()):
        raise OverfittingError("a sum is not finite: leave ruined accounts out, or give their returns as 0 afterwards")
