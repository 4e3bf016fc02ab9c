"""What the commands that compute share: reading the request, running what is missing, keeping ledger and record."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from pipelines.cluster import connected, gpu_refusal
from pipelines.commands.options import Options, parse_folds, required
from pipelines.configuration import as_tree, load_settings
from pipelines.errors import ClusterError, CorruptArtefactError, StoreError, WalkfoldError
from pipelines.flow import flow_graph, fold_count, known_fold_count, require_folds
from pipelines.graph import Graph
from pipelines.input_files import input_files
from pipelines.looks import LookKeeper
from pipelines.machine import executor_of, facts_of
from pipelines.planning import PlannedTask, plan
from pipelines.progress import Progress, shown
from pipelines.records import RunRecord
from pipelines.serial_runner import run_serial
from pipelines.settings import Settings
from pipelines.store import Store
from pipelines.store_opening import open_store
from pipelines.store_upkeep import kept_up
from pipelines.task_execution import Outcome

DAMAGE_RETRIES = 3  # damaged artefacts found while running are recomputed at once, this many times a run

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """What a command was asked to compute: folds (and the text that named them), configuration, graph, where it is kept."""

    settings: Settings
    folds: tuple[int, ...]
    text: str
    graph: Graph
    keeper: LookKeeper
    record: RunRecord
    quiet: bool
    started: float

    @property
    def seconds(self) -> float:
        """Seconds since the command began."""
        return time.perf_counter() - self.started


def request(options: Options, select: Callable[[Graph], Graph]) -> Request:
    """Read the command line, check what can be checked before anything is computed, and open the record."""
    started = time.perf_counter()
    arguments, overrides = options.split("fold")
    settings = load_settings(overrides, options.config)
    folds = parse_folds(required(arguments, "fold", options.command, "0"))
    if settings.cluster == "cuda" and (refusal := gpu_refusal()):
        raise ClusterError(f"cluster=cuda: {refusal}; use cluster=processes to run on the CPU")
    files = input_files(settings)  # before the store: a mistyped data=DIR must not create one
    store = open_store(settings)
    if folds is None:
        folds = tuple(range(fold_count(settings, store)))
    graph = select(flow_graph(settings, folds))
    require_folds(folds, known_fold_count(graph, store))
    asked = {"fold": arguments["fold"], "configuration": as_tree(settings), "command": options.command}
    record = RunRecord.begin(store, asked)
    keeper = LookKeeper(graph, store, settings.instrument.root, files, record.run)
    return Request(settings, folds, arguments["fold"], graph, keeper, record, options.quiet, started)


@contextmanager
def recorded(asked: Request) -> Iterator[None]:
    """Whatever ends the run badly stands in its record; a store that cannot be written is told as such."""
    store = asked.keeper.store
    tasks = {task.key: task.node.name for task in asked.graph.tasks}
    try:
        with kept_up(store, asked.settings, tasks, asked.record.append):
            yield
    except OSError as error:
        raise StoreError(
            f"cannot write the record, ledger or report of the run below {store.location}: {error.strerror or error}; "
            "free space there or choose another store with store=DIR"
        ) from None
    except BaseException as error:
        with suppress(StoreError):  # a server that cannot be reached must not hide why the run ended
            asked.record.append("ended", status=_status(error), error=str(error), seconds=asked.seconds)
        raise


def run_graph(asked: Request, finish: Callable[[dict[str, Outcome]], T]) -> tuple[dict[str, Outcome], T]:
    """Run what the store lacks, then `finish`; a damaged artefact found on the way is recomputed."""
    outcomes: dict[str, Outcome] = {}
    keeper, record = asked.keeper, asked.record

    def note(outcome: Outcome) -> None:
        outcomes[outcome.task] = outcome
        keeper.note(outcome.task)  # before anything else can fail: a look that has happened counts
        record.append("task", **vars(outcome))

    for attempt in range(DAMAGE_RETRIES + 1):
        planned = plan(asked.graph, keeper.store)
        waiting = [row for row in planned if not row.cached]
        with shown(len(waiting), asked.quiet) as progress:
            try:
                _run_missing(waiting, asked.settings, keeper.store, progress, note)
                for row in planned:
                    if row.cached and row.task.name not in outcomes:
                        facts = facts_of(keeper.store.manifest(row.task.key))
                        note(Outcome(row.task.name, row.task.key, 0.0, True, "", 0, facts))
                if reason := executor_of(outcomes.values(), "")["fallback_reason"]:
                    progress.say(f"sweeps fell back to the CPU: {reason}")
                return outcomes, finish(outcomes)
            except CorruptArtefactError as error:
                if attempt == DAMAGE_RETRIES:
                    raise
                record.append("damaged", error=str(error))
                progress.say(f"{error}: recomputing")
    raise AssertionError("the last attempt returns or raises")


def _run_missing(
    waiting: Sequence[PlannedTask], settings: Settings, store: Store, progress: Progress, note: Any
) -> None:
    """Run on the configured cluster; nothing is started when nothing is missing."""

    def report(outcome: Outcome) -> None:
        note(outcome)
        progress.finished(outcome)

    tasks = [row.task for row in waiting]
    if not tasks:
        progress.say("everything is cached")
    elif settings.cluster == "serial":
        run_serial(tasks, store, report)
    else:
        from pipelines.dask_runner import run_dask

        with connected(settings) as client:
            run_dask(tasks, store, report, client)


def _status(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return error.exit_code.name.lower() if isinstance(error, WalkfoldError) else "failed"
