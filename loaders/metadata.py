"""The metadata at the head of a DBN file, as plain values that can be pickled, checked before any record is read."""

import datetime
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import databento_dbn

from loaders.errors import DataError, damaged
from loaders.frames import DBN_MAGIC, NOT_DBN, describe_foreign, open_content
from loaders.layouts import VERSIONS
from loaders.symbols import Interval, SymbolMap, symbol_map
from loaders.types import NS_PER_DAY

LATEST = 7_258_118_400_000_000_000  # 2200-01-01: no record is later, whatever its file says of itself
_PREFIX_BYTES = 8
_LONGEST_METADATA = 1 << 28  # the largest real one seen is 0.9 MB (ES.OPT, 11,294 symbols)
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()


@dataclass(frozen=True)
class DbnMetadata:
    """What a DBN file says of itself: ``start`` and ``end`` int64 ns UTC (end exclusive); ``schema`` None if mixed.

    ``head_bytes`` is its own encoded length: records begin after it.
    """

    head_bytes: int
    version: int
    dataset: str
    schema: str | None
    stype_in: str | None
    stype_out: str | None
    start: int
    end: int | None
    limit: int | None
    ts_out: bool
    symbols: tuple[str, ...]
    not_found: tuple[str, ...]
    partial: tuple[str, ...]
    mappings: SymbolMap

    @property
    def span(self) -> tuple[int, int]:
        """First and last nanosecond that a record may have: a day around what the file was requested for, where it says."""
        first = 0 if self.start > LATEST else self.start - NS_PER_DAY
        return first, LATEST if self.end is None else min(self.end + NS_PER_DAY, LATEST)


def read_metadata(path: Path) -> DbnMetadata:
    """Metadata of the file at ``path`` without reading a record.

    Raises DataError or DamagedFileError as ``open_content`` and ``take_metadata``.
    """
    with open_content(path) as stream:
        return take_metadata(stream, path)


def take_metadata(stream: BufferedReader, path: Path) -> DbnMetadata:
    """Read the metadata from the start of ``stream`` and leave it at the first record.

    Raises DamagedFileError for content that is not DBN, a version that is not read, and metadata that is cut or
    corrupt.
    """
    prefix = stream.read(_PREFIX_BYTES)
    if prefix[:3] != DBN_MAGIC:
        raise damaged(path, f"content {describe_foreign(prefix)}", NOT_DBN)
    if len(prefix) < _PREFIX_BYTES:
        raise damaged(path, f"is truncated: its content ends after {len(prefix)} bytes, inside the metadata")
    if prefix[3] not in VERSIONS:
        raise damaged(path, f"is DBN version {prefix[3]}, read are {VERSIONS}", "check the file, or convert it")
    length = int.from_bytes(prefix[4:8], "little")
    if length > _LONGEST_METADATA:
        raise damaged(path, f"states {length} bytes of metadata, more than {_LONGEST_METADATA}")
    body = stream.read(length)
    if len(body) < length:
        raise damaged(path, f"is truncated: its content ends inside the metadata ({len(body)} of {length} bytes)")
    try:
        decoded = databento_dbn.Metadata.decode(
            prefix + body, upgrade_policy=databento_dbn.VersionUpgradePolicy.AS_IS
        )
        return _plain(decoded, prefix[3], _PREFIX_BYTES + length)
    except (databento_dbn.DBNError, ValueError, OverflowError) as error:
        raise damaged(path, f"has corrupt metadata ({error})") from error


def _plain(decoded: Any, version: int, head_bytes: int) -> DbnMetadata:
    stype_in, stype_out = _text(decoded.stype_in), _text(decoded.stype_out)
    return DbnMetadata(
        head_bytes=head_bytes,
        version=version,
        dataset=decoded.dataset,
        schema=_text(decoded.schema),
        stype_in=stype_in,
        stype_out=stype_out,
        start=decoded.start,
        end=decoded.end,
        limit=decoded.limit,
        ts_out=decoded.ts_out,
        symbols=tuple(decoded.symbols),
        not_found=tuple(decoded.not_found),
        partial=tuple(decoded.partial),
        mappings=symbol_map(_intervals(decoded.mappings, stype_in, stype_out)),
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _intervals(
    mappings: dict[str, list[dict[str, Any]]], stype_in: str | None, stype_out: str | None
) -> list[Interval]:
    """Mappings as intervals, whichever side holds the ids; an empty target means "not listed" and maps nothing."""
    if mappings and "instrument_id" not in (stype_in, stype_out):
        raise DataError(f"mappings go from {stype_in} to {stype_out} and hold no instrument ids")
    ids_are_targets = stype_out == "instrument_id"
    intervals = []
    for name in sorted(mappings):
        for entry in mappings[name]:
            if entry["symbol"]:
                number, symbol = (entry["symbol"], name) if ids_are_targets else (name, entry["symbol"])
                intervals.append(Interval(int(number), _day(entry["start_date"]), _day(entry["end_date"]), symbol))
    return intervals


def _day(date: datetime.date) -> int:
    return date.toordinal() - _EPOCH_DAY
