"""Outright bars of a made-up market for the tests of rolls and of the continuous series."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from loaders.grammar import contract_months
from loaders.outrights import OutrightBars
from loaders.roll import RolledBars, RollSettings, rolled_bars
from loaders.roll_open_interest import NO_OPEN_INTEREST, OPEN_INTEREST_COLUMNS, OpenInterest
from loaders.sessions import SessionRule
from loaders.types import OUTRIGHT_COLUMNS, table
from loaders.venues import GRAMMARS
from tests.loaders.dbn_builder import POINT, ns

LISTED = (("ESH4", 202403, 20240315), ("ESM4", 202406, 20240621), ("ESU4", 202409, 20240920))
Row = tuple[str, str, float, int]


def part(rows: Iterable[Row], listed: Iterable[tuple[str, int, int]] = LISTED, ordinal: int = 0) -> OutrightBars:
    """Bars of (moment, contract, open = close, volume); ``listed``: contract, expiry, last day."""
    moments, contracts, levels, volumes = zip(*rows, strict=True)
    ts = np.array([ns(moment) for moment in moments])
    prices = np.array([round(level * POINT) for level in levels])
    months = contract_months(contracts, GRAMMARS["GLBX.MDP3"])
    n = len(ts)
    bars = table(OUTRIGHT_COLUMNS, {
        "ts_event": ts, "publisher_id": np.ones(n), "instrument_id": np.ones(n), "contract": list(contracts),
        "expiry": months.expiries(np.arange(n), ts // 86_400_000_000_000),
        **dict.fromkeys(("open", "high", "low", "close"), prices),
        "volume": np.array(volumes), "source_row": (ordinal << 40) + np.arange(n), "backwards": np.zeros(n),
    })
    listing = pd.DataFrame([(expiry, name, 20231201, last) for name, expiry, last in listed],
                           columns=["expiry", "contract", "first", "last"])
    return OutrightBars(bars, listing, {})


def rolled(*parts: OutrightBars, months: str = "HMUZ", values: pd.DataFrame | None = None, **roll: Any) -> RolledBars:
    """Roll with settings ``roll``; ``values``: open interest as ``known`` makes it."""
    interest = NO_OPEN_INTEREST if values is None else OpenInterest(values, {})
    return rolled_bars(parts, SessionRule(), RollSettings(months=months, **roll), interest)


def known(*rows: tuple[str, str, int, int, bool]) -> pd.DataFrame:
    """Open interest of (arrival, day it is about, expiry, quantity, final)."""
    arrival, about, expiry, quantity, final = zip(*rows, strict=True)
    values = table(OPEN_INTEREST_COLUMNS, {
        "ts_recv": np.array([ns(moment) for moment in arrival]),
        "reference": np.array([ns(day) // 86_400_000_000_000 for day in about]),
        "expiry": np.array(expiry), "quantity": np.array(quantity), "final": np.array(final),
    })
    return values.sort_values("ts_recv", kind="stable", ignore_index=True)


def followed(result: RolledBars) -> list[tuple[int, str]]:
    """The contract followed in each session, in order."""
    bars = result.bars[result.bars["role"] == "followed"]
    return list(bars.groupby("session")["contract"].first().items())


def day(date: str, **volumes: int) -> list[Row]:
    """Two minutes of each contract on ``date`` (15:00 UTC, in the trade date of that name)."""
    return [(f"{date} 15:0{minute}", contract, 5000 + 50 * i, volume)
            for minute in (0, 1) for i, (contract, volume) in enumerate(volumes.items())]


def random_market(seed: int) -> OutrightBars:
    """Four weeks of three contracts around the end of the first, busier and busier in the later ones."""
    rng = np.random.default_rng(seed)
    rows = []
    for at, date in enumerate(pd.bdate_range("2024-02-26", "2024-03-22").strftime("%Y-%m-%d")):
        for minute in range(12):
            for i, contract in enumerate(("ESH4", "ESM4", "ESU4")):
                if rng.random() < 0.8:
                    volume = int(rng.integers(0, 1 + max(1, (20 - at, at, at // 3)[i])))
                    rows.append((f"{date} 15:{minute:02}", contract, 5000 + 50.0 * i + minute, volume))
    return part(rows)


def shuffled(bars: OutrightBars, seed: int) -> OutrightBars:
    """The same bars in another order, as another file would hold them."""
    order = np.random.default_rng(seed).permutation(len(bars.bars))
    mixed = bars.bars.iloc[order].reset_index(drop=True)
    mixed["source_row"] = np.arange(len(mixed))
    return OutrightBars(mixed, bars.listed, bars.report)


def accepted(rolled_table: pd.DataFrame) -> pd.DataFrame:
    """The rows as layer 1 hands them on: prices as float64, integer / 1e9."""
    return rolled_table.assign(**{name: rolled_table[name] / 1e9 for name in ("open", "high", "low", "close")})
