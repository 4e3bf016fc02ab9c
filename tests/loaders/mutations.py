"""Damage to DBN files, and an independent judge of what is left of them."""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import databento_dbn as dbn
import numpy as np
import zstandard

from tests.loaders.dbn_builder import bars, definition, frame, mapping, metadata, trade
from tests.loaders.tick_builder import UNDEF_PRICE, random_ticks, tick_head

_SYMBOLS = ("ESH4", "ESM4", "ESH4-ESM4")
_OUTRIGHT = re.compile(r"ES[FGHJKMNQUVXZ]\d{1,2}")
_PREFIX = 8


@dataclass(frozen=True)
class Base:
    """A healthy file: head and records, how they are framed (None: raw), dtype and rtype of the records."""

    schema: str
    head: bytes
    body: bytes
    framing: Callable[[bytes], bytes] | None
    dtype: np.dtype[Any]
    rtype: int

    @property
    def suffix(self) -> str:
        return ".dbn.zst" if self.framing else ".dbn"

    def parts(self) -> list[bytes]:
        """The file as it lies on disk: frames, or head and records."""
        size = self.dtype.itemsize
        half = len(self.body) // size // 2 * size
        pieces = [self.head, self.body[:half], self.body[half:]]
        return [self.framing(piece) for piece in pieces] if self.framing else [self.head, self.body]

    def content(self) -> bytes:
        return self.head + self.body


def _unchecked(content: bytes) -> bytes:
    return bytes(zstandard.ZstdCompressor(write_checksum=False, write_content_size=False).compress(content))


@functools.cache
def bases() -> tuple[Base, ...]:
    rng = np.random.default_rng(1)
    head = metadata([mapping(s, ("2024-03-01", "2024-04-01", i + 1)) for i, s in enumerate(_SYMBOLS)])
    rows = [(f"2024-03-04 15:{i:02}", int(rng.integers(1, 5)), 5000 + i, int(rng.integers(1, 999))) for i in range(40)]
    ohlcv = np.dtype(dbn.OHLCVMsg._dtypes)
    found = [Base("ohlcv-1m", head, bars(rows), framing, ohlcv, 33) for framing in (None, frame, _unchecked)]
    for schema, message, rtype in (("trades", dbn.TradeMsg, 0), ("mbp-10", dbn.MBP10Msg, 10)):
        body = random_ticks(schema, 24, 2).tobytes()
        found += [Base(schema, tick_head(schema), body, framing, np.dtype(message._dtypes), rtype)
                  for framing in (None, frame)]
    for version, message in ((1, dbn.InstrumentDefMsgV1), (3, dbn.InstrumentDefMsg)):
        records = [definition("2024-03-04", i + 1, s, "ES", "F" if i < 2 else "S", version)
                   for i, s in enumerate(_SYMBOLS)]
        defined = metadata(schema=dbn.Schema.DEFINITION, version=version)
        found.append(Base("definition", defined, b"".join(records), None, np.dtype(message._dtypes), 19))
    return tuple(found)


def mutate(base: Base, rng: np.random.Generator) -> tuple[str, bytes]:
    """Kind of damage and the damaged file, by ``rng`` alone."""
    kinds = tuple(_MUTATIONS)
    kind = kinds[int(rng.integers(len(kinds)))]
    return kind, _MUTATIONS[kind](base, rng)


def _flip(base: Base, rng: np.random.Generator) -> bytes:
    return _flipped(b"".join(base.parts()), rng, 0)


def _flipped(whole: bytes, rng: np.random.Generator, start: int, stop: int | None = None) -> bytes:
    mutant = bytearray(whole)
    for _ in range(int(rng.integers(1, 5))):
        mutant[int(rng.integers(start, stop or len(mutant)))] ^= 1 << int(rng.integers(8))
    return bytes(mutant)


def _cut(base: Base, rng: np.random.Generator) -> bytes:
    whole = b"".join(base.parts())
    return whole[: int(rng.integers(len(whole)))]


