"""Retries are the driver's: whether a failed node is tried again, and when, is decided here for every runner."""

from pipelines.errors import NodeError
from pipelines.graphs.graph import Task
from pipelines.graphs.node import Retries
from pipelines.keying.keys import digest


def wait_before_retry(task: Task, error: Exception, tries: int) -> float | None:
    """Return the seconds to wait before the next try of a task that has failed `tries` times, or None where it has failed.

    Only errors that the worker found worth it (`Retries.worth`) are tried again.
    """
    retries = task.node.retries
    if not isinstance(error, NodeError) or not error.worth_retrying or tries > retries.times:
        return None
    return backoff(retries, task.key, tries)


def backoff(retries: Retries, key: str, tries: int) -> float:
    """Return the seconds before try `tries` + 1: doubled each time up to the longest, then between half and all of it.

    The part that spreads tasks which failed together comes from the content key: the same run waits the same again.
    """
    whole = min(retries.wait_s * 2.0 ** min(tries - 1, 60), retries.longest_s)
    spread = int(digest([key, tries])[:8], 16) / 0xFFFFFFFF
    return whole * (0.5 + 0.5 * spread)
