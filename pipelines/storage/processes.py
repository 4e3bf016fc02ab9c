"""Which process on which machine did something, and whether it still runs."""

import os
import socket
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Say whether a process of this host still runs; 0 and less are no processes."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@lru_cache(maxsize=1)
def this_place() -> str:
    """Name what process ids are counted in: this host since its last start, or this container."""
    parts = [socket.gethostname()]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        return parts[0]  # another system than Linux: the host's name has to do
    return "/".join(parts)


@dataclass(frozen=True)
class Owner:
    """A process: the place its id counts in, the id, and when it started (ids are used again)."""

    place: str
    pid: int
    started: str

    @classmethod
    def this(cls) -> "Owner":
        """The process that asks."""
        return cls(this_place(), os.getpid(), _started(os.getpid()))

    def runs(self) -> bool | None:
        """Say whether the process still runs; None where that cannot be known from here."""
        if self.place != this_place():
            return None
        return is_alive(self.pid) and _started(self.pid) == self.started


def _started(pid: int) -> str:
    """Return the start of a process in ticks since the machine's: no clock that somebody sets has a part in it."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # the name of the program, in brackets, may hold spaces and brackets itself
    return text.rpartition(")")[2].split()[19]
