"""What running a task took: seconds by phase, peak memory of host and device, and the warnings it gave."""

import contextlib
import importlib
import resource
import sys
import time
import warnings
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_WARNINGS = 20  # of one task in its record

_NOTED: ContextVar[list[str] | None] = ContextVar("warnings of the task", default=None)


@dataclass(frozen=True)
class Stopwatch:
    """Seconds by phase, in the order in which they were measured."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure what runs inside."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = time.perf_counter() - begun


def restart_peaks() -> None:
    """Begin to measure peaks anew: of this process where the system can (Linux), and of torch and RMM on its GPU.

    Tasks that share a process (cluster=threads) share its peak.
    """
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    cuda = _torch_cuda()
    if cuda is not None:
        cuda.reset_peak_memory_stats()
    statistics = _rmm_statistics()
    if statistics is not None:
        with contextlib.suppress(Exception):  # as in `device_bytes`
            if statistics.get_statistics() is None:
                statistics.enable_statistics()
            else:
                statistics.pop_statistics()  # the counters of the task before
            statistics.push_statistics()


def peak_bytes() -> int:
    """The most host memory this process has held since `restart_peaks`; since its start where that cannot be set back."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return int(status.split("VmHWM:", 1)[1].split(None, 1)[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def device_bytes() -> int:
    """The most GPU memory that torch, cupy and RMM have held for this task; 0 where none has used a GPU. Imports none.

    Once cudf is imported, as on the workers of dask-cuda, cupy allocates through RMM and its own pool stays empty.
    """
    total = 0
    cuda = _torch_cuda()
    if cuda is not None:
        total += int(cuda.max_memory_reserved())
    cupy: Any = sys.modules.get("cupy")
    if cupy is not None:
        with contextlib.suppress(Exception):  # half imported, or without a driver: nothing was held
            total += int(cupy.get_default_memory_pool().total_bytes())
    statistics = _rmm_statistics()
    if statistics is not None:
        with contextlib.suppress(Exception):
            counted = statistics.get_statistics()
            total += int(counted.peak_bytes) if counted is not None else 0
    return total


@contextlib.contextmanager
def noted_warnings() -> Iterator[list[str]]:
    """Yield a list that gets each different warning given inside, in this thread, instead of stderr."""
    if not isinstance(warnings.showwarning, _Noting):
        warnings.showwarning = _Noting(warnings.showwarning)
    found: list[str] = []
    token = _NOTED.set(found)
    try:
        yield found
    finally:
        _NOTED.reset(token)


class _Noting:
    """Stands in for `warnings.showwarning`: a task's warnings go to its list, all others where they went before."""

    def __init__(self, before: Any) -> None:
        self._before = before

    def __call__(self, message: Any, category: type[Warning], filename: str, lineno: int, *rest: Any, **named: Any) -> None:
        found = _NOTED.get()
        if found is None:
            self._before(message, category, filename, lineno, *rest, **named)
            return
        text = f"{category.__name__}: {message} ({Path(filename).name}:{lineno})"
        if text not in found and len(found) < MOST_WARNINGS:
            found.append(text)


def _rmm_statistics() -> Any:
    """rmm.statistics where RMM is in use in this process, else None."""
    if "rmm" not in sys.modules:
        return None
    with contextlib.suppress(Exception):  # half imported, or without a driver
        return importlib.import_module("rmm.statistics")
    return None


def _torch_cuda() -> Any:
    """torch.cuda where it is in use in this process, else None."""
    torch: Any = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None
