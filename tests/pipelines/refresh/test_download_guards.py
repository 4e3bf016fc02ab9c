"""Guards of a download, each by itself: what was asked for, until when, on the disk before it counts, and how long to wait."""

from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import databento
import databento_dbn as dbn
import pytest

from loaders.errors import DataError
from pipelines.errors import DownloadError
from pipelines.refresh import downloads
from pipelines.refresh.downloads import Source, Wanted
from pipelines.refresh.refresh_settings import DownloadSettings
from tests.loaders.dbn_builder import mapping, metadata, ns, write

SETTINGS = DownloadSettings(
    source="databento", symbols=("ES.FUT",), schemas=("ohlcv-1m", "definition"), start="2024-03-01", tries=3, wait_seconds=2.0
)
DAY = Wanted("ohlcv-1m", date(2024, 3, 4), "day.ohlcv-1m.dbn.zst", "")


def source(client: Any, waited: list[float] | None = None) -> Source:
    return Source(SETTINGS, client, print, [].append if waited is None else waited.append)


def test_a_day_is_asked_for_only_of_the_schemas_that_are_complete_on_it(tmp_path):
    ends = {"ohlcv-1m": {"end": "2024-03-03"}, "definition": {"end": "2024-03-02T00:00:00.000000000Z"}}
    days = [{"date": f"2024-03-0{day}", "condition": "available"} for day in (1, 2)]
    answers = SimpleNamespace(
        get_dataset_range=lambda dataset: {"start": "2010-06-06", "end": "2024-03-03", "schema": ends},
        get_dataset_condition=lambda *given: days,
    )
    wanted, _, _ = downloads._missing(source(SimpleNamespace(metadata=answers)), tmp_path, {})
    assert sorted((one.day.day, one.schema) for one in wanted) == [(1, "definition"), (1, "ohlcv-1m"), (2, "ohlcv-1m")]


@pytest.mark.parametrize("wrong", [{"schema": dbn.Schema.OHLCV_1H}, {"dataset": "IFEU.IMPACT"}])
def test_a_file_of_another_schema_or_dataset_is_not_taken(tmp_path, wrong):
    head = metadata([mapping("ESH4", ("2024-03-04", "2024-03-05", 1))], start=ns("2024-03-04"), **wrong)
    path = write(tmp_path / "day.dbn.zst", head)  # a day without a record: only what the file says of itself can tell
    with pytest.raises(DataError, match=r"the server sent .*, asked for ohlcv-1m of GLBX\.MDP3"):
        downloads._check(path, SETTINGS, DAY)


def test_a_file_is_on_the_disk_before_it_has_its_name_and_its_name_before_it_counts(tmp_path, monkeypatch):
    synced: list[tuple[str, bool]] = []
    monkeypatch.setattr(downloads, "_check", lambda path, settings, one: None)
    monkeypatch.setattr(downloads, "sync", lambda path: synced.append((path.name, (tmp_path / DAY.name).exists())))

    def get_range(path: Path, **request: Any) -> None:
        path.write_bytes(b"data")

    downloads._fetch(source(SimpleNamespace(timeseries=SimpleNamespace(get_range=get_range))), DAY, tmp_path)
    assert synced == [(DAY.name, False), (tmp_path.name, True)]


@pytest.mark.parametrize(("said", "waits"), [
    ("7", [7.0, 7.0]), ("1", [2.0, 4.0]), ("100000", [300.0, 300.0]), ("-5", [2.0, 4.0]), ("soon", [2.0, 4.0]),
    (None, [2.0, 4.0]),
])  # fmt: skip
def test_a_server_that_says_when_to_ask_again_is_obeyed_within_reason(said, waits):
    waited: list[float] = []

    def call() -> None:
        raise databento.BentoHttpError(429, message="busy", headers={} if said is None else {"Retry-After": said})

    with pytest.raises(DownloadError, match="3 tries failed, the last with: 429 busy"):
        source(None, waited).asked("a day", call)
    assert waited == waits
