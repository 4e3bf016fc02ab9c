"""What a single value of the configuration may be, whatever its key: numbers that fit, text that is one line, true or false."""

import re
from collections.abc import Mapping
from typing import Any

from pipelines.errors import ConfigurationError

MOST_WHOLE = 2**63 - 1  # what an array of whole numbers can hold
MOST_TEXT = 1024  # characters; a longer value is a file that was pasted
MOST_NAME = 255  # bytes of one part of a path, on every usual file system
SHOWN = 80
RECORDED = ("Infinity", "-Infinity", "NaN")  # how a record writes numbers that JSON has not
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")


def shown(value: Any) -> str:
    """Return a value as an error shows it: its representation, cut where it is long."""
    if isinstance(value, int) and abs(value) > MOST_WHOLE:
        return f"a number of {value.bit_length()} bits"  # Python refuses to print the longest
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}… ({len(text)} characters)"


def check_value(kind: Any, value: Any, path: str) -> None:
    """Refuse a value that its declared type would have to be guessed from, or that no run can use.

    Raises ConfigurationError naming the key. Types other than bool, int, float and str are checked elsewhere.
    """
    if kind is bool and not isinstance(value, bool):
        raise ConfigurationError(f"configuration {path}: must be true or false, given {shown(value)}")
    if kind in (int, float):
        _check_number(value, path)
    if kind is str and isinstance(value, str):
        _check_text(value, path)


def _check_number(value: Any, path: str) -> None:
    if isinstance(value, bool):
        raise ConfigurationError(f"configuration {path}: must be a number, given {str(value).lower()}")
    if isinstance(value, str) and value not in RECORDED:
        raise ConfigurationError(f"configuration {path}: must be a number without quotes, given {shown(value)}")
    if isinstance(value, int) and abs(value) > MOST_WHOLE:
        raise ConfigurationError(f"configuration {path}: must be at most {MOST_WHOLE}, given {shown(value)}")


def _check_text(value: str, path: str) -> None:
    if len(value) > MOST_TEXT:
        raise ConfigurationError(
            f"configuration {path}: must be a text of at most {MOST_TEXT} characters, given one of {len(value)}"
        )
    if _UNPRINTABLE.search(value) or value != value.strip():
        raise ConfigurationError(
            f"configuration {path}: must be one line without control characters or spaces around it, given {shown(value)}"
        )


def require_path(name: str, value: str) -> None:
    """Raise ValueError where a text can be no folder or file, or one that nobody means: a `~` that no shell has expanded."""
    if not value:
        raise ValueError(f"{name} is '', must name a folder: use . for the one you are in")
    if value.startswith("~") or "$" in value:
        raise ValueError(f"{name} is {value!r}, must be a plain path: ~ and $ are not expanded here, write the folder itself")
    if (longest := max(len(part.encode()) for part in value.split("/"))) > MOST_NAME:
        raise ValueError(f"{name} has a part of {longest} bytes, must be at most {MOST_NAME}: choose a shorter name")


def is_within(value: Any, most: int) -> bool:
    """Say whether nested plain values are at most so many, each use of an alias counted: few lines of YAML can be billions."""
    left, waiting = most, [value]
    while waiting and left >= 0:
        item = waiting.pop()
        left -= 1
        if isinstance(item, Mapping):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return left >= 0
