"""Sample data set: ES.FUT minute bars as real Databento files, with its planted faults and the truth beside them."""

import hashlib
import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from loaders.errors import DataError
from loaders.sample_calendar import first_sessions, minute_grid, trade_dates
from loaders.sample_faults import plant_faults
from loaders.sample_files import DATASET, PARENT, month_files, utc_date, write_bars, write_definitions
from loaders.sample_instruments import OUTRIGHT_TICK, all_instruments
from loaders.sample_prices import EDITIONS, price_path
from loaders.sample_spreads import spread_rows
from loaders.sample_tape import interleaved_tape
from loaders.sample_trading import carry_factor, join_rows, outright_rows
from loaders.sample_truth import followed_contracts, oracle_table, session_volumes, truth_of

FORMAT = 2
TRUTH = "truth.json"
ORACLE = "oracle.parquet"
FEWEST_SESSIONS = 3
# One independent stream of random numbers per purpose, so that editions share all but what they differ in.
STREAMS = ("fair", "deviation", "carry", "outrights", "spreads", "order", "faults")


@dataclass(frozen=True)
class SampleReport:
    """What was written: file names (bars, definitions, oracle), bar records in all and by kind, bytes of all files."""

    directory: Path
    files: tuple[str, ...]
    records: int
    by_kind: dict[str, int]
    bytes: int
    edge: str
    seed: int


def write_sample(
    directory: Path | str, seed: int = 7, edge: str = "real", sessions: int | None = None, daily: bool = False
) -> SampleReport:
    """Write the sample data set into ``directory`` and report what it holds; the same arguments give the same bytes.

    ``edge`` is "real" (of realistic size), "power" (learnable, a power check) or "0" (none). ``sessions`` takes only
    the first so many sessions; 15 hold a roll and the spring change of clocks, None means all. ``daily`` writes a file of
    bars for each UTC day instead of each month. Nothing is written when
    the directory already holds this very sample; another sample there is replaced as a whole. Raises ValueError for an
    unknown argument and DataError for a directory that holds anything else.
    """
    directory = Path(directory)
    sessions = len(trade_dates()) if sessions is None else sessions
    _check_arguments(seed, edge, sessions)
    parameters = {"format": FORMAT, "seed": seed, "edge": edge, "sessions": sessions, **({"files": "day"} if daily else {})}
    earlier = _earlier_sample(directory)
    if earlier is not None and earlier["parameters"] == parameters and _intact(directory, earlier):
        return _report(directory, earlier)
    target = directory.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.parent / f".{target.name}.writing-{os.getpid()}"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    try:
        truth = _write_all(draft, parameters)
        _replace(draft, target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return _report(directory, truth)


def _check_arguments(seed: int, edge: str, sessions: int) -> None:
    if seed < 0:
        raise ValueError(f"seed {seed} is negative; give a whole number from 0 on")
    if edge not in EDITIONS:
        raise ValueError(f"edge {edge!r} is not known; choose one of {', '.join(EDITIONS)}")
    most = len(trade_dates())
    if not FEWEST_SESSIONS <= sessions <= most:
        raise ValueError(f"sessions {sessions} is outside {FEWEST_SESSIONS} to {most}; leave it out for all {most}")


def _write_all(folder: Path, parameters: dict[str, Any]) -> dict[str, Any]:
    seed, edition = parameters["seed"], EDITIONS[parameters["edge"]]
    rng = {name: np.random.default_rng((seed, number)) for number, name in enumerate(STREAMS)}
    grid = minute_grid(first_sessions(parameters["sessions"]))
    instruments = all_instruments()
    path = price_path(grid, edition, rng["fair"], rng["deviation"])
    factor = carry_factor(grid, rng["carry"])
    outrights = outright_rows(grid, path, instruments, factor, rng["outrights"])
    spreads = spread_rows(grid, outrights, instruments, factor, rng["spreads"])
    clean = interleaved_tape(join_rows([outrights, spreads]), grid, instruments, rng["order"])
    followed = followed_contracts(session_volumes(clean, grid))
    tape, planted = plant_faults(clean, grid, OUTRIGHT_TICK, followed, rng["faults"])

    first, last = utc_date(grid.sessions[0].opens), utc_date(grid.sessions[-1].closes)
    files = month_files(tape.records, first, last, daily="files" in parameters)
    write_bars(folder, files, tape, instruments)
    definitions, definition_count = write_definitions(folder, first, last, instruments)
    oracle_table(grid, path, edition).to_parquet(folder / ORACLE, index=False)
    names = [*(one.name for one in files), definitions, ORACLE]
    truth = {
        "parameters": parameters,
        "label": edition.label,
        "dataset": DATASET,
        "parent": PARENT,
        "process": asdict(edition),
        "definitions": {"name": definitions, "records": definition_count},
        **truth_of(tape, planted, files, grid, instruments),
        "files": [_fingerprint(folder / name) for name in names],
    }
    (folder / TRUTH).write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
    return truth


def _fingerprint(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"name": path.name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _earlier_sample(directory: Path) -> dict[str, Any] | None:
    """Truth of the sample that lies in a directory, None if there is nothing; DataError if there is anything else."""
    if not directory.exists():
        return None
    if not directory.is_dir():
        raise DataError(f"{directory}: is a file; choose a new or empty directory for the sample")
    present = sorted(entry.name for entry in directory.iterdir())
    if not present:
        return None
    truth: dict[str, Any] = {}
    if TRUTH in present:
        try:
            truth = json.loads((directory / TRUTH).read_text(encoding="utf-8"))
            own = {TRUTH, *(one["name"] for one in truth["files"])} if "format" in truth["parameters"] else set()
        except (ValueError, KeyError, TypeError, RecursionError):
            own = set()
    else:
        own = set()
    foreign = [name for name in present if name not in own]
    if foreign:
        raise DataError(
            f"{directory}: holds {foreign[0]!r}, which is no part of a sample data set; "
            "choose a new or empty directory, or remove it"
        )
    return truth


def _intact(directory: Path, truth: dict[str, Any]) -> bool:
    """Whether every file of the sample is there with the bytes that were written."""
    return all(
        (directory / one["name"]).is_file() and _fingerprint(directory / one["name"]) == one for one in truth["files"]
    )


def _replace(draft: Path, target: Path) -> None:
    """Put the finished draft in place; an earlier sample is moved away first and deleted last."""
    old = draft.with_name(draft.name + "-old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    draft.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _report(directory: Path, truth: dict[str, Any]) -> SampleReport:
    return SampleReport(
        directory=directory,
        files=tuple(one["name"] for one in truth["files"]),
        records=truth["records"],
        by_kind=truth["by_kind"],
        bytes=sum(one["bytes"] for one in truth["files"]),
        edge=truth["parameters"]["edge"],
        seed=truth["parameters"]["seed"],
    )
