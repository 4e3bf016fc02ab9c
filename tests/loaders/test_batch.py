"""A batch download is what its manifest promises, or refused; bad days are named in the report."""

import hashlib
import json
from pathlib import Path

import pytest

from loaders.dbn import read_bars
from loaders.errors import DamagedFileError, DataError
from loaders.files import list_data_files
from tests.loaders.dbn_builder import bars, mapping, metadata, write

HEAD = metadata([mapping("ESH4", ("2024-03-01", "2024-03-16", 1))])


@pytest.fixture
def download(tmp_path: Path) -> Path:
    """Two days of bars with the support files as Databento writes them."""
    for day in (4, 5):
        rows = bars((f"2024-03-0{day} 15:0{i}", 1, 5000 + i) for i in range(5))
        write(tmp_path / f"glbx-mdp3-2024030{day}.ohlcv-1m.dbn", HEAD, rows)
    conditions = [{"date": "2024-03-04", "condition": "available", "last_modified_date": "2024-03-06"},
                  {"date": "2024-03-05", "condition": "degraded", "last_modified_date": "2024-03-06"}]
    (tmp_path / "condition.json").write_text(json.dumps(conditions))
    (tmp_path / "metadata.json").write_text('{"version": 1, "job_id": "GLBX-20240306-ABC"}')
    promise(tmp_path)
    return tmp_path


def promise(folder: Path) -> None:
    entries = [
        {"filename": path.name, "size": path.stat().st_size,
         "hash": "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest(), "urls": {"https": f"https://x/{path.name}"}}
        for path in sorted(folder.iterdir()) if path.name != "manifest.json"
    ]
    (folder / "manifest.json").write_text(json.dumps({"job_id": "GLBX-20240306-ABC", "files": entries}))


def test_a_whole_download_is_read_and_said_to_be_checked(download: Path) -> None:
    table, report = read_bars(download)
    assert len(table) == 10
    assert report.checked == ("glbx-mdp3-20240304.ohlcv-1m.dbn", "glbx-mdp3-20240305.ohlcv-1m.dbn")
    assert report.conditions == {"2024-03-05": "degraded"}
    assert report.ignored == ("condition.json", "manifest.json", "metadata.json")
    reasons = {file.reason for file in list_data_files(download) if file.kind == "ignored"}
    assert reasons == {"support file of a batch download"}


def test_a_raw_file_cut_between_records_is_refused(download: Path) -> None:
    path = download / "glbx-mdp3-20240304.ohlcv-1m.dbn"
    path.write_bytes(path.read_bytes()[:-56])
    with pytest.raises(DamagedFileError, match=r"20240304.*bytes, manifest\.json promises \d+; download it again"):
        read_bars(download)


def test_one_changed_bit_is_refused(download: Path) -> None:
    path = download / "glbx-mdp3-20240305.ohlcv-1m.dbn"
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedFileError, match=r"20240305.*has SHA-256 \w{12}…, manifest\.json promises"):
        list_data_files(download)


def test_a_day_that_was_not_downloaded_is_named(download: Path) -> None:
    (download / "glbx-mdp3-20240304.ohlcv-1m.dbn").unlink()
    with pytest.raises(DataError, match=r"lists 2 DBN files, 1 are missing, first glbx-mdp3-20240304.*finish the"):
        read_bars(download)


def test_a_file_beside_the_download_is_read_unchecked(download: Path) -> None:
    write(download / "more.dbn", HEAD, bars([("2024-03-06 15:00", 1, 5000)]))
    table, report = read_bars(download)
    assert (len(table), len(report.checked)) == (11, 2)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ('{"files": [', "is not JSON"), ('{"files": [{"filename": "a.dbn"}]}', "is not understood"),
        ('{"files": [{"filename": "../a.dbn", "size": 1, "hash": "sha256:' + 64 * "0" + '"}]}', "lies outside"),
        ('{"files": [{"filename": "a.dbn", "size": 1, "hash": "md5:0"}]}', "is no SHA-256"),
        ('{"files": 3}', "is not understood"),
    ],
)
def test_a_broken_manifest_is_an_error(download: Path, content: str, found: str) -> None:
    (download / "manifest.json").write_text(content)
    with pytest.raises(DataError, match=found):
        read_bars(download)


def test_a_manifest_of_something_else_is_ignored(download: Path) -> None:
    (download / "manifest.json").write_text('{"name": "my app"}')
    (download / "condition.json").write_text('[1, {"date": "2024-03-04"}]')
    _, report = read_bars(download)
    assert (report.checked, report.conditions) == ((), {})


def test_several_files_are_read_in_the_given_order(download: Path) -> None:
    paths = sorted(download.glob("*.dbn"), reverse=True)
    table, report = read_bars(paths)
    assert table["ts_event"].dt.day.tolist() == [5] * 5 + [4] * 5
    assert [file["file"] for file in report.files] == [path.name for path in paths]
