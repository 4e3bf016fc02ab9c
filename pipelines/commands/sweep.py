"""`pipeline sweep fold=N`: only the sweep of a fold, up to the rankings; prints the best combination of each strategy.

Beside it stands the probability that choosing it overfits (PBO), where the validation rows have sessions enough.
"""

import json
import sys
from dataclasses import asdict
from typing import Any

from pipelines.commands.figures import figures_line
from pipelines.commands.options import Options
from pipelines.commands.run import node_rows
from pipelines.errors import ExitCode
from pipelines.execution.running import Request, done, recorded, request, run_graph
from pipelines.execution.task_execution import Outcome
from pipelines.graphs.graph import Graph, task_name
from pipelines.graphs.reading import read_task
from pipelines.report.document import ranked_value
from pipelines.steps.selecting import SelectionOverfitting
from pipelines.steps.sweep_summary import NUMBER
from pipelines.steps.sweeping import StrategyRanking

RANKING, OVERFITTING = "ranking", "overfitting"
SHOWN = ("net_profit", "max_drawdown", "trades")


def execute(options: Options) -> int:
    """Run the sweeps and print a line a strategy, or one JSON object with --json; the test rows are not looked at."""
    asked = request(options, _only_sweeps)
    with recorded(asked):
        outcomes, best = run_graph(asked, lambda outcomes: _best(asked))
    used = done(asked, outcomes, sweeps=best)
    if options.json:
        sys.stdout.write(json.dumps(_document(asked, outcomes, best, used)) + "\n")
    else:
        width = max((len(row["strategy"]) for row in best), default=0)
        sys.stdout.write("".join(_line(row, width) for row in best))
    return ExitCode.DONE


def _only_sweeps(graph: Graph) -> Graph:
    return graph.needed_for([task.name for task in graph.tasks if task.node.name in (RANKING, OVERFITTING)])


def _best(asked: Request) -> list[dict[str, Any]]:
    """Of each fold and strategy: its parameters, where it stands among how many, and its metrics on validation rows."""
    found, store = [], asked.keeper.store
    for task in asked.graph.tasks:
        if task.node.name != RANKING:
            continue
        ranking: StrategyRanking = read_task(store, task)
        place = dict(task.coordinates)
        judged = asked.graph[task_name(OVERFITTING, task.coordinates)]
        selection: SelectionOverfitting = read_task(store, judged)
        found.append(
            {
                "fold": place["fold"],
                "strategy": place["strategy"],
                "search": ranking.search,
                "combinations": ranking.trials,
                "rank_by": ranking.metric,
                "best": ranking.best or None,
                "metrics": _metrics(ranking),
                "overfitting": asdict(selection),
            }
        )
    return found


def _metrics(ranking: StrategyRanking) -> dict[str, float | str | None]:
    """The best combination's metrics; an undefined one is None, an infinite one text, and there are none where no
    combination has a value.
    """
    if not ranking.best:
        return {}
    row = ranking.table.iloc[0]
    names = [name for name in ranking.table.columns if name not in (NUMBER, *ranking.parameters)]
    return {name: ranked_value(float(row[name])) for name in names}


def _document(
    asked: Request, outcomes: dict[str, Outcome], best: list[dict[str, Any]], used: dict[str, str | None]
) -> dict[str, Any]:
    single = asked.folds[0] if len(asked.folds) == 1 else asked.text
    return {
        "run": asked.record.run,
        "fold": single,
        "status": "done",
        "sweeps": best,
        "nodes": node_rows(outcomes),
        **used,
    }


def _line(row: dict[str, Any], width: int) -> str:
    begin = f"fold {row['fold']}: {row['strategy']:<{width}} {row['combinations']:>7,} combinations  "
    if not row["best"]:
        return f"{begin}none has a {row['rank_by']}\n"
    parameters = " ".join(f"{name}={value:g}" for name, value in row["best"].items())
    names = dict.fromkeys((row["rank_by"], *SHOWN))
    metrics = figures_line(row["metrics"], names)
    chance = row["overfitting"]["probability"]
    return f"{begin}best on validation rows {parameters}  {metrics}{'' if chance is None else f'  PBO {chance:.2g}'}\n"
