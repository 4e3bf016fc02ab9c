"""Whether a value is of the type that its node declares: what is published is what the next node will read."""

import dataclasses
import types
import typing
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import pandas as pd

from pipelines.graphs.node_checks import hints_of, type_text

MOST_SHOWN = 80
_SCALARS: dict[Any, tuple[type, ...]] = {
    float: (float, int, np.floating, np.integer),
    int: (int, np.integer),
    bool: (bool, np.bool_),
}


def require_value(value: Any, kind: Any, name: str) -> None:
    """Raise TypeError, naming the part, for a value that is not of an annotated type, fields and members included.

    A whole number counts as a float, numpy's scalars as Python's. What cannot be told from a type is let through.
    """
    if kind is Any or kind is object or isinstance(kind, typing.TypeVar):
        return
    members = typing.get_args(kind)
    origin = typing.get_origin(kind) or kind
    if origin in (typing.Union, types.UnionType):
        if not any(_is(value, member, name) for member in members):
            _refuse(value, kind, name)
    elif origin is typing.Literal:
        if value not in members:
            _refuse(value, kind, name)
    elif kind is None or kind is types.NoneType:
        if value is not None:
            _refuse(value, kind, name)
    elif isinstance(origin, type):
        if not isinstance(value, _SCALARS.get(origin, origin)):
            _refuse(value, kind, name)
        _require_members(value, origin, members, name)


def _require_members(value: Any, origin: type, members: tuple[Any, ...], name: str) -> None:
    if dataclasses.is_dataclass(origin):
        hints = hints_of(typing.cast(Any, type(value)))
        for field in dataclasses.fields(value):
            require_value(getattr(value, field.name), hints[field.name], f"{name}.{field.name}")
    elif isinstance(value, pd.DataFrame):
        _require_no_index(value, name)
    elif isinstance(value, tuple) and members and Ellipsis not in members:
        if len(value) != len(members):
            raise TypeError(f"{name} has {len(value)} members, not {len(members)}")
        for at, (item, member) in enumerate(zip(value, members, strict=True)):
            require_value(item, member, f"{name}[{at}]")
    elif isinstance(value, list | tuple | Set) and members and members[0] is not Any:
        for at, item in enumerate(value):
            require_value(item, members[0], f"{name}[{at}]")
    elif isinstance(value, Mapping) and len(members) == 2 and members != (str, Any):
        for key, item in value.items():
            require_value(key, members[0], f"a key of {name}")
            require_value(item, members[1], f"{name}[{key!r}]")


def _is(value: Any, kind: Any, name: str) -> bool:
    try:
        require_value(value, kind, name)
    except TypeError:
        return False
    return True


def _require_no_index(table: pd.DataFrame, name: str) -> None:
    """An index of row numbers, or one that is a column too, says nothing and is not kept; any other would be lost."""
    index = table.index
    numbers = index.name is None and index.dtype.kind in "iu"
    if len(table) and (isinstance(index, pd.MultiIndex) or not (numbers or index.name in table.columns)):
        raise TypeError(f"{name}: its index {index.names} would be lost; make it columns with reset_index()")
    if not all(isinstance(column, str) for column in table.columns) or not table.columns.is_unique:
        raise TypeError(f"{name}: its columns are {list(table.columns)[:8]}; name each by a text of its own")


def _refuse(value: Any, kind: Any, name: str) -> typing.NoReturn:
    shown = repr(value) if isinstance(value, str | int | float | bool | None) else f"of type {type(value).__name__}"
    raise TypeError(f"{name} is {shown[:MOST_SHOWN]}, but its annotation says {type_text(kind)}")
