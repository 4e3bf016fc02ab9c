"""`pipeline plan fold=N`: what would run, what is cached, why, and where it would run; computes nothing and writes nothing."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.commands.options import Options
from pipelines.config.configuration import load_settings
from pipelines.errors import ExitCode
from pipelines.execution.cluster import gpu_refusal
from pipelines.execution.placement import placements, told
from pipelines.execution.running import PARTS, fold_text
from pipelines.execution.selection import selected
from pipelines.flow import open_flow
from pipelines.graphs.partial import Part
from pipelines.graphs.planning import PlannedTask, plan, uncovered
from pipelines.storage.store_opening import existing_store

ARGUMENTS = ("fold", *PARTS)
LATER = "how many folds there are is known once the node folds has run"


@dataclass(frozen=True)
class Planned:
    """The tasks with their cache state and where each node runs; `of_a_fold`: how many tasks a fold adds of which nodes, where
    the number of folds is not known yet."""

    rows: tuple[PlannedTask, ...]
    placed: Mapping[str, Mapping[str, str]]
    of_a_fold: Mapping[str, int] = field(default_factory=dict)


def execute(options: Options) -> int:
    """Print a line a task: cached, or why it will run; `only=`, `from=` and `until=` as in `pipeline run`."""
    found = planned(options)
    for text in uncovered(row.task for row in found.rows):
        sys.stderr.write(f"{text}\n")
    if options.json:
        sys.stdout.write(json.dumps(_document(found)) + "\n")
    else:
        sys.stdout.write(_text(found))
    return ExitCode.DONE


def planned(options: Options) -> Planned:
    """Return the plan of what the command line asks for: fold 0 where it does not say which."""
    arguments, overrides = options.split(*ARGUMENTS)
    part = Part.of(arguments)
    opened = open_flow(load_settings(overrides, options.config))
    store = existing_store(opened.settings)
    text = fold_text({"fold": "0", **arguments} if opened.has_folds else arguments, opened, options.command)
    found = selected(opened, lambda graph: graph, part, text, store)
    tasks = (found.foreseen if found.rest else found.graph).tasks
    places = placements(tasks, opened.settings, None)
    if opened.settings.cluster == "cuda" and (refusal := gpu_refusal()):
        places = {name: {"where": "nowhere", "why": f"cluster=cuda is refused: {refusal}"} for name in places}
    return Planned(plan(found.certain, store), places, found.of_a_fold)


def _document(found: Planned) -> dict[str, object]:
    nodes = [
        {"name": row.task.name, "key": row.task.key, "cached": row.cached, "reason": row.reason} for row in found.rows
    ]
    missing = sum(not row.cached for row in found.rows)
    document: dict[str, object] = {
        "nodes": nodes,
        "cached": len(nodes) - missing,
        "to_run": missing,
        "placed": found.placed,
    }
    return document | ({"each_fold": found.of_a_fold} if found.of_a_fold else {})


def _text(found: Planned) -> str:
    rows = found.rows
    width = max(len(name) for name in [*(row.task.name for row in rows), *found.of_a_fold])
    lines = [
        f"{'cached  ' if row.cached else 'will run'}  {row.task.name:<{width}}  {row.task.key[:12]}"
        + ("" if row.cached else f"  {row.reason}")
        for row in rows
    ]
    often = {name: f"{count} each fold" if count else "once, of all folds" for name, count in found.of_a_fold.items()}
    lines += [f"later     {name:<{width}}  {text}" for name, text in often.items()]
    missing = sum(not row.cached for row in rows)
    running = {row.task.node.name for row in rows if not row.cached} | set(found.of_a_fold)
    lines += told({name: place for name, place in found.placed.items() if name in running})
    end = "nothing to run: everything is cached" if not missing else f"{missing} of {len(rows)} nodes will run"
    return "\n".join([*lines, f"{end}, then the rest: {LATER}" if found.of_a_fold else end]) + "\n"
