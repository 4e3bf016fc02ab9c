"""The manifest of an artefact: what it lists, and which manifests a store believes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipelines.errors import StoreError
from pipelines.storage.json_values import json_value
from pipelines.storage.store_files import checked_key, is_plain_name, sha256_of

MANIFEST = "manifest.json"


def described(key: str, folder: Path, description: Mapping[str, Any]) -> dict[str, Any]:
    """Return the manifest of the files in a folder: the description, the key, and of each file its size and sha256."""
    files = {}
    for path in sorted(folder.iterdir()):
        files[path.name] = {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
    return {**description, "key": key, "files": files}


def as_bytes(manifest: Mapping[str, Any]) -> bytes:
    """Return the manifest as the text it is stored as."""
    return json.dumps(manifest, indent=1).encode()


def parsed(data: bytes | None, key: str) -> dict[str, Any] | None:
    """Return a manifest, or None for one that is damaged, belongs to another key or names anything outside its folder."""
    try:
        manifest: dict[str, Any] = json_value(data)
        files = manifest["files"]
        sound = manifest["key"] == key and isinstance(manifest["task"], str) and bool(files)
        for name, part in files.items():
            sound = sound and is_plain_name(name) and name != MANIFEST and part["bytes"] >= 0
            sound = sound and isinstance(part["sha256"], str)
        for needed in manifest.get("needs", ()):
            checked_key(needed)
    except (ValueError, KeyError, TypeError, AttributeError, StoreError):
        return None
    return manifest if sound else None


def size(manifest: Mapping[str, Any]) -> int:
    """Return the bytes of an artefact's files."""
    return sum(int(part["bytes"]) for part in manifest["files"].values())
