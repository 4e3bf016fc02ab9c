"""Last trading days of contracts from their contract month alone, so that they are known before any data is.

Days are counted as the exchange counts them: Monday to Friday without its holidays (loaders.sessions_calendar).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from loaders.roll_settings import EXPIRIES, LISTING
from loaders.sessions import SessionRule
from loaders.sessions_calendar import holidays

_MONTH, _DAY = "datetime64[M]", "datetime64[D]"
_CHICAGO = SessionRule()
Dates = NDArray[np.datetime64]


def expiry_days(expiries: NDArray[np.int32], rule: str, session: SessionRule = _CHICAGO) -> NDArray[np.int64]:
    """Last trading day (days since 1970, int64 [n]) of contract months yyyymm ``expiries`` by a rule of EXPIRIES.

    Business days are those of the exchange of ``session``: weekdays that are no ``holidays``.
    Raises KeyError for 'listing', which needs the listing, and for an unknown rule.
    """
    months = ((expiries // 100 - 1970) * 12 + expiries % 100 - 1).astype(_MONTH)
    return _RULES[rule](months, holidays(session)).astype(_DAY).astype(np.int64)


def month_days(expiries: NDArray[np.int32], months_before: int, day: int) -> NDArray[np.int64]:
    """Day number ``day`` (days since 1970) of the month ``months_before`` each contract month yyyymm."""
    months = ((expiries // 100 - 1970) * 12 + expiries % 100 - 1 - months_before).astype(_MONTH)
    return months.astype(_DAY).astype(np.int64) + day - 1


def _third_friday(months: Dates, closed: Dates) -> Dates:
    """The third Friday of the month, or the last business day before it where it is a holiday."""
    fridays = np.busday_offset(months.astype(_DAY), 2, roll="forward", weekmask="Fri")
    return np.busday_offset(fridays, 0, roll="backward", holidays=closed)


def _before_the_25th(months: Dates, closed: Dates) -> Dates:
    """Three business days before the 25th of the month before (before the last business day until then)."""
    return np.busday_offset((months - 1).astype(_DAY) + 24, -3, roll="backward", holidays=closed)


def _last_weekday(months: Dates, closed: Dates, number: int) -> Dates:
    return np.busday_offset((months + 1).astype(_DAY), -number, roll="forward", holidays=closed)


_RULES: dict[str, Callable[[Dates, Dates], Dates]] = {
    "third_friday": _third_friday,
    "before_the_25th": _before_the_25th,
    "third_last_weekday": lambda months, closed: _last_weekday(months, closed, 3),
    "eighth_last_weekday": lambda months, closed: _last_weekday(months, closed, 8),
    "first_notice": lambda months, closed: _last_weekday(months - 1, closed, 1),
}
assert {LISTING, *_RULES} == set(EXPIRIES)
