"""Where and from what a run was made: the git state of code and configuration, the machine, the input files."""

import os
import platform
import socket
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pipelines.graphs.input_files import InputFile

SLOWEST_GIT = 5.0  # seconds


def git_states(places: Iterable[Path]) -> list[dict[str, Any]]:
    """Return {"folder", "commit", "dirty"} of each repository that one of the files or folders lies in, each once.

    Dirty is a changed tracked file. Nothing is said of a folder outside any repository, nor where git is missing.
    """
    found = []
    for folder in dict.fromkeys(repository for place in places if (repository := _repository(place)) is not None):
        command = ["git", "-C", str(folder), "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
        try:
            answer = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=SLOWEST_GIT,
                check=False,
                env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        lines = answer.stdout.splitlines()
        commit = next((line.split()[-1] for line in lines if line.startswith("# branch.oid ")), "")
        if answer.returncode == 0 and commit:
            dirty = any(not line.startswith("#") for line in lines)
            found.append({"folder": str(folder), "commit": commit, "dirty": dirty})
    return found


def machine_facts() -> dict[str, Any]:
    """Return what of this machine could explain another result or another speed."""
    memory = None
    if hasattr(os, "sysconf"):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "host": socket.gethostname(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "memory": memory,
    }


def input_facts(files: Mapping[str, tuple[InputFile, ...]]) -> list[dict[str, Any]]:
    """Return {"group", "path", "bytes", "sha256"} of every file that the run reads."""
    return [
        {"group": group, "path": str(one.path), "bytes": one.path.stat().st_size, "sha256": one.sha256}
        for group, listed in files.items()
        for one in listed
    ]


def _repository(place: Path) -> Path | None:
    """The nearest folder at or above a place that git works in."""
    resolved = place.resolve()
    return next((folder for folder in (resolved, *resolved.parents) if (folder / ".git").exists()), None)


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()
