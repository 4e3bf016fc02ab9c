"""How old data is, counted in sessions of the exchange that have ended since: weekends and holidays age nothing."""

import numpy as np

from loaders.sessions import SessionRule, trade_dates
from loaders.sessions_calendar import trading_calendar

MINUTE = 60_000_000_000
MOST_DAYS = 400  # beyond it data is old whatever the exact number


def sessions_since(last: int, now: int, rule: SessionRule) -> int:
    """Count the sessions after the one of the bar that starts at `last` which had ended at `now` (int64 ns UTC).

    A session has ended when the exchange is closed until the next one begins. Raises nothing for a clock before `last`: 0.
    """
    now = min(now, last + MOST_DAYS * 1440 * MINUTE)
    if now <= last:
        return 0
    # a margin after now, so that the end of a session that is just over is known to be one
    minutes = np.arange(last - last % MINUTE, now + 4 * 1440 * MINUTE, MINUTE, dtype=np.int64)
    calendar = trading_calendar(rule, int(minutes[0]), int(minutes[-1]))
    opened = minutes[calendar.is_open(minutes)]
    dates = trade_dates(opened, rule)
    mine = int(trade_dates(np.array([last], dtype=np.int64), rule)[0])
    ends = np.flatnonzero(np.append(dates[1:] != dates[:-1], False))  # the last minute of each session but the cut one
    return int(np.count_nonzero((dates[ends] > mine) & (opened[ends] + MINUTE <= now)))
