"""The sample data set as a whole: arguments, report, determinism, what happens to a directory that exists."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from loaders import sample
from loaders.errors import DataError
from loaders.sample import write_sample

REPOSITORY = Path(__file__).resolve().parents[2]


def contents(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_report_counts_what_lies_in_the_directory(tmp_path: Path) -> None:
    report = write_sample(tmp_path / "sample", sessions=4)
    truth = json.loads((tmp_path / "sample" / "truth.json").read_text())
    assert set(report.files) | {"truth.json"} == set(contents(tmp_path / "sample"))
    assert report.bytes == sum((tmp_path / "sample" / name).stat().st_size for name in report.files)
    assert report.records == sum(report.by_kind.values()) == sum(one["records"] for one in truth["bar_files"])
    assert (report.edge, report.seed, report.directory) == ("real", 7, tmp_path / "sample")
    assert report.files[0] == "glbx-mdp3-20240225-20240229.ohlcv-1m.dbn.zst"
    assert [path.name for path in tmp_path.iterdir()] == ["sample"]


def test_oracle_knows_every_open_minute(tmp_path: Path) -> None:
    write_sample(tmp_path / "sample", edge="power", sessions=4)
    truth = json.loads((tmp_path / "sample" / "truth.json").read_text())
    table = pd.read_parquet(tmp_path / "sample" / "oracle.parquet")
    assert table.columns.tolist() == ["ts_event", "session", "d", "expected_return_60", "position"]
    assert table["ts_event"].dtype == "datetime64[ns, UTC]"
    assert len(table) == truth["open_minutes"] == 4 * 1380
    assert table["session"].drop_duplicates().tolist() == [20240226, 20240227, 20240228, 20240229]
    band = truth["process"]["band"]
    assert (table.loc[table["d"] > band, "position"] == -1).all()
    assert (table.loc[table["d"] < -band, "position"] == 1).all()
    assert (table["d"] * table["expected_return_60"] <= 0).all()


def test_same_arguments_give_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    write_sample(tmp_path / "here", seed=3, edge="power", sessions=4)
    program = f"from loaders.sample import write_sample; write_sample({str(tmp_path / 'there')!r}, 3, 'power', 4)"
    environment = {**os.environ, "PYTHONHASHSEED": "4711", "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, env=environment, check=True)
    assert contents(tmp_path / "here") == contents(tmp_path / "there")


def test_seed_and_edge_change_prices(tmp_path: Path) -> None:
    variants = {(seed, edge): tmp_path / f"{seed}{edge}" for seed in (7, 8) for edge in ("real", "0")}
    for (seed, edge), folder in variants.items():
        write_sample(folder, seed, edge, 3)
    bars = "glbx-mdp3-20240225-20240228.ohlcv-1m.dbn.zst"
    assert len({contents(folder)[bars] for folder in variants.values()}) == 4


def test_second_call_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write_sample(tmp_path / "sample", sessions=3)

    def never(*_: object) -> None:
        raise AssertionError("the sample is there already")

    monkeypatch.setattr(sample, "_write_all", never)
    assert write_sample(tmp_path / "sample", sessions=3) == first


def test_other_arguments_replace_an_earlier_sample_whole(tmp_path: Path) -> None:
    write_sample(tmp_path / "sample", sessions=8)
    write_sample(tmp_path / "sample", sessions=3)
    write_sample(tmp_path / "fresh", sessions=3)
    assert contents(tmp_path / "sample") == contents(tmp_path / "fresh")


def test_damaged_sample_is_written_again(tmp_path: Path) -> None:
    report = write_sample(tmp_path / "sample", sessions=3)
    whole = contents(tmp_path / "sample")
    bars = tmp_path / "sample" / report.files[0]
    bars.write_bytes(bars.read_bytes()[:-1])
    (tmp_path / "sample" / report.files[1]).unlink()
    write_sample(tmp_path / "sample", sessions=3)
    assert contents(tmp_path / "sample") == whole


@pytest.mark.parametrize("truth", [None, "not json", "[]", '{"files": []}'])
def test_directory_with_other_files_is_refused_and_left_alone(tmp_path: Path, truth: str | None) -> None:
    (tmp_path / "mine.csv").write_text("precious")
    if truth is not None:
        (tmp_path / "truth.json").write_text(truth)
    before = contents(tmp_path)
    with pytest.raises(DataError, match=r"mine\.csv.*choose a new or empty directory"):
        write_sample(tmp_path, sessions=3)
    assert contents(tmp_path) == before


def test_foreign_file_beside_a_sample_is_refused(tmp_path: Path) -> None:
    write_sample(tmp_path / "sample", sessions=3)
    (tmp_path / "sample" / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match=r"notes\.txt"):
        write_sample(tmp_path / "sample", seed=8, sessions=3)
    assert (tmp_path / "sample" / "notes.txt").read_text() == "mine"


def test_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sample").write_text("a file")
    with pytest.raises(DataError, match="is a file"):
        write_sample(tmp_path / "sample", sessions=3)


def test_empty_directory_is_filled(tmp_path: Path) -> None:
    report = write_sample(tmp_path, sessions=3)
    assert set(report.files) < set(contents(tmp_path))


def test_interrupted_writing_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_sample(tmp_path / "sample", sessions=3)
    before = contents(tmp_path / "sample")

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sample, "write_definitions", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_sample(tmp_path / "sample", seed=8, sessions=3)
    assert [path.name for path in tmp_path.iterdir()] == ["sample"]
    assert contents(tmp_path / "sample") == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"edge": "huge"}, r"edge 'huge' is not known; choose one of real, power, 0"),
        ({"sessions": 2}, r"sessions 2 is outside 3 to 189"),
        ({"sessions": 190}, r"sessions 190 is outside 3 to 189"),
        ({"seed": -1}, r"seed -1 is negative"),
    ],
)
def test_wrong_argument_is_named(tmp_path: Path, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write_sample(tmp_path / "sample", **arguments)  # type: ignore[arg-type]
    assert not (tmp_path / "sample").exists()
