"""What is done with a finished run: the data report, and of each fold its ledger, report and figures."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.config.configuration import as_tree
from pipelines.config.settings import Settings
from pipelines.execution.machine import executor_of, facts_of
from pipelines.execution.task_execution import Outcome
from pipelines.graphs.graph import Graph, Task
from pipelines.graphs.reading import read_task
from pipelines.published import PublishedSet, PublishedSets
from pipelines.record.looks import LookKeeper
from pipelines.record.outputs import output_digest
from pipelines.record.records import RunRecord, versions
from pipelines.record.redaction import current
from pipelines.record.run_facts import command_line
from pipelines.report.data_page import write_data_report
from pipelines.report.overfitting import verdict
from pipelines.report.page import write_report
from pipelines.report.pooled import pooled_report, write_pooled
from pipelines.storage.store import Store

CONTENT = "report_content"
DATA_CONTENT = "data_report_content"
DATA_PAGE = "data.html"
POOLED = "pooled"
POOLED_PAGE = "folds.html"
FEATURE_SET = "feature_set"


@dataclass(frozen=True)
class FoldResult:
    """A fold's report and figures."""

    fold: int
    report: str
    headline: str
    metrics: dict[str, dict[str, float | None]]


def content_of(fold: int) -> str:
    """The task that makes what a fold's report says."""
    return f"{CONTENT}[fold={fold}]"


def finish_data(graph: Graph, settings: Settings, store: Store, record: RunRecord) -> str:
    """Write the data report, compared with the set reported before, into the run's folder; return its path."""
    task, feature_set = graph[DATA_CONTENT], graph[FEATURE_SET].key
    content = read_task(store, task)
    for line in content.document["stated_gaps"]:
        record.append("warning", text=line)
    names = [entry["name"] for entry in content.document["features"]]
    published = PublishedSets.of(store, settings.instrument.root, names)
    path = record.folder / DATA_PAGE
    run = {"run": record.run, "created": _now(), "feature_set": feature_set, "content": task.key}
    write_data_report(content, run, path, published.before(feature_set))
    published.record(PublishedSet(feature_set, task.key, record.run))
    return str(path)


def finish_fold(
    graph: Graph,
    fold: int,
    settings: Settings,
    keeper: LookKeeper,
    record: RunRecord,
    outcomes: Mapping[str, Outcome],
) -> FoldResult:
    """Write the fold's report, with all looks at its rows counted, and return its figures."""
    task = graph[content_of(fold)]
    content = read_task(keeper.store, task)
    mine = [graph[name] for name in _with_upstream(graph, task)]
    looks = keeper.summary(fold)
    rows = [outcomes.get(each.name) or stored(each, keeper.store) for each in mine]
    run = {
        "run": record.run,
        "created": _now(),
        "command": command_line(),
        "configuration": current().tree(as_tree(settings)),
        "nodes": [
            {"name": row.task, "key": row.key, "seconds": row.seconds, "cached": row.cached}
            for row in rows
        ],
        **executor_of(rows, settings.sweep.executor),
        "versions": versions(),
        "seeds": list(settings.training.seeds),
        "ledger": looks,
        "data_report": f"../{DATA_PAGE}",
    }
    path = record.folder / f"fold-{fold}" / "report.html"
    write_report(content, run, path)
    headline = str(verdict(content.document, looks)["headline"])
    for caution in content.document["cautions"]:
        headline += f"\n  caution: {caution}"
    return FoldResult(fold, str(path), headline, _metrics(content.document))


def stored(task: Task, store: Store) -> Outcome:
    """Return what is known of a task that a run finds in the store or leaves out."""
    manifest = store.manifest(task.key)
    output = output_digest(store, manifest)
    return Outcome(task.name, task.key, 0.0, True, "", 0, facts_of(manifest), output=output)


def finish_pooled(graph: Graph, keeper: LookKeeper, record: RunRecord) -> dict[str, Any] | None:
    """Write the page of all folds of the run together; return what it says, None for a single fold."""
    task = graph[POOLED]
    document = read_task(keeper.store, task).document
    if not document:
        return None
    report = pooled_report(document, keeper.pooled(document["folds"]), {"run": record.run, "created": _now()})
    path = record.folder / POOLED_PAGE
    write_pooled(report, path)
    shown = ("model", "kind", "words", "beats_flat", "net_profit", "sharpe", "probabilistic", "deflated")
    return {
        "report": str(path),
        **report["verdict"],
        "reason": report["reason"],
        "folds": report["folds"],
        "ledger": report["ledger"],
        "models": [
            {name: entry[name] for name in shown}
            | {"p_value": entry["test"]["p_value"], "sessions": entry["test"]["sessions"]}
            for entry in report["models"]
        ],
    }


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _with_upstream(graph: Graph, task: Task) -> list[str]:
    return [each.name for each in graph.needed_for([task.name]).tasks]


def _metrics(document: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    return {
        model["model"]: {
            name: value if value is not None and math.isfinite(value) else None
            for name, value in model["metrics"].items()
        }
        for model in document["models"]
    }
