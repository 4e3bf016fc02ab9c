"""What the commands that compute share: reading the request, running what is missing, keeping ledger and record."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pipelines.commands.options import Options, required
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
from pipelines.execution.cluster import gpu_refusal, report_refusal
from pipelines.execution.machine import executor_of, remarks
from pipelines.execution.runners import runner
from pipelines.execution.selection import Selection, selected
from pipelines.execution.task_execution import Outcome
from pipelines.feature_sets import note_use
from pipelines.flow import OpenFlow, fold_count, open_flow
from pipelines.graphs.graph import NOTHING, Graph
from pipelines.graphs.partial import Part
from pipelines.graphs.planning import PlannedTask, note_code, plan, uncovered
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


@dataclass
class Request:
    """What a command was asked to compute: folds (and the text that named them), configuration, where it is kept.

    `whole` is the graph of the flow, `graph` the part of it that is to run. While the number of folds is not known, `graph`
    is the stage that counts them, `rest` makes of it all that is to run, and `foreseen` is what one fold will need; `run_graph`
    goes on to the rest. `hold` keeps further artefacts (key → node) from eviction as long as the run lives.
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
    rest: Callable[[Sequence[int]], Selection] | None = None
    foreseen: Graph = NOTHING
    hold: Callable[[Mapping[str, str]], None] = lambda tasks: None

    @property
    def seconds(self) -> float:
        """Seconds since the command began."""
        return time.perf_counter() - self.started

    def unfold(self) -> None:
        """Go on from the stage that has counted the folds to all that is to run."""
        assert self.rest is not None
        found = self.rest(range(fold_count(self.graph, self.keeper.store)))
        self.folds, self.whole, self.graph = found.folds, found.whole, found.graph
        self.rest, self.foreseen, self.keeper.graph = None, NOTHING, found.whole
        self.hold(nodes_by_key(found.graph, found.whole))


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
    store = open_store(settings)
    found = selected(opened, select, part, text, store)
    record = RunRecord.begin(store, request_facts(options, opened, found.folds, text, arguments))
    keeper = LookKeeper(found.whole, store, settings.instrument.root, record.run)
    return Request(
        opened.settings, found.folds, text, found.whole, found.graph, keeper, record, options.quiet, started, report,
        found.rest, found.foreseen,
    )  # fmt: skip


def nodes_by_key(graph: Graph, whole: Graph) -> dict[str, str]:
    """The node of each key that a part of the flow makes, or reads without making it."""
    used = {name for task in graph.tasks for name in (task.name, *task.upstream)}
    return {task.key: task.node.name for task in whole.tasks if task.name in used}


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

    def expect(self, tasks: Sequence[str]) -> None:
        """Show that there is more to come."""
        self.progress.expect(tasks)


@contextmanager
def recorded(asked: Request) -> Iterator[None]:
    """Whatever ends the run badly stands in its record; a store that cannot be written is told as such."""
    store = asked.keeper.store
    try:
        with kept_up(store, asked.settings, nodes_by_key(asked.graph, asked.whole), asked.record.append) as asked.hold:
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
    """Run what the store lacks, then `finish`; a damaged artefact found on the way is recomputed.

    Where the number of folds is not known, what counts them runs first, and the rest is planned after it.
    """
    outcomes: dict[str, Outcome] = {}
    keeper, record = asked.keeper, asked.record

    def note(outcome: Outcome) -> None:
        outcomes[outcome.task] = outcome
        keeper.note(outcome.task)  # before anything else can fail: a look that has happened counts
        record.append("task", **vars(outcome))

    for attempt in range(DAMAGE_RETRIES + 1):
        planned = _planned(asked)
        with shown([row.task.name for row in planned if not row.cached], asked.quiet) as progress:
            for text in uncovered((asked.foreseen if asked.rest else asked.graph).tasks) if attempt == 0 else ():
                record.append("warning", text=text)
                progress.say(text)
            try:
                planned = _run_missing(planned, asked, Recorded(progress, record), note)
                for row in planned:
                    if row.cached and row.task.name not in outcomes:
                        note(stored(row.task, keeper.store))
                for text in remarks(outcomes.values()):
                    record.append("warning", text=text)
                    progress.say(text)
                return outcomes, finish(outcomes)
            except CorruptArtefactError as error:
                if attempt == DAMAGE_RETRIES:
                    raise
                record.append("damaged", error=str(error))
                progress.say(f"{error}: recomputing")
    raise AssertionError("the last attempt returns or raises")


def _planned(asked: Request, before: Sequence[PlannedTask] = ()) -> tuple[PlannedTask, ...]:
    """Plan and record the graph; what the stage `before` has computed keeps its reason."""
    note_code(asked.graph, asked.keeper.store)
    note_use(asked.keeper.store, asked.graph, asked.whole)
    earlier = {row.task.name: row for row in before}
    planned = tuple(earlier.get(row.task.name, row) for row in plan(asked.graph, asked.keeper.store))
    counted = {"folds": list(asked.folds)} if before else {}
    asked.record.append("planned", **counted, **plan_facts(planned))
    return planned


def _run_missing(
    planned: tuple[PlannedTask, ...], asked: Request, progress: Recorded, note: Callable[[Outcome], None]
) -> tuple[PlannedTask, ...]:
    """Run on the configured cluster, in two stages where the first says how many folds there are; return the whole plan.

    Nothing is started when nothing is missing.
    """

    def report(outcome: Outcome) -> None:
        note(outcome)
        progress.finished(outcome)

    if asked.rest is None and all(row.cached for row in planned):
        progress.say("everything is cached")
        return planned
    with runner(asked, report, progress) as run:
        run([row.task for row in planned if not row.cached], asked.foreseen.tasks)
        if asked.rest is None:
            return planned
        asked.unfold()
        done = {row.task.name for row in planned}
        planned = _planned(asked, planned)
        more = [row.task for row in planned if not row.cached and row.task.name not in done]
        progress.expect([task.name for task in more])
        if more:
            run(more, ())
        return planned


def _status(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return error.exit_code.name.lower() if isinstance(error, WalkfoldError) else "failed"
