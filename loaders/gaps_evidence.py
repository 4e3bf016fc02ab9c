"""Which gaps are too long to be quiet minutes: their chance, by how often the contract has no bar at such times.

A minute without a trade has no record, so one empty minute proves nothing. The chance that a whole gap is quiet is the
product over its minutes of the share of minutes without a bar: the largest of what the contract shows on either side of the
gap and at the same time of day on the days around it. A gap is a loss where fewer than FALSE_ALARMS such gaps would be
expected in all of the data.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loaders.sessions import wall_minutes
from loaders.sessions_calendar import STATES, TradingCalendar
from loaders.types import NS_PER_DAY

MINUTE = 60_000_000_000
SHORTEST = 3
"""Bars in a row that are missing at least where data is said to be lost."""
MOST_EMPTY = 0.5
"""Share of empty minutes above which a contract trades too rarely for its silence to say anything."""
FALSE_ALARMS = 0.01
"""Gaps that may be called lost by chance in all of the data, if minutes were independent."""
BESIDE = (30, 120)
"""Bars on each side, without lulls; nearer than the first to an end of the data nothing is judged."""
DAYS_AROUND, MINUTES_AROUND = 10, 15
LULL = 30
"""A gap as long as this says nothing about how often single minutes are empty."""
_OPEN = STATES.index("open")
_MINUTES = NS_PER_DAY // MINUTE


@dataclass(frozen=True, eq=False)
class Stretches:
    """Stretches [G] between two bars, minutes since 1970: first empty minute, minute of the next bar."""

    first: NDArray[np.int64]
    after: NDArray[np.int64]


def lost_stretches(
    present: NDArray[np.int64], stretches: Stretches, calendar: TradingCalendar, bar_minutes: int = 1
) -> NDArray[np.bool_]:
    """Whether data is missing from each stretch, bool [G].

    Args:
        present: minutes since 1970 that have a bar, rising.
        stretches: what lies between two of them and is longer than a minute; closed minutes in it do not count.
        calendar: covers all of them.
        bar_minutes: minutes that a bar covers; the minutes of one bar are one observation.
    """
    if not len(stretches.first):
        return np.zeros(0, dtype=np.bool_)
    clock = OpenClock(calendar, int(present[0]), int(present[-1]) + 1)
    low, high = clock.minutes(stretches.first), clock.minutes(stretches.after)
    bars = np.unique(clock.minutes(present[calendar.is_open(present * MINUTE)]))
    counted = np.ones(clock.total, dtype=np.int32)
    for one in np.flatnonzero(high - low >= LULL * bar_minutes):
        counted[low[one] : high[one]] = 0
    known = np.minimum(low, clock.total - high) >= BESIDE[0] * bar_minutes
    beside = _empty_beside(bars, low, high, counted, bar_minutes)
    candidates = known & (beside <= MOST_EMPTY) & (high - low >= SHORTEST * bar_minutes)
    lost = np.zeros(len(low), dtype=np.bool_)
    at = np.flatnonzero(candidates)
    if len(at):
        usual = _UsualEmptiness(bars, counted, clock, calendar.timezone, bar_minutes)
        limit = np.log(FALSE_ALARMS * bar_minutes / clock.total)
        lost[at] = [usual.log_chance(low[one], high[one], beside[one]) < limit for one in at]
    return lost


def _empty_beside(
    bars: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64], counted: NDArray[np.int32], bar_minutes: int
) -> NDArray[np.float64]:
    """Largest share of empty minutes among the last and the next BESIDE counted minutes around each gap."""
    before = np.concatenate([[0], np.cumsum(counted)])  # counted minutes before each open minute
    seen, last = before[bars], before[-1]
    largest = np.zeros(len(low))
    for size in (minutes * bar_minutes for minutes in BESIDE):
        for start, stop in ((before[low] - size, before[low]), (before[high], before[high] + size)):
            start, stop = np.maximum(start, 0), np.minimum(stop, last)
            found = np.searchsorted(seen, stop) - np.searchsorted(seen, start)
            largest = np.maximum(largest, 1.0 - found / np.maximum(stop - start, 1))
    return largest


class _UsualEmptiness:
    """How often a minute of the day has no bar on the days around: sums over days by minutes, without long lulls."""

    def __init__(
        self, bars: NDArray[np.int64], counted: NDArray[np.int32], clock: "OpenClock", timezone: str, bar_minutes: int
    ) -> None:
        self._bar_minutes = bar_minutes
        wall = wall_minutes(clock.moments() * MINUTE, timezone)
        self._day, self._minute = wall // _MINUTES - wall[0] // _MINUTES, wall % _MINUTES
        empty = counted.copy()
        empty[bars] = 0
        self._counted, self._empty = (self._summed(values) for values in (counted, empty))

    def log_chance(self, low: int, high: int, beside: float) -> float:
        """Log of the chance that nobody trades in the open minutes [low, high)."""
        day, minute = self._day[low:high], self._minute[low:high]
        count, empty = (self._around(table, day, minute) for table in (self._counted, self._empty))
        if high - low < LULL * self._bar_minutes:  # it is in both sums itself, and may not testify for itself
            place = np.arange(high - low)
            own = np.minimum(place + MINUTES_AROUND, high - low - 1) - np.maximum(place - MINUTES_AROUND, 0) + 1
            count, empty = count - own, empty - own
        usual = (np.maximum(empty, 0) + 0.5 * self._bar_minutes) / (np.maximum(count, 0) + self._bar_minutes)
        return float(np.log(np.maximum(usual, beside)).sum() / self._bar_minutes)

    def _summed(self, values: NDArray[np.int32]) -> NDArray[np.int32]:
        """Sums [days + 1, minutes + 2 around + 1] over all earlier days and minutes; the day's ends are wrapped round."""
        size = (int(self._day[-1]) + 1) * _MINUTES
        flat = np.bincount(self._day * _MINUTES + self._minute, weights=values, minlength=size)  # an hour may be repeated
        table = flat.astype(np.int32).reshape(-1, _MINUTES)
        wrapped = np.concatenate([table[:, -MINUTES_AROUND:], table, table[:, :MINUTES_AROUND]], axis=1)
        padded = np.pad(wrapped, ((1, 0), (1, 0)))
        return padded.cumsum(axis=0, dtype=np.int32).cumsum(axis=1, dtype=np.int32)

    def _around(
        self, sums: NDArray[np.int32], day: NDArray[np.int64], minute: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Sum over the days and minutes around each (day, minute)."""
        top, bottom = np.maximum(day - DAYS_AROUND, 0), np.minimum(day + DAYS_AROUND + 1, len(sums) - 1)
        left, right = minute, minute + 2 * MINUTES_AROUND + 1
        total: NDArray[np.int32] = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
        return total


class OpenClock:
    """Counts open minutes only, from the first minute of the data on; ``total``: up to its last."""

    def __init__(self, calendar: TradingCalendar, first: int, end: int) -> None:
        self._edges = np.clip(calendar.starts // MINUTE, first, end)
        self._open = calendar.states == _OPEN
        self._lengths = np.where(self._open, np.diff(self._edges, append=end), 0)
        self._before = np.cumsum(self._lengths) - self._lengths
        self.total = int(self._lengths.sum())

    def minutes(self, moment: NDArray[np.int64]) -> NDArray[np.int64]:
        """Open minutes before each of ``moment`` (minutes since 1970)."""
        at = np.searchsorted(self._edges, moment, side="right") - 1
        return np.asarray(self._before[at] + np.where(self._open[at], moment - self._edges[at], 0))

    def moments(self) -> NDArray[np.int64]:
        """Every open minute (since 1970), rising: the one that number i of this clock is."""
        moments: NDArray[np.int64] = np.arange(self.total) + np.repeat(self._edges - self._before, self._lengths)
        return moments
