"""Runs a graph on a Dask cluster through futures; the only file that submits work to Dask."""

from collections.abc import Callable, Sequence
from typing import Any

from pipelines.errors import ClusterError, WalkfoldError
from pipelines.graph import Task
from pipelines.store import Store
from pipelines.task_execution import Assignment, Outcome, assign, perform


def run_dask(tasks: Sequence[Task], store: Store, report: Callable[[Outcome], None], client: Any) -> None:
    """Submit every task with the futures it waits for; call `report` as each ends; raise the first error.

    Data goes through the store: a future carries only an Outcome of some hundred bytes, so a lost worker loses nothing that
    was finished. The Dask key of a task holds its content key.
    """
    from distributed import as_completed

    futures: dict[str, Any] = {}
    for task in tasks:
        waits = [futures[name] for name in task.upstream if name in futures]
        futures[task.name] = client.submit(
            _perform_after, assign(task, store), waits, key=f"{task.name}-{task.key[:16]}", retries=0, pure=False
        )
    try:
        for future in as_completed(futures.values()):
            report(_outcome(future))
    finally:
        client.cancel(list(futures.values()))


def _perform_after(assignment: Assignment, waits: Sequence[Outcome]) -> Outcome:
    """Run on a worker, once what the task reads has been published."""
    del waits
    return perform(assignment)


def _outcome(future: Any) -> Outcome:
    try:
        outcome: Outcome = future.result()
    except WalkfoldError:
        raise
    except Exception as error:
        task = str(future.key).rpartition("-")[0]
        raise ClusterError(
            f"{task}: the cluster lost this task ({type(error).__name__}: {error}); run again, what was finished stays"
        ) from None
    return outcome
