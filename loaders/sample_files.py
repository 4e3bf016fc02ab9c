"""Encoding of the sample data set as real DBN v3 files, named and framed like a batch download of real history."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import databento_dbn as dbn
import numpy as np
import zstandard

from loaders.sample_calendar import utc_midnight_ns
from loaders.sample_instruments import BUTTERFLY, CALENDAR, OUTRIGHT, USER_DEFINED, Instrument
from loaders.sample_tape import PUBLISHER, Record, Tape

DATASET = "GLBX.MDP3"
PARENT = "ES.FUT"
ROOT = "ES"
DBN_VERSION = 3
DAY_NS = 86_400_000_000_000
LISTING_NS = (
    43_000_000_000_000  # definitions carry the time of the exchange's last message, here at 11:56:40 of the day before
)
# kind: (instrument class, CFI code, security sub-type, security type, user defined), as in real definitions.
CLASSES = {
    OUTRIGHT: (dbn.InstrumentClass.FUTURE, "FFIXSX", "", "FUT", dbn.UserDefinedInstrument.NO),
    CALENDAR: (dbn.InstrumentClass.FUTURE_SPREAD, "FMIXSX", "EQ", "FUT", dbn.UserDefinedInstrument.NO),
    BUTTERFLY: (dbn.InstrumentClass.FUTURE_SPREAD, "FMIXSX", "BF", "FUT", dbn.UserDefinedInstrument.NO),
    USER_DEFINED: (dbn.InstrumentClass.OPTION_SPREAD, "OMXFPS", "VT", "OOF", dbn.UserDefinedInstrument.YES),
}


@dataclass(frozen=True)
class Interval:
    """Dates [start_date, end_date) on which a symbol has an id; the names are those that databento_dbn reads."""

    start_date: date
    end_date: date
    symbol: str


@dataclass(frozen=True)
class Mapping:
    """Ids of one raw symbol; the names are those that databento_dbn reads."""

    raw_symbol: str
    intervals: list[Interval]


@dataclass(frozen=True)
class MonthFile:
    """One file of bars, of a month or a day: its name, UTC dates [first, last], and the rows [start, stop) of the tape."""

    name: str
    first: date
    last: date
    start: int
    stop: int


def utc_date(ts: int) -> date:
    """UTC date of nanoseconds since 1970."""
    return datetime.fromtimestamp(ts // 1_000_000_000, UTC).date()


def file_name(first: date, last: date, schema: str) -> str:
    """Name of a batch download file that covers these UTC dates."""
    return f"glbx-mdp3-{first:%Y%m%d}-{last:%Y%m%d}.{schema}.dbn.zst"


def month_files(records: Record, first: date, last: date, daily: bool = False) -> list[MonthFile]:
    """Split a tape into one file per calendar month, or day (UTC); one without records has a file without records."""
    days = (records["ts_event"] // DAY_NS).astype(np.int64)
    files = []
    begin = first
    while begin <= last:
        next_month = (begin.replace(day=1) + timedelta(days=32)).replace(day=1)
        end = begin if daily else min(next_month - timedelta(days=1), last)
        start, stop = np.searchsorted(days, (_day_number(begin), _day_number(end) + 1))
        files.append(MonthFile(file_name(begin, end, "ohlcv-1m"), begin, end, int(start), int(stop)))
        begin = end + timedelta(days=1)
    return files


def _day_number(day: date) -> int:
    return utc_midnight_ns(day) // DAY_NS


def _metadata(schema: dbn.Schema, first: date, last: date, instruments: tuple[Instrument, ...]) -> bytes:
    end = last + timedelta(days=1)
    mappings = []
    for one in sorted(instruments, key=lambda each: each.symbol):
        start_date, end_date = max(one.listed, first), min(one.last + timedelta(days=1), end)
        if start_date < end_date:
            mappings.append(Mapping(one.symbol, [Interval(start_date, end_date, str(one.instrument_id))]))
    metadata = dbn.Metadata(
        dataset=DATASET, start=utc_midnight_ns(first), end=utc_midnight_ns(end), stype_in=dbn.SType.PARENT,
        stype_out=dbn.SType.INSTRUMENT_ID, schema=schema, symbols=[PARENT], mappings=mappings, limit=None,
        partial=[], not_found=[], ts_out=False, version=DBN_VERSION,
    )  # fmt: skip
    return bytes(metadata.encode())


def _frame(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=True).compress(data)


def write_bars(folder: Path, files: list[MonthFile], tape: Tape, instruments: tuple[Instrument, ...]) -> None:
    """Write each month's bars: frame 1 the metadata, then a frame per UTC day that has records."""
    for one in files:
        records = tape.records[one.start : one.stop]
        days = records["ts_event"] // DAY_NS
        edges = np.flatnonzero(np.diff(days, prepend=0, append=0))
        with (folder / one.name).open("wb") as out:
            out.write(_frame(_metadata(dbn.Schema.OHLCV_1M, one.first, one.last, instruments)))
            for start, stop in pairwise(edges):
                out.write(_frame(records[start:stop].tobytes()))


def _definition(one: Instrument, day: date) -> bytes:
    instrument_class, cfi, sub_type, security_type, user_defined = CLASSES[one.kind]
    outright = one.kind == OUTRIGHT
    expiry = utc_date(one.expires)
    message = dbn.InstrumentDefMsg(
        publisher_id=PUBLISHER, instrument_id=one.instrument_id, raw_instrument_id=one.instrument_id,
        ts_event=utc_midnight_ns(day) - LISTING_NS, ts_recv=utc_midnight_ns(day), raw_symbol=one.symbol,
        min_price_increment=one.tick, display_factor=10_000_000, asset=ROOT, group=ROOT, exchange="XCME",
        security_type=security_type, instrument_class=instrument_class, cfi=cfi, secsubtype=sub_type,
        security_update_action=dbn.SecurityUpdateAction.ADD, user_defined_instrument=user_defined,
        activation=utc_midnight_ns(one.listed), expiration=one.expires, currency="USD",
        unit_of_measure="IPNT" if outright else "CTRCT",
        unit_of_measure_qty=50_000_000_000 if outright else dbn.UNDEF_PRICE,
        min_price_increment_amount=one.tick * 50 if outright else dbn.UNDEF_PRICE,
        maturity_year=expiry.year, maturity_month=expiry.month,
    )  # fmt: skip
    return bytes(message)


def write_definitions(folder: Path, first: date, last: date, instruments: tuple[Instrument, ...]) -> tuple[str, int]:
    """Write every instrument's definition for every UTC date it exists, like the daily snapshot: (name, records)."""
    name, count = file_name(first, last, "definition"), 0
    with (folder / name).open("wb") as out:
        out.write(_frame(_metadata(dbn.Schema.DEFINITION, first, last, instruments)))
        day = first
        while day <= last:
            snapshot = [_definition(one, day) for one in instruments if one.listed <= day <= one.last]
            out.write(_frame(b"".join(snapshot)))
            count += len(snapshot)
            day += timedelta(days=1)
    return name, count
