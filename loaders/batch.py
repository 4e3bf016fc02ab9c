"""What a batch download says of itself: sizes and SHA-256 of its files in manifest.json, quality in condition.json."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loaders.errors import DOWNLOAD_AGAIN, DataError, damaged

MANIFEST, CONDITION = "manifest.json", "condition.json"
SUPPORT_FILES = (MANIFEST, CONDITION, "metadata.json", "symbology.json")
_AVAILABLE = "available"
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Promise:
    """Size in bytes and SHA-256 (hex) of a file as the download promised them."""

    size: int
    sha256: str


def read_manifest(directory: Path) -> dict[str, Promise]:
    """Promise of each DBN file by name; empty without a manifest.json, or with one of another origin.

    Raises DataError for a manifest that is not JSON or whose entries are not what Databento writes.
    """
    content = _json(directory / MANIFEST)
    if not isinstance(content, dict) or "files" not in content:
        return {}
    try:
        return {entry["filename"]: _promise(entry) for entry in content["files"] if ".dbn" in entry["filename"]}
    except (TypeError, KeyError, ValueError) as error:
        raise DataError(f"{directory / MANIFEST}: an entry of its files is not understood ({error!r}); download it "
                        "again, or remove it to read the files unchecked") from error


def check_promises(directory: Path, promises: dict[str, Promise]) -> None:
    """Compare every promised file with what lies in ``directory``.

    Raises DataError for a file that is missing and DamagedFileError for one of another size or hash.
    """
    missing = sorted(name for name in promises if not (directory / name).is_file())
    if missing:
        raise DataError(f"{directory}: {MANIFEST} lists {len(promises)} DBN files, {len(missing)} are missing, first "
                        f"{missing[0]}; finish the download")
    for name, promise in sorted(promises.items()):
        check_file(directory / name, promise)


def check_file(path: Path, promise: Promise) -> None:
    """Raise DamagedFileError unless ``path`` has the promised size and SHA-256."""
    size = path.stat().st_size
    if size != promise.size:
        raise damaged(path, f"has {size} bytes, {MANIFEST} promises {promise.size}", DOWNLOAD_AGAIN)
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    if digest.hexdigest() != promise.sha256:
        raise damaged(path, f"has SHA-256 {digest.hexdigest()[:12]}…, {MANIFEST} promises {promise.sha256[:12]}…",
                      DOWNLOAD_AGAIN)


def read_conditions(directory: Path) -> dict[str, str]:
    """Condition of each date (ISO) that is not simply available, such as 'degraded'; empty without a condition.json."""
    content = _json(directory / CONDITION)
    entries = content if isinstance(content, list) else []
    return {
        str(entry["date"]): str(entry["condition"])
        for entry in entries
        if isinstance(entry, dict) and {"date", "condition"} <= entry.keys() and entry["condition"] != _AVAILABLE
    }


def _promise(entry: dict[str, Any]) -> Promise:
    kind, _, digest = entry["hash"].partition(":")
    if kind != "sha256" or len(digest) != 64:
        raise ValueError(f"hash {entry['hash']!r} is no SHA-256")
    if Path(entry["filename"]).name != entry["filename"]:
        raise ValueError(f"filename {entry['filename']!r} lies outside the directory")
    return Promise(int(entry["size"]), digest.lower())


def _json(path: Path) -> Any:
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: is not JSON ({error}); download it again, or remove it") from error
