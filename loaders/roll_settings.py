"""What a user says about rolls: which rule, its numbers, how levels are adjusted, a schedule of their own."""

from dataclasses import dataclass

from loaders.errors import DataError
from loaders.grammar import MONTH_CODES

VOLUME, OPEN_INTEREST, CALENDAR, MONTHS = "volume", "open_interest", "calendar", "months"
PER_TIMESTAMP_VOLUME = "per_timestamp_volume"
RULES = (VOLUME, OPEN_INTEREST, CALENDAR, MONTHS, PER_TIMESTAMP_VOLUME)
LISTING = "listing"
EXPIRIES = (LISTING, "third_friday", "before_the_25th", "third_last_weekday", "eighth_last_weekday", "first_notice")
ADJUSTMENTS = ("none", "difference", "ratio")
CHART_ADJUSTMENTS = ("back_difference", "back_ratio")


@dataclass(frozen=True)
class RollSettings:
    """How the followed contract is chosen and how its levels join.

    ``rule``: one of RULES. ``months``: codes of the contract months that may be followed, whatever the rule.
    ``adjustment`` of levels, forward in time: 'none', 'difference' or 'ratio'.
    'calendar' leaves a contract ``days_before`` calendar days before its expiry, which ``expires`` gives: 'listing' is
    the last day of its definition (or of its symbol mapping), the others compute it from the contract month
    (loaders.roll_expiry). 'months' leaves it on day ``month_day`` of the month that is ``months_before`` before its own.
    ``schedule``: a CSV file with the columns session and contract that replaces the rule; '' for none.
    """

    rule: str = VOLUME
    months: str = MONTH_CODES
    adjustment: str = "difference"
    days_before: int = 8
    expires: str = LISTING
    months_before: int = 1
    month_day: int = 1
    schedule: str = ""

    def __post_init__(self) -> None:
        _require_known("rule", self.rule, RULES)
        wrong = sorted(set(self.months) - set(MONTH_CODES))
        if wrong or not self.months:
            raise ValueError(f"roll.months {self.months!r} must be codes out of {MONTH_CODES}; for ES use HMUZ")
        if self.adjustment in CHART_ADJUSTMENTS:
            raise ValueError(
                f"roll.adjustment {self.adjustment!r} rewrites the past at each roll, so nothing may be traded on it; use "
                f"one of {', '.join(ADJUSTMENTS)} here, and loaders.continuous_charts.chart_bars for a chart"
            )
        _require_known("adjustment", self.adjustment, ADJUSTMENTS)
        _require_known("expires", self.expires, EXPIRIES)
        for name, value, low, high in (
            ("days_before", self.days_before, 0, 365), ("months_before", self.months_before, 0, 12),
            ("month_day", self.month_day, 1, 28),
        ):  # fmt: skip
            if not low <= value <= high:
                raise ValueError(f"roll.{name} is {value}, must be {low} to {high}")
        if self.schedule and self.rule == PER_TIMESTAMP_VOLUME:
            raise ValueError("roll.schedule names contracts by session, roll.rule per_timestamp_volume by bar: give one")


def require_adjustment(method: str, known: tuple[str, ...]) -> None:
    """Raise DataError for an adjustment ``method`` that is not ``known`` to the table that is asked for."""
    if method not in known:
        raise DataError(f"adjustment {method!r} is not known here; known are {', '.join(known)}")


def _require_known(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"roll.{name} {value!r} is not known; known are {', '.join(known)}")
