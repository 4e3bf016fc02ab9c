"""Looks in the flow: known by the rows they looked at and by what they saw there, not by files, names or pieces of work."""

import io
from pathlib import Path

import numpy as np
import pytest
import zstandard

from loaders.records import open_dbn
from pipelines.cli import main
from pipelines.config.configuration import load_settings
from pipelines.flow import flow_graph
from pipelines.record.looks import LookKeeper
from pipelines.storage.store import Store
from tests.pipelines.conftest import SMALL

ONE = ("sweep.strategies=[ema_cross]", "cluster=serial", "sweep.grid.fast=5,10")


@pytest.fixture
def folder(tmp_path, small_sample) -> Path:
    """The small sample as it was on the evening of 2024-03-11: two files of bars, compressed, and definitions."""
    data = tmp_path / "data"
    data.mkdir()
    for path in small_sample.glob("*.definition.dbn*"):
        (data / path.name).write_bytes(path.read_bytes())
    rewrite(data, small_sample, ".dbn.zst", before="2024-03-12")
    return data


def rewrite(data: Path, sample: Path, suffix: str, before: str) -> None:
    """Write the sample's bars before a UTC date anew, under other names, in place of those that lie there."""
    for path in data.glob("bars.*"):
        path.unlink()
    for number, source in enumerate(sorted(sample.glob("*.ohlcv-1m.dbn.zst"))):
        whole = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(source.read_bytes()), read_across_frames=True).read()
        file = open_dbn(source)
        records = np.concatenate(list(file.chunks()))
        kept = records[records["ts_event"] < np.datetime64(before, "ns").astype(np.int64)]
        content = whole[: file.metadata.head_bytes] + kept.tobytes()
        (data / f"bars.{number}{suffix}").write_bytes(zstandard.compress(content) if suffix == ".dbn.zst" else content)


def looked(folder: Path, *words: str) -> dict[str, int]:
    """Evaluate the strategy on fold 0 and return the looks that a report would count."""
    store = folder.parent / "store"
    given = (f"data={folder}", f"store={store}", *SMALL, *ONE, *words)
    assert main(["run", "fold=0", "until=strategy_evaluation", "--quiet", *given]) == 0
    graph = flow_graph(load_settings(list(given)), (0,))
    return LookKeeper(graph, Store(store), "ES", "run").summary(0)


def test_a_rewritten_file_a_day_more_and_other_pieces_of_work_forget_no_look_and_count_none_twice(
    folder, small_sample, capsys
):
    """T12: the report's looks and trials only grow, by what was tried anew and by nothing else."""
    first = looked(folder)
    assert first == {"validation_looks": 1, "validation_trials": 4, "test_looks": 1, "test_trials": 1}
    costly = looked(folder, "sweep.grid.slow=40:120:40", "instrument.costs.slippage_ticks=2")
    assert costly == {"validation_looks": 2, "validation_trials": 8, "test_looks": 2, "test_trials": 2}
    rewrite(folder, small_sample, ".dbn", before="2024-03-13")  # not compressed, and a day more
    kept = ("sweep.keep=2", "sweep.chunk_combinations=3", "sweep.overfitting_combinations=3", "load.partition_records=5000")
    assert looked(folder, *kept) == costly, "the first look again: nothing new was looked at"
    faster = looked(folder, "sweep.grid.fast=5,15")
    assert (faster["validation_looks"], faster["validation_trials"]) == (3, 12)
