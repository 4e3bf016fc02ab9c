"""Bars out of a stream of trades, chunk by chunk, the same however the stream is cut."""

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Columns = dict[str, NDArray[np.int64]]
_TRADE = ("code", "expiry", "publisher", "instrument", "price", "size", "ts", "sequence", "source")
_BAR = ("code", "expiry", "publisher", "instrument", "open", "high", "low", "close", "size", "ts", "source")
_KEY = ("publisher", "code", "expiry")  # what a bar belongs to; an id may change its meaning, these do not
_UNITS = {"s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000, "d": 86_400_000_000_000}


@dataclass(frozen=True)
class TimeBars:
    """Bars of equal time: ``interval`` is a whole number and s, m, h or d, as in 1s, 5m, 1h."""

    interval: str = "1m"

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[1-9]\d*[smhd]", self.interval):
            raise ValueError(f"interval {self.interval!r} is not a number and one of s, m, h, d; use one like 5m")

    @property
    def nanoseconds(self) -> int:
        """Length of a bar."""
        return int(self.interval[:-1]) * _UNITS[self.interval[-1]]


@dataclass(frozen=True)
class VolumeBars:
    """Bars that end with the first timestamp at which they hold at least ``volume`` contracts.

    All trades of one ts_recv go to the same bar, so that no two bars of a contract start at the same time and the
    order of rows within a timestamp decides nothing but open and close.
    """

    volume: int = 1000

    def __post_init__(self) -> None:
        if self.volume < 1:
            raise ValueError(f"volume {self.volume} of a bar must be at least 1 contract")


def no_trades() -> Columns:
    """Columns of trades, without any."""
    return {name: np.empty(0, np.int64) for name in _TRADE}


def maker_of(rule: TimeBars | VolumeBars) -> "TimeBarMaker | VolumeBarMaker":
    """Maker of the bars of ``rule``."""
    return TimeBarMaker(rule.nanoseconds) if isinstance(rule, TimeBars) else VolumeBarMaker(rule.volume)


class TimeBarMaker:
    """Time bars; a late trade still goes to its own bar, whichever chunk it comes in."""

    unfinished = 0

    def __init__(self, interval: int) -> None:
        self._interval = interval
        self._parts: list[Columns] = []

    def add(self, trades: Columns) -> None:
        """Take the next trades of the stream."""
        price = trades["price"]
        self._parts.append(_merge({
            **{name: trades[name] for name in (*_KEY, "instrument", "size", "source")},
            "bucket": trades["ts"] - trades["ts"] % self._interval,
            "open": price, "high": price, "low": price, "close": price,
            "first": trades["ts"], "first_sequence": trades["sequence"],
            "last": trades["ts"], "last_sequence": trades["sequence"], "last_source": trades["source"],
        }))

    def finish(self) -> Columns:
        """All bars."""
        if not self._parts:
            return {name: np.empty(0, np.int64) for name in _BAR}
        bars = _merge({name: np.concatenate([part[name] for part in self._parts]) for name in self._parts[0]})
        return {name: bars["bucket" if name == "ts" else name] for name in _BAR}


def _merge(parts: Columns) -> Columns:
    """One bar for each key and bucket of ``parts``, which are trades or parts of bars in any order."""
    count = len(parts["bucket"])
    if not count:
        return parts
    keys = [parts[name] for name in ("bucket", *_KEY)]
    opened = np.lexsort((parts["source"], parts["first_sequence"], parts["first"], *keys))
    closed = np.lexsort((parts["last_source"], parts["last_sequence"], parts["last"], *keys))
    starts = np.flatnonzero(_changes(keys, opened))
    ends = np.append(starts[1:], count) - 1
    merged = {name: values[opened][starts] for name, values in parts.items()}
    for name in ("close", "last", "last_sequence", "last_source"):
        merged[name] = parts[name][closed][ends]
    merged["high"] = np.maximum.reduceat(parts["high"][opened], starts)
    merged["low"] = np.minimum.reduceat(parts["low"][opened], starts)
    merged["size"] = np.add.reduceat(parts["size"][opened], starts)
    return merged


def _changes(keys: list[NDArray[np.int64]], order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where one of ``keys`` differs from the row before in ``order``; True for the first row."""
    changed = np.zeros(len(order), dtype=np.bool_)
    changed[0] = True
    for key in keys:
        changed[1:] |= np.diff(key[order]) != 0
    return changed


class VolumeBarMaker:
    """Volume bars of each publisher and contract; a late trade counts at the latest time seen before it."""

    def __init__(self, volume: int) -> None:
        self._volume = volume
        self._newest = -1
        self._pending = no_trades()
        self._bars: list[Columns] = []
        self.unfinished = 0

    def add(self, trades: Columns) -> None:
        """Take the next trades of the stream."""
        if not len(trades["ts"]):
            return
        reached = np.maximum.accumulate(np.concatenate([[self._newest], trades["ts"]]))[1:]
        self._newest = int(reached[-1])
        fresh = trades | {"ts": reached}
        self._pending = {name: np.concatenate([self._pending[name], fresh[name]]) for name in _TRADE}
        self._close(self._newest)

    def finish(self) -> Columns:
        """All whole bars; ``unfinished`` is then the number of trades after the last one of each contract."""
        self._close(self._newest + 1)
        self.unfinished = len(self._pending["ts"])
        return {name: np.concatenate([np.empty(0, np.int64), *(bar[name] for bar in self._bars)]) for name in _BAR}

    def _close(self, until: int) -> None:
        """Make the bars that are whole with the trades before ``until``."""
        trades = self._pending
        if not len(trades["ts"]):
            return
        keys = [trades[name] for name in _KEY]
        order = np.lexsort((trades["source"], trades["sequence"], trades["ts"], *keys))
        begins = [*np.flatnonzero(_changes(keys, order)).tolist(), len(order)]
        left = []
        for begin, end in pairwise(begins):
            block = {name: trades[name][order[begin:end]] for name in _TRADE}
            edges = self._edges(block, until)
            if len(edges) > 1:
                self._bars.append(_bars_between(block, edges))
            left.append(order[begin + edges[-1] : end])
        rest = np.concatenate(left)
        self._pending = {name: trades[name][rest] for name in _TRADE}

    def _edges(self, block: Columns, until: int) -> list[int]:
        """Rows of one contract at which bars begin, and the row at which the last whole one ends."""
        total = np.cumsum(block["size"])
        complete = int(np.searchsorted(block["ts"], until))
        edges, before = [0], 0
        while (at := int(np.searchsorted(total, before + self._volume))) < len(total):
            end = int(np.searchsorted(block["ts"], block["ts"][at], side="right"))
            if end > complete:
                break
            edges.append(end)
            before = int(total[end - 1])
        return edges


def _bars_between(block: Columns, edges: list[int]) -> Columns:
    """Bars of the rows between neighbouring ``edges``."""
    starts, ends = np.array(edges[:-1]), np.array(edges[1:])
    whole = {name: values[: edges[-1]] for name, values in block.items()}
    bars = {name: whole[name][starts] for name in (*_KEY, "instrument", "ts", "source")}
    return bars | {
        "open": whole["price"][starts],
        "high": np.maximum.reduceat(whole["price"], starts),
        "low": np.minimum.reduceat(whole["price"], starts),
        "close": whole["price"][ends - 1],
        "size": np.add.reduceat(whole["size"], starts),
    }
