"""What a worker does when it joins a run: it keeps its code, leaves Ctrl-C to the driver, and lets through what tasks log."""

import logging
import signal
import threading
from typing import Any

from distributed import WorkerPlugin

from pipelines.execution.worker_code import ExpectedCode, keep_loaded


class WorkerSetup(WorkerPlugin):  # type: ignore[misc]  # distributed is untyped
    """One a run; workers that join later, or are restarted, get it too. `own`: the driver started the cluster."""

    def __init__(self, token: str, code: ExpectedCode, own: bool) -> None:
        self.name = plugin_name(token)
        self.code = code
        self.own = own

    def setup(self, worker: Any) -> None:
        """Prepare a worker process; a worker that is a thread of the driver is left as the driver is."""
        if worker.nanny is None:
            return
        if self.own and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches a terminal's whole group; the driver stops us
        root = logging.getLogger()
        root.setLevel(min(root.level, logging.INFO))
        keep_loaded(tuple(sorted({name.partition(".")[0] for name in self.code.modules})))


def plugin_name(token: str) -> str:
    """Return the name of a run's plugin."""
    return f"walkfold-{token}"
