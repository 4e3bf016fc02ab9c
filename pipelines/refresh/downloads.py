"""New days from Databento as files of the data folder: priced and capped first, checked by our own reader, renamed last.

A day is asked for once its data is complete on the server. What a request sends is written below a hidden folder; a file
appears in the data folder whole or not at all. A day that is there is fetched again only where the server has modified it
since this program fetched it.
"""

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from loaders.errors import DataError
from loaders.records import open_dbn
from pipelines.errors import ConfigurationError, DownloadError, UsageError
from pipelines.refresh.refresh_settings import DownloadSettings
from pipelines.storage.store_files import sync

KEY = "DATABENTO_API_KEY"
AVAILABLE = ("available", "degraded")
BUSY = (408, 429)  # of the client's errors those that pass; all of the server's do

T = TypeVar("T")


@dataclass(frozen=True)
class Downloaded:
    """What was fetched: file names, the price that was estimated, days that are not complete yet, days of doubtful quality.

    `modified`: file → when the server modified its day last, of the files fetched now.
    """

    files: tuple[str, ...]
    estimated_usd: float
    pending: tuple[str, ...]
    degraded: tuple[str, ...]
    modified: dict[str, str]


@dataclass(frozen=True)
class Wanted:
    """A day of a schema that is not in the data folder, or there as it was before the server's last change of it."""

    schema: str
    day: date
    name: str
    modified: str


@dataclass(frozen=True)
class Source:
    """The server, asked through databento's client; `sleep` waits between tries."""

    settings: DownloadSettings
    client: Any
    say: Callable[[str], None]
    sleep: Callable[[float], None] = field(default=time.sleep)

    @classmethod
    def connect(cls, settings: DownloadSettings, say: Callable[[str], None]) -> "Source":
        """Make the client; raise UsageError without a key in the environment."""
        import databento

        key = os.environ.get(KEY, "").strip()
        if not key:
            raise UsageError(f"refresh.download.source=databento needs the key in the environment variable {KEY}")
        options = {"gateway": settings.gateway} if settings.gateway else {}
        return cls(settings, databento.Historical(key, **options), say)

    def asked(self, what: str, call: Callable[[], T]) -> T:
        """Return the answer of a request, tried again while the failure is one that passes."""
        import databento
        import requests

        for attempt in range(1, self.settings.tries + 1):
            try:
                return call()
            except databento.BentoHttpError as error:
                status = int(error.http_status or 0)
                if status in (401, 403):
                    raise UsageError(f"{what}: the server refuses the key in {KEY} ({status})") from None
                if status < 500 and status not in BUSY:
                    raise DownloadError(f"{what}: the server refuses the request ({status}): {error.message}") from None
                last, wait = f"{status} {error.message or ''}".strip(), _retry_after(error)
            except (databento.BentoError, requests.RequestException, OSError, DataError) as error:
                last, wait = str(error), 0.0
            if attempt < self.settings.tries:
                delay = max(wait, self.settings.wait_seconds * 2 ** (attempt - 1))
                self.say(f"{what}: {last}; try {attempt + 1} of {self.settings.tries} in {delay:g} s")
                self.sleep(delay)
        raise DownloadError(f"{what}: {self.settings.tries} tries failed, the last with: {last}; run again later")


