"""How the records of each readable schema are laid out in each DBN version, and which clock orders them."""

from dataclasses import dataclass
from typing import Any

import databento_dbn
import numpy as np

BAR_SECONDS = {"ohlcv-1s": 1, "ohlcv-1m": 60, "ohlcv-1h": 3600, "ohlcv-1d": 86400}
BAR_SCHEMAS = tuple(BAR_SECONDS)
TRADES, TBBO, MBP_1, MBP_10 = "trades", "tbbo", "mbp-1", "mbp-10"
DEFINITION, STATISTICS = "definition", "statistics"
TRADE_SCHEMAS = (TRADES, TBBO, MBP_1, MBP_10)  # files in which every trade is a record of action T
QUOTE_SCHEMAS = (TBBO, MBP_1)

BARS, DEFINITIONS, TICKS, IGNORED = "bars", "definitions", "ticks", "ignored"  # kinds of files


@dataclass(frozen=True)
class RecordLayout:
    """What every record of a schema must look like: its numpy dtype (whose size is its length) and its rtype.

    ``clock`` is the field by which files are sorted and ids are mapped to symbols.
    """

    dtype: np.dtype[Any]
    rtype: int
    clock: str


@dataclass(frozen=True)
class _Schema:
    """Message classes of DBN versions 1, 2 and 3, rtype, clock and kind of file."""

    messages: tuple[Any, Any, Any]
    rtype: int
    clock: str
    kind: str


_OHLCV = (databento_dbn.OHLCVMsg,) * 3
_TRADE = (databento_dbn.TradeMsg,) * 3
_MBP1 = (databento_dbn.MBP1Msg,) * 3
_MBP10 = (databento_dbn.MBP10Msg,) * 3
_DEFINITION = (databento_dbn.InstrumentDefMsgV1, databento_dbn.InstrumentDefMsgV2, databento_dbn.InstrumentDefMsg)
_STATISTICS = (databento_dbn.StatMsgV1, databento_dbn.StatMsgV1, databento_dbn.StatMsg)
_SCHEMAS = {
    "ohlcv-1s": _Schema(_OHLCV, 32, "ts_event", BARS),
    "ohlcv-1m": _Schema(_OHLCV, 33, "ts_event", BARS),
    "ohlcv-1h": _Schema(_OHLCV, 34, "ts_event", BARS),
    "ohlcv-1d": _Schema(_OHLCV, 35, "ts_event", BARS),
    TRADES: _Schema(_TRADE, 0, "ts_recv", TICKS),
    TBBO: _Schema(_MBP1, 1, "ts_recv", TICKS),
    MBP_1: _Schema(_MBP1, 1, "ts_recv", TICKS),
    MBP_10: _Schema(_MBP10, 10, "ts_recv", TICKS),
    DEFINITION: _Schema(_DEFINITION, 19, "ts_recv", DEFINITIONS),
    STATISTICS: _Schema(_STATISTICS, 24, "ts_recv", TICKS),
}
READABLE_SCHEMAS = tuple(_SCHEMAS)
VERSIONS = (1, 2, 3)


def record_layout(schema: str, version: int) -> RecordLayout:
    """Layout of the records of a readable ``schema`` in a DBN file of ``version``; KeyError for any other."""
    row = _SCHEMAS[schema]
    return RecordLayout(np.dtype(row.messages[VERSIONS.index(version)]._dtypes), row.rtype, row.clock)


def file_kind(schema: str | None) -> str:
    """Kind of a file of ``schema``: 'bars', 'definitions', 'ticks', or 'ignored' for one that is not read."""
    return _SCHEMAS[schema].kind if schema in _SCHEMAS else IGNORED
