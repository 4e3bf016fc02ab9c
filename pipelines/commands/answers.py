"""What the commands about models print: a line a model, or one JSON object."""

import json
import sys
from collections.abc import Callable
from typing import Any

from pipelines.commands.run import node_rows
from pipelines.execution.running import Request
from pipelines.execution.task_execution import Outcome

Row = dict[str, Any]


def print_models(
    asked: Request, outcomes: dict[str, Outcome], models: list[Row], line: Callable[[Row], str], *, json_object: bool
) -> None:
    """Print the models of a run that is done."""
    if not json_object:
        sys.stdout.write("".join(line(row) for row in models))
        return
    single = asked.folds[0] if len(asked.folds) == 1 else asked.text
    document = {"run": asked.record.run, "fold": single, "status": "done", "models": models, "nodes": node_rows(outcomes)}
    sys.stdout.write(json.dumps(document) + "\n")
