"""Runs a graph in this process, one task after another: what a debugger steps through, and the oracle of the Dask runner."""

from collections.abc import Callable, Sequence

from pipelines.graph import Task
from pipelines.store import Store
from pipelines.task_execution import Outcome, assign, perform


def run_serial(tasks: Sequence[Task], store: Store, report: Callable[[Outcome], None]) -> None:
    """Run the tasks in order and call `report` after each; raise the first error.

    `tasks` holds only what is not in the store yet, each after what it reads.
    """
    for task in tasks:
        report(perform(assign(task, store)))
