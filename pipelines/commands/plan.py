"""`pipeline plan fold=N`: what would run, what is cached, and why; computes nothing and writes nothing."""

import json
import sys

from pipelines.commands.options import Options, parse_folds
from pipelines.configuration import load_settings
from pipelines.errors import ExitCode, UsageError
from pipelines.flow import flow_graph, known_fold_count, require_folds
from pipelines.planning import PlannedTask, plan
from pipelines.store_opening import existing_store


def execute(options: Options) -> int:
    """Print a line a task: cached, or why it will run."""
    arguments, overrides = options.split("fold")
    settings = load_settings(overrides, options.config)
    folds = parse_folds(arguments.get("fold", "0"))
    store = existing_store(settings)
    graph = flow_graph(settings, folds or ())
    count = known_fold_count(graph, store)
    if folds is None:
        if count is None:
            raise UsageError("fold=all: how many folds there are is not known yet; run one first: pipeline run fold=0")
        graph = flow_graph(settings, range(count))
    else:
        require_folds(folds, count)
    planned = plan(graph, store)
    if options.json:
        rows = [
            {"name": row.task.name, "key": row.task.key, "cached": row.cached, "reason": row.reason} for row in planned
        ]
        missing = sum(not row.cached for row in planned)
        sys.stdout.write(json.dumps({"nodes": rows, "cached": len(planned) - missing, "to_run": missing}) + "\n")
    else:
        sys.stdout.write(_text(planned))
    return ExitCode.DONE


def _text(planned: tuple[PlannedTask, ...]) -> str:
    width = max(len(row.task.name) for row in planned)
    lines = [
        f"{'cached  ' if row.cached else 'will run'}  {row.task.name:<{width}}  {row.task.key[:12]}"
        + ("" if row.cached else f"  {row.reason}")
        for row in planned
    ]
    missing = sum(not row.cached for row in planned)
    end = "nothing to run: everything is cached" if not missing else f"{missing} of {len(planned)} nodes will run"
    return "\n".join([*lines, end]) + "\n"
