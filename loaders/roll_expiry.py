"""Last trading days of contracts from their contract month alone, so that they are known before any data is.

Weekdays are counted; exchange holidays are not, so a date may be a day or two late: enough for rolls days before it.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from loaders.roll_settings import EXPIRIES, LISTING

_MONTH, _DAY = "datetime64[M]", "datetime64[D]"
Dates = NDArray[np.datetime64]


def expiry_days(expiries: NDArray[np.int32], rule: str) -> NDArray[np.int64]:
    """Last trading day (days since 1970, int64 [n]) of contract months yyyymm ``expiries`` by a rule of EXPIRIES.

    Raises KeyError for 'listing', which needs the listing, and for an unknown rule.
    """
    months = ((expiries // 100 - 1970) * 12 + expiries % 100 - 1).astype(_MONTH)
    return _RULES[rule](months).astype(_DAY).astype(np.int64)


def month_days(expiries: NDArray[np.int32], months_before: int, day: int) -> NDArray[np.int64]:
    """Day number ``day`` (days since 1970) of the month ``months_before`` each contract month yyyymm."""
    months = ((expiries // 100 - 1970) * 12 + expiries % 100 - 1 - months_before).astype(_MONTH)
    return months.astype(_DAY).astype(np.int64) + day - 1


def _third_friday(months: Dates) -> Dates:
    return np.busday_offset(months.astype(_DAY), 2, roll="forward", weekmask="Fri")


def _before_the_25th(months: Dates) -> Dates:
    """Three weekdays before the 25th of the month before (of the last weekday before it where it is none)."""
    return np.busday_offset((months - 1).astype(_DAY) + 24, -3, roll="backward")


def _last_weekday(months: Dates, number: int) -> Dates:
    return np.busday_offset((months + 1).astype(_DAY), -number, roll="forward")


_RULES: dict[str, Callable[[Dates], Dates]] = {
    "third_friday": _third_friday,
    "before_the_25th": _before_the_25th,
    "third_last_weekday": lambda months: _last_weekday(months, 3),
    "eighth_last_weekday": lambda months: _last_weekday(months, 8),
    "first_notice": lambda months: _last_weekday(months - 1, 1),
}
assert {LISTING, *_RULES} == set(EXPIRIES)
