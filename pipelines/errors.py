"""Errors of the dataflow and the exit code each of them ends a command with.

WalkfoldError (RuntimeError)
├── UsageError            2   a wrong argument, key or value
│   └── ConfigurationError
├── GraphError            2   a flow's table of nodes is inconsistent (pipelines.graphs.node_checks)
├── RejectedDataError     3   an input file is damaged
├── NodeError             3 or 4, by the cause: data rejected by a gate, or any other failure of a node
├── StoreError            4   the store cannot be read or written
│   └── CorruptArtefactError  the artefact was moved aside; running again recomputes it
├── ClusterError          4   the cluster asked for cannot be had
│   └── StaleWorkerError      a worker runs other code than the driver
├── DownloadError         4   new data cannot be fetched
└── LockedError           5   another process does this already
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit status means (stable; documented in docs/command-line.md)."""

    DONE = 0
    DIFFERS = 1
    USAGE = 2
    DATA_REJECTED = 3
    NODE_FAILED = 4
    LOCKED = 5
    INTERRUPTED = 130


def said(error: OSError) -> str:
    """Return what the system says of a failed call, and the file it says it of, where it names one."""
    file = error.filename2 or error.filename
    named = f" ({file})" if file else ""
    return f"{error.strerror}{named}" if error.strerror else str(error)


class WalkfoldError(RuntimeError):
    """An error whose message is meant for the person at the command line."""

    exit_code = ExitCode.NODE_FAILED


class UsageError(WalkfoldError):
    """The command line or the configuration asks for something that does not exist."""

    exit_code = ExitCode.USAGE


class ConfigurationError(UsageError):
    """A configuration key is unknown or its value has the wrong type or range."""


class RejectedDataError(WalkfoldError):
    """An input file is damaged or is not what its name says."""

    exit_code = ExitCode.DATA_REJECTED


class StoreError(WalkfoldError):
    """The store cannot be read or written."""


class CorruptArtefactError(StoreError):
    """An artefact's bytes differ from its manifest, or its gate refuses what was read; it has been moved aside."""

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message, key)
        self.key = key

    def __str__(self) -> str:
        return str(self.args[0])


class ClusterError(WalkfoldError):
    """The cluster that was asked for cannot be started or reached."""


class StaleWorkerError(ClusterError):
    """A worker has loaded other code than the key of its task says; it publishes nothing."""


class DownloadError(WalkfoldError):
    """New data cannot be fetched: the server, the way to it, or what it sent; nothing half is left behind."""


class LockedError(WalkfoldError):
    """Another process holds the lock; the message names it."""

    exit_code = ExitCode.LOCKED


class NodeError(WalkfoldError):
    """A node failed. Plain values only, so that it crosses process borders unchanged.

    `worth_retrying` says that its node lists the cause among the errors after which it is tried again. `log` holds the last
    lines that the task logged, `worker` where it ran.
    """

    def __init__(
        self,
        task: str,
        key: str,
        cause: str,
        message: str,
        trace: str,
        exit_code: int,
        worth_retrying: bool = False,
        log: tuple[str, ...] = (),
        worker: str = "",
    ) -> None:
        super().__init__(task, key, cause, message, trace, exit_code, worth_retrying, log, worker)
        self.task = task
        self.key = key
        self.cause = cause
        self.message = message
        self.trace = trace
        self.exit_code = ExitCode(exit_code)
        self.worth_retrying = worth_retrying
        self.log = log
        self.worker = worker

    @property
    def node(self) -> str:
        """The node's name in the flow."""
        return self.task.partition("[")[0]

    @property
    def partition(self) -> str:
        """The place of the task on the node's axes, e.g. `fold=0,chunk=3`; "" where it has none."""
        return self.task.partition("[")[2].rstrip("]")

    def __str__(self) -> str:
        return f"{self.task}: {self.message}"
