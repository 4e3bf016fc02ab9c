"""What is done with a finished run: the data report, and of each fold its ledger, report and figures."""

import math
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipelines import artefacts
from pipelines.configuration import as_tree
from pipelines.graph import Graph, InputFile, Task
from pipelines.ledger import Ledger, Look
from pipelines.published import PublishedSet, PublishedSets
from pipelines.records import RunRecord, versions
from pipelines.report.data_page import write_data_report
from pipelines.report.overfitting import verdict
from pipelines.report.page import write_report
from pipelines.settings import Settings
from pipelines.store import Store
from pipelines.task_execution import Outcome

CONTENT = "report_content"
DATA_CONTENT = "data_report_content"
DATA_PAGE = "data.html"
FEATURE_SET = "feature_set"


@dataclass(frozen=True)
class FoldResult:
    """A fold's report and figures."""

    fold: int
    report: str
    headline: str
    metrics: dict[str, dict[str, float | None]]


def finish_data(graph: Graph, settings: Settings, store: Store, record: RunRecord) -> str:
    """Write the data report, compared with the set reported before, into the run's folder; return its path."""
    task, feature_set = graph[DATA_CONTENT], graph[FEATURE_SET].key
    content = artefacts.read_parts(store.verified(task.key), task.kind)
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
    files: Mapping[str, tuple[InputFile, ...]],
    store: Store,
    record: RunRecord,
    outcomes: Mapping[str, Outcome],
) -> FoldResult:
    """Count the looks of the fold's evaluations, write its report and return its figures."""
    task = graph[f"{CONTENT}[fold={fold}]"]
    content = artefacts.read_parts(store.verified(task.key), task.kind)
    mine = [graph[name] for name in _with_upstream(graph, task)]
    ledger = _ledger(store, settings, files, content.document, fold)
    for each in mine:
        if each.node.evaluates:
            ledger.record(Look(each.key, each.name, each.node.evaluates, outcomes[each.name].trials, record.run))
    looks = ledger.summary()
    run = {
        "run": record.run,
        "created": _now(),
        "command": " ".join(["pipeline", *sys.argv[1:]]),
        "configuration": as_tree(settings),
        "nodes": [
            {"name": row.task, "key": row.key, "seconds": row.seconds, "cached": row.cached}
            for row in (outcomes[each.name] for each in mine)
        ],
        "executor": settings.sweep.executor,
        "fallback_reason": None,
        "versions": versions(),
        "seeds": list(settings.training.seeds),
        "ledger": looks,
        "data_report": f"../{DATA_PAGE}",
    }
    path = record.folder / f"fold-{fold}" / "report.html"
    write_report(content, run, path)
    headline = str(verdict(content.document, looks)["headline"])
    return FoldResult(fold, str(path), headline, _metrics(content.document))


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _with_upstream(graph: Graph, task: Task) -> list[str]:
    return [each.name for each in graph.needed_for([task.name]).tasks]


def _ledger(
    store: Store, settings: Settings, files: Mapping[str, tuple[InputFile, ...]], document: Mapping[str, Any], fold: int
) -> Ledger:
    """The ledger of these rows: the same files and instants share it, whatever the configuration was."""
    data = {"root": settings.instrument.root, "files": sorted(item.sha256 for item in files["bars"])}
    entry = next(row for row in document["folds"] if row["fold"] == fold)
    ranges = {part: [entry[part]["first"], entry[part]["last"]] for part in ("validation", "test")}
    return Ledger.of(store, data, ranges)


def _metrics(document: Mapping[str, Any]) -> dict[str, dict[str, float | None]]:
    return {
        model["model"]: {
            name: value if value is not None and math.isfinite(value) else None
            for name, value in model["metrics"].items()
        }
        for model in document["models"]
    }
