"""What a roll rule may look at: sessions by contracts, with the volume of each and what was known when it began."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.errors import DataError
from loaders.grammar import MONTH_CODES
from loaders.ordering import order_by
from loaders.roll_expiry import expiry_days, month_days
from loaders.roll_open_interest import known_open_interest
from loaders.roll_settings import LISTING, RollSettings
from loaders.sessions import SessionRule, day_numbers, session_starts
from loaders.types import UNDEF_PRICE, nanoseconds

NEVER = np.iinfo(np.int64).max
INTRADAY = 10
"""Bars of one contract in a session from which on its largest bar is left out of the volume a roll is decided by."""


@dataclass(frozen=True, eq=False)
class Market:
    """Sessions [S] (yyyymmdd, and as days since 1970) and contracts [C] by expiry.

    ``volume`` int64 [S, C] of the session itself; ``open_interest`` int64 [S, C] known when it began (-1: unknown);
    ``cycle`` bool [C]: may ever be followed; ``listed`` bool [S, C]: is listed in the session; ``open`` bool [S, C]: both,
    in a month that is not over; ``last`` int64 [C] days since 1970 of the last trading day, NEVER where it is not known;
    ``month_day`` int64 [C] days since 1970 on which rule 'months' leaves a contract; ``symbols`` maps every symbol seen
    to its expiries.
    """

    sessions: NDArray[np.int32]
    days: NDArray[np.int64]
    expiries: NDArray[np.int32]
    names: list[str]
    volume: NDArray[np.int64]
    open_interest: NDArray[np.int64]
    cycle: NDArray[np.bool_]
    listed: NDArray[np.bool_]
    open: NDArray[np.bool_]
    last: NDArray[np.int64]
    month_day: NDArray[np.int64]
    symbols: dict[str, list[int]]


def market_of(
    bars: pd.DataFrame, dates: NDArray[np.int32], listed: pd.DataFrame, open_interest: pd.DataFrame,
    session: SessionRule, roll: RollSettings,
) -> Market:  # fmt: skip
    """Market of outright ``bars`` with their trade ``dates`` and the merged listing.

    Raises DataError when no contract of a month in ``roll.months`` is among them.
    """
    sessions = np.unique(dates)
    expiries = np.union1d(bars["expiry"].to_numpy(), listed["expiry"].to_numpy()).astype(np.int32)
    cycle = np.isin(expiries % 100, [MONTH_CODES.index(code) + 1 for code in roll.months])
    if not cycle.any():
        raise DataError(f"no contract of months {roll.months} among expiries {expiries.tolist()}; check roll.months")
    spans = listed.set_index("expiry").reindex(expiries)
    first = spans["first"].fillna(0).to_numpy(np.int64)
    last = spans["last"].fillna(0).to_numpy(np.int64)
    # Mappings end with the download: past its last day the listing of that day holds.
    day = np.minimum(sessions, last.max())[:, None]
    is_listed = (first <= sessions[:, None]) & (day <= last)
    is_open = cycle & is_listed & (sessions[:, None] // 100 <= expiries)
    pairs = _pairs(bars)
    names = pairs.groupby("expiry")["contract"].min().reindex(expiries).fillna(spans["contract"])
    days, ts = day_numbers(sessions), nanoseconds(bars["ts_event"])
    volume = np.zeros((len(sessions), len(expiries)), dtype=np.int64)
    _add_volumes(volume, bars, np.searchsorted(sessions, dates), np.searchsorted(expiries, bars["expiry"]))
    return Market(
        sessions=sessions, days=days, expiries=expiries, names=names.tolist(), volume=volume,
        open_interest=known_open_interest(open_interest, _beginnings(ts, dates, sessions, days, session), expiries),
        cycle=cycle, listed=is_listed, open=is_open, last=_last_days(expiries, last, session, roll),
        month_day=month_days(expiries, roll.months_before, roll.month_day),
        symbols=_symbols(pairs, listed),
    )  # fmt: skip


def _beginnings(
    ts: NDArray[np.int64], dates: NDArray[np.int32], sessions: NDArray[np.int32], days: NDArray[np.int64],
    session: SessionRule,
) -> NDArray[np.int64]:  # fmt: skip
    """When each session's decision falls: at its turn, or at its first bar where one comes before (a weekend's)."""
    first_bar = np.full(len(sessions), NEVER)
    np.minimum.at(first_bar, np.searchsorted(sessions, dates), ts)
    return np.asarray(np.minimum(session_starts(days, session), first_bar), dtype=np.int64)


def _last_days(
    expiries: NDArray[np.int32], listed: NDArray[np.int64], session: SessionRule, roll: RollSettings
) -> NDArray[np.int64]:
    if roll.expires != LISTING:
        return expiry_days(expiries, roll.expires, session)
    # A listing that ends with the newest one may end only because the download does.
    known = (listed > 0) & (listed < listed.max())
    days = day_numbers(np.where(known, listed, 19700101).astype(np.int32))
    return np.where(known, days, NEVER)


def _pairs(bars: pd.DataFrame) -> pd.DataFrame:
    """Every contract and expiry that stand in one row."""
    codes, contracts = pd.factorize(bars["contract"])
    expiry = bars["expiry"].to_numpy()
    changed = np.append(True, (codes[1:] != codes[:-1]) | (expiry[1:] != expiry[:-1]))[: len(codes)]
    pairs = pd.DataFrame({"code": codes[changed], "expiry": expiry[changed]}).drop_duplicates()
    return pd.DataFrame({"contract": contracts.take(pairs["code"]), "expiry": pairs["expiry"].to_numpy()})


def _symbols(seen: pd.DataFrame, listed: pd.DataFrame) -> dict[str, list[int]]:
    pairs = pd.concat([seen, listed[["contract", "expiry"]]]).drop_duplicates()
    pairs = pairs.sort_values(["contract", "expiry"])
    found: dict[str, list[int]] = {}
    for contract, expiry in zip(pairs["contract"], pairs["expiry"], strict=True):
        found.setdefault(contract, []).append(int(expiry))
    return found


def _add_volumes(
    volume: NDArray[np.int64], bars: pd.DataFrame, at_session: NDArray[np.int64], at_expiry: NDArray[np.int64]
) -> None:
    """Add the bars' volumes to ``volume`` [S, C]; of rows of one (contract, publisher, time) the largest.

    A roll is never undone, so no single record may decide one: a bar whose prices cannot be true adds nothing, and in a
    session of intraday bars the largest bar of every contract is left out. Volumes past 2**40 count as that.
    """
    traded, publisher = _credible_volumes(bars), bars["publisher_id"].to_numpy()
    ts = nanoseconds(bars["ts_event"])
    order = order_by(ts, at_expiry, publisher, traded)
    last_of_key = np.zeros(len(order), dtype=np.bool_)
    for key in (publisher, ts, at_expiry):
        last_of_key[:-1] |= np.diff(key[order]) != 0
    last_of_key[-1] = True
    kept = order[last_of_key]
    places = (at_session[kept], at_expiry[kept])
    largest, count = np.zeros_like(volume), np.zeros_like(volume)
    np.add.at(volume, places, traded[kept])
    np.maximum.at(largest, places, traded[kept])
    np.add.at(count, places, 1)
    volume -= np.where(count.max(axis=1, initial=0) >= INTRADAY, 1, 0)[:, None] * largest


def _credible_volumes(bars: pd.DataFrame) -> NDArray[np.int64]:
    """Volume of each bar, int64, at most 2**40 so that no sum overflows: 0 where its prices contradict each other."""
    opened, high, low, close = (bars[name].to_numpy() for name in ("open", "high", "low", "close"))
    known = np.maximum(np.maximum(opened, high), np.maximum(low, close)) < UNDEF_PRICE
    true = known & (low <= np.minimum(opened, close)) & (np.maximum(opened, close) <= high)
    return np.where(true, np.minimum(bars["volume"].to_numpy(), 2**40), 0)
