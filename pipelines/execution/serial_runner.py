"""Runs a graph in this process, one task after another: what a debugger steps through, and the oracle of the Dask runner."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pipelines.execution.interrupts import go_on
from pipelines.execution.preflight import check_this_machine
from pipelines.execution.retrying import wait_before_retry
from pipelines.execution.task_execution import Outcome, assign, perform
from pipelines.execution.watching import Unwatched, Watcher
from pipelines.graphs.graph import Task
from pipelines.storage.store import Store


def run_serial(
    tasks: Sequence[Task],
    store: Store,
    report: Callable[[Outcome], None],
    sleep: Callable[[float], None] = time.sleep,
    logs: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
    watcher: Watcher | None = None,
    foreseen: Sequence[Task] = (),
) -> None:
    """Run the tasks in order and call `report` after each; raise the first error that is not retried.

    Each try is logged below the folder `logs`; warnings that nodes log go to `say`. Raises ClusterError before anything runs
    where this machine lacks what a task needs, or one of those `foreseen` to be run after these.

    `tasks` holds only what is not in the store yet, each after what it reads. Timeouts are not kept here: nobody is there to
    stop a node that runs in the only thread.
    """
    check_this_machine([*tasks, *foreseen])
    watching = watcher or Unwatched()
    for task in tasks:
        tries = 0
        watching.began(task.name)
        while True:
            try:
                outcome = perform(assign(task, store, logs, tries), say)
                break
            except Exception as error:
                tries += 1
                wait = wait_before_retry(task, error, tries)
                if wait is None:
                    raise
                watching.retried(task.name, str(error), tries, wait)
                sleep(wait)
        report(outcome)
        go_on()
