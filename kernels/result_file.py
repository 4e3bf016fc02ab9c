"""The table of a sweep as a Parquet file with what is needed to read it: start, windows, profile."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from kernels.result import SweepResult

NOTE = b"walkfold"
"""Key of the file's metadata that holds the rest as JSON."""


def write_parquet(result: SweepResult, path: Path | str) -> None:
    """Write the table, parameters and metrics in their columns; any reader of Parquet reads it.

    The file appears whole, in place of one before it. Traces are not in it: run the combination again.
    """
    import pyarrow
    import pyarrow.parquet

    note = {"start": result.start, "windows": [list(window) for window in result.windows], "profile": result.profile}
    table = pyarrow.Table.from_pandas(result.table, preserve_index=False)
    metadata = {**(table.schema.metadata or {}), NOTE: json.dumps(note, default=str).encode()}
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.unfinished")
    pyarrow.parquet.write_table(table.replace_schema_metadata(metadata), unfinished)
    unfinished.replace(path)


def read_parquet(path: Path | str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table and, by name, ``start``, ``windows`` and ``profile``; raises ``ValueError`` for a file of another kind."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    note = (table.schema.metadata or {}).get(NOTE)
    if note is None:
        raise ValueError(f"{path} holds no sweep: write it with kernels.result_file.write_parquet")
    return table.to_pandas(), json.loads(note)
