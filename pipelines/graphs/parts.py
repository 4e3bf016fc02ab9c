"""A node's work cut into parts that are stored and reused one by one: what a part is, and the list a node publishes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Part:
    """One part of a node's work.

    `arguments` are those of the node's function that are this part's own, all of its data among them; `about` is what the
    list of parts says of it, one integer a column.
    """

    name: str
    arguments: Mapping[str, Any]
    about: Mapping[str, int]


@dataclass(frozen=True)
class PartList:
    """The manifest of a node that is cut into parts: a row a part with its content key, and what all keys have in common.

    `schema` holds the code, configuration, library versions and arithmetic that every part was made with, `schema_hash`
    is its digest. `table` has the columns `part`, `key` and those of `Part.about`.
    """

    table: pd.DataFrame
    schema: dict[str, Any]
    schema_hash: str
