"""Node: which contract a continuous series follows in each session, and the bars that it and its rolls need.

Taking, per minute, the contract with the most volume flips between contracts and turns their price difference into
returns. Here the choice is made once a session, from what was known when it began: the volume of the session before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.errors import DataError
from loaders.grammar import MONTH_CODES
from loaders.instruments import merge_listings
from loaders.outrights import OutrightBars
from loaders.sessions import SessionRule, trade_dates
from loaders.types import ROLLED_COLUMNS, nanoseconds

FOLLOWED, LEFT, NEXT = "followed", "left", "next"
_ROLES = ("", FOLLOWED, LEFT, NEXT)
_RULES = ("volume",)


@dataclass(frozen=True)
class RollSettings:
    """``rule``: how the followed contract is chosen; ``months``: codes of the contract months that may be followed."""

    rule: str = "volume"
    months: str = MONTH_CODES

    def __post_init__(self) -> None:
        if self.rule not in _RULES:
            raise ValueError(f"roll.rule {self.rule!r} is not known; known are {', '.join(_RULES)}")
        wrong = sorted(set(self.months) - set(MONTH_CODES))
        if wrong or not self.months:
            raise ValueError(f"roll.months {self.months!r} must be codes out of {MONTH_CODES}; for ES use HMUZ")


@dataclass(frozen=True)
class RolledBars:
    """``bars``: ROLLED_COLUMNS; ``schedule``: session, contract, expiry, reason of each change and the
    volumes of the session before that decided it, of the contract entered and of the one left.
    """

    bars: pd.DataFrame
    schedule: pd.DataFrame
    report: dict[str, Any]


@dataclass(frozen=True, eq=False)
class _Market:
    """Sessions [S] and contracts [C] by expiry, volume int64 [S, C], what may be followed when: bool [S, C]."""

    sessions: NDArray[np.int32]
    expiries: NDArray[np.int32]
    names: list[str]
    volume: NDArray[np.int64]
    cycle: NDArray[np.bool_]
    open: NDArray[np.bool_]


def rolled_bars(parts: Sequence[OutrightBars], session: SessionRule, roll: RollSettings) -> RolledBars:
    """Bars of the followed contract of each session, and around each roll those of the contract left and the next.

    A session follows the contract that had the most volume in the session before, never one that expires earlier than
    the one followed so far; of equal volumes the nearest expiry. The first session follows the nearest listed expiry
    of the cycle. A contract whose listing has ended is left at once. Rows are sorted by time, contract and values,
    whatever their order and the files they came in; ``outright == followed + left + next + not_followed`` in the
    report.

    Raises DataError when there are no bars at all or none of a contract month in ``roll.months``.
    """
    bars = pd.concat([part.bars for part in parts], ignore_index=True) if parts else pd.DataFrame()
    if bars.empty:
        raise DataError(f"no outright bars in {len(parts)} files; check the data directory and the root")
    dates = trade_dates(nanoseconds(bars["ts_event"]), session)
    market = _market(bars, dates, merge_listings([part.listed for part in parts]), roll)
    followed, reasons = _follow(market)
    role = _roles(market, followed, dates, bars["expiry"].to_numpy())
    bars["session"] = dates
    bars["role"] = pd.array(_ROLES, dtype="str").take(role)
    kept = bars[role > 0]
    rolled = kept.iloc[_order(kept)].reset_index(drop=True)[list(ROLLED_COLUMNS)]
    counts = {name: int(n) for name, n in zip(_ROLES[1:], np.bincount(role, minlength=4)[1:], strict=True)}
    schedule = _schedule(market, followed, reasons)
    report = {
        "outright": len(bars), **counts, "not_followed": int((role == 0).sum()),
        "sessions": len(market.sessions), "rolls": len(schedule) - 1,
    }
    return RolledBars(rolled, schedule, report)


def _market(bars: pd.DataFrame, dates: NDArray[np.int32], listed: pd.DataFrame, roll: RollSettings) -> _Market:
    sessions = np.unique(dates)
    expiries = np.union1d(bars["expiry"].to_numpy(), listed["expiry"].to_numpy())
    cycle = np.isin(expiries % 100, [MONTH_CODES.index(code) + 1 for code in roll.months])
    if not cycle.any():
        raise DataError(f"no contract of months {roll.months} among expiries {expiries.tolist()}; check roll.months")
    spans = listed.set_index("expiry").reindex(expiries)
    first = spans["first"].fillna(0).to_numpy(np.int64)
    last = spans["last"].fillna(0).to_numpy(np.int64)
    # Mappings end with the download: past its last day the listing of that day holds.
    day = np.minimum(sessions, last.max())[:, None]
    is_open = cycle & (first <= sessions[:, None]) & (day <= last) & (sessions[:, None] // 100 <= expiries)
    names = bars.groupby("expiry")["contract"].min().reindex(expiries).fillna(spans["contract"])
    volume = np.zeros((len(sessions), len(expiries)), dtype=np.int64)
    _add_volumes(volume, bars, np.searchsorted(sessions, dates), np.searchsorted(expiries, bars["expiry"]))
    return _Market(sessions, expiries, names.tolist(), volume, cycle, is_open)


def _add_volumes(
    volume: NDArray[np.int64], bars: pd.DataFrame, at_session: NDArray[np.int64], at_expiry: NDArray[np.int64]
) -> None:
    """Add the bars' volumes to ``volume`` [S, C]; of rows of one (contract, publisher, time) the largest."""
    traded, publisher = bars["volume"].to_numpy(), bars["publisher_id"].to_numpy()
    ts = nanoseconds(bars["ts_event"])
    order = np.lexsort((traded, publisher, ts, at_expiry))
    last_of_key = np.zeros(len(order), dtype=np.bool_)
    for key in (publisher, ts, at_expiry):
        last_of_key[:-1] |= np.diff(key[order]) != 0
    last_of_key[-1] = True
    kept = order[last_of_key]
    np.add.at(volume, (at_session[kept], at_expiry[kept]), traded[kept])


