"""The roll schedule as a table and as text: what was followed from which session on, and a file that overrides it."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.errors import DataError
from loaders.roll_market import Market

OVERRIDE = "schedule file"
_SESSION, _CONTRACT = "session", "contract"


@dataclass(frozen=True)
class _Entry:
    line: int
    session: int
    contract: str


def schedule_table(market: Market, followed: NDArray[np.int64], reasons: Sequence[str]) -> pd.DataFrame:
    """A row a change: session, contract, expiry, and what was known of it and of the contract left when it was decided.

    ``volume`` and ``volume_left`` are of the session before, ``open_interest`` and ``open_interest_left`` the newest
    values that had arrived (-1: none); ``reason`` is the rule's name, 'first session', 'expired' or 'schedule file'.
    """
    changes = np.array([at for at, reason in enumerate(reasons) if reason], dtype=np.int64)
    chosen, earlier = followed[changes], np.maximum(changes - 1, 0)
    left = followed[earlier]
    rolled = changes > 0
    return pd.DataFrame({
        "session": market.sessions[changes],
        "contract": pd.array([market.names[at] for at in chosen], dtype="str"),
        "expiry": market.expiries[chosen].astype(np.int32),
        "volume": np.where(rolled, market.volume[earlier, chosen], 0),
        "volume_left": np.where(rolled, market.volume[earlier, left], 0),
        "open_interest": market.open_interest[changes, chosen],
        "open_interest_left": np.where(rolled, market.open_interest[changes, left], -1),
        "reason": pd.array([reasons[at] for at in changes], dtype="str"),
    })


def schedule_lines(schedule: pd.DataFrame) -> list[str]:
    """The schedule as lines of CSV, header first: what ``read_schedule`` takes back, edited or not."""
    text: str = schedule.to_csv(index=False, lineterminator="\n")
    return text.splitlines()


def scheduled_contracts(market: Market, path: Path) -> tuple[NDArray[np.int64], list[str]]:
    """Positions followed in each session, and reasons of changes, by the CSV file ``path``.

    Its columns ``session`` (yyyymmdd or yyyy-mm-dd) and ``contract`` count, others are ignored; each row says what is
    followed from its session on. Raises DataError naming file and line for a missing column, a session that does not
    rise, an unknown contract, one before its predecessor, one that has ended by its session or ends before the next row
    takes over, and for sessions of the data before the first row.
    """
    entries = _read(path)
    positions = [_position(market, entry, path) for entry in entries]
    _check_order(market, entries, positions, path)
    begins = np.array([entry.session for entry in entries])
    if market.sessions[0] < begins[0]:
        raise DataError(f"{path}, line {entries[0].line}: begins with session {begins[0]}, but the data begins with "
                        f"{market.sessions[0]}; add a row for that session")
    row = np.searchsorted(begins, market.sessions, side="right") - 1
    followed = np.array(positions, dtype=np.int64)[row]
    _check_ends(market, entries, row, followed, path)
    changed = np.concatenate([[True], followed[1:] != followed[:-1]])
    return followed, [OVERRIDE if change else "" for change in changed]


def _read(path: Path) -> list[_Entry]:
    if not path.is_file():
        raise DataError(f"{path}: no such file; roll.schedule names a CSV file with the columns session, contract")
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            entries = _entries(stream, path)
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: is no CSV file in UTF-8 ({error}); save it as one") from None
    if not entries:
        raise DataError(f"{path}: has no rows; give each session from which on another contract is followed")
    return entries


def _entries(stream: TextIO, path: Path) -> list[_Entry]:
    reader = csv.DictReader(stream)
    missing = [name for name in (_SESSION, _CONTRACT) if name not in (reader.fieldnames or ())]
    if missing:
        raise DataError(f"{path}, line 1: has no column {missing[0]}; the first line must name the columns "
                        "session and contract")
    return [_entry(row, reader.line_num, path) for row in reader]


def _entry(row: dict[str, Any], line: int, path: Path) -> _Entry:
    text = (row[_SESSION] or "").strip()
    digits = text.replace("-", "")
    try:
        date = pd.Timestamp(f"{digits[:4]}-{digits[4:6]}-{digits[6:]}") if len(digits) == 8 else None
    except ValueError:
        date = None
    if date is None or not digits.isdecimal():
        raise DataError(f"{path}, line {line}: session {text!r} is no date; write it like 20240314")
    return _Entry(line, int(digits), (row[_CONTRACT] or "").strip())


def _position(market: Market, entry: _Entry, path: Path) -> int:
    """Place of the entry's contract among the market's, the year of a one-digit symbol resolved against its session."""
    expiries = market.symbols.get(entry.contract)
    if expiries is None:
        known = ", ".join(sorted(market.symbols))
        raise DataError(f"{path}, line {entry.line}: contract {entry.contract!r} is not in the data; it has {known}")
    alive = [expiry for expiry in expiries if expiry >= entry.session // 100]
    if not alive:
        raise DataError(f"{path}, line {entry.line}: {entry.contract} (month {expiries[-1]}) has ended before session "
                        f"{entry.session}; name a later contract")
    return int(np.searchsorted(market.expiries, alive[0]))


def _check_order(market: Market, entries: list[_Entry], positions: list[int], path: Path) -> None:
    for before, after in zip(range(len(entries)), range(1, len(entries)), strict=False):
        one, other = entries[before], entries[after]
        if other.session <= one.session:
            raise DataError(f"{path}, line {other.line}: session {other.session} does not come after {one.session} of "
                            f"line {one.line}; sort the rows and give each session once")
        if positions[after] < positions[before]:
            raise DataError(f"{path}, line {other.line}: goes back from {one.contract} to {other.contract}, which expires "
                            "earlier; a schedule only moves on")


def _check_ends(
    market: Market, entries: list[_Entry], row: NDArray[np.int64], followed: NDArray[np.int64], path: Path
) -> None:
    sessions = np.arange(len(market.sessions))
    traded = market.volume[sessions, followed] > 0
    gone = ~market.listed[sessions, followed] & ~traded
    if gone.any():
        at = int(np.argmax(gone))
        entry = entries[row[at]]
        raise DataError(f"{path}, line {entry.line}: {entry.contract} is followed in session {market.sessions[at]}, in which "
                        "it is not listed; add a row that moves on by then")