def _cut_between_records(base: Base, rng: np.random.Generator) -> bytes:
    kept = int(rng.integers(len(base.body) // base.dtype.itemsize)) * base.dtype.itemsize
    return base.head + base.body[:kept] if base.framing is None else b"".join(base.parts()[: int(rng.integers(1, 3))])


def _remove(base: Base, rng: np.random.Generator) -> bytes:
    whole = b"".join(base.parts())
    start = int(rng.integers(len(whole)))
    return whole[:start] + whole[start + int(rng.integers(1, 200)) :]


def _repeat(base: Base, rng: np.random.Generator) -> bytes:
    whole = b"".join(base.parts())
    start = int(rng.integers(len(whole)))
    return whole[:start] + whole[start : start + int(rng.integers(1, 200))] + whole[start:]


def _junk(base: Base, rng: np.random.Generator) -> bytes:
    whole = b"".join(base.parts())
    at = int(rng.choice([len(whole), rng.integers(len(whole))]))
    return whole[:at] + rng.bytes(int(rng.integers(1, 100))) + whole[at:]


def _zeros(base: Base, rng: np.random.Generator) -> bytes:
    whole = b"".join(base.parts())
    start = int(rng.integers(len(whole)))
    length = min(int(rng.integers(1, 300)), len(whole) - start)
    return whole[:start] + bytes(length) + whole[start + length :]


def _foreign(base: Base, rng: np.random.Generator) -> bytes:
    """A trade, a bar of another interval or a record with ts_out between the records, framed as they are."""
    size = base.dtype.itemsize
    at = int(rng.integers(len(base.body) // size + 1)) * size
    other = bytearray(base.body[:size])
    other[1] = 32
    one = bars([("2024-03-04 15:20", 1, 5000)]) if base.schema == "trades" else trade("2024-03-04 15:20", 1)
    strangers = (one, bytes(other), base.body[:size] + bytes(8), base.body[: size // 2])
    body = base.body[:at] + strangers[int(rng.integers(4))] + base.body[at:]
    return base.head + body if base.framing is None else base.framing(base.head) + base.framing(body)


def _splice(base: Base, rng: np.random.Generator) -> bytes:
    """Another whole file behind this one, or the parts of the two mixed."""
    others = bases()
    other = others[int(rng.integers(len(others)))].parts()
    mine = base.parts()
    mixtures = (mine + other, mine + mine, mine[:1] + other[1:], mine[:-1] + other[-1:], mine[::-1], mine + mine[1:])
    return b"".join(mixtures[int(rng.integers(len(mixtures)))])


def _edit_metadata(base: Base, rng: np.random.Generator) -> bytes:
    """Flips within the metadata, framed afterwards, so that no checksum shows them."""
    head = _flipped(base.head, rng, 3)
    return head + base.body if base.framing is None else base.framing(head) + base.framing(base.body)


def _lie_in_metadata(base: Base, rng: np.random.Generator) -> bytes:
    """A version, a schema or a length that is not this file's."""
    head = bytearray(base.head)
    choice = int(rng.integers(3))
    if choice == 0:
        head[3] = int(rng.integers(256))
    elif choice == 1:
        head[24:26] = int(rng.integers(30)).to_bytes(2, "little")
    else:
        head[4:8] = int(rng.integers(2**32)).to_bytes(4, "little")
    return bytes(head) + base.body if base.framing is None else base.framing(bytes(head)) + base.framing(base.body)


def _flip_records(base: Base, rng: np.random.Generator) -> bytes:
    body = _flipped(base.body, rng, 0)
    return base.head + body if base.framing is None else base.framing(base.head) + base.framing(body)


_DAY, _LATEST = 86_400_000_000_000, 7_258_118_400_000_000_000
_MUTATIONS: dict[str, Callable[[Base, np.random.Generator], bytes]] = {
    "bit flips": _flip, "cut": _cut, "cut between records": _cut_between_records, "bytes removed": _remove,
    "bytes repeated": _repeat, "junk": _junk, "zeros": _zeros, "foreign record": _foreign, "splice": _splice,
    "edited metadata": _edit_metadata, "lying metadata": _lie_in_metadata, "flips in records": _flip_records,
}


@dataclass(frozen=True)
class Remains:
    """A file that is well formed after all: its records, and those of them that are outrights to be kept."""

    records: np.ndarray[Any, Any]
    kept: list[int]
    names: list[str]


def judge(base: Base, mutant: bytes) -> Remains | None:
    """What a well-formed file holds; None for one that is damaged for all to see.

    Well formed: whole zstd frames whose checksums agree, metadata that databento_dbn decodes, of this schema and
    version, without ts_out, then nothing but whole records of the schema's length and rtype.
    """
    content = _decompress(mutant)
    versions = (base.head[3],) if base.schema == "definition" else (1, 2, 3)  # the others' records are the same in all
    if content is None or content[:3] != b"DBN" or len(content) < _PREFIX or content[3] not in versions:
        return None
    length = int.from_bytes(content[4:8], "little")
    head, body = content[: _PREFIX + length], content[_PREFIX + length :]
    decoded = _decode(head) if len(head) == _PREFIX + length else None
    if decoded is None or decoded.ts_out or str(decoded.schema) != base.schema or len(body) % base.dtype.itemsize:
        return None
    records = np.frombuffer(body, base.dtype)
    if ((records["length"] != base.dtype.itemsize // 4) | (records["rtype"] != base.rtype)).any():
        return None
    names = [_symbol(decoded, record, base.schema) for record in records]
    return Remains(records, [i for i in range(len(records)) if _wanted(base.schema, records[i], names[i], decoded)], names)


def _decompress(mutant: bytes) -> bytes | None:
    content, rest = b"", mutant
    if mutant[:3] == b"DBN":
        return mutant
    while rest:
        if rest[1:4] == b"\x2a\x4d\x18" and 0x50 <= rest[0] <= 0x5F and len(rest) >= 8:
            end = 8 + int.from_bytes(rest[4:8], "little")
            if end > len(rest):
                return None
            rest = rest[end:]
            continue
        stream = zstandard.ZstdDecompressor().decompressobj()
        try:
            piece = stream.decompress(rest)
            stated = zstandard.get_frame_parameters(rest).content_size
        except zstandard.ZstdError:
            return None
        if not stream.eof or stated not in (len(piece), zstandard.CONTENTSIZE_UNKNOWN):
            return None
        content, rest = content + piece, stream.unused_data
    return content


def _decode(head: bytes) -> Any:
    try:
        return dbn.Metadata.decode(head, upgrade_policy=dbn.VersionUpgradePolicy.AS_IS)
    except BaseException as error:  # pyo3's PanicException is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return None


def _symbol(decoded: Any, record: Any, schema: str) -> str:
    """Symbol by the decoded mappings: the latest interval that has begun, while it lasts."""
    stamp = int(record["ts_event" if schema.startswith("ohlcv") else "ts_recv"])
    day = np.datetime64(stamp // 86_400_000_000_000, "D")
    found = [(np.datetime64(one["start_date"]), np.datetime64(one["end_date"]), name)
             for name, intervals in decoded.mappings.items() for one in intervals
             if one["symbol"] == str(record["instrument_id"]) and one["start_date"] < one["end_date"]]
    begun = [each for each in found if each[0] <= day]
    latest = max(begun, default=None)
    return latest[2] if latest and day < latest[1] else ""


def _wanted(schema: str, record: Any, name: str, decoded: Any) -> bool:
    if schema == "definition":
        return True
    stamp = int(record["ts_event" if schema.startswith("ohlcv") else "ts_recv"])
    if stamp >= 2**63 or not _OUTRIGHT.fullmatch(name):
        return False
    first = 0 if decoded.start > _LATEST else decoded.start - _DAY
    if stamp < first or stamp > min(_LATEST, _LATEST if decoded.end is None else decoded.end + _DAY):
        return False
    if schema.startswith("ohlcv"):
        return int(record["volume"]) < 2**63
    if record["flags"] & 32:
        return False
    return schema != "trades" or (record["action"] == b"T" and record["price"] != UNDEF_PRICE)
