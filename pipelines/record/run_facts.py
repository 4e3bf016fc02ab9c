"""What a run's record says before and after its tasks: what was asked for, of which data and code, and what came of it."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines.commands.options import Options
from pipelines.config.configuration import CONFIGS, as_tree
from pipelines.config.settings import WALK_FORWARD
from pipelines.flow import OpenFlow
from pipelines.graphs.graph import Graph
from pipelines.graphs.planning import PlannedTask
from pipelines.record.outputs import output_digest
from pipelines.record.provenance import git_states, input_facts, machine_facts
from pipelines.record.redaction import current
from pipelines.storage.store import Store


def request_facts(
    options: Options, opened: OpenFlow, folds: Sequence[int], text: str, arguments: Mapping[str, str]
) -> dict[str, Any]:
    """Return the facts of a record's first line: all that is needed to ask for the same again."""
    settings = opened.settings
    here = Path.cwd()
    places = [Path(__file__), options.config or CONFIGS, *([] if settings.flow == WALK_FORWARD else [here])]
    return {
        "command": options.command,
        "words": [current().word(word) for word in options.words],
        "fold": text,
        "folds": list(folds),
        **{name: value for name, value in arguments.items() if name != "fold"},
        "folder": str(here),
        "config_file": None if options.config is None else str(options.config),
        "configuration": current().tree(as_tree(settings)),
        "inputs": input_facts(opened.files),
        "git": git_states(places),
        "machine": machine_facts(),
    }


def command_line() -> str:
    """Return this process's command line as it may be shown."""
    return " ".join(["pipeline", *map(current().word, sys.argv[1:])])


def plan_facts(planned: Sequence[PlannedTask]) -> dict[str, Any]:
    """Return what the plan says: how many tasks are cached, why the others run, and the code and libraries of each node."""
    graph = Graph(tuple(row.task for row in planned))
    return {
        "planned": {"tasks": len(planned), "cached": sum(row.cached for row in planned)},
        "reasons": {row.task.name: row.reason for row in planned if not row.cached},
        "code": code_digests(graph),
        "libraries": {task.node.name: dict(task.parts["libraries"]) for task in graph.tasks},
    }


def code_digests(graph: Graph) -> dict[str, str]:
    """Return the digest of the code of each node, and of each task whose code differs from that of its node's first task."""
    found: dict[str, str] = {}
    for task in graph.tasks:
        code = str(task.parts["code"])
        if found.setdefault(task.node.name, code) != code:
            found[task.name] = code
    return found


def outputs_of(graph: Graph, store: Store) -> dict[str, str]:
    """Return the digest of what each task of a graph made, "" where the store lacks it."""
    return {task.name: output_digest(store, store.manifest(task.key)) for task in graph.tasks}
