"""What a runner tells while it runs, beside the outcomes: which task begins, and which is tried again after what."""

from typing import Protocol


class Watcher(Protocol):
    """Takes note of beginnings and retries; called from whatever thread notices them."""

    def began(self, task: str) -> None:
        """A worker begins a task."""

    def retried(self, task: str, error: str, tries: int, wait: float) -> None:
        """A task has failed for the so-manieth time and is tried again after some seconds."""


class Unwatched:
    """Takes no note."""

    def began(self, task: str) -> None:
        """Take no note."""

    def retried(self, task: str, error: str, tries: int, wait: float) -> None:
        """Take no note."""
