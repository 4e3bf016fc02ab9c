"""Errors of the data boundary: what is wrong with the input, where, and what to do about it."""

from pathlib import Path

DOWNLOAD_AGAIN = "download it again and compare its SHA-256 with manifest.json"


class DataError(ValueError):
    """Input that cannot be used as asked; the message names the file, what was found and the remedy."""


class DamagedFileError(DataError):
    """A file that is truncated, concatenated, corrupt or not what it says it is; nothing of it may be used."""


def damaged(path: Path, found: str, remedy: str = DOWNLOAD_AGAIN) -> DamagedFileError:
    """Error for ``path``: what was found where, and the remedy."""
    return DamagedFileError(f"{path}: {found}; {remedy}")