def _follow(market: _Market) -> tuple[NDArray[np.int64], list[str]]:
    """Position of the followed contract in each session, and the reason of each change ('' where there is none)."""
    followed = np.empty(len(market.sessions), dtype=np.int64)
    reasons = []
    current = -1
    for at in range(len(market.sessions)):
        chosen, reason = _choose(market, at, current)
        reasons.append(reason if chosen != current else "")
        followed[at] = current = chosen
    return followed, reasons


def _choose(market: _Market, at: int, current: int) -> tuple[int, str]:
    candidates = np.flatnonzero(market.open[at])
    if current < 0:
        return int(candidates[0] if len(candidates) else np.argmax(market.cycle)), "first session"
    before = np.where(market.cycle, market.volume[at - 1], 0)
    busiest = int(np.argmax(before))  # the first of equals is the nearest expiry
    if busiest > current and before[busiest] > 0 and market.open[at, busiest]:
        return busiest, "volume"
    later = candidates[candidates > current]
    if not market.open[at, current] and len(later):
        return int(later[np.argmax(before[later])]), "expired"
    return current, ""


def _roles(
    market: _Market, followed: NDArray[np.int64], dates: NDArray[np.int32], expiry: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Position in _ROLES of each row."""
    session = np.searchsorted(market.sessions, dates)
    contract = np.searchsorted(market.expiries, expiry)
    here = followed[session]
    before = followed[np.maximum(session - 1, 0)]
    after = followed[np.minimum(session + 1, len(followed) - 1)]
    role = np.where((contract == after) & (after != here), 3, 0)
    role = np.where((contract == before) & (before != here), 2, role)
    return np.where(contract == here, 1, role)


def _order(bars: pd.DataFrame) -> NDArray[np.int64]:
    """Sort order by time, contract, publisher and values; the place in the input only orders equal rows."""
    keys = ("source_row", "open", "low", "high", "close", "volume", "publisher_id", "expiry")
    return np.lexsort((*(bars[key].to_numpy() for key in keys), nanoseconds(bars["ts_event"])))


def _schedule(market: _Market, followed: NDArray[np.int64], reasons: list[str]) -> pd.DataFrame:
    changes = np.array([at for at, reason in enumerate(reasons) if reason], dtype=np.int64)
    chosen = followed[changes]
    earlier = np.maximum(changes - 1, 0)
    before = np.where(changes > 0, market.volume[earlier, chosen], 0)
    left = np.where(changes > 0, market.volume[earlier, followed[earlier]], 0)
    return pd.DataFrame({
        "session": market.sessions[changes],
        "contract": pd.array([market.names[at] for at in chosen], dtype="str"),
        "expiry": market.expiries[chosen].astype(np.int32),
        "volume": before,
        "volume_left": left,
        "reason": pd.array([reasons[at] for at in changes], dtype="str"),
    })
