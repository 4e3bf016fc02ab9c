"""Node: which contract a continuous series follows in each session, and the bars that it and its rolls need.

Taking, per minute, the contract with the most volume flips between contracts and turns their price difference into
returns. Here the choice is made once a session, from what was known when it began: the volume of the session before,
open interest that had arrived, or the calendar. The choice per minute stays available by name, for comparison.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.errors import DataError
from loaders.instruments import merge_listings
from loaders.ordering import order_by, taken
from loaders.outrights import OutrightBars
from loaders.roll_dedup import busiest_of_each_minute
from loaders.roll_market import Market, market_of
from loaders.roll_open_interest import NO_OPEN_INTEREST, OpenInterest
from loaders.roll_rules import followed_contracts
from loaders.roll_schedule import schedule_lines, schedule_table, scheduled_contracts
from loaders.roll_settings import OPEN_INTEREST, PER_TIMESTAMP_VOLUME, RollSettings
from loaders.sessions import SessionRule, trade_dates
from loaders.types import ROLLED_COLUMNS, nanoseconds

__all__ = ["FOLLOWED", "LEFT", "NEXT", "RollSettings", "RolledBars", "rolled_bars"]

FOLLOWED, LEFT, NEXT = "followed", "left", "next"
_ROLES = ("", FOLLOWED, LEFT, NEXT)


@dataclass(frozen=True)
class RolledBars:
    """``bars``: ROLLED_COLUMNS; ``schedule``: a row a change (loaders.roll_schedule), and ``schedule_text`` the same as
    lines of CSV, to read and, edited, to give back as ``roll.schedule``.
    """

    bars: pd.DataFrame
    schedule: pd.DataFrame
    schedule_text: list[str]
    report: dict[str, Any]


def rolled_bars(
    parts: Sequence[OutrightBars],
    session: SessionRule,
    roll: RollSettings,
    open_interest: OpenInterest = NO_OPEN_INTEREST,
    schedule_files: Sequence[Path] = (),
) -> RolledBars:
    """Bars of the followed contract of each session, and around each roll those of the contract left and the next.

    With rule 'volume' a session follows the contract that had the most volume in the session before, never one that
    expires earlier than the one followed so far; of equal volumes the nearest expiry. The first session follows the
    nearest listed expiry of the cycle. A contract whose listing has ended is left at once. The other rules: see
    loaders.roll_rules. A schedule file, ``roll.schedule`` or the one of ``schedule_files``, replaces them all. Rows are
    sorted by time, contract and values, whatever their order and the files they came in; ``outright == followed + left
    + next + not_followed`` in the report.

    Raises DataError when there are no bars at all or none of a contract month in ``roll.months``, when the rule needs open
    interest and there is none, and for a schedule file that does not fit.
    """
    bars = pd.concat([part.bars for part in parts], ignore_index=True) if parts else pd.DataFrame()
    if bars.empty:
        raise DataError(f"no outright bars in {len(parts)} files; check the data directory and the root")
    schedule_file = next(iter(schedule_files), Path(roll.schedule) if roll.schedule else None)
    if roll.rule == OPEN_INTEREST and schedule_file is None and open_interest.values.empty:
        raise DataError("roll.rule open_interest: no open interest of the root was found; put files of schema statistics "
                        "into the data directory, or use roll.rule volume")
    dates = trade_dates(nanoseconds(bars["ts_event"]), session)
    listed = merge_listings([part.listed for part in parts])
    market = market_of(bars, dates, listed, open_interest.values, session, roll)
    role, schedule = _followed(market, bars, dates, roll, schedule_file)
    if not (role == _ROLES.index(FOLLOWED)).any():
        raise DataError(f"roll.rule {roll.rule} follows {', '.join(schedule['contract'])}, of which the data has no bar; "
                        "check roll.months, roll.expires and roll.days_before")
    bars["session"] = dates
    bars["role"] = pd.array(_ROLES, dtype="str").take(role)
    kept = bars[role > 0]
    rolled = taken(kept, _order(kept))[list(ROLLED_COLUMNS)]
    counts = {name: int(n) for name, n in zip(_ROLES[1:], np.bincount(role, minlength=4)[1:], strict=True)}
    report = {
        "outright": len(bars), **counts, "not_followed": int((role == 0).sum()),
        "sessions": len(market.sessions), "rolls": len(schedule) - 1,
    }
    return RolledBars(rolled, schedule, schedule_lines(schedule), report)


def _followed(
    market: Market, bars: pd.DataFrame, dates: NDArray[np.int32], roll: RollSettings, schedule_file: Path | None
) -> tuple[NDArray[np.int64], pd.DataFrame]:
    """Position in _ROLES of each row, and the schedule."""
    if roll.rule == PER_TIMESTAMP_VOLUME:
        chosen, schedule = busiest_of_each_minute(market, bars, dates)
        usable = np.isin(bars["expiry"].to_numpy(), market.expiries[market.cycle])
        return np.where(chosen, _ROLES.index(FOLLOWED), np.where(usable, _ROLES.index(LEFT), 0)), schedule
    if schedule_file is not None:
        followed, reasons = scheduled_contracts(market, schedule_file)
    else:
        followed, reasons = followed_contracts(market, roll)
    return _roles(market, followed, dates, bars["expiry"].to_numpy()), schedule_table(market, followed, reasons)


def _roles(
    market: Market, followed: NDArray[np.int64], dates: NDArray[np.int32], expiry: NDArray[np.int32]
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
    keys = ("expiry", "publisher_id", "volume", "close", "high", "low", "open", "source_row")
    return order_by(nanoseconds(bars["ts_event"]), *(bars[key].to_numpy() for key in keys))
