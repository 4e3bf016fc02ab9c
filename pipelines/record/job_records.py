"""Records of the scheduled jobs, `refresh` and `score`: like a run's, listed beside them by `pipeline runs`."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipelines.config.configuration import CONFIGS, as_tree
from pipelines.config.settings import Settings
from pipelines.errors import ExitCode, StoreError, WalkfoldError
from pipelines.record.provenance import git_states, machine_facts
from pipelines.record.records import RunRecord
from pipelines.record.redaction import current
from pipelines.storage.store import Store

JOBS = ("refresh", "score")


def begin(store: Store, command: str, settings: Settings, fold: str = "") -> RunRecord:
    """Open the record of a job: what was asked for, by which code, on which machine."""
    facts = {
        "command": command,
        "fold": fold,
        "words": [current().word(word) for word in sys.argv[1:]],
        "folder": str(Path.cwd()),
        "configuration": current().tree(as_tree(settings)),
        "git": git_states([Path(__file__), CONFIGS]),
        "machine": machine_facts(),
    }
    return RunRecord.begin(store, facts)


def end(record: RunRecord, status: str, code: ExitCode, seconds: float, **facts: Any) -> None:
    """Write how a job ended; where that cannot be written, what came of the job must still be told."""
    with suppress(OSError, StoreError):  # of a disk or a server
        record.end(status, int(code), seconds, **facts)


def code_of(error: BaseException) -> ExitCode:
    """The exit code that an error ends a command with."""
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    return error.exit_code if isinstance(error, WalkfoldError) else ExitCode.NODE_FAILED
