"""Public door: the outright bars of a DBN file or a directory of them, with the count of every record's fate."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from loaders.errors import DataError
from loaders.files import BARS, DEFINITIONS, DataFile, list_data_files
from loaders.grammar import GRAMMARS
from loaders.outrights import outright_bars
from loaders.records import DbnFile, open_dbn

__all__ = ["DbnFile", "LoadReport", "open_dbn", "read_bars"]


@dataclass(frozen=True)
class LoadReport:
    """Where the records went: ``records == outright + sum(dropped.values())``; ``files``: the same for each file."""

    root: str
    records: int
    outright: int
    dropped: dict[str, int]
    files: tuple[dict[str, Any], ...]
    ignored: tuple[str, ...]


def read_bars(path: Path | str, root: str | None = None) -> tuple[pd.DataFrame, LoadReport]:
    """Outright bars (loaders.types.OUTRIGHT_COLUMNS) of the file or directory ``path``, in file order.

    Prices are fixed-point integers, price = value / 1e9, with UNDEF_PRICE kept: validation.sanitise judges them.
    Without ``root`` it is the one the files were requested for. Definition files in the directory decide what an
    outright is.

    Raises DataError when the root is not clear or a file holds no outright of it, DamagedFileError for a damaged file.
    """
    files = list_data_files(Path(path))
    chosen = root or _requested_root(Path(path), [file for file in files if file.kind == BARS])
    definitions = tuple(file.path for file in files if file.kind == DEFINITIONS)
    bar_files = [file.path for file in files if file.kind == BARS]
    parts = [outright_bars(bars, definitions, chosen, ordinal) for ordinal, bars in enumerate(bar_files)]
    reports = tuple(part.report for part in parts)
    kinds = sorted({kind for report in reports for kind in report["dropped"]})
    report = LoadReport(
        root=chosen,
        records=sum(report["records"] for report in reports),
        outright=sum(report["outright"] for report in reports),
        dropped={kind: sum(report["dropped"].get(kind, 0) for report in reports) for kind in kinds},
        files=reports,
        ignored=tuple(file.path.name for file in files if file.kind not in (BARS, DEFINITIONS)),
    )
    return pd.concat([part.bars for part in parts], ignore_index=True), report


def _requested_root(path: Path, files: list[DataFile]) -> str:
    """The single root of the symbols that ``files`` were requested with: ES of ES.FUT, or of ESH4 and ESM4."""
    roots = set()
    for file in files:
        grammar = GRAMMARS.get(file.dataset or "")
        for symbol in file.symbols:
            parent, _, kind = symbol.partition(".")
            root = parent if kind == "FUT" else grammar.root(symbol) if grammar else None
            roots.add(root or symbol)
    if len(roots) != 1:
        raise DataError(f"{path}: files were requested for {', '.join(sorted(roots)) or 'all symbols'}; "
                        "say which root to read, as in root='ES'")
    return roots.pop()
