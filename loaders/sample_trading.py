"""Outright bars of the sample data set: who trades when, with volume that moves from one contract to the next."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loaders.sample_calendar import MinuteGrid, utc_midnight_ns
from loaders.sample_instruments import CONTRACTS, OUTRIGHT, Instrument, crossover_sessions
from loaders.sample_prices import STEPS_PER_MINUTE, PricePath

# Minutes since the 17:00 open, and trades a minute there in all outrights together.
ACTIVITY_MINUTES = (0, 30, 240, 420, 540, 860, 930, 1080, 1140, 1290, 1320, 1335, 1380)
ACTIVITY_TRADES = (25, 8, 4.5, 5.5, 18, 25, 260, 110, 90, 240, 160, 30, 8)
HALF_DAY_ACTIVITY = 0.5
CONTRACTS_PER_TRADE = 6.0
TRANSFER_SESSIONS = 0.75
LARGEST_CARRY_CHANGE = 0.04


@dataclass(frozen=True)
class Rows:
    """Bars in no order; prices fixed point 1e-9, `minute` and `instrument` index the grid and the instruments."""

    minute: NDArray[np.int64]
    instrument: NDArray[np.int64]
    prices: NDArray[np.int64]
    volume: NDArray[np.int64]


def join_rows(parts: list[Rows]) -> Rows:
    """All rows of the parts, one after the other."""
    return Rows(
        np.concatenate([one.minute for one in parts]),
        np.concatenate([one.instrument for one in parts]),
        np.concatenate([one.prices for one in parts]),
        np.concatenate([one.volume for one in parts]),
    )


def roll_stage(sessions: int) -> NDArray[np.float64]:
    """Place of the volume among the contracts by session: 0 in the first, 0.5 half way, 1 in the second, ..."""
    index = np.arange(sessions)[:, None]
    distance = (index - np.array(crossover_sessions())[None, :] + 0.45) / TRANSFER_SESSIONS
    return np.asarray(np.sum(1.0 / (1.0 + np.exp(-np.clip(distance, -40, 40))), axis=1), dtype=np.float64)


def _share(stage: NDArray[np.float64], contract: int) -> NDArray[np.float64]:
    ahead = contract - stage
    leading = np.maximum(0.0, 1.0 - np.abs(ahead))
    deferred = np.where(ahead > 0, 0.012 * np.exp(-1.3 * np.maximum(ahead - 1.0, 0.0)), 0.0)
    return leading + deferred


def alive(grid: MinuteGrid, instrument: Instrument) -> NDArray[np.bool_]:
    """Minutes in which an instrument can trade."""
    return np.asarray((grid.ts >= utc_midnight_ns(instrument.listed)) & (grid.ts < instrument.expires), dtype=np.bool_)


def trades(grid: MinuteGrid) -> NDArray[np.float64]:
    """Expected number of trades in all outrights together, by minute."""
    usual = np.interp(np.arange(1380), ACTIVITY_MINUTES, ACTIVITY_TRADES)
    quiet = np.array([HALF_DAY_ACTIVITY if one.half_day else 1.0 for one in grid.sessions])
    return np.asarray(usual[grid.since_open] * quiet[grid.session], dtype=np.float64)


def carry_factor(grid: MinuteGrid, rng: np.random.Generator) -> NDArray[np.float64]:
    """Factor on every contract's carry, by minute: within 4 % of 1."""
    # A walk from session to session: deferred contracts have a little risk of their own, and no drift.
    walk = np.cumsum(rng.standard_normal(len(grid.sessions)) * 0.001)
    return np.asarray(1.0 + np.clip(walk, -LARGEST_CARRY_CHANGE, LARGEST_CARRY_CHANGE)[grid.session], dtype=np.float64)


def _bar_of_path(path: NDArray[np.float64], trades: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Open, high, low, close [rows, 4] of the part of each minute's path between its first and its last trade."""
    ends = np.sort(rng.integers(0, STEPS_PER_MINUTE, (trades.size, 2)), axis=1)
    ends[trades == 1, 1] = ends[trades == 1, 0]
    ends[trades >= STEPS_PER_MINUTE] = (0, STEPS_PER_MINUTE - 1)
    step = np.arange(STEPS_PER_MINUTE)
    seen = (step >= ends[:, :1]) & (step <= ends[:, 1:])
    row = np.arange(trades.size)
    high = np.where(seen, path, -np.inf).max(axis=1)
    low = np.where(seen, path, np.inf).min(axis=1)
    return np.stack([path[row, ends[:, 0]], high, low, path[row, ends[:, 1]]], axis=1)


def _to_tick(points: NDArray[np.float64], tick: int) -> NDArray[np.int64]:
    return np.rint(points * (1_000_000_000 / tick)).astype(np.int64) * tick


def outright_rows(
    grid: MinuteGrid,
    path: PricePath,
    instruments: tuple[Instrument, ...],
    factor: NDArray[np.float64],
    rng: np.random.Generator,
) -> Rows:
    """Bars of the outrights: a minute without a trade has none; price = level of the first contract + carry."""
    stage, expected = roll_stage(len(grid.sessions)), trades(grid)
    parts = []
    for index, one in enumerate(instruments):
        if one.kind != OUTRIGHT:
            continue
        rate = expected * _share(stage, index)[grid.session] * alive(grid, one)
        count = rng.poisson(rate)
        minute = np.flatnonzero(count)
        number = count[minute]
        points = _bar_of_path(path.level[minute], number, rng) + (CONTRACTS[index].carry * factor[minute])[:, None]
        size = np.exp(rng.standard_normal(minute.size) * 0.5) * CONTRACTS_PER_TRADE
        volume = np.maximum(number, np.rint(number * size).astype(np.int64))
        parts.append(Rows(minute, np.full(minute.size, index), _to_tick(points, one.tick), volume))
    return join_rows(parts)
