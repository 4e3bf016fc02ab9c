"""How old data is, counted in sessions of the exchange that have ended since: weekends and holidays age nothing."""

import numpy as np

from loaders.sessions import ALWAYS_OPEN, SessionRule, day_numbers, trade_dates
from loaders.sessions_calendar import OPEN, STATES, trading_calendar

DAY = 86_400_000_000_000
MARGIN = 8 * DAY  # of calendar beyond now, so that the end of a session in progress is known


def sessions_since(last: int, now: int, rule: SessionRule) -> int:
    """Count the sessions after the one of the bar that starts at `last` which had ended at `now` (int64 ns UTC).

    A session has ended when its last open stretch has. A clock before `last` counts nothing.
    """
    if now <= last:
        return 0
    mine, current = (int(date) for date in trade_dates(np.array([last, now], dtype=np.int64), rule))
    if rule.calendar == ALWAYS_OPEN:
        first, latest = (int(day) for day in day_numbers(np.array([mine, current], dtype=np.int32)))
        return max(0, latest - first - 1)
    calendar = trading_calendar(rule, last, now + MARGIN)
    opened = np.flatnonzero(calendar.states[:-1] == STATES.index(OPEN))
    dates, ends = trade_dates(calendar.starts[opened], rule), calendar.starts[opened + 1]
    last_of_session = np.append(dates[1:] != dates[:-1], True)
    return int(np.count_nonzero(last_of_session & (dates > mine) & (ends <= now)))
