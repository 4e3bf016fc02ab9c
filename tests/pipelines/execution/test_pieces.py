"""Work whose memory runs out is done in pieces with the same result; what cannot be cut fails (case G11)."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from kernels.execution import Costs, Execution, Instrument
from pipelines.errors import NodeError
from pipelines.execution.pieces import Pieces, computed, out_of_memory
from pipelines.execution.serial_runner import run_serial
from pipelines.steps.searching import sweep_search
from pipelines.steps.sweep_pieces import chunk_pieces, joined_pieces
from pipelines.steps.sweeping import sweep_chunk
from pipelines.storage.store import Store
from tests.pipelines.execution.squares import IN_PIECES, Squares, expected, graph_of, refused_when_large, sum_of
from training.folds import Fold


class OutOfMemory(RuntimeError):  # noqa: N818 - its name is what it is known by
    """As torch's: no MemoryError."""


def kernel(batch, most):
    if len(batch) > most:
        raise OutOfMemory(len(batch))
    return [x * x for x in batch]


def halves(arguments, count):
    batch = arguments["batch"]
    size = max(1, -(-len(batch) // count))
    return [{**arguments, "batch": batch[at : at + size]} for at in range(0, len(batch), size)]


LISTS = Pieces(halves, lambda arguments, values: [x for value in values for x in value])


def test_case_g11_every_set_once_in_order():
    params, found = list(range(1000)), []
    for at in range(0, 1000, 256):
        facts: dict = {}
        found += computed(kernel, {"batch": params[at : at + 256], "most": 64}, LISTS, 1, facts)
        assert facts["pieces"] == 4
    assert found == [x * x for x in params]


def test_case_g11_one_that_never_fits_is_the_error_and_so_is_any_other_error():
    with pytest.raises(OutOfMemory, match="1"):
        computed(kernel, {"batch": [1, 2, 3], "most": 0}, LISTS, 1, {})
    with pytest.raises(TypeError):
        computed(kernel, {"batch": [None], "most": 1}, LISTS, 1, {})
    with pytest.raises(OutOfMemory, match="3"):
        computed(kernel, {"batch": [1, 2, 3], "most": 2}, None, 1, {})


def test_what_counts_as_out_of_memory():
    assert out_of_memory(np._core._exceptions._ArrayMemoryError((1,), np.dtype(float)))
    assert out_of_memory(OutOfMemory()) and not out_of_memory(RuntimeError("out of memory"))


def test_facts_of_pieces_are_added():
    def noted(batch, facts):
        facts["rows"], facts["how"] = len(batch), "fast"
        return batch

    facts: dict = {}
    pieces = dataclasses.replace(LISTS, added=("rows",))
    assert computed(noted, {"batch": list(range(10)), "facts": facts}, pieces, 3, facts) == list(range(10))
    assert facts == {"rows": 10, "how": "fast", "pieces": 3}


def test_a_run_does_in_pieces_what_does_not_fit_and_fails_where_it_cannot(tmp_path):
    store = Store.open(tmp_path / "store")
    graph = graph_of(refused_when_large, Squares(str(tmp_path), size=8, most=2), 3, pieces=IN_PIECES)
    outcomes = []
    run_serial(graph.tasks, store, outcomes.append)
    assert sum_of(store, graph) == expected(8, 3) and outcomes[0].facts == {"pieces": 4}
    whole = graph_of(refused_when_large, Squares(str(tmp_path), size=8, most=2), 3)
    with pytest.raises(NodeError, match=r"squares\[chunk=0\]: MemoryError: 8 numbers .*run fewer nodes at once \(workers=1\)"):
        run_serial(whole.tasks, store, outcomes.append)


@pytest.fixture(scope="module")
def chunk_arguments():
    rows = 400
    step = np.random.default_rng(3).normal(0.0, 1.0, rows).cumsum()
    close = np.round(5000 + step, 2)
    ts = pd.date_range("2024-01-02 09:00", periods=rows, freq="min", tz="UTC").as_unit("ns")
    bars = pd.DataFrame({
        "ts_event": ts, "session": (20240102 + np.arange(rows) // 16).astype(np.int32),
        "contract": pd.Series(["ESH4"] * rows, dtype="str"), "expiry": np.int32(202403),
        "open": close, "high": close + 0.5, "low": close - 0.5, "close": close, "volume": np.int64(10), "old_price": np.nan,
        "adj_open": close, "adj_high": close + 0.5, "adj_low": close - 0.5, "adj_close": close, "masked": False,
    })  # fmt: skip
    grid = {"fast": (3.0, 5.0, 8.0), "slow": (13.0, 21.0, 34.0, 40.0)}
    return {
        "searched": sweep_search("ema_cross", grid, "grid", 0, 7, 6), "rank_by": "sharpe", "keep": 3, "grid": grid,
        "bars": bars, "fold": Fold(0, (0, 100), (100, 300), (300, 400)), "strategy": "ema_cross",
        "contract": Instrument("ES", 0.25, 50.0),
        "costs": Costs(), "execution": Execution(), "capital": 1e5, "executor": "cpu", "allow_fallback": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("chunk", "size", "count", "pieces"), [(0, 8, 2, 2), (1, 8, 4, 4), (1, 7, 2, 5), (0, 12, 5, 6), (0, 1, 2, 1)]
)
def test_a_sweep_chunk_in_pieces_has_the_same_bits(chunk_arguments, chunk, size, count, pieces):
    arguments = {**chunk_arguments, "chunk": chunk, "chunk_combinations": size}
    parts = chunk_pieces(arguments, count)
    assert len(parts) == pieces
    whole = sweep_chunk(**arguments)
    joined = joined_pieces(arguments, [sweep_chunk(**part) for part in parts])
    for name in ("best", "values", "sharpes", "cells"):
        pd.testing.assert_frame_equal(getattr(joined.summary, name), getattr(whole.summary, name), check_exact=True)
    for name in ("combinations", "undefined", "positive"):
        assert getattr(joined.summary, name) == getattr(whole.summary, name)
    for name in ("sums", "squares", "counts"):
        assert np.array_equal(getattr(joined, name), getattr(whole, name), equal_nan=True) and len(whole.counts)
    assert joined.sessions_per_year == whole.sessions_per_year
