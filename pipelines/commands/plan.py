"""`pipeline plan fold=N`: what would run, what is cached, and why; computes nothing and writes nothing."""

import json
import sys

from pipelines.commands.options import Options, parse_folds
from pipelines.config.configuration import load_settings
from pipelines.errors import ExitCode, UsageError
from pipelines.execution.running import PARTS, fold_text
from pipelines.flow import known_fold_count, open_flow, require_folds
from pipelines.graphs.partial import Part, cut, require_inputs
from pipelines.graphs.planning import PlannedTask, plan, uncovered
from pipelines.storage.store_opening import existing_store

ARGUMENTS = ("fold", *PARTS)


def execute(options: Options) -> int:
    """Print a line a task: cached, or why it will run; `only=`, `from=` and `until=` as in `pipeline run`."""
    rows = planned(options)
    for text in uncovered(row.task for row in rows):
        sys.stderr.write(f"{text}\n")
    if options.json:
        nodes = [{"name": row.task.name, "key": row.task.key, "cached": row.cached, "reason": row.reason} for row in rows]
        missing = sum(not row.cached for row in rows)
        sys.stdout.write(json.dumps({"nodes": nodes, "cached": len(rows) - missing, "to_run": missing}) + "\n")
    else:
        sys.stdout.write(_text(rows))
    return ExitCode.DONE


def planned(options: Options) -> tuple[PlannedTask, ...]:
    """Return the plan of what the command line asks for: fold 0 where it does not say which."""
    arguments, overrides = options.split(*ARGUMENTS)
    part = Part.of(arguments)
    opened = open_flow(load_settings(overrides, options.config))
    store = existing_store(opened.settings)
    text = fold_text({"fold": "0", **arguments} if opened.has_folds else arguments, opened, options.command)
    folds = parse_folds(text) if text else ()
    whole = opened.graph(folds or ())
    count = known_fold_count(whole, store)
    if folds is None:
        if count is None:
            raise UsageError("fold=all: how many folds there are is not known yet; run one first: pipeline run fold=0")
        whole = opened.graph(range(count))
    else:
        require_folds(folds, count)
    graph = cut(whole, part)
    if not part.whole:
        require_inputs(graph, whole, store)
    return plan(graph, store)


def _text(rows: tuple[PlannedTask, ...]) -> str:
    width = max(len(row.task.name) for row in rows)
    lines = [
        f"{'cached  ' if row.cached else 'will run'}  {row.task.name:<{width}}  {row.task.key[:12]}"
        + ("" if row.cached else f"  {row.reason}")
        for row in rows
    ]
    missing = sum(not row.cached for row in rows)
    end = "nothing to run: everything is cached" if not missing else f"{missing} of {len(rows)} nodes will run"
    return "\n".join([*lines, end]) + "\n"
