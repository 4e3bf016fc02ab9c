"""Instruments of the sample data set: outrights, spreads and user-defined strategies, under which id and when."""

from dataclasses import dataclass
from datetime import date, time

from loaders.sample_calendar import exchange_ns, trade_dates

OUTRIGHT = "outright"
CALENDAR = "calendar_spread"
BUTTERFLY = "butterfly"
USER_DEFINED = "user_defined"
KINDS = (OUTRIGHT, CALENDAR, BUTTERFLY, USER_DEFINED)
OUTRIGHT_TICK = 250_000_000
SPREAD_TICK = 50_000_000
ALWAYS = date(2023, 3, 17)


@dataclass(frozen=True)
class Instrument:
    """One instrument: traded on UTC dates `listed` to `last` (both inclusive) and before `expires` (UTC ns).

    `legs` are (outright index, ratio); its price is the sum of ratio x leg, plus `offset` points.
    """

    symbol: str
    instrument_id: int
    kind: str
    tick: int
    legs: tuple[tuple[int, int], ...]
    listed: date
    last: date
    expires: int
    offset: float = 0.0


@dataclass(frozen=True)
class Contract:
    """One outright month: `carry` in points above the first, `crossover` the session when the next takes the lead."""

    code: str
    instrument_id: int
    expires_on: date
    carry: float
    crossover: date | None


# Carry keeps every calendar spread between 47 and 220 points for any seed (it moves by 4 % at most).
CONTRACTS = (
    Contract("H4", 17077, date(2024, 3, 15), 0.0, date(2024, 3, 11)),
    Contract("M4", 5602, date(2024, 6, 21), 50.5, date(2024, 6, 17)),
    Contract("U4", 118, date(2024, 9, 20), 102.5, date(2024, 9, 16)),
    Contract("Z4", 183748, date(2024, 12, 20), 155.5, None),
    Contract("H5", 42005804, date(2025, 3, 21), 208.0, None),
)
# Ids are reused as on the real feed: the first id changes its strategy within a fortnight, and a strategy takes over
# the id of the expired ESH4, so a reader that keys on the id alone mixes prices of 12 points into a series of 5,000.
USER_STRATEGIES = (
    ("UD:1V: VT 2893249", 2893249, ALWAYS, date(2024, 3, 5), 23.5),
    ("UD:1V: VT 2901173", 2893249, date(2024, 3, 6), date(2024, 4, 30), 41.0),
    ("UD:1V: VT 2957120", CONTRACTS[0].instrument_id, date(2024, 4, 22), date(2024, 8, 9), 12.25),
    ("UD:1V: GN 3010457", 3010457, date(2024, 8, 5), date(2024, 12, 31), 67.75),
)


def _expiry_ns(index: int) -> int:
    return exchange_ns(CONTRACTS[index].expires_on, time(8, 30))


def _outrights() -> list[Instrument]:
    return [
        Instrument(
            f"ES{one.code}",
            one.instrument_id,
            OUTRIGHT,
            OUTRIGHT_TICK,
            ((i, 1),),
            ALWAYS,
            one.expires_on,
            _expiry_ns(i),
        )
        for i, one in enumerate(CONTRACTS)
    ]


def _combination(kind: str, number: int, symbol: str, legs: tuple[tuple[int, int], ...]) -> Instrument:
    nearest = min(index for index, _ in legs)
    last = CONTRACTS[nearest].expires_on
    return Instrument(symbol, number, kind, SPREAD_TICK, legs, ALWAYS, last, _expiry_ns(nearest))


def _calendars() -> list[Instrument]:
    # An equity calendar is quoted deferred minus nearby (type EQ), hence the positive prices.
    pairs = [(i, j) for i in range(len(CONTRACTS)) for j in range(i + 1, len(CONTRACTS))]
    return [
        _combination(CALENDAR, 42_009_000 + 7 * n, f"ES{CONTRACTS[i].code}-ES{CONTRACTS[j].code}", ((j, 1), (i, -1)))
        for n, (i, j) in enumerate(pairs)
    ]


def _butterflies() -> list[Instrument]:
    return [
        _combination(
            BUTTERFLY,
            42_011_300 + 3 * i,
            "ES:BF " + "-".join(CONTRACTS[k].code for k in (i, i + 1, i + 2)),
            ((i, 1), (i + 1, -2), (i + 2, 1)),
        )
        for i in range(len(CONTRACTS) - 2)
    ]


def _user_defined() -> list[Instrument]:
    return [
        Instrument(symbol, number, USER_DEFINED, SPREAD_TICK, (), listed, last, exchange_ns(last, time(16, 0)), offset)
        for symbol, number, listed, last, offset in USER_STRATEGIES
    ]


def all_instruments() -> tuple[Instrument, ...]:
    """Every instrument of the data set; the outrights come first, nearest expiry first."""
    return (*_outrights(), *_calendars(), *_butterflies(), *_user_defined())


def crossover_sessions() -> tuple[int, ...]:
    """Session index at which each contract loses the lead in volume to the next."""
    position = {day: index for index, day in enumerate(trade_dates())}
    return tuple(position[one.crossover] for one in CONTRACTS if one.crossover is not None)
