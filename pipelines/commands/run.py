"""`pipeline run fold=N`: plans, runs what is not cached, keeps the ledger and the record, writes the report."""

import json
import sys
from typing import Any

from pipelines.commands.options import Options
from pipelines.errors import ExitCode
from pipelines.machine import executor_of
from pipelines.results import FoldResult, finish_data, finish_fold, finish_pooled
from pipelines.running import recorded, request, run_graph
from pipelines.task_execution import Outcome


def execute(options: Options) -> int:
    """Run the folds and print the reports' paths, or one JSON object with --json."""
    asked = request(options, lambda graph: graph)

    def finish(outcomes: dict[str, Outcome]) -> tuple[list[FoldResult], str, dict[str, Any] | None]:
        graph, settings, keeper, record = asked.graph, asked.settings, asked.keeper, asked.record
        results = [finish_fold(graph, fold, settings, keeper, record, outcomes) for fold in asked.folds]
        return results, finish_data(graph, settings, keeper.store, record), finish_pooled(graph, keeper, record)

    with recorded(asked):
        outcomes, (results, data_report, pooled) = run_graph(asked, finish)
    used = executor_of(outcomes.values(), asked.settings.sweep.executor)
    document = {
        "run": asked.record.run,
        "fold": results[0].fold if len(results) == 1 else asked.text,
        "status": "done",
        "report": results[0].report,
        "data_report": data_report,
        "metrics": results[0].metrics,
        "nodes": node_rows(outcomes),
        **used,
    }
    reports = {"report": results[0].report, "reports": [row.report for row in results], "data_report": data_report}
    asked.record.append("ended", status="done", seconds=asked.seconds, **reports, **used)
    if len(results) > 1:
        document["folds"] = [{"fold": row.fold, "report": row.report, "metrics": row.metrics} for row in results]
        document["pooled"] = pooled
    if options.json:
        sys.stdout.write(json.dumps(document) + "\n")
    else:
        lines = [f"fold {row.fold}: {row.headline}\n{row.report}\n" for row in results]
        if pooled is not None:
            lines.append(f"{len(results)} folds together: {pooled['headline']}\n{pooled['report']}\n")
        sys.stdout.write("".join(lines))
    return ExitCode.DONE


def node_rows(outcomes: dict[str, Outcome]) -> list[dict[str, Any]]:
    """The tasks as the JSON of a command lists them."""
    return [
        {"name": row.task, "key": row.key, "seconds": round(row.seconds, 3), "cached": row.cached}
        for row in outcomes.values()
    ]
