"""Sizes as people write them: 500MB, 20GiB, none."""

import re

from pipelines.errors import UsageError

_UNITS = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)")
NO_LIMIT = "none"
SMALLEST_BARE = 10_000  # bytes; a smaller number needs its unit


def parse_size(text: str) -> int | None:
    """Return the bytes of `20GB`, `1.5 GiB` or a plain number; None for `none`. Raises UsageError for anything else, and for
    a small number without a unit: `budget=20` is meant as gigabytes, and would empty a store.
    """
    if text == NO_LIMIT:
        return None
    units = {name.lower(): factor for name, factor in _UNITS.items()}
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[2].lower() not in units:
        raise UsageError(f"{text!r} is not a size: write e.g. 20GB, 500MiB, a number of bytes or none")
    if not match[2] and 0 < float(match[1]) < SMALLEST_BARE:
        bare = match[1]
        raise UsageError(f"{text!r} would be bytes: write the unit, e.g. {bare}GB, or {bare}B if bytes are meant")
    return int(float(match[1]) * units[match[2].lower()])


def size_text(count: int) -> str:
    """Return a number of bytes for reading: 1.2 GB; rounded up, so that a limit of it is enough."""
    for unit in ("kB", "MB", "GB", "TB"):
        factor = _UNITS[unit]
        if count < 1000 * factor or unit == "TB":
            tenths = -(-count * 10 // factor)
            return f"{count} B" if count < 1000 else f"{tenths // 10}.{tenths % 10} {unit}"
    raise AssertionError("the last unit returns")
