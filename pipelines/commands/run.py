"""`pipeline run fold=N`: plans, runs what is not cached, keeps the ledger and the record, writes the report."""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipelines.cluster import connected, gpu_refusal
from pipelines.commands.options import Options, parse_folds, required
from pipelines.configuration import as_tree, load_settings
from pipelines.errors import ClusterError, CorruptArtefactError, ExitCode, StoreError, WalkfoldError
from pipelines.flow import flow_graph, fold_count, known_fold_count, require_folds
from pipelines.graph import Graph
from pipelines.input_files import input_files
from pipelines.looks import LookKeeper
from pipelines.planning import PlannedTask, plan
from pipelines.progress import Progress, shown
from pipelines.records import RunRecord
from pipelines.results import FoldResult, finish_data, finish_fold
from pipelines.serial_runner import run_serial
from pipelines.settings import Settings
from pipelines.store import Store
from pipelines.task_execution import Outcome

DAMAGE_RETRIES = 3  # damaged artefacts found while running are recomputed at once, this many times a run


def execute(options: Options) -> int:
    """Run the folds and print the reports' paths, or one JSON object with --json."""
    started = time.perf_counter()
    arguments, overrides = options.split("fold")
    settings = load_settings(overrides, options.config)
    folds = parse_folds(required(arguments, "fold", "run", "0"))
    if settings.cluster == "cuda" and (refusal := gpu_refusal()):
        raise ClusterError(f"cluster=cuda: {refusal}; use cluster=processes to run on the CPU")
    files = input_files(settings)  # before the store: a mistyped data=DIR must not create one
    store = Store.open(Path(settings.store))
    if folds is None:
        folds = tuple(range(fold_count(settings, store)))
    graph = flow_graph(settings, folds)
    require_folds(folds, known_fold_count(graph, store))
    record = RunRecord.begin(store, {"fold": arguments["fold"], "configuration": as_tree(settings), "command": "run"})
    try:
        keeper = LookKeeper(graph, store, settings.instrument.root, files, record.run)
        outcomes, results, data_report = _run(graph, folds, settings, keeper, record, options.quiet)
    except OSError as error:
        raise StoreError(
            f"cannot write the record, ledger or report of the run below {store.root}: {error.strerror}; free space there or "
            "choose another store with store=DIR"
        ) from None
    except BaseException as error:
        record.append("ended", status=_status(error), error=str(error), seconds=time.perf_counter() - started)
        raise
    seconds = time.perf_counter() - started
    reports = {"report": results[0].report, "reports": [row.report for row in results], "data_report": data_report}
    record.append("ended", status="done", seconds=seconds, **reports)
    _print(options, record, results, data_report, outcomes, settings, arguments["fold"])
    return ExitCode.DONE


def _run(
    graph: Graph, folds: Sequence[int], settings: Settings, keeper: LookKeeper, record: RunRecord, quiet: bool
) -> tuple[dict[str, Outcome], list[FoldResult], str]:
    """Run what the store lacks and write the reports, the data report last; a damaged artefact found is recomputed."""
    outcomes: dict[str, Outcome] = {}

    def note(outcome: Outcome) -> None:
        outcomes[outcome.task] = outcome
        keeper.note(outcome.task)  # before anything else can fail: a look that has happened counts
        record.append("task", **vars(outcome))

    for attempt in range(DAMAGE_RETRIES + 1):
        planned = plan(graph, keeper.store)
        waiting = [row for row in planned if not row.cached]
        with shown(len(waiting), quiet) as progress:
            try:
                _run_missing(waiting, settings, keeper.store, progress, note)
                for row in planned:
                    if row.cached and row.task.name not in outcomes:
                        note(Outcome(row.task.name, row.task.key, 0.0, True, "", 0))
                results = [finish_fold(graph, fold, settings, keeper, record, outcomes) for fold in folds]
                return outcomes, results, finish_data(graph, settings, keeper.store, record)
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


def _print(
    options: Options,
    record: RunRecord,
    results: Sequence[FoldResult],
    data_report: str,
    outcomes: dict[str, Outcome],
    settings: Settings,
    fold: str,
) -> None:
    if not options.json:
        for result in results:
            sys.stdout.write(f"fold {result.fold}: {result.headline}\n{result.report}\n")
        return
    first = results[0]
    document: dict[str, Any] = {
        "run": record.run,
        "fold": first.fold if len(results) == 1 else fold,
        "status": "done",
        "report": first.report,
        "data_report": data_report,
        "metrics": first.metrics,
        "nodes": [
            {"name": row.task, "key": row.key, "seconds": round(row.seconds, 3), "cached": row.cached}
            for row in outcomes.values()
        ],
        "executor": settings.sweep.executor,
        "fallback_reason": None,
    }
    if len(results) > 1:
        document["folds"] = [{"fold": row.fold, "report": row.report, "metrics": row.metrics} for row in results]
    sys.stdout.write(json.dumps(document) + "\n")
