"""`pipeline sweep fold=N`: only the sweep of a fold, up to the rankings; prints the best combination of each strategy."""

import json
import math
import sys
from typing import Any

from pipelines import artefacts
from pipelines.commands.options import Options
from pipelines.commands.run import node_rows
from pipelines.errors import ExitCode
from pipelines.graph import Graph
from pipelines.running import Request, done, recorded, request, run_graph
from pipelines.steps.sweeping import StrategyRanking
from pipelines.task_execution import Outcome

RANKING = "ranking"
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
        sys.stdout.write("".join(_line(row) for row in best))
    return ExitCode.DONE


def _only_sweeps(graph: Graph) -> Graph:
    return graph.needed_for([task.name for task in graph.tasks if task.node.name == RANKING])


def _best(asked: Request) -> list[dict[str, Any]]:
    """Of each fold and strategy: its parameters, where it stands among how many, and its metrics on validation rows."""
    found = []
    for task in asked.graph.tasks:
        if task.node.name != RANKING:
            continue
        ranking: StrategyRanking = artefacts.read_parts(asked.keeper.store.verified(task.key), task.kind)
        place = dict(task.coordinates)
        found.append(
            {
                "fold": place["fold"],
                "strategy": place["strategy"],
                "combinations": ranking.trials,
                "rank_by": ranking.metric,
                "best": ranking.best or None,
                "metrics": _metrics(ranking),
            }
        )
    return found


def _metrics(ranking: StrategyRanking) -> dict[str, float | None]:
    """The best combination's metrics; an undefined one is None, and there are none where no combination has a value."""
    if not ranking.best:
        return {}
    table = ranking.table
    same = (table[list(ranking.best)] == list(ranking.best.values())).all(axis=1)
    row = table[same].iloc[0]
    names = [name for name in table.columns if name not in ranking.parameters]
    return {name: float(row[name]) if math.isfinite(row[name]) else None for name in names}


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


def _line(row: dict[str, Any]) -> str:
    begin = f"fold {row['fold']}: {row['strategy']:<20} {row['combinations']:>7,} combinations  "
    if not row["best"]:
        return f"{begin}none has a {row['rank_by']}\n"
    parameters = " ".join(f"{name}={value:g}" for name, value in row["best"].items())
    names = dict.fromkeys((row["rank_by"], *SHOWN))
    metrics = "  ".join(f"{name} {row['metrics'][name]:.4g}" for name in names if row["metrics"][name] is not None)
    return f"{begin}{parameters}  {metrics}\n"
