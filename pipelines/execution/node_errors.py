"""How an error in a node is told: plain strings that cross process borders, one line for a person, all of it in the log."""

import traceback
from typing import Protocol

from pipelines.errors import ExitCode, NodeError
from pipelines.execution.pieces import out_of_memory
from pipelines.execution.worker_logs import TaskLog
from pipelines.graphs.node import Retries

NO_MEMORY = "its memory ran out: run fewer nodes at once (workers=1) or on a larger machine"
LONGEST = 2000  # characters of an error


class Failed(Protocol):
    """What is told of a task that has failed."""

    @property
    def task(self) -> str:
        """Its name."""

    @property
    def key(self) -> str:
        """The key that it would have published under."""

    @property
    def retries(self) -> Retries:
        """Which errors are worth another try."""


def as_node_error(assignment: Failed, error: BaseException, log: TaskLog, worker: str) -> NodeError:
    """Return the error of a try of a task; its traceback goes to the log."""
    from loaders.errors import DataError
    from training.errors import FoldError
    from validation.errors import ValidationError

    code = ExitCode.NODE_FAILED
    if isinstance(error, FoldError):
        code = ExitCode.USAGE
    elif isinstance(error, DataError | ValidationError):
        code = ExitCode.DATA_REJECTED
    message = _said(error)
    if code is ExitCode.NODE_FAILED:
        message = f"{type(error).__name__}: {message}"
    message = "; ".join([message, *getattr(error, "__notes__", ()), *([NO_MEMORY] if out_of_memory(error) else [])])
    worth = assignment.retries.worth(error)
    trace = "".join(traceback.format_exception(error))
    tail = tuple(log.tail)
    log.write(trace)
    return NodeError(assignment.task, assignment.key, type(error).__name__, message, trace, int(code), worth, tail, worker)


def _said(error: BaseException) -> str:
    """What an error says, cut where nobody would read it; the whole of it stands in the log."""
    try:
        text = str(error) or type(error).__name__
    except Exception:  # an error of the user's whose own text fails
        text = type(error).__name__
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters, all in the log)"
