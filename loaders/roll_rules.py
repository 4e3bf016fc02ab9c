"""Roll rules: the contract to follow in a session, from what was known when it began, never an earlier one."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from loaders.roll_market import NEVER, Market
from loaders.roll_settings import CALENDAR, MONTHS, OPEN_INTEREST, VOLUME, RollSettings

FIRST_SESSION, EXPIRED = "first session", "expired"
Choice = tuple[int, str]
Rule = Callable[[Market, int, int, RollSettings], Choice]


def followed_contracts(market: Market, roll: RollSettings) -> tuple[NDArray[np.int64], list[str]]:
    """Position of the followed contract in each session, and the reason of each change ('' where there is none)."""
    rule = _RULES[roll.rule]
    followed = np.empty(len(market.sessions), dtype=np.int64)
    reasons = []
    current = -1
    for at in range(len(market.sessions)):
        chosen, reason = rule(market, at, current, roll)
        reasons.append(reason if chosen != current else "")
        followed[at] = current = chosen
    return followed, reasons


def _by_volume(market: Market, at: int, current: int, roll: RollSettings) -> Choice:
    """The contract with the most volume in the session before; the first session follows the nearest listed expiry."""
    if current < 0:
        return _nearest(market, at), FIRST_SESSION
    return _busiest(market, at, current, market.volume[at - 1], VOLUME)


def _by_open_interest(market: Market, at: int, current: int, roll: RollSettings) -> Choice:
    """The contract with the most open interest, once that of the one followed is known too."""
    known = market.open_interest[at]
    if current < 0:
        current = _nearest(market, at)
        chosen, reason = _busiest(market, at, current, known, OPEN_INTEREST) if known[current] >= 0 else (current, "")
        return chosen, reason or FIRST_SESSION
    comparable = known if known[current] >= 0 else np.minimum(known, 0)
    return _busiest(market, at, current, comparable, OPEN_INTEREST)


def _by_calendar(market: Market, at: int, current: int, roll: RollSettings) -> Choice:
    """The nearest contract that does not expire within ``days_before`` days."""
    leave = np.where(market.last == NEVER, NEVER, market.last - np.where(market.last == NEVER, 0, roll.days_before))
    return _until(market, at, current, leave, CALENDAR)


def _by_months(market: Market, at: int, current: int, roll: RollSettings) -> Choice:
    """The nearest contract whose day to be left, in a month before its own, has not come."""
    return _until(market, at, current, market.month_day, MONTHS)


_RULES: dict[str, Rule] = {
    VOLUME: _by_volume,
    OPEN_INTEREST: _by_open_interest,
    CALENDAR: _by_calendar,
    MONTHS: _by_months,
}


def _nearest(market: Market, at: int) -> int:
    candidates = np.flatnonzero(market.open[at])
    return int(candidates[0] if len(candidates) else np.argmax(market.cycle))


def _busiest(market: Market, at: int, current: int, measure: NDArray[np.int64], reason: str) -> Choice:
    measured = np.where(market.cycle, measure, 0)
    busiest = int(np.argmax(measured))  # the first of equals is the nearest expiry
    if busiest > current and measured[busiest] > 0 and market.open[at, busiest]:
        return busiest, reason
    later = np.flatnonzero(market.open[at])
    later = later[later > current]
    if not market.open[at, current] and len(later):
        return int(later[np.argmax(measured[later])]), EXPIRED
    return current, ""


def _until(market: Market, at: int, current: int, leave: NDArray[np.int64], reason: str) -> Choice:
    usable = np.flatnonzero(market.open[at] & (market.days[at] < leave))
    usable = usable[usable >= current]
    if current < 0:
        return (int(usable[0]) if len(usable) else _nearest(market, at)), FIRST_SESSION
    return (int(usable[0]), reason) if len(usable) else (current, "")
