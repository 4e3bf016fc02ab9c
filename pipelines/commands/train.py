"""`pipeline train fold=N`: only the models of a fold, chosen on its validation rows; the test rows are not looked at."""

from typing import Any

from pipelines.commands.answers import print_models
from pipelines.commands.options import Options
from pipelines.errors import ExitCode
from pipelines.execution.running import Request, done, recorded, request, run_graph
from pipelines.graphs.graph import Graph, Task
from pipelines.graphs.reading import read_task
from pipelines.storage.store import Store
from training.linear import LinearModel
from training.policy import Policy

MODELS = ("policy", "linear")


def execute(options: Options) -> int:
    """Train what is not cached and print a line a model, or one JSON object with --json."""
    asked = request(options, _only_models)
    with recorded(asked):
        outcomes, models = run_graph(asked, lambda outcomes: _models(asked))
    done(asked, outcomes, models=models)
    print_models(asked, outcomes, models, _line, json_object=options.json)
    return ExitCode.DONE


def _only_models(graph: Graph) -> Graph:
    return graph.needed_for([task.name for task in graph.tasks if task.node.name in MODELS])


def _models(asked: Request) -> list[dict[str, Any]]:
    """Of each model what was chosen on the validation rows, and its profit there in money."""
    return [_model(task, asked.keeper.store) for task in asked.graph.tasks if task.node.name in MODELS]


def _model(task: Task, store: Store) -> dict[str, Any]:
    made: Policy | LinearModel = read_task(store, task)
    row: dict[str, Any] = {"fold": dict(task.coordinates)["fold"], "key": task.key, "looks": made.looks}
    if isinstance(made, Policy):
        entry = next(one for one in made.history if one["step"] == made.chosen_step)
        row |= {"model": f"dqn seed {made.seed}", "chosen": {"step": made.chosen_step}}
    else:
        chosen = (made.horizon, made.threshold)
        entry = next(one for one in made.candidates if (one["horizon"], one["threshold"]) == chosen)
        row |= {"model": "linear", "chosen": {name: entry[name] for name in ("horizon", "quantile", "threshold")}}
    return row | {"validation_profit": float(entry["validation_profit"])}


def _line(row: dict[str, Any]) -> str:
    chosen = " ".join(f"{name}={value:g}" for name, value in row["chosen"].items())
    profit = f"validation rows: net_profit {row['validation_profit']:,.2f}"
    return f"fold {row['fold']}: {row['model']:<20} {profit}  {chosen}  ({row['looks']} looks)\n"
