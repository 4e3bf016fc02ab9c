"""Faults planted into the sample data set: which rows are spoilt, how, and which rule must find each of them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loaders.sample_calendar import MinuteGrid
from loaders.sample_tape import PRICES, Record, Tape
from loaders.types import UNDEF_PRICE

DISPLACED_POINTS = 5 * 1_000_000_000
OFF_TICK = 100_000_000
KEEP_FROM_EDGE = 30  # minutes of a session's start and end without faults
KEEP_FROM_ROLL = 2  # sessions before and after a roll without faults
LATE_MINUTES = 3
SESSIONS_PER_FAULT = 38  # one of each kind in about so many sessions: 5 of each in the full data set


@dataclass(frozen=True)
class Expected:
    """What must be found: the layer, its rule and the action on the row."""

    layer: int
    rule: str
    action: str


@dataclass(frozen=True)
class Planted:
    """One planted fault: `row` is its place on the tape, `original` the prices and volume it replaces."""

    kind: str
    row: int
    original: dict[str, int]
    expected: Expected


def _rejected(rule: str) -> Expected:
    return Expected(1, rule, "rejected")


def _close_by(record: Record, factor: float, tick: int) -> None:
    """Multiply the close and raise the high with it, so that nothing but the size of the move is wrong."""
    record["close"] = round(int(record["close"]) * factor / tick) * tick
    record["high"] = max(int(record["high"]), int(record["close"]))


def _crossed(record: Record, tick: int, rng: np.random.Generator) -> None:
    high, low = int(record["high"]), int(record["low"])
    record["high"], record["low"] = low, high


def _zero_open(record: Record, tick: int, rng: np.random.Generator) -> None:
    record["open"] = 0


def _undefined(record: Record, tick: int, rng: np.random.Generator) -> None:
    record[PRICES[int(rng.integers(4))]] = UNDEF_PRICE


def _open_outside(record: Record, tick: int, rng: np.random.Generator) -> None:
    record["open"] = int(record["high"]) + DISPLACED_POINTS


def _close_outside(record: Record, tick: int, rng: np.random.Generator) -> None:
    record["close"] = int(record["low"]) - DISPLACED_POINTS


def _off_tick(record: Record, tick: int, rng: np.random.Generator) -> None:
    above = int(record["close"]) < int(record["high"])
    record["close"] = int(record["close"]) + (OFF_TICK if above else -OFF_TICK)


def _times_100(record: Record, tick: int, rng: np.random.Generator) -> None:
    _close_by(record, 100.0, tick)


def _times_1_9(record: Record, tick: int, rng: np.random.Generator) -> None:
    _close_by(record, 1.9, tick)


def _times_1_15(record: Record, tick: int, rng: np.random.Generator) -> None:
    _close_by(record, 1.15, tick)


def _spike(record: Record, tick: int, rng: np.random.Generator) -> None:
    for name in PRICES:
        record[name] = 3 * int(record[name])


def _nothing(record: Record, tick: int, rng: np.random.Generator) -> None:
    """Leave the row as it is: it is its place in the file that is wrong."""


def _other_prices(record: Record, tick: int, rng: np.random.Generator) -> None:
    # The smaller volume, or at equal volume the smaller close, marks the copy as the one to drop.
    for name in PRICES:
        record[name] = int(record[name]) - 4 * tick
    if rng.integers(2):
        record["volume"] = int(record["volume"]) // 2


@dataclass(frozen=True)
class Fault:
    """What happens to the row (record, tick, random numbers), and what must be found."""

    spoil: Callable[[Record, int, np.random.Generator], None]
    expected: Expected


# By kind. Kinds that copy a row or move it to a later place are named below.
FAULTS = {
    "high_below_low": Fault(_crossed, _rejected("high_below_low")),
    "zero_open": Fault(_zero_open, _rejected("nonpositive_price")),
    "undefined_price": Fault(_undefined, _rejected("undefined_price")),
    "close_times_100": Fault(_times_100, _rejected("close_ratio")),
    "close_times_1.9": Fault(_times_1_9, Expected(2, "return_clamp", "altered")),
    "close_times_1.15": Fault(_times_1_15, Expected(2, "return_clamp", "altered")),
    "spike_and_back": Fault(_spike, _rejected("close_ratio")),
    "open_outside_range": Fault(_open_outside, _rejected("open_outside_range")),
    "close_outside_range": Fault(_close_outside, _rejected("close_outside_range")),
    "off_tick": Fault(_off_tick, _rejected("off_tick")),
    "duplicate_other_prices": Fault(_other_prices, _rejected("duplicate_key")),
    "duplicate_equal": Fault(_nothing, _rejected("duplicate_row")),
    "out_of_order": Fault(_nothing, Expected(1, "backwards_time", "noted")),
}
EQUAL_COPY = "duplicate_equal"
COPIES = ("duplicate_other_prices", EQUAL_COPY)
LATE = "out_of_order"


def _candidates(tape: Tape, grid: MinuteGrid, followed: NDArray[np.int64], tick: int) -> NDArray[np.int64]:
    """Rows that may be spoilt: of the followed contract, with a range, away from session edges, rolls and midnight."""
    session = grid.session[tape.minute]
    lengths = np.bincount(grid.session)
    from_open = grid.since_open[tape.minute]
    to_close = lengths[session] - 1 - from_open
    inside = (from_open >= KEEP_FROM_EDGE) & (to_close >= KEEP_FROM_EDGE)
    for roll in np.flatnonzero(np.diff(followed)) + 1:
        inside &= np.abs(session - roll) > KEEP_FROM_ROLL
    utc_minute = (grid.ts // 60_000_000_000 % 1440)[tape.minute]
    wide = tape.records["high"] - tape.records["low"] >= 4 * tick
    busy = tape.records["volume"] >= 4
    chosen = inside & (tape.instrument == followed[session]) & wide & busy & (utc_minute < 1440 - 2 * LATE_MINUTES)
    return np.flatnonzero(chosen)


def _place_in_minute(tape: Tape, row: int, rng: np.random.Generator) -> float:
    """Sort key of a copy: anywhere among the records of the same minute."""
    first, stop = np.searchsorted(tape.minute, (tape.minute[row], tape.minute[row] + 1))
    return float(rng.integers(first, stop + 1)) - 0.5


def _place_late(tape: Tape, row: int) -> float:
    """Sort key of a late row: behind everything of the minutes that follow it."""
    return float(np.searchsorted(tape.minute, tape.minute[row] + LATE_MINUTES, side="right")) - 0.5


def _draw_places(rows: NDArray[np.int64], sessions: int, rng: np.random.Generator) -> list[tuple[str, int]]:
    """(kind, row) of every fault: each kind once in every equal stretch of the rows, none close to another."""
    kinds = list(FAULTS)
    stretches = max(1, round(sessions / SESSIONS_PER_FAULT))
    order = [kinds[k] for _ in range(stretches) for k in rng.permutation(len(kinds))]
    places = []
    for kind, slot in zip(order, np.array_split(rows, len(order)), strict=True):
        middle_half = slot.size // 4 + int(rng.integers(max(1, slot.size // 2)))
        places.append((kind, int(slot[middle_half])))
    return places


def plant_faults(
    tape: Tape,
    grid: MinuteGrid,
    tick: int,
    followed: NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[Tape, list[Planted]]:
    """Spoil some rows of the followed contract; `followed` is the outright followed in each session, `tick` its tick.

    Returns the new tape and what was planted, in tape order. The given tape, in time order, is not changed.
    """
    places = _draw_places(_candidates(tape, grid, followed, tick), len(grid.sessions), rng)
    records, keys = tape.records.copy(), np.arange(tape.records.size, dtype=np.float64)
    copied = [row for kind, row in places if kind in COPIES]
    copies, copy_keys = records[copied], np.zeros(len(copied))
    for kind, row in places:
        if kind in COPIES:
            number = copied.index(row)
            FAULTS[kind].spoil(copies[number], tick, rng)
            copy_keys[number] = _place_in_minute(tape, row, rng)
        else:
            FAULTS[kind].spoil(records[row], tick, rng)
            keys[row] = _place_late(tape, row) if kind == LATE else keys[row]
    order = np.argsort(np.concatenate([keys, copy_keys]), kind="stable")
    source = np.concatenate([np.arange(records.size), np.array(copied, dtype=np.int64)])[order]
    spoilt = Tape(np.concatenate([records, copies])[order], tape.instrument[source], tape.minute[source])
    place_of = np.argsort(order, kind="stable")
    planted = []
    for kind, row in places:
        place = int(place_of[row])
        if kind in COPIES:
            copy = int(place_of[records.size + copied.index(row)])
            # Of two equal rows the later one is the duplicate.
            place = max(copy, place) if kind == EQUAL_COPY else copy
        original = {name: int(tape.records[name][row]) for name in (*PRICES, "volume")}
        planted.append(Planted(kind, place, original, FAULTS[kind].expected))
    return spoilt, sorted(planted, key=lambda one: one.row)
