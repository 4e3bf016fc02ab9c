"""What a person sees while a graph runs: a bar on a terminal, plain lines when piped, nothing with --quiet."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from pipelines.task_execution import Outcome


class Progress(Protocol):
    """Takes note of finished tasks."""

    def finished(self, outcome: Outcome) -> None:
        """Show that one more task has ended."""

    def say(self, text: str) -> None:
        """Show a line that is not about a task."""


class Silent:
    """Shows nothing."""

    def finished(self, outcome: Outcome) -> None:
        """Show nothing."""

    def say(self, text: str) -> None:
        """Show nothing."""


class Lines:
    """One line a task on stderr, so that stdout stays for results."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._begun = time.monotonic()

    def finished(self, outcome: Outcome) -> None:
        """Print `[3/20] sweep[…] 1.2 s, 240 M bar-steps/s, about 9 s left`: the rest at the tasks' pace so far."""
        self._done += 1
        left = (time.monotonic() - self._begun) * (self._total - self._done) / self._done
        text = f"[{self._done}/{self._total}] {outcome.task} {outcome.seconds:.1f} s{_rate(outcome)}"
        self.say(f"{text}, about {left:.0f} s left" if self._done < self._total else text)

    def say(self, text: str) -> None:
        """Print a line."""
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


class Bar:
    """A bar that fills as tasks end."""

    def __init__(self, bar: "object", identifier: int) -> None:
        self._bar = bar
        self._identifier = identifier

    def finished(self, outcome: Outcome) -> None:
        """Advance the bar and name the task that ended."""
        self._bar.update(self._identifier, advance=1, description=f"{outcome.task}{_rate(outcome)}")  # type: ignore[attr-defined]

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self._bar.console.print(text, markup=False, highlight=False)  # type: ignore[attr-defined]


def _rate(outcome: Outcome) -> str:
    """How fast a sweep ran; nothing for other tasks."""
    rate = outcome.facts.get("bar_steps_per_second")
    return "" if rate is None else f", {rate / 1e6:.0f} M bar-steps/s"


@contextmanager
def shown(total: int, quiet: bool) -> Iterator[Progress]:
    """Yield the kind of progress that fits where stderr goes."""
    if quiet:
        yield Silent()
    elif not sys.stderr.isatty() or total == 0:
        yield Lines(total)
    else:
        from rich import progress
        from rich.console import Console

        columns = (
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.description}"),
        )
        with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            yield Bar(bar, bar.add_task("starting", total=total))
