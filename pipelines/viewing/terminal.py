"""The view on a terminal while a graph runs: nodes, progress, rate, time left, memory, GPUs; gone when it has ended."""

import threading
import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from pipelines.execution.task_execution import Outcome
from pipelines.record.redaction import current
from pipelines.viewing.machine_load import GpuLoad, GpuWatch, machine_memory, run_memory
from pipelines.viewing.pace import Pace, rate, span

MOST_RUNNING = 8
RECENT = 3
BAR = 32  # columns
PER_SECOND = 4
GIB = 2**30


class Terminal:
    """Draws itself four times a second on stderr; what is said scrolls above it."""

    def __init__(self, names: Sequence[str], console: Console | None = None) -> None:
        self._pace = Pace(names)
        self._running: dict[str, float] = {}
        self._recent: list[str] = []
        self._redactor = current()  # the thread that draws has no context of its own
        self._console = console or Console(stderr=True)
        self._gpus = GpuWatch()
        self._lock = threading.Lock()
        self._live = Live(self, console=self._console, refresh_per_second=PER_SECOND, transient=True)

    def __enter__(self) -> "Terminal":
        self._gpus.start()
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._live.stop()
        self._gpus.stop()

    def began(self, task: str) -> None:
        """Show a task among those that run."""
        with self._lock:
            self._running[task] = time.monotonic()

    def retried(self, task: str, error: str, tries: int, wait: float) -> None:
        """Say why a task is tried again, and when."""
        with self._lock:
            self._running.pop(task, None)
        self.say(f"{error}: tried again in {span(wait)}")

    def finished(self, outcome: Outcome) -> None:
        """Move a task to those that have ended."""
        with self._lock:
            self._running.pop(outcome.task, None)
            self._pace.finished(outcome)
            self._recent = [*self._recent[1 - RECENT :], f"{outcome.task}  {outcome.seconds:.1f} s"]
        for text in outcome.warnings:
            self.say(f"{outcome.task}: {text}")

    def expect(self, tasks: Sequence[str]) -> None:
        """Count further tasks."""
        with self._lock:
            self._pace.expect(tasks)

    def say(self, text: str) -> None:
        """Print a line above the view."""
        self._console.print(self._redactor.text(text), markup=False, highlight=False)

    def __rich__(self) -> Group:
        """The view at this moment."""
        with self._lock:
            rows = Table.grid(padding=(0, 2))
            rows.add_column(style="dim", no_wrap=True)
            rows.add_column(no_wrap=True)
            self._add_progress(rows)
            now = time.monotonic()
            running = sorted(self._running.items(), key=lambda item: item[1])
            for at, (task, since) in enumerate(running[:MOST_RUNNING]):
                rows.add_row("" if at else "running", Text(f"{task}  {span(now - since)}"))
            if len(running) > MOST_RUNNING:
                rows.add_row("", f"and {len(running) - MOST_RUNNING} more")
            for at, text in enumerate(reversed(self._recent)):
                rows.add_row("" if at else "ended", Text(text, style="dim"))
            rows.add_row("memory", memory_text(run_memory(), machine_memory()))
            for at, gpu in enumerate(self._gpus.loads):
                rows.add_row(f"GPU {at}", gpu_text(gpu))
        return Group(rows)

    def _add_progress(self, rows: Table) -> None:
        pace = self._pace
        left = "" if pace.left is None else f", about {span(pace.left)} left"
        rows.add_row("nodes", _barred(pace.done, pace.total, f"{pace.done}/{pace.total}  {span(pace.elapsed)}{left}"))
        sweeps = pace.sweeps
        if sweeps is not None:
            text = f"{sweeps.done}/{sweeps.total} chunks"
            text += f"  {rate(sweeps.rate)}" if sweeps.rate else ""
            text += f", about {span(sweeps.left)} left" if sweeps.left else ""
            rows.add_row("sweeps", _barred(sweeps.done, sweeps.total, text))


def memory_text(mine: int, machine: tuple[int, int] | None) -> str:
    """What the run holds, and what of the machine's memory is in use."""
    text = f"this run {mine / GIB:.1f} GiB"
    return text if machine is None else f"{text}, machine {machine[0] / GIB:.1f} of {machine[1] / GIB:.1f} GiB"


def gpu_text(gpu: GpuLoad) -> str:
    """How busy a GPU is and how much of its memory is in use."""
    return f"{gpu.busy} % busy, {gpu.used / 1024:.1f} of {gpu.total / 1024:.1f} GiB"


def _barred(done: int, total: int, text: str) -> Table:
    row = Table.grid(padding=(0, 2))
    row.add_row(ProgressBar(total=max(total, 1), completed=done, width=BAR), Text(text))
    return row
