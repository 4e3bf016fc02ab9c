"""Spread bars of the sample data set: calendars, butterflies and user-defined strategies beside their outrights."""

import numpy as np
from numpy.typing import NDArray

from loaders.sample_calendar import MinuteGrid
from loaders.sample_instruments import (
    BUTTERFLY,
    CALENDAR,
    CONTRACTS,
    KINDS,
    SPREAD_TICK,
    USER_DEFINED,
    Instrument,
    crossover_sessions,
)
from loaders.sample_prices import autoregression
from loaders.sample_trading import Rows, alive, join_rows, roll_stage, trades

# Records per outright record of the session; calendars run from the first value in quiet weeks to the second at a roll.
QUIET_SHARE = {CALENDAR: 0.275, BUTTERFLY: 0.008, USER_DEFINED: 0.004}
ROLL_SHARE = {CALENDAR: 0.325, BUTTERFLY: 0.008, USER_DEFINED: 0.004}
ROLL_SESSIONS = 5.0
QUIET_VOLUME = 4.0
ROLL_VOLUME = 120.0
BOOK_NOISE = 0.25
LARGEST_BOOK_NOISE = 0.7


def _weights(stage: NDArray[np.float64], instrument: Instrument) -> NDArray[np.float64]:
    """Relative frequency of a spread's bars by session: nearby legs around the leading contract trade most."""
    if not instrument.legs:
        return np.ones(stage.size)
    legs = [index for index, _ in instrument.legs]
    behind = np.maximum(min(legs) - stage, -0.2)
    return np.asarray(np.exp(-2.2 * behind - 1.2 * (max(legs) - min(legs))), dtype=np.float64)


def _roll_pressure(sessions: int, instrument: Instrument) -> NDArray[np.float64]:
    """How much of a roll's business goes through this spread, 0 to 1 by session: all of it old leader against new."""
    legs = sorted(index for index, _ in instrument.legs)
    crossovers = crossover_sessions()
    if instrument.kind != CALENDAR or legs[1] != legs[0] + 1 or legs[0] >= len(crossovers):
        return np.zeros(sessions)
    distance = np.abs(np.arange(sessions) - crossovers[legs[0]]) / ROLL_SESSIONS
    return np.asarray(np.maximum(0.0, 1.0 - distance), dtype=np.float64)


def _choose(
    weight: NDArray[np.float64], session: NDArray[np.int64], wanted: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw `wanted` (spread, minute) cells of each session without replacement, odds by weight [spreads, minutes]."""
    # The largest of log weight + Gumbel noise are a weighted sample without replacement (Efraimidis and Spirakis).
    with np.errstate(divide="ignore"):
        score = np.log(weight) + rng.gumbel(size=weight.shape)
    edges = np.searchsorted(session, np.arange(wanted.size + 1))
    spreads, minutes = [], []
    for number, start, stop in zip(wanted, edges[:-1], edges[1:], strict=True):
        block = score[:, start:stop]
        possible = int(np.isfinite(block).sum())
        best = np.argsort(-block, axis=None, kind="stable")[: min(int(number), possible)]
        spread, minute = np.divmod(best, stop - start)
        spreads.append(spread)
        minutes.append(minute + start)
    return np.concatenate(spreads), np.concatenate(minutes)


def _mid_prices(
    grid: MinuteGrid, members: list[Instrument], factor: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Mid price of each spread on every minute: what its legs are worth, plus a small disturbance of its own book."""
    mids = []
    for one in members:
        worth = sum(ratio * CONTRACTS[index].carry for index, ratio in one.legs)
        noise = np.clip(autoregression(rng, grid.ts.size, 15.0, BOOK_NOISE), -LARGEST_BOOK_NOISE, LARGEST_BOOK_NOISE)
        mids.append(worth * factor + one.offset + noise)
    return np.stack(mids)


def _bars(
    mid: NDArray[np.float64], pressure: NDArray[np.float64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Prices [rows, 4] around the mid and volume: a few ticks of range, busier under the pressure of a roll."""
    close = np.rint(mid * (1_000_000_000 / SPREAD_TICK)).astype(np.int64)
    opening = close + rng.integers(-1, 2, mid.size)
    high = np.maximum(opening, close) + rng.integers(0, 3, mid.size)
    low = np.minimum(opening, close) - rng.integers(0, 3, mid.size)
    size = QUIET_VOLUME + ROLL_VOLUME * pressure
    volume = 1 + np.rint(np.exp(rng.standard_normal(mid.size)) * size).astype(np.int64)
    return np.stack([opening, high, low, close], axis=1) * SPREAD_TICK, volume


def spread_rows(
    grid: MinuteGrid,
    outrights: Rows,
    instruments: tuple[Instrument, ...],
    factor: NDArray[np.float64],
    rng: np.random.Generator,
) -> Rows:
    """Bars of all spreads: in each session a share of the outright records, priced at what their legs are worth."""
    sessions = len(grid.sessions)
    stage, busy_minute = roll_stage(sessions), trades(grid) ** 0.2
    outright_count = np.bincount(grid.session[outrights.minute], minlength=sessions)
    near_roll = np.max([_roll_pressure(sessions, one) for one in instruments], axis=0)
    parts = []
    for kind in KINDS[1:]:
        indices = [index for index, one in enumerate(instruments) if one.kind == kind]
        members = [instruments[index] for index in indices]
        share = QUIET_SHARE[kind] + (ROLL_SHARE[kind] - QUIET_SHARE[kind]) * near_roll
        by_session = np.stack([_weights(stage, one) for one in members])
        weight = by_session[:, grid.session] * np.stack([alive(grid, one) for one in members]) * busy_minute
        member, minute = _choose(weight, grid.session, rng.poisson(share * outright_count), rng)
        mid = _mid_prices(grid, members, factor, rng)[member, minute]
        pressure = np.stack([_roll_pressure(sessions, one) for one in members])[member, grid.session[minute]]
        prices, volume = _bars(mid, pressure, rng)
        parts.append(Rows(minute, np.array(indices)[member], prices, volume))
    return join_rows(parts)
