"""Outright bars of a data set, file by file: joined of the pieces of a file of bars, or made from all files of trades."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from loaders.outrights import OutrightBars, join_partitions
from loaders.trade_bars import TimeBars, trade_bars


def traded_bars(
    trade_files: Sequence[Path], definition_files: Sequence[Path], root: str, interval: str
) -> OutrightBars:
    """Bars of `interval` (1s, 1m, 1h or 1d) from trades; their report calls them by the schema of the exchange's own."""
    made = trade_bars(trade_files, definition_files, root, TimeBars(interval))
    return replace(made, report=made.report | {"schema": f"ohlcv-{interval}"})


def joined_outrights(parts: list[OutrightBars], traded: list[OutrightBars]) -> OutrightBars:
    """The bars of one file from its pieces in order, or those made from trades where the flow makes them."""
    return traded[0] if traded else join_partitions(parts)
