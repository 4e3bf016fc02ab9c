"""Content keys of the parts of a node: code, configuration and arithmetic in common, data of their own."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from pipelines.graphs.parts import Part, PartList
from pipelines.keying.content import content_digest
from pipelines.keying.keys import FORMAT, digest


def part_schema(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what all parts of a task have in common, from the parts of the task's key: all of it but the input keys."""
    return {name: parts[name] for name in ("code", "configuration", "libraries")}


def part_key(schema: Mapping[str, Any], part: Part) -> str:
    """Return the key of a part: a change of the schema or of any value in its arguments makes another one."""
    return digest({"format": FORMAT, "schema": schema, "arguments": content_digest(part.arguments)})


def part_list(schema: Mapping[str, Any], keyed: Sequence[tuple[Part, str]]) -> PartList:
    """Return the manifest of the parts, in their order."""
    columns = list(keyed[0][0].about) if keyed else []
    table = pd.DataFrame({
        "part": pd.Series([part.name for part, _ in keyed], dtype="str"),
        "key": pd.Series([key for _, key in keyed], dtype="str"),
        **{name: pd.Series([part.about[name] for part, _ in keyed], dtype="int64") for name in columns},
    })
    return PartList(table, dict(schema), digest(schema))