def download(source: Source, folder: Path, max_cost_usd: float, known: Mapping[str, str]) -> Downloaded:
    """Fetch the days that the data folder lacks, from `start` to the last complete one, and those that the server has
    modified since they were fetched (`known`: file → when it was last modified then).

    Raises ConfigurationError before anything is spent where their estimated price exceeds the cap.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _clear(folder)
    wanted, pending, degraded = _missing(source, folder, known)
    price = sum(_price(source, wanted, schema) for schema in source.settings.schemas)
    if wanted:
        source.say(f"{len(wanted)} files to fetch, estimated at {price:.4f} USD (refresh.max_cost_usd {max_cost_usd:g})")
    if not price <= max_cost_usd:  # a price that is no number is above every cap
        days = sorted({one.day for one in wanted})
        raise ConfigurationError(
            f"the download of {len(days)} days from {days[0]} to {days[-1]} is estimated at {price:.2f} USD, above "
            f"refresh.max_cost_usd {max_cost_usd:g}: nothing was fetched; raise the cap, or a later refresh.download.start"
        )
    for one in wanted:
        source.asked(one.name, lambda one=one: _fetch(source, one, folder))  # type: ignore[misc]
        source.say(f"fetched {one.name}")
    modified = {one.name: one.modified for one in wanted}
    return Downloaded(tuple(modified), price, tuple(pending), tuple(degraded), modified)


def _missing(source: Source, folder: Path, known: Mapping[str, str]) -> tuple[list[Wanted], list[str], list[str]]:
    settings, client = source.settings, source.client
    span = source.asked("metadata.get_dataset_range", lambda: client.metadata.get_dataset_range(settings.dataset))
    first = date.fromisoformat(settings.start)
    ends = {schema: _end_of(span, schema) for schema in settings.schemas}
    last = max(ends.values()) - timedelta(days=1)
    if last < first:
        return [], [], []
    rows = source.asked(
        "metadata.get_dataset_condition",
        lambda: client.metadata.get_dataset_condition(settings.dataset, first.isoformat(), last.isoformat()),
    )
    conditions = {str(row["date"]): (str(row["condition"]), str(row.get("last_modified_date") or "")) for row in rows}
    wanted: list[Wanted] = []
    pending, degraded = [], []
    for number in range((last - first).days + 1):
        day = first + timedelta(days=number)
        condition, modified = conditions.get(day.isoformat(), ("missing", ""))
        names = {schema: _name(settings, schema, day) for schema in settings.schemas}
        lacking = [
            schema for schema, name in names.items()
            if not (folder / name).exists() or known.get(name, modified) < modified
        ]  # fmt: skip
        if lacking and condition == "pending":
            pending.append(day.isoformat())
        if lacking and condition == "degraded":
            degraded.append(day.isoformat())
        if condition in AVAILABLE:
            wanted.extend(Wanted(schema, day, names[schema], modified) for schema in lacking if day < ends[schema])
    return wanted, pending, degraded


def _end_of(span: Any, schema: str) -> date:
    """The UTC day until which a schema is complete, exclusive."""
    row = span.get("schema", {}).get(schema, span)
    text = str(row["end"])
    return datetime.fromisoformat(text[:19] + "+00:00" if "T" in text else f"{text[:10]}T00:00:00+00:00").astimezone(UTC).date()


def _price(source: Source, wanted: Iterable[Wanted], schema: str) -> float:
    """The price of the days of a schema, asked for in runs of days that follow one another."""
    days = sorted(one.day for one in wanted if one.schema == schema)
    total = 0.0
    while days:
        length = next((at for at in range(1, len(days)) if days[at] != days[0] + timedelta(days=at)), len(days))
        first, last = days[0], days[length - 1]
        request = _request(source.settings, schema, first, last)
        total += float(source.asked("metadata.get_cost", lambda request=request: source.client.metadata.get_cost(**request)))  # type: ignore[misc]
        days = days[length:]
    return total


def _fetch(source: Source, one: Wanted, folder: Path) -> None:
    """Fetch one day into a hidden folder, read it to its end, and rename it to its place."""
    draft = folder / f".download-{os.getpid()}"
    draft.mkdir(exist_ok=True)
    path = draft / one.name
    try:
        source.client.timeseries.get_range(path=path, **_request(source.settings, one.schema, one.day, one.day))
        _check(path, source.settings, one)
        sync(path)
        path.rename(folder / one.name)
        sync(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _check(path: Path, settings: DownloadSettings, one: Wanted) -> None:
    """Raise DataError for a file that our reader does not read to its end, or that holds something else than was asked for."""
    file = open_dbn(path)
    for _ in file.chunks():
        pass
    said = (file.metadata.schema, file.metadata.dataset)
    if said != (one.schema, settings.dataset):
        raise DataError(f"{one.name}: the server sent {said[0]} of {said[1]}, asked for {one.schema} of {settings.dataset}")
    start = datetime.fromtimestamp(file.metadata.start // 10**9, UTC).date()
    if start != one.day:
        raise DataError(f"{one.name}: the server sent data from {start}, asked for {one.day}")


def _request(settings: DownloadSettings, schema: str, first: date, last: date) -> dict[str, Any]:
    return {
        "dataset": settings.dataset,
        "symbols": list(settings.symbols),
        "schema": schema,
        "stype_in": settings.stype_in,
        "start": first.isoformat(),
        "end": (last + timedelta(days=1)).isoformat(),
    }


def _name(settings: DownloadSettings, schema: str, day: date) -> str:
    """The name a batch download would give the day."""
    return f"{settings.dataset.lower().replace('.', '-')}-{day:%Y%m%d}.{schema}.dbn.zst"


def _clear(folder: Path) -> None:
    """Remove what a download that was killed left; no other runs, for the refresh holds the lock."""
    for left in folder.glob(".download-*"):
        shutil.rmtree(left, ignore_errors=True)


def _retry_after(error: Any) -> float:
    with contextlib.suppress(ValueError, TypeError, AttributeError, KeyError):  # most servers do not say it
        return max(0.0, min(float(error.headers["Retry-After"]), 300.0))
    return 0.0
