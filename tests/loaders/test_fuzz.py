"""Thousands of damaged files: the right rows or a named error, never fewer rows quietly, never a crash.

What no reader can see without a manifest is a damaged file that is a well-formed DBN file again (mutations.judge says
exactly what that means): changed values inside records of a raw file or of a frame without checksum, whole records or
whole frames that are missing, repeated or moved, and metadata that still decodes. Of such a file every record must be
accounted for, as what it now says it is; and the manifest of the download must show each of them.
"""

import hashlib
import resource
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from loaders.batch import Promise, check_file
from loaders.dbn import read_bars, read_book, read_definitions, read_trades
from loaders.errors import DamagedFileError, DataError
from loaders.outrights import join_partitions, outright_bars
from loaders.partitions import partitions
from tests.loaders.mutations import Base, Remains, bases, judge, mutate

SEED = 20241130
_READERS = {"ohlcv-1m": read_bars, "trades": read_trades, "mbp-10": read_book}
_LONGEST = 10.0  # seconds for a file of a few kilobytes, on a machine busy with other things
_MORE_MEMORY_KB = 300_000


def read(base: Base, path: Path) -> tuple[pd.DataFrame, int, int]:
    """Table, records read, and records that are neither kept nor counted as dropped."""
    if base.schema == "definition":
        table = read_definitions(path)
        return table, len(table), 0
    table, report = _READERS[base.schema](path, "ES")
    return table, report.records, report.records - len(table) - sum(report.dropped.values())


def expect_right(base: Base, table: pd.DataFrame, remains: Remains) -> None:
    kept = remains.records[remains.kept]
    if base.schema == "definition":
        assert table["contract"].tolist() == [symbol.decode("latin-1") for symbol in kept["raw_symbol"].tolist()]
        return
    assert (table["source_row"] % 2**40).tolist() == remains.kept
    assert table["contract"].tolist() == [remains.names[i] for i in remains.kept]
    assert table["instrument_id"].tolist() == kept["instrument_id"].tolist()
    if base.schema == "ohlcv-1m":
        for name in ("open", "high", "low", "close", "volume"):
            np.testing.assert_array_equal(table[name], kept[name])
    else:
        prices = np.where(kept["price"] == 2**63 - 1, np.nan, kept["price"] / 1e9)
        np.testing.assert_array_equal(table["price"], prices)
        np.testing.assert_array_equal(table["size"], kept["size"])


def outcome(base: Base, mutant: bytes, path: Path) -> str:
    """'error', 'same' (as the healthy file) or 'well formed', after checking that it is the right one."""
    path.write_bytes(mutant)
    remains = judge(base, mutant)
    try:
        table, records, lost = read(base, path)
    except DataError as error:
        assert path.name in str(error)
        return "error"
    assert remains is not None, "a damaged file was read without an error"
    assert (records, lost) == (len(remains.records), 0)
    expect_right(base, table, remains)
    return "same" if remains.records.tobytes() == base.body else "well formed"


def expect_parts_alike(base: Base, path: Path, verdict: str) -> None:
    """Bars read in parts: an error where the whole file is one, else the same table."""
    try:
        parts = [outright_bars(path, (), "ES", 0, piece) for piece in partitions(path, 15)]
        joined = join_partitions(parts)
    except DataError:
        assert verdict == "error"
        return
    assert verdict != "error"
    pd.testing.assert_frame_equal(joined.bars, outright_bars(path, (), "ES", 0).bars)


def fuzz(count: int, folder: Path, seed: int) -> Counter[tuple[str, str]]:
    """Outcomes of ``count`` mutants by (mutation, outcome)."""
    rng = np.random.default_rng(seed)
    healthy = bases()
    found: Counter[tuple[str, str]] = Counter()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(count):
        base = healthy[number % len(healthy)]
        whole = b"".join(base.parts())
        kind, mutant = mutate(base, rng)
        path = folder / f"mutant{base.suffix}"
        started = time.perf_counter()
        verdict = outcome(base, mutant, path)
        if base.schema == "ohlcv-1m":
            expect_parts_alike(base, path, verdict)
        if mutant != whole:
            with pytest.raises(DamagedFileError, match="promises"):
                check_file(path, Promise(len(whole), hashlib.sha256(whole).hexdigest()))
        assert time.perf_counter() - started < _LONGEST
        found[kind, verdict] += 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < _MORE_MEMORY_KB
    return found


def test_healthy_files_are_read(tmp_path: Path) -> None:
    for base in bases():
        assert outcome(base, b"".join(base.parts()), tmp_path / f"healthy{base.suffix}") == "same"


def expect_every_kind(found: Counter[tuple[str, str]]) -> None:
    totals: dict[str, Any] = {}
    for (kind, verdict), number in found.items():
        totals.setdefault(verdict, Counter())[kind] += number
    always_well_formed = {"cut between records"}
    assert {kind for kind, _ in found} - set(totals["error"]) <= always_well_formed
    assert totals["well formed"]["foreign record"] == totals["well formed"]["junk"] == 0


def test_a_few_hundred_mutants(tmp_path: Path) -> None:
    expect_every_kind(fuzz(300, tmp_path, SEED))


@pytest.mark.acceptance
@pytest.mark.parametrize("part", range(10))
def test_ten_thousand_mutants(tmp_path: Path, part: int) -> None:
    expect_every_kind(fuzz(1000, tmp_path, SEED + 1 + part))


def test_no_flip_in_a_file_with_checksums_is_read_as_something_else(tmp_path: Path) -> None:
    base = next(one for one in bases() if one.schema == "ohlcv-1m" and one.suffix == ".dbn.zst")
    whole = b"".join(base.parts())
    path = tmp_path / "flipped.dbn.zst"
    outcomes = set()
    for at in range(0, len(whole), 3):
        mutant = bytearray(whole)
        mutant[at] ^= 1 << at % 8
        outcomes.add(outcome(base, bytes(mutant), path))
    assert outcomes <= {"error", "same"}
