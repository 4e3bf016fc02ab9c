"""The files of a delivery: which are new or revised, whether each can be read to its end, and where refused ones go."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loaders.batch import read_manifest
from loaders.errors import DataError
from loaders.files import list_any_files
from loaders.layouts import BARS
from loaders.records import open_dbn
from loaders.stated_gaps import gap_facts, gap_sentences
from pipelines.config.configuration import as_tree
from pipelines.config.settings import WALK_FORWARD, Settings
from pipelines.errors import RejectedDataError, UsageError
from pipelines.graphs.input_files import InputFile, input_files
from pipelines.keying.keys import digest, file_digest
from pipelines.refresh.published_pointer import CurrentSet

READ_BY_US = ("bars", "trades", "definitions", "statistics", "flow")
NO_MATTER = (
    "data", "store", "store_options", "store_budget", "store_cache", "store_cache_budget", "cluster", "cluster_options",
    "workers",
)  # fmt: skip
PACKAGES = ("pipelines", "loaders", "validation", "kernels", "training")


@dataclass(frozen=True)
class Intake:
    """The files of the data folder by name (sha256 of each), and how they differ from the published set's.

    `ordered` are the files of bars in the order in which the flow numbers them. `faults`: name → why it cannot be read.
    """

    files: Mapping[str, str]
    ordered: tuple[str, ...]
    new: tuple[str, ...]
    revised: tuple[str, ...]
    removed: tuple[str, ...]
    faults: Mapping[str, str]


def take_in(settings: Settings, before: CurrentSet | None) -> Intake:
    """List and hash the files, and read those that are new or revised to their end."""
    known = before.files if before else {}
    try:
        groups = input_files(settings)
    except RejectedDataError as error:
        return _unlisted(settings, known, _damaged(settings, known) or {"": str(error)})
    except UsageError:
        if not (strange := _of_other_intervals(settings, known)):
            raise
        return _unlisted(settings, known, strange)
    files = named(groups, settings)
    fresh = {name for name, sha256 in files.items() if known.get(name) != sha256}
    readable = {_name(one.path, settings): one.path for group in READ_BY_US for one in groups.get(group, ())}
    faults = {name: fault for name in sorted(fresh & set(readable)) if (fault := _fault(readable[name]))}
    numbered: tuple[InputFile, ...] = groups.get("bars", ())
    return Intake(
        files=files,
        ordered=tuple(_name(one.path, settings) for one in numbered),
        new=tuple(sorted(name for name in fresh if name not in known)),
        revised=tuple(sorted(name for name in fresh if name in known)),
        removed=tuple(sorted(set(known) - set(files))),
        faults=faults,
    )


def named(groups: Mapping[str, tuple[InputFile, ...]], settings: Settings) -> dict[str, str]:
    """Return name → sha256 of the files in all groups, by name."""
    files = {_name(one.path, settings): one.sha256 for group in groups.values() for one in group}
    return dict(sorted(files.items()))


def fingerprint(settings: Settings, files: Mapping[str, str]) -> str | None:
    """Name files, configuration, code and libraries together without building a graph; None where the user's own code runs.

    Equal fingerprints make equal sets. The other way round does not hold: a changed comment makes another fingerprint.
    """
    if settings.features.modules or settings.flow != WALK_FORWARD:
        return None
    from pipelines.record.records import versions

    tree = {name: value for name, value in as_tree(settings).items() if name not in NO_MATTER}
    return digest({"files": dict(files), "configuration": tree, "code": _source_digest(), "versions": versions()})


def set_aside(settings: Settings, names: Mapping[str, str], run: str) -> tuple[list[str], dict[str, str]]:
    """Move refused files (name → reason) below the data folder; return where they are now, and why others stayed."""
    folder = Path(settings.data)
    if not settings.refresh.refused:
        return [], dict.fromkeys(names, "refresh.refused is empty")
    target = folder / settings.refresh.refused / run
    moved, left = [], {}
    for name, reason in names.items():
        try:
            if name in read_manifest(folder):
                raise OSError("manifest.json promises it")
            target.mkdir(parents=True, exist_ok=True)
            (folder / name).rename(target / name)
            (target / f"{name}.reason.json").write_text(json.dumps({"file": name, "reason": reason}) + "\n", encoding="utf-8")
            moved.append(str(target / name))
        except (OSError, DataError) as error:
            left[name] = str(getattr(error, "strerror", None) or error)
    return moved, left


def _unlisted(settings: Settings, known: Mapping[str, str], faults: Mapping[str, str]) -> Intake:
    """What arrived where the files cannot even be listed, with what is wrong with some of them."""
    files = {path.name: file_digest(path) for path in _dbn_files(settings)}
    fresh = [name for name in files if known.get(name) != files[name]]
    return Intake(
        files=files,
        ordered=(),
        new=tuple(name for name in fresh if name not in known),
        revised=tuple(name for name in fresh if name in known),
        removed=(),
        faults=faults,
    )


def _damaged(settings: Settings, known: Mapping[str, str]) -> dict[str, str]:
    """Find the damaged files among all new and revised ones that look like data: name → what is wrong."""
    fresh = [path for path in _dbn_files(settings) if known.get(path.name) != file_digest(path)]
    return {path.name: fault for path in fresh if (fault := _fault(path))}


def _of_other_intervals(settings: Settings, known: Mapping[str, str]) -> dict[str, str]:
    """Find the new files of bars that are longer or shorter than the published ones: name → what is wrong."""
    try:
        bars = [one for one in list_any_files(Path(settings.data)) if one.kind == BARS]
    except DataError:
        return {}
    published = {str(one.schema) for one in bars if one.path.name in known}
    return {
        one.path.name: f"{one.path}: holds {one.schema}, the published files {', '.join(sorted(published))}; keep one interval "
        "in a directory"
        for one in bars
        if published and one.path.name not in known and one.schema not in published
    }


def _dbn_files(settings: Settings) -> list[Path]:
    folder = Path(settings.data)
    return sorted(path for path in folder.iterdir() if path.name.endswith((".dbn", ".dbn.zst")) and path.is_file())


def _fault(path: Path) -> str:
    """Read a file to its end; say what is wrong with it, or "": damage, or a limit that cut its request short."""
    try:
        file = open_dbn(path)
        records = sum(len(chunk) for chunk in file.chunks())
    except DataError as error:
        return str(error)
    except OSError as error:
        return f"{path.name} cannot be read: {error.strerror or error}"
    if file.metadata.limit and records >= file.metadata.limit:
        return gap_sentences(path.name, gap_facts(file.metadata), records)[0]
    return ""


def _name(path: Path, settings: Settings) -> str:
    """Name a file of the data folder by its name alone, so that the folder may be moved, and any other by its path."""
    return path.name if path.parent == Path(settings.data) else os.fspath(path)


def _source_digest() -> str:
    root = Path(__file__).resolve().parents[2]
    sources: Any = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            sources.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return str(sources.hexdigest())
