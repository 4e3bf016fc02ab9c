"""What a task says through `logging`: a file a try in the run's folder, its last lines for an error, warnings to the driver."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from pipelines.record.redaction import Redactor

TAIL = 20  # lines that an error carries
MOST_FORWARDED = 20  # warnings of one try that reach the driver
LINE = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
LINE.converter = time.gmtime


def log_file(folder: Path, task: str, attempt: int) -> Path:
    """Return where the try of a task is logged; the first try is 0."""
    return folder / f"{task.replace('/', '_')}.{attempt}.log"


class TaskLog(logging.Handler):
    """Takes the records of the thread that runs a task; a log that cannot be written stops no task."""

    def __init__(self, task: str, path: Path | None, forward: Callable[[str], None], redactor: Redactor) -> None:
        super().__init__()
        self.setFormatter(LINE)
        self.tail: deque[str] = deque(maxlen=TAIL)
        self._task = task
        self._forward = forward
        self._redactor = redactor
        self._forwarded = 0
        self._thread = threading.get_ident()
        self._stream: TextIO | None = None
        if path is not None:
            with suppress(OSError):
                path.parent.mkdir(exist_ok=True)  # within a run's folder; a store that is gone is not made anew
                self._stream = path.open("a", encoding="utf-8", buffering=1)

    def filter(self, record: logging.LogRecord) -> bool:
        """Leave out what other tasks of this process say."""
        return record.thread == self._thread and super().filter(record) is not False

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, and tell the driver when it is a warning or worse."""
        line = self._redactor.text(self.format(record))
        self.tail.extend(line.splitlines())
        self.write(line)
        if record.levelno >= logging.WARNING and self._forwarded < MOST_FORWARDED:
            self._forwarded += 1
            self._forward(self._redactor.text(f"{self._task}: {record.levelname.lower()}: {record.getMessage()}"))

    def write(self, text: str) -> None:
        """Write lines to the file alone; each is on disk when the process is killed."""
        if self._stream is not None:
            with suppress(OSError):
                self._stream.write(self._redactor.text(text).rstrip("\n") + "\n")

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            with suppress(OSError):
                self._stream.close()
        super().close()


@contextmanager
def task_log(
    task: str, path: Path | None, forward: Callable[[str], None], redactor: Redactor | None = None
) -> Iterator[TaskLog]:
    """Keep what this thread logs meanwhile, without secrets."""
    log = TaskLog(task, path, forward, redactor or Redactor())
    root = logging.getLogger()
    root.addHandler(log)
    try:
        yield log
    finally:
        root.removeHandler(log)
        log.close()


def last_lines(path: Path) -> tuple[str, ...]:
    """Return the end of a log: what a task said whose worker is gone; nothing where it has none."""
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            return tuple(line.rstrip("\n") for line in deque(stream, maxlen=TAIL))
    except OSError:
        return ()
