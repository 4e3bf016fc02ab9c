"""Looking up few (id, day) pairs for many records gives what each record's own lookup gives."""

from pathlib import Path

import numpy as np
import pytest

from loaders.definitions import read_definitions
from loaders.instruments import instruments
from loaders.records import open_dbn
from tests.loaders.dbn_builder import definition, mapping, metadata, write, write_definitions


@pytest.mark.parametrize("count", [0, 1, 3, 40, 5000])
@pytest.mark.parametrize("defined", [False, True])
def test_shared_lookups_equal_single_ones(path: Path, tmp_path: Path, count: int, defined: bool) -> None:
    head = metadata([mapping("ESH4", ("2024-03-02", "2024-03-06", 7), ("2024-03-08", "2024-03-12", 9)),
                     mapping("ESH4-ESM4", ("2024-03-06", "2024-03-08", 7)),
                     mapping("ESM4", ("2024-03-01", "2024-03-20", 4_000_000_000))])
    records = [definition("2024-03-05", 11, "ESU4", "ES", "F"), definition("2024-03-07", 7, "ESM4-ESU4", "ES", "S")]
    files = [write_definitions(tmp_path / "d.dbn", *records)] if defined else []
    known = instruments(open_dbn(write(path, head)).metadata, read_definitions(files), "ES", path)
    rng = np.random.default_rng(count)
    first = int(np.datetime64("2024-02-28", "D").astype(np.int64))
    ids = rng.choice([0, 6, 7, 8, 9, 11, 4_000_000_000, 2**32 - 1], count).astype(np.int64)
    days = first + rng.integers(0, 25, count)
    rows, expiries = known.locate(ids, days)
    np.testing.assert_array_equal(rows, known.resolve(ids, days))
    np.testing.assert_array_equal(expiries, known.expiries(rows, days))
    assert rows.dtype == np.int64 and expiries.dtype == np.int32
    named = {(int(i), int(d)): known.names[row] for i, d, row in zip(ids, days, rows, strict=True)}
    assert all(named[key] == "unmapped" for key in named if key[0] in (0, 6, 8, 2**32 - 1))


def test_a_file_that_maps_nothing_has_only_strangers(path: Path) -> None:
    known = instruments(open_dbn(write(path, metadata())).metadata, read_definitions([]), "ES", path)
    rows, expiries = known.locate(np.array([1, 2]), np.array([19_000, 19_001]))
    assert [known.names[row] for row in rows] == ["unmapped", "unmapped"]
    assert expiries.tolist() == [0, 0]
