"""Records of the scheduled jobs, `refresh` and `score`: like a run's, listed beside them by `pipeline runs`."""

from typing import Any

from pipelines.configuration import as_tree
from pipelines.errors import ExitCode, WalkfoldError
from pipelines.records import RunRecord
from pipelines.settings import Settings
from pipelines.store import Store

JOBS = ("refresh", "score")


def begin(store: Store, command: str, settings: Settings, fold: str = "") -> RunRecord:
    """Open the record of a job."""
    return RunRecord.begin(store, {"command": command, "fold": fold, "configuration": as_tree(settings)})


def end(record: RunRecord, status: str, code: ExitCode, seconds: float, **facts: Any) -> None:
    """Write how a job ended."""
    record.append("ended", status=status, exit_code=int(code), seconds=seconds, **facts)


def code_of(error: BaseException) -> ExitCode:
    """The exit code that an error ends a command with."""
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    return error.exit_code if isinstance(error, WalkfoldError) else ExitCode.NODE_FAILED
