"""Outright bars of a made-up market for the tests of rolls and of the continuous series."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from loaders.grammar import GRAMMARS, contract_months
from loaders.outrights import OutrightBars
from loaders.roll import RolledBars, RollSettings, rolled_bars
from loaders.sessions import SessionRule
from loaders.types import OUTRIGHT_COLUMNS, table
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
    bars = table(
        OUTRIGHT_COLUMNS,
        {
            "ts_event": ts,
            "publisher_id": np.ones(n),
            "instrument_id": np.ones(n),
            "contract": list(contracts),
            "expiry": months.expiries(np.arange(n), ts // 86_400_000_000_000),
            **dict.fromkeys(("open", "high", "low", "close"), prices),
            "volume": np.array(volumes),
            "source_row": (ordinal << 40) + np.arange(n),
            "backwards": np.zeros(n),
        },
    )
    listing = pd.DataFrame(
        [(expiry, name, 20231201, last) for name, expiry, last in listed],
        columns=["expiry", "contract", "first", "last"],
    )
    return OutrightBars(bars, listing, {})


def rolled(*parts: OutrightBars, months: str = "HMUZ") -> RolledBars:
    return rolled_bars(parts, SessionRule(), RollSettings(months=months))


def shuffled(bars: OutrightBars, seed: int) -> OutrightBars:
    """The same bars in another order, as another file would hold them."""
    order = np.random.default_rng(seed).permutation(len(bars.bars))
    mixed = bars.bars.iloc[order].reset_index(drop=True)
    mixed["source_row"] = np.arange(len(mixed))
    return OutrightBars(mixed, bars.listed, bars.report)


def accepted(rolled_table: pd.DataFrame) -> pd.DataFrame:
    """The rows as layer 1 hands them on: prices as float64, integer / 1e9."""
    return rolled_table.assign(**{name: rolled_table[name] / 1e9 for name in ("open", "high", "low", "close")})
