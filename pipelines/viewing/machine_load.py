"""How much memory this run holds, how much the machine has, and what its GPUs do; for a person who watches."""

import os
import shutil
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path

OFTEN = 2.0  # seconds between two looks at the GPUs
SLOWEST = 10.0


@dataclass(frozen=True)
class GpuLoad:
    """Of one GPU: its share of busy time in percent, and memory in MiB, used and in all."""

    busy: int
    used: int
    total: int


def run_memory() -> int:
    """Return the resident bytes of this process and all that it started; shared pages count in each (Linux; else 0)."""
    page = os.sysconf("SC_PAGE_SIZE")
    total, waiting, seen = 0, [os.getpid()], set()
    while waiting:
        pid = waiting.pop()
        if pid in seen:
            continue
        seen.add(pid)
        try:
            total += int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * page
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += [int(child) for child in (task / "children").read_text(encoding="ascii").split()]
        except (OSError, ValueError, IndexError):
            continue  # it has just ended
    return total


def machine_memory() -> tuple[int, int] | None:
    """Return the bytes of memory in use and in all; None where /proc does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
        return found["MemTotal"] - found["MemAvailable"], found["MemTotal"]
    except (OSError, ValueError, KeyError, IndexError):
        return None


def parse_gpus(text: str) -> list[GpuLoad]:
    """Read what nvidia-smi answers: a line a GPU, `busy, used, total`; what it does not know is left out."""
    found = []
    for line in text.splitlines():
        try:
            busy, used, total = (int(part) for part in line.split(","))
        except ValueError:
            continue
        found.append(GpuLoad(busy, used, total))
    return found


@dataclass
class GpuWatch:
    """Asks nvidia-smi every other second, in a thread of its own; without the tool there are no GPUs to show."""

    loads: list[GpuLoad] = field(default_factory=list)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Begin to look."""
        tool = shutil.which("nvidia-smi")
        if tool is not None:
            threading.Thread(target=self._look, args=(tool,), daemon=True, name="gpu watch").start()

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()

    def _look(self, tool: str) -> None:
        command = [tool, "--query-gpu=utilization.gpu,memory.used,memory.total", "--format=csv,noheader,nounits"]
        while not self._stopped.is_set():
            try:
                answer = subprocess.run(command, capture_output=True, text=True, timeout=SLOWEST, check=False)
            except (OSError, subprocess.TimeoutExpired):
                return
            if answer.returncode:
                return
            self.loads = parse_gpus(answer.stdout)
            self._stopped.wait(OFTEN)
