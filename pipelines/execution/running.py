"""What the commands that compute share: reading the request, running what is missing, keeping ledger and record."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pipelines.commands.options import Options, parse_folds, required
from pipelines.config.configuration import load_settings
from pipelines.config.settings import Settings
from pipelines.errors import (
    ClusterError,
    CorruptArtefactError,
    ExitCode,
    NodeError,
    StoreError,
    UsageError,
    WalkfoldError,
    said,
)
from pipelines.execution.cluster import connected, described, gpu_refusal, performance_report, report_refusal
from pipelines.execution.cluster_settings import is_address
from pipelines.execution.machine import executor_of
from pipelines.execution.preflight import check_executor
from pipelines.execution.serial_runner import run_serial
from pipelines.execution.task_execution import Outcome
from pipelines.feature_sets import note_use
from pipelines.flow import OpenFlow, fold_count, known_fold_count, open_flow, require_folds
from pipelines.graphs.graph import Graph
from pipelines.graphs.partial import Part, cut, require_inputs
from pipelines.graphs.planning import PlannedTask, note_code, plan
from pipelines.record.looks import LookKeeper
from pipelines.record.records import RunRecord
from pipelines.record.run_facts import plan_facts, request_facts
from pipelines.record.run_index import write_index
from pipelines.results import stored
from pipelines.storage.store_opening import open_store
from pipelines.storage.store_upkeep import kept_up
from pipelines.viewing.progress import Progress, shown

DAMAGE_RETRIES = 3  # damaged artefacts found while running are recomputed at once, this many times a run

PARTS = ("only", "from", "until")
REPORT = "performance_report"

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """What a command was asked to compute: folds (and the text that named them), configuration, where it is kept.

    `whole` is the graph of the flow, `graph` the part of it that is to run.
    """

    settings: Settings
    folds: tuple[int, ...]
    text: str
    whole: Graph
    graph: Graph
    keeper: LookKeeper
    record: RunRecord
    quiet: bool
    started: float
    performance_report: Path | None = None

    @property
    def seconds(self) -> float:
        """Seconds since the command began."""
        return time.perf_counter() - self.started


def request(options: Options, select: Callable[[Graph], Graph]) -> Request:
    """Read the command line, check what can be checked before anything is computed, and open the record.

    `select` is the command's own choice of the flow's tasks; `only=`, `from=` and `until=` choose among them.
    """
    started = time.perf_counter()
    arguments, overrides = options.split("fold", *PARTS, REPORT)
    settings = load_settings(overrides, options.config)
    report = Path(arguments.pop(REPORT)) if REPORT in arguments else None
    if report and (refusal := report_refusal(settings, report)):
        raise UsageError(f"{REPORT}={report}: {refusal}")
    part = Part.of(arguments)
    if settings.cluster == "cuda" and (refusal := gpu_refusal()):
        raise ClusterError(f"cluster=cuda: {refusal}; use cluster=processes to run on the CPU")
    opened = open_flow(settings)  # before the store: a mistyped data=DIR must not create one
    text = fold_text(arguments, opened, options.command)
    folds = parse_folds(text) if text else ()
    store = open_store(settings)
    if folds is None:
        folds = tuple(range(fold_count(opened, store)))
    whole = opened.graph(folds)
    graph = cut(select(whole), part)
    require_folds(folds, known_fold_count(whole, store))
    facts = request_facts(options, opened, folds, text, arguments)
    if not part.whole:
        require_inputs(graph, whole, store)
    record = RunRecord.begin(store, facts)
    keeper = LookKeeper(whole, store, settings.instrument.root, opened.files, record.run)
    return Request(opened.settings, folds, text, whole, graph, keeper, record, options.quiet, started, report)


def fold_text(arguments: Mapping[str, str], opened: OpenFlow, command: str) -> str:
    """Return which folds are asked for, as it was written; "" for a flow without folds."""
    if opened.has_folds:
        return required(arguments, "fold", command, "0")
    if "fold" in arguments:
        raise UsageError(f"fold={arguments['fold']}: the flow {opened.settings.flow} has no folds; leave it out")
    return ""


@dataclass(frozen=True)
class Recorded:
    """Progress whose beginnings and retries stand in the record too: a crash leaves what was in hand.

    A worker's word that a short task begins may come after the task itself: it is no news then.
    """

    progress: Progress
    record: RunRecord
    ended: set[str] = field(default_factory=set)

    def began(self, task: str) -> None:
        """Note and show that a task begins."""
        if task in self.ended:
            return
        self.record.append("began", task=task)
        self.progress.began(task)

    def retried(self, task: str, error: str, tries: int, wait: float) -> None:
        """Note and show that a task is tried again."""
        self.record.append("retry", task=task, error=error, tries=tries, wait=wait)
        self.progress.retried(task, error, tries, wait)

    def finished(self, outcome: Outcome) -> None:
        """Show that a task has ended: `note` of the run has recorded it."""
        self.ended.add(outcome.task)
        self.progress.finished(outcome)

    def say(self, text: str) -> None:
        """Show a line."""
        self.progress.say(text)


@contextmanager
def recorded(asked: Request) -> Iterator[None]:
    """Whatever ends the run badly stands in its record; a store that cannot be written is told as such."""
    store = asked.keeper.store
    used = {name for task in asked.graph.tasks for name in (task.name, *task.upstream)}  # a part reads what it does not make
    tasks = {task.key: task.node.name for task in asked.whole.tasks if task.name in used}
    try:
        with kept_up(store, asked.settings, tasks, asked.record.append):
            yield
    except OSError as error:
        unwritten = StoreError(
            f"cannot write the record, ledger or report of the run below {store.location}: {said(error)}; "
            "free space there or choose another store with store=DIR"
        )
        end_badly(asked.record, unwritten, asked.seconds)
        raise unwritten from None
    except BaseException as error:
        end_badly(asked.record, error, asked.seconds)
        raise


def end_badly(record: RunRecord, error: BaseException, seconds: float) -> None:
    """Write to the record why the run ended; where that cannot be written, the error itself must still be told."""
    code = error.exit_code if isinstance(error, WalkfoldError) else ExitCode.NODE_FAILED
    code = ExitCode.INTERRUPTED if isinstance(error, KeyboardInterrupt) else code
    node = {"node": error.task, "cause": error.cause} if isinstance(error, NodeError) else {}
    with suppress(OSError, StoreError):  # of a disk or a server
        record.end(_status(error), int(code), seconds, error=str(error), **node)
        write_index(record.store)


def done(asked: Request, outcomes: Mapping[str, Outcome], **results: Any) -> dict[str, str | None]:
    """Write to the record that the run is done and what came of it, refresh the index; return which executors ran."""
    used = executor_of(outcomes.values(), asked.settings.sweep.executor)
    asked.record.end("done", int(ExitCode.DONE), asked.seconds, **results, **used)
    write_index(asked.record.store)
    return used


def run_graph(asked: Request, finish: Callable[[dict[str, Outcome]], T]) -> tuple[dict[str, Outcome], T]:
    """Run what the store lacks, then `finish`; a damaged artefact found on the way is recomputed."""
    outcomes: dict[str, Outcome] = {}
    keeper, record = asked.keeper, asked.record

    def note(outcome: Outcome) -> None:
        outcomes[outcome.task] = outcome
        keeper.note(outcome.task)  # before anything else can fail: a look that has happened counts
        record.append("task", **vars(outcome))

    note_code(asked.graph, keeper.store)
    for attempt in range(DAMAGE_RETRIES + 1):
        planned = plan(asked.graph, keeper.store)
        note_use(keeper.store, asked.graph, asked.whole)
        record.append("planned", **plan_facts(planned))
        waiting = [row for row in planned if not row.cached]
        with shown([row.task.name for row in waiting], asked.quiet) as progress:
            try:
                _run_missing(waiting, asked, Recorded(progress, record), note)
                for row in planned:
                    if row.cached and row.task.name not in outcomes:
                        note(stored(row.task, keeper.store))
                if reason := executor_of(outcomes.values(), "")["fallback_reason"]:
                    record.append("warning", text=f"sweeps fell back to the CPU: {reason}")
                    progress.say(f"sweeps fell back to the CPU: {reason}")
                return outcomes, finish(outcomes)
            except CorruptArtefactError as error:
                if attempt == DAMAGE_RETRIES:
                    raise
                record.append("damaged", error=str(error))
                progress.say(f"{error}: recomputing")
    raise AssertionError("the last attempt returns or raises")


def _run_missing(
    waiting: Sequence[PlannedTask], asked: Request, progress: Progress, note: Callable[[Outcome], None]
) -> None:
    """Run on the configured cluster; nothing is started when nothing is missing."""

    def report(outcome: Outcome) -> None:
        note(outcome)
        progress.finished(outcome)

    tasks = [row.task for row in waiting]
    settings, store, logs = asked.settings, asked.keeper.store, asked.record.folder / "logs"
    if not is_address(settings.cluster):
        check_executor(tasks)
    if not tasks:
        progress.say("everything is cached")
    elif settings.cluster == "serial":
        run_serial(tasks, store, report, logs=logs, say=progress.say, watcher=progress)
    else:
        from pipelines.execution.dask_runner import run_dask

        with connected(settings) as client, performance_report(asked.performance_report):
            about = described(settings, client)
            asked.record.append("cluster", **about)
            if about["dashboard"]:
                progress.say(f"dashboard: {about['dashboard']}")
            deaths = settings.cluster_options.most_deaths
            run_dask(tasks, store, report, client, logs, progress.say, deaths, progress)


def _status(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return error.exit_code.name.lower() if isinstance(error, WalkfoldError) else "failed"
