"""Reads JSON that somebody else may have written: whatever is wrong with it is one ValueError."""

import json
from typing import Any


def json_value(data: bytes | str | None) -> Any:
    """Return the value of JSON text; raise ValueError for text that is none, and for what is nested too deeply to be read."""
    try:
        return json.loads(data or b"")
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
