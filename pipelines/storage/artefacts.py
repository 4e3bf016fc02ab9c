"""What an artefact looks like on disk: tables as Parquet, arrays as .npy, everything else as JSON; nothing is pickled."""

import dataclasses
import typing
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kernels.canonical_nan import with_canonical_nan
from pipelines.graphs.value_types import require_value
from pipelines.storage.json_values import json_value

_JSON_PART = "values.json"
SMALL_FILE = 2**20  # bytes; below it starting threads and a dataset costs more than reading


def write_parts(value: Any, folder: Path, kind: Any = Any) -> None:
    """Write a value into an empty folder: a frozen dataclass (a file for each table or array in it, also in dataclasses
    inside it), a table, an array or a plain value. Every NaN of an array is written as numpy's own; in a table NaN is a
    missing value, in JSON a word.

    Raises TypeError for a value that is not of the type `kind`, or that could only be pickled.
    """
    require_value(value, kind, type(value).__name__ if dataclasses.is_dataclass(value) else "what it returns")
    plain: dict[str, Any] = {}
    for name, part in _leaves(value, "value").items():
        if isinstance(part, pd.DataFrame):
            _write_table(part, folder / f"{name}.parquet", name)
        elif isinstance(part, np.ndarray):
            if part.dtype.hasobject:
                raise TypeError(
                    f"{type(value).__name__}.{name} is an array of Python objects; artefacts hold numbers only"
                )
            np.save(folder / f"{name}.npy", with_canonical_nan(np.asarray(part, order="C")), allow_pickle=False)
        else:
            plain[name] = part
    if plain:
        (folder / _JSON_PART).write_text(_to_json(plain), encoding="utf-8")


def belongs_to(field: str, file_name: str) -> bool:
    """Return whether reading `field` of an artefact opens this file of its folder."""
    return file_name == _JSON_PART or file_name.startswith(f"{field}.")


def read_parts(folder: Path, kind: Any, field: str | None = None) -> Any:
    """Read a value of the given type back from its folder; `field` reads only that field of a dataclass.

    Arrays come memory-mapped and read-only, so that a large matrix costs nothing until it is touched.
    """
    json_part = folder / _JSON_PART
    plain = json_value(json_part.read_text(encoding="utf-8")) if json_part.is_file() else {}
    if field is not None:
        return _read(folder, field, _hints(kind)[field], plain)
    return _read(folder, "value" if not dataclasses.is_dataclass(kind) else "", kind, plain)


def _leaves(value: Any, name: str) -> dict[str, Any]:
    """Name every table, array and plain value by its path through nested dataclasses."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return {name: value}
    prefix = "" if name == "value" else f"{name}."
    found: dict[str, Any] = {}
    for item in dataclasses.fields(value):
        found.update(_leaves(getattr(value, item.name), f"{prefix}{item.name}"))
    return found


@lru_cache(maxsize=64)
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _read(folder: Path, name: str, kind: Any, plain: dict[str, Any]) -> Any:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        prefix = f"{name}." if name else ""
        hints = _hints(kind)
        return kind(
            **{
                item.name: _read(folder, f"{prefix}{item.name}", hints[item.name], plain)
                for item in dataclasses.fields(kind)
            }
        )
    if (folder / f"{name}.parquet").is_file():
        return _read_table(folder / f"{name}.parquet")
    if (folder / f"{name}.npy").is_file():
        return np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
    value = plain[name]
    if kind in (dict, list, Any, str, int, float, bool) or typing.get_args(kind) == (str, Any):
        return value
    return _adapter(kind).validate_python(value)


@lru_cache(maxsize=256)
def _adapter(kind: Any) -> Any:
    import pydantic

    return pydantic.TypeAdapter(kind)


def _read_table(path: Path) -> pd.DataFrame:
    import pyarrow.parquet as pq

    if path.stat().st_size > SMALL_FILE:
        return pq.read_table(path, page_checksum_verification=True).to_pandas()
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return file.read(use_threads=False).to_pandas()


def _write_table(table: pd.DataFrame, path: Path, name: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    objects = [str(column) for column, kind in table.dtypes.items() if kind is np.dtype(object)]
    if objects:
        raise TypeError(f"table {name}: columns {objects} hold Python objects; use numbers, str or timestamps")
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    # without page checksums a flipped byte in the middle of a file reads back as data, silently
    pq.write_table(arrow, path, compression="zstd", compression_level=1, write_page_checksum=True)


def _to_json(plain: dict[str, Any]) -> str:
    import pydantic_core

    try:
        return pydantic_core.to_json(plain, inf_nan_mode="constants", indent=1, fallback=_plain).decode()
    except pydantic_core.PydanticSerializationError as error:
        raise TypeError(f"{', '.join(plain)}: cannot be kept as JSON: {error}; return numbers, text, lists or dictionaries, "
                        "tables or arrays") from None


def _plain(value: Any) -> Any:
    """Turn numpy's scalars into Python's."""
    if isinstance(value, np.generic) and not isinstance(value, np.complexfloating | np.void | np.object_):
        return value.item()
    raise TypeError(f"{type(value).__name__} is no plain value")
