"""What a person sees while a graph runs: a view on a terminal, plain lines when piped, nothing with --quiet."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from pipelines.execution.task_execution import Outcome
from pipelines.execution.watching import Unwatched, Watcher
from pipelines.record.redaction import current
from pipelines.viewing.pace import Pace, rate, span

OFTEN = 1.0  # seconds between lines about tasks of a node that has very many


class Progress(Watcher, Protocol):
    """Takes note of tasks that begin, are tried again and end."""

    def finished(self, outcome: Outcome) -> None:
        """Show that one more task has ended."""

    def say(self, text: str) -> None:
        """Show a line that is not about a task."""

    def expect(self, tasks: Sequence[str]) -> None:
        """Take note of further tasks that will run: what they are was a result of the others."""


class Silent(Unwatched):
    """Shows nothing."""

    def finished(self, outcome: Outcome) -> None:
        """Show nothing."""

    def say(self, text: str) -> None:
        """Show nothing."""

    def expect(self, tasks: Sequence[str]) -> None:
        """Show nothing."""


class Lines(Unwatched):
    """One line a task on stderr, so that stdout stays for results; a node with very many tasks has one line a second."""

    def __init__(self, names: Sequence[str]) -> None:
        self._pace = Pace(names)
        self._said = -OFTEN

    def finished(self, outcome: Outcome) -> None:
        """Print `[3/20] sweep[…] 1.2 s, 240 M bar-steps/s, about 9 s left`: the rest at the pace of each node so far."""
        pace = self._pace
        pace.finished(outcome)
        for text in outcome.warnings:
            self.say(f"{outcome.task}: {text}")
        last = pace.done == pace.total
        if not (pace.few(outcome.task) or last or time.monotonic() - self._said >= OFTEN):
            return
        self._said = time.monotonic()
        text = f"[{pace.done}/{pace.total}] {outcome.task} {outcome.seconds:.1f} s{_speed(outcome)}"
        sweeps = pace.sweeps
        if sweeps is not None and not pace.few(outcome.task) and sweeps.left is not None:
            text += f"; sweeps {sweeps.done}/{sweeps.total}, {rate(sweeps.rate)} in all, about {span(sweeps.left)} left"
        self.say(text if last or pace.left is None else f"{text}, about {span(pace.left)} left")

    def expect(self, tasks: Sequence[str]) -> None:
        """Count further tasks."""
        self._pace.expect(tasks)

    def retried(self, task: str, error: str, tries: int, wait: float) -> None:
        """Print why a task is tried again, and when."""
        self.say(f"{error}: tried again in {span(wait)}")

    def say(self, text: str) -> None:
        """Print a line."""
        sys.stderr.write(current().text(text) + "\n")
        sys.stderr.flush()


def _speed(outcome: Outcome) -> str:
    """How fast a sweep ran; nothing for other tasks."""
    found = outcome.facts.get("bar_steps_per_second")
    return "" if found is None else f", {rate(found)}"


@contextmanager
def shown(names: Sequence[str], quiet: bool) -> Iterator[Progress]:
    """Yield the kind of progress that fits where stderr goes; `names` are the tasks that will run."""
    if quiet:
        yield Silent()
    elif not names or not sys.stderr.isatty() or os.environ.get("TERM", "") in ("", "dumb"):
        yield Lines(names)
    else:
        from pipelines.viewing.terminal import Terminal

        with Terminal(names) as view:
            yield view
