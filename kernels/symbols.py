"""Sweeps over several instruments in one call: a result for each symbol of the bars."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kernels.bar_checks import host_table
from kernels.bars import BarsError
from kernels.execution import Instrument
from kernels.preparation import SweepError
from kernels.result import SweepResult
from kernels.strategy import Strategy
from kernels.sweep import sweep


@dataclass(frozen=True, eq=False)
class SymbolResults:
    """``by_symbol``: each symbol's own result, in the order in which the symbols appear in the bars."""

    by_symbol: dict[str, SweepResult]

    @property
    def table(self) -> pd.DataFrame:
        """All tables below one another, the symbol in the first column."""
        tables = [result.table.assign(symbol=symbol) for symbol, result in self.by_symbol.items()]
        joined = pd.concat(tables, ignore_index=True)
        return joined[["symbol", *joined.columns.drop("symbol")]]

    def __getitem__(self, symbol: str) -> SweepResult:
        """The result of one symbol; raises ``SweepError`` naming the ones there are."""
        if symbol not in self.by_symbol:
            raise SweepError(f"there is no symbol {symbol!r} in the bars: they have {', '.join(self.by_symbol)}")
        return self.by_symbol[symbol]


def sweep_symbols(
    strategy: Strategy, bars: pd.DataFrame, *, instruments: Mapping[str, Instrument], **settings: Any
) -> SymbolResults:
    """``sweep`` over the bars of each symbol apart: every account trades one instrument with the whole capital.

    ``bars`` has a column ``symbol``; the rows of a symbol stand in the order of time, symbols may alternate. ``settings``
    are ``sweep``'s, the same for all; ranges in ``windows`` count the bars of each symbol. Raises ``BarsError`` without
    the column, ``SweepError`` where a symbol has no instrument.
    """
    bars = host_table(bars)
    if "symbol" not in bars.columns:
        raise BarsError("several instruments need a column 'symbol'; with one, use sweep()")
    for row in np.flatnonzero(bars["symbol"].isna().to_numpy())[:1]:
        raise BarsError(f"row {row} of the bars has no symbol: drop it, or give it one")
    names = bars["symbol"].astype(str)  # numbers are symbols too
    symbols = list(names.unique())
    for symbol in symbols:
        if symbol not in instruments:
            raise SweepError(f"symbol {symbol!r} has no instrument: given are {', '.join(instruments) or 'none'}")
    found = {}
    for symbol in symbols:
        own = bars[names == symbol].reset_index(drop=True)
        found[symbol] = sweep(strategy, own, instrument=instruments[symbol], **settings)
    return SymbolResults(found)
