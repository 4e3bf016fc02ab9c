"""Digests of values in memory: equal content has an equal digest, whatever file, process or index it came from."""

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.canonical_nan import with_canonical_nan
from pipelines.keying.keys import digest


def content_digest(value: Any) -> str:
    """Return the sha256 of a table, an array, a dataclass or a mapping of these, or of JSON values, by content.

    Tables: column names, dtypes and values in order, not the index. NaNs count as equal, 0.0 and -0.0 do not. Raises
    TypeError for columns or arrays of Python objects.
    """
    return digest(_described(value))


def _described(value: Any) -> Any:
    """Return the value as JSON, tables and arrays replaced by the digests of their bytes."""
    if isinstance(value, pd.DataFrame):
        return {"table": [[str(name), *_column(column)] for name, column in value.items()], "rows": len(value)}
    if isinstance(value, np.ndarray):
        return {"array": [str(value.dtype), list(value.shape), _bytes_digest(value)]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _described(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _described(item) for name, item in value.items()}
    return [_described(item) for item in value] if isinstance(value, list | tuple) else value


def _column(series: pd.Series) -> list[Any]:
    kind = str(series.dtype)
    if kind == "str":
        # Texts repeat: each once, in the order of their first rows, and which one a row has.
        rows, texts = pd.factorize(series)
        return [kind, digest(texts.tolist()), _bytes_digest(rows)]
    values = series.array.asi8 if hasattr(series.array, "asi8") else series.to_numpy()
    return [kind, _bytes_digest(values)]


def _bytes_digest(values: NDArray[Any]) -> str:
    if values.dtype.hasobject:
        raise TypeError(f"values of dtype {values.dtype} have no content digest; use numbers, str or timestamps")
    return hashlib.sha256(with_canonical_nan(values).tobytes()).hexdigest()
