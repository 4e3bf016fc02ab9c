"""Lists folders of a store: all that is in them, or an error that names the folder, never less than is there."""

import os
from collections.abc import Iterator
from pathlib import Path

from pipelines.errors import StoreError, said


def listed(folder: Path) -> list[Path]:
    """Return what lies in a folder, by name; nothing where there is no such folder.

    Raises StoreError naming a folder that cannot be listed, or a file that stands in its place.
    """
    try:
        with os.scandir(folder) as found:
            return [folder / name for name in sorted(entry.name for entry in found)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StoreError(
            f"cannot list {folder}: {said(error)}; it must be a folder that can be read: check the disk, its permissions and "
            "what stands in its place, then run again"
        ) from None


def walked(folder: Path) -> Iterator[Path]:
    """Go through all files and folders below one, by name, following no link; raise as `listed` does."""
    for path in listed(folder):
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from walked(path)
