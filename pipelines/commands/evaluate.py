"""`pipeline evaluate fold=N`: every model of a fold scored once on its test rows, without the report."""

import math
from typing import Any

from pipelines.commands.answers import print_models
from pipelines.commands.figures import figures_line
from pipelines.commands.options import Options
from pipelines.errors import ExitCode
from pipelines.execution.running import Request, done, recorded, request, run_graph
from pipelines.graphs.graph import Graph
from pipelines.graphs.reading import read_task
from pipelines.report.types import Evaluation
from pipelines.steps.modelling import LinearResult


def execute(options: Options) -> int:
    """Evaluate what is not cached and print a line a model, or one JSON object with --json; each look is in the ledger."""
    asked = request(options, _only_evaluations)
    with recorded(asked):
        outcomes, models = run_graph(asked, lambda outcomes: _models(asked))
    done(asked, outcomes, metrics=_by_fold(models))
    print_models(asked, outcomes, models, _line, json_object=options.json)
    return ExitCode.DONE


def _only_evaluations(graph: Graph) -> Graph:
    return graph.needed_for([task.name for task in graph.tasks if task.node.evaluates == "test"])


def _models(asked: Request) -> list[dict[str, Any]]:
    """Of each model its metrics on the test rows; an undefined one is None."""
    found = []
    for task in asked.graph.tasks:
        if task.node.evaluates == "test" and task.kind in (Evaluation, LinearResult):
            made = read_task(asked.keeper.store, task)
            scored: Evaluation = made.evaluation if isinstance(made, LinearResult) else made
            metrics = {name: value if math.isfinite(value) else None for name, value in scored.metrics.items()}
            found.append({
                "fold": dict(task.coordinates)["fold"], "model": scored.model, "key": task.key, "metrics": metrics,
            })  # fmt: skip
    return found


def _by_fold(models: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The figures as records keep them: by fold and model."""
    found: dict[str, dict[str, Any]] = {}
    for row in models:
        found.setdefault(str(row["fold"]), {})[row["model"]] = row["metrics"]
    return found


def _line(row: dict[str, Any]) -> str:
    return f"fold {row['fold']}: {row['model']:<20} test rows: {figures_line(row['metrics'])}\n"
