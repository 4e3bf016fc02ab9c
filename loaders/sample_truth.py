"""What is true of the sample data set: rolls by the previous session's volume, counts, faults, the oracle."""

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loaders.sample_calendar import HOLIDAYS, MinuteGrid, Session, trade_date_number
from loaders.sample_faults import Planted
from loaders.sample_files import DAY_NS, MonthFile
from loaders.sample_instruments import CONTRACTS, KINDS, Instrument
from loaders.sample_prices import Edition, PricePath, expected_return, oracle_position
from loaders.sample_tape import PRICES, Tape

LAYER_2_RULE = "return_clamp"


def session_volumes(tape: Tape, grid: MinuteGrid) -> NDArray[np.int64]:
    """Volume of each outright in each session [sessions, contracts]."""
    volumes = np.zeros((len(grid.sessions), len(CONTRACTS)), dtype=np.int64)
    outright = tape.instrument < len(CONTRACTS)
    place = (grid.session[tape.minute[outright]], tape.instrument[outright])
    np.add.at(volumes, place, tape.records["volume"][outright].astype(np.int64))
    return volumes


def followed_contracts(volumes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Contract followed in each session: busiest in the session before, never an earlier one; at first the nearest."""
    followed = [0]
    for before in volumes[:-1]:
        followed.append(max(followed[-1], int(np.argmax(before))))
    return np.array(followed, dtype=np.int64)


def _fault_entry(
    one: Planted, tape: Tape, files: list[MonthFile], instruments: tuple[Instrument, ...]
) -> dict[str, Any]:
    record = tape.records[one.row]
    holder = next(each for each in files if each.start <= one.row < each.stop)
    entry: dict[str, Any] = {
        "kind": one.kind,
        "file": holder.name,
        "record": one.row - holder.start,
        "ts_event": int(record["ts_event"]),
        "time": pd.Timestamp(int(record["ts_event"]), unit="ns", tz="UTC").isoformat(),
        "contract": instruments[int(tape.instrument[one.row])].symbol,
        "instrument_id": int(record["instrument_id"]),
        "expected": {"layer": one.expected.layer, "rule": one.expected.rule, "action": one.expected.action},
        "planted": {name: int(record[name]) for name in (*PRICES, "volume")},
        "original": one.original,
    }
    if one.expected.rule == LAYER_2_RULE:
        # The move back to the true price is as large: the contract's next bar is found by the same rule.
        later = np.flatnonzero((tape.instrument == tape.instrument[one.row]) & (tape.minute > tape.minute[one.row]))
        entry["returns_at"] = int(tape.records["ts_event"][later[0]])
    return entry


def _counts(instrument: NDArray[np.int64], instruments: tuple[Instrument, ...]) -> dict[str, int]:
    kinds = np.array([KINDS.index(one.kind) for one in instruments])
    found = np.bincount(kinds[instrument], minlength=len(KINDS))
    return {kind: int(number) for kind, number in zip(KINDS, found, strict=True)}


def _rolls(followed: NDArray[np.int64], grid: MinuteGrid) -> list[dict[str, Any]]:
    return [
        {
            "session": trade_date_number(grid.sessions[index].trade_date),
            "from": f"ES{CONTRACTS[followed[index - 1]].code}",
            "to": f"ES{CONTRACTS[followed[index]].code}",
        }
        for index in np.flatnonzero(np.diff(followed)) + 1
    ]


def _clock_changes(sessions: tuple[Session, ...]) -> list[int]:
    """Trade dates whose session is the first that opens at another hour of UTC than the one before."""
    return [
        trade_date_number(after.trade_date)
        for before, after in pairwise(sessions)
        if (after.opens - before.opens) % DAY_NS != 0
    ]


def truth_of(
    tape: Tape,
    planted: list[Planted],
    files: list[MonthFile],
    grid: MinuteGrid,
    instruments: tuple[Instrument, ...],
) -> dict[str, Any]:
    """Everything a test may want to find again in the files, as JSON values."""
    volumes = session_volumes(tape, grid)
    followed = followed_contracts(volumes)
    front = tape.instrument == followed[grid.session[tape.minute]]
    dates = [trade_date_number(one.trade_date) for one in grid.sessions]
    return {
        "bar_files": [
            {
                "name": one.name,
                "records": one.stop - one.start,
                "by_kind": _counts(tape.instrument[one.start : one.stop], instruments),
            }
            for one in files
        ],
        "by_kind": _counts(tape.instrument, instruments),
        "records": int(tape.records.size),
        "front_minutes": int(np.unique(tape.minute[front]).size),
        "open_minutes": int(grid.ts.size),
        "rolls": _rolls(followed, grid),
        "schedule": [
            {"session": day, "contract": f"ES{CONTRACTS[contract].code}", "volume": volume.tolist()}
            for day, contract, volume in zip(dates, followed, volumes, strict=True)
        ],
        "half_days": [day for day, one in zip(dates, grid.sessions, strict=True) if one.half_day],
        "holidays": [day for day in map(trade_date_number, sorted(HOLIDAYS)) if dates[0] < day < dates[-1]],
        "clock_changes": _clock_changes(grid.sessions),
        "faults": [_fault_entry(one, tape, files, instruments) for one in planted],
    }


def oracle_table(grid: MinuteGrid, path: PricePath, edition: Edition) -> pd.DataFrame:
    """What the process knows at each open minute's close; for checks of training only, no production node reads it.

    `d` is the log deviation from fair value, `expected_return_60` the expected log return over the next 60 trading
    minutes, `position` (-1, 0, 1) what the oracle that minds the costs wants to hold at that close.
    """
    dates = np.array([trade_date_number(one.trade_date) for one in grid.sessions], dtype=np.int32)
    return pd.DataFrame(
        {
            "ts_event": pd.Series(grid.ts.view("datetime64[ns]")).dt.tz_localize("UTC"),
            "session": dates[grid.session],
            "d": path.deviation,
            "expected_return_60": expected_return(path.deviation, edition),
            "position": oracle_position(path.deviation, edition.band),
        }
    )
