"""Deliveries for a refresh: day files of the sample that arrive one by one, or damaged, poisoned, with a hole."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import databento_dbn as dbn
import numpy as np
import zstandard

from loaders.metadata import read_metadata
from pipelines.cli import main
from pipelines.refresh.published_pointer import Pointer, read_pointer
from pipelines.storage.store import Store

OHLCV = np.dtype(dbn.OHLCVMsg._dtypes)
SCHEMA_AT = 24  # the byte of the metadata where the number of the schema stands
MINUTE = 60_000_000_000


@dataclass
class Inbox:
    """A data folder that day files are put into, and the store that is refreshed from it."""

    source: Path
    folder: Path
    overrides: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: Path, place: Path, until: int, *overrides: str) -> "Inbox":
        """With the definitions and all days of the sample up to `until` (yyyymmdd)."""
        inbox = cls(source, place / "data", overrides)
        inbox.folder.mkdir()
        shutil.copy(next(source.glob("*.definition.*")), inbox.folder)
        for path in inbox.days():
            if int(path.name.split("-")[2]) <= until:
                shutil.copy(path, inbox.folder)
        return inbox

    @property
    def store(self) -> Store:
        return Store(self.folder.parent / "store")

    @property
    def words(self) -> tuple[str, ...]:
        return (f"data={self.folder}", f"store={self.store.root}", "cluster=serial", *self.overrides)

    def days(self) -> list[Path]:
        return sorted(self.source.glob("*.ohlcv-1m.*"))

    def path(self, day: int) -> Path:
        return self.folder / f"glbx-mdp3-{day}-{day}.ohlcv-1m.dbn.zst"

    def deliver(self, *days: int) -> None:
        for day in days:
            shutil.copy(self.source / self.path(day).name, self.folder)

    def rewrite(self, day: int, change, schema: int | None = None) -> None:
        """Deliver a day whose records `change` has changed: it gets them all and returns those to write.

        `schema` is the number of the schema that the file says it holds, if another one.
        """
        source = self.source / self.path(day).name
        with source.open("rb") as stream:
            content = zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True).read()
        head = read_metadata(source).head_bytes
        records = change(np.frombuffer(content[head:], dtype=OHLCV).copy())
        named = content[:SCHEMA_AT] + schema.to_bytes(2, "little") + content[SCHEMA_AT + 2 : head] if schema else content[:head]
        self.path(day).write_bytes(frame(named) + frame(records.tobytes()))

    def refresh(self, capsys, *words: str) -> tuple[int, dict]:
        code = main(["refresh", *self.words, *words, "--json", "--quiet"])
        return code, json.loads(capsys.readouterr().out.strip().splitlines()[-1])

    @property
    def pointer(self) -> Pointer:
        return read_pointer(self.store, "ES")


def frame(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True, write_content_size=True).compress(content)


def outright_id(records: np.ndarray) -> int:
    """The instrument that trades most: the followed contract."""
    ids, counts = np.unique(records["instrument_id"], return_counts=True)
    return int(ids[counts.argmax()])


def spoil(count: int):
    """Make the high of the first `count` bars of the followed contract lower than their low."""

    def change(records: np.ndarray) -> np.ndarray:
        rows = np.flatnonzero(records["instrument_id"] == outright_id(records))[:count]
        records["high"][rows] = records["low"][rows] - 10**9
        return records

    return change


def hole(minutes: int, at: int = 15):
    """Take away all records of so many minutes from an hour of the UTC day on."""

    def change(records: np.ndarray) -> np.ndarray:
        midnight = records["ts_event"][0] // (1440 * MINUTE) * (1440 * MINUTE)
        first = midnight + np.uint64(at * 60 * MINUTE)
        return records[(records["ts_event"] < first) | (records["ts_event"] >= first + np.uint64(minutes * MINUTE))]

    return change
