"""The runner of a command, this process or a cluster, started once for all stages of a run."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from pipelines.config.settings import Settings
from pipelines.execution.cluster import connected, described, performance_report
from pipelines.execution.placement import placements
from pipelines.execution.serial_runner import run_serial
from pipelines.execution.task_execution import Outcome
from pipelines.graphs.graph import Task
from pipelines.record.looks import LookKeeper
from pipelines.record.records import RunRecord
from pipelines.viewing.progress import Progress

Run = Callable[[Sequence[Task], Sequence[Task]], None]


class Asked(Protocol):
    """What of a request says where and how its tasks run."""

    settings: Settings
    keeper: LookKeeper
    record: RunRecord
    performance_report: Path | None


@contextmanager
def runner(asked: Asked, report: Callable[[Outcome], None], progress: Progress) -> Iterator[Run]:
    """Yield `run(tasks, foreseen)`; what it starts ends with the block.

    `foreseen` are tasks that will be run after these: what they need is checked before anything runs. Where each node runs,
    and why, goes to the record.
    """
    store, logs, settings = asked.keeper.store, asked.record.folder / "logs", asked.settings
    if settings.cluster == "serial":

        def here(tasks: Sequence[Task], foreseen: Sequence[Task]) -> None:
            _note_placements(asked, tasks, None)
            run_serial(tasks, store, report, logs=logs, say=progress.say, watcher=progress, foreseen=foreseen)

        yield here
        return
    from pipelines.execution.dask_runner import run_dask

    with connected(settings) as client, performance_report(asked.performance_report):
        about = described(settings, client)
        asked.record.append("cluster", **about)
        if about["dashboard"]:
            progress.say(f"dashboard: {about['dashboard']}")

        def there(tasks: Sequence[Task], foreseen: Sequence[Task]) -> None:
            _note_placements(asked, tasks, about)
            deaths = settings.cluster_options.most_deaths
            run_dask(tasks, store, report, client, logs, progress.say, deaths, progress, foreseen)

        yield there


def _note_placements(asked: Asked, tasks: Sequence[Task], about: dict[str, Any] | None) -> None:
    gpus = None if about is None else int(about["gpu_workers"])
    asked.record.append("placed", placed=placements(tasks, asked.settings, gpus))
