"""From the configuration to the store: a folder, or a URL with a local folder for what is read from it."""

import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipelines.config.configuration import nearest
from pipelines.config.settings import Settings
from pipelines.errors import ConfigurationError
from pipelines.storage.remote_store import RemoteStore
from pipelines.storage.store import Store


def open_store(settings: Settings) -> Store:
    """Return the configured store ready to be written; raise StoreError where it cannot be."""
    if is_url(settings.store):
        _require_protocol(settings.store)
        return RemoteStore.connect(settings.store, settings.store_options, _cache_folder(settings))
    return Store.open(_local(settings.store))


def existing_store(settings: Settings) -> Store:
    """Return the configured store to read from; creates and checks nothing."""
    return store_at(settings.store, settings.store_options, _cache_folder(settings))


def store_at(location: Path | str, options: Mapping[str, Any] | None = None, cache: Path | None = None) -> Store:
    """Return the store in a folder or at a URL, to read from; creates and checks nothing."""
    if isinstance(location, str) and is_url(location):
        _require_protocol(location)
        return RemoteStore((cache or default_cache(location)).resolve(), location.rstrip("/"), options or {})
    return Store(_local(location).resolve())


def _require_protocol(url: str) -> None:
    import fsspec

    protocol, known = url.partition("://")[0], fsspec.available_protocols()
    if protocol not in known:
        raise ConfigurationError(f"store={url}: there is no file system {protocol!r}; {nearest(protocol, known)}")


def is_url(location: str) -> bool:
    """Say whether a store lies at a URL of another file system than the local one."""
    return "://" in location and not location.startswith("file://")


def default_cache(url: str) -> Path:
    """Return the folder of this user for a remote store, by the platform's convention for caches."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "walkfold" / f"store-{hashlib.sha256(url.rstrip('/').encode()).hexdigest()[:16]}"


def _cache_folder(settings: Settings) -> Path:
    return Path(settings.store_cache) if settings.store_cache else default_cache(settings.store)


def _local(location: Path | str) -> Path:
    return Path(str(location).removeprefix("file://"))
