"""`pipeline run fold=N`: plans, runs what is not cached, keeps the ledger and the record, writes the report."""

import json
import sys
from typing import Any

from pipelines.commands.options import Options
from pipelines.errors import ExitCode
from pipelines.execution.running import Request, done, recorded, request, run_graph
from pipelines.execution.task_execution import Outcome
from pipelines.graphs.graph import Graph
from pipelines.results import (
    DATA_CONTENT,
    FEATURE_SET,
    POOLED,
    FoldResult,
    content_of,
    finish_data,
    finish_fold,
    finish_pooled,
)
from pipelines.storage.store import Store


def execute(options: Options) -> int:
    """Run the folds and print the reports' paths, or one JSON object with --json.

    Without a report, in a flow of the user's own or a part of one, it prints where the last artefacts lie.
    """
    if options.reproduce:
        from pipelines.commands import reproduce

        return reproduce.execute(options)
    asked = request(options, lambda graph: graph)

    def finish(outcomes: dict[str, Outcome]) -> tuple[list[FoldResult], str | None, dict[str, Any] | None]:
        graph, settings, keeper, record = asked.whole, asked.settings, asked.keeper, asked.record
        folds = [fold for fold in asked.folds if content_of(fold) in asked.graph]
        results = [finish_fold(graph, fold, settings, keeper, record, outcomes) for fold in folds]
        data = finish_data(graph, settings, keeper.store, record) if DATA_CONTENT in asked.graph else None
        return results, data, finish_pooled(graph, keeper, record) if POOLED in asked.graph else None

    with recorded(asked):
        outcomes, (results, data_report, pooled) = run_graph(asked, finish)
    used = done(asked, outcomes, **_reported(asked, results, data_report, pooled))
    made = last_artefacts(asked.graph, asked.keeper.store)
    document = {
        "run": asked.record.run,
        "fold": asked.folds[0] if len(asked.folds) == 1 else asked.text or None,
        "status": "done",
        "report": results[0].report if results else None,
        "data_report": data_report,
        "metrics": results[0].metrics if results else {},
        "nodes": node_rows(outcomes),
        "artefacts": made,
        **used,
    }
    if len(results) > 1:
        document["folds"] = [{"fold": row.fold, "report": row.report, "metrics": row.metrics} for row in results]
        document["pooled"] = pooled
    if options.json:
        sys.stdout.write(json.dumps(document) + "\n")
    else:
        sys.stdout.write("".join(_lines(results, pooled, made)))
    return ExitCode.DONE


def _reported(
    asked: Request, results: list[FoldResult], data_report: str | None, pooled: dict[str, Any] | None
) -> dict[str, Any]:
    """What the record keeps of the results: reports, headlines and figures by fold, the feature set."""
    return {
        "report": results[0].report if results else None,
        "reports": [row.report for row in results],
        "data_report": data_report,
        "pooled_report": None if pooled is None else pooled["report"],
        "headlines": {str(row.fold): row.headline.partition("\n")[0] for row in results},
        "metrics": {str(row.fold): row.metrics for row in results},
        "feature_set": asked.whole[FEATURE_SET].key if FEATURE_SET in asked.whole else None,
    }


def _lines(results: list[FoldResult], pooled: dict[str, Any] | None, made: list[dict[str, Any]]) -> list[str]:
    lines = [f"fold {row.fold}: {row.headline}\n{row.report}\n" for row in results]
    if pooled is not None:
        lines.append(f"{len(results)} folds together: {pooled['headline']}\n{pooled['report']}\n")
    return lines or [f"{row['name']}  {row['path']}\n" for row in made]


def last_artefacts(graph: Graph, store: Store) -> list[dict[str, Any]]:
    """The tasks of the graph that no other of it reads, and the folders of their artefacts."""
    read = {name for task in graph.tasks for name in task.upstream}
    ends = [task for task in graph.tasks if task.name not in read]
    return [{"name": task.name, "key": task.key, "path": str(store.folder(task.key))} for task in ends]


def node_rows(outcomes: dict[str, Outcome]) -> list[dict[str, Any]]:
    """The tasks as the JSON of a command lists them."""
    return [
        {"name": row.task, "key": row.key, "seconds": round(row.seconds, 3), "cached": row.cached}
        for row in outcomes.values()
    ]
