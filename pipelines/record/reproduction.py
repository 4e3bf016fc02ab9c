"""Reruns a recorded run in a fresh store and compares what each task made, by the bytes, with what the record says."""

import copy
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.commands.options import Options
from pipelines.config.configuration import recorded_settings
from pipelines.config.settings import Settings
from pipelines.errors import UsageError
from pipelines.execution.running import Request, run_graph
from pipelines.flow import OpenFlow, open_flow
from pipelines.graphs.graph import Graph, Task
from pipelines.graphs.planning import plan
from pipelines.record.ledger import Ledger
from pipelines.record.looks import LookKeeper
from pipelines.record.record_compare import changed_files, code_differences, environment_differences, outputs_by_task
from pipelines.record.records import RunRecord, versions
from pipelines.record.run_facts import plan_facts, request_facts
from pipelines.storage.store import Store

FREE = ("data", "cluster", "workers")  # what may be given anew: none of it is in any key
FOLDER = "reproduced"


@dataclass(frozen=True)
class Attempt:
    """A recorded run, opened again: the request in a fresh store, and what has changed since by the record's own measure."""

    old: Mapping[str, Any]
    now: Mapping[str, Any]
    asked: Request
    gone: tuple[str, ...]

    @property
    def changed(self) -> dict[str, Any]:
        """What differs from the record before anything has run: nodes whose code changed, files, versions and machine."""
        return {
            "code": sorted(code_differences(self.old, self.now)),
            "data": [row["name"] for row in changed_files(self.old, self.now)],
            "environment": environment_differences(self.old, self.now),
        }


def attempt(options: Options, old: Mapping[str, Any], overrides: Sequence[str], store: Store) -> Attempt:
    """Open what the record describes, with its record in `store` and its artefacts in a fresh store below it.

    Raises UsageError where the record does not hold enough, and where input files are gone.
    """
    started = time.perf_counter()
    settings = _settings(old, overrides)
    if not any(word.startswith("data=") for word in overrides):
        _require_files(old, [row for row in old["inputs"] if not Path(row["path"]).is_file()])
    opened = open_flow(settings)
    present = {one.sha256 for group in opened.files.values() for one in group}
    if any(word.startswith("data=") for word in overrides):
        names = {one.path.name for group in opened.files.values() for one in group}
        lost = [row for row in old["inputs"] if row["sha256"] not in present and Path(row["path"]).name not in names]
        _require_files(old, lost)
    folds = tuple(int(fold) for fold in old["folds"])
    whole = opened.graph(folds)
    recorded = outputs_by_task(old)
    graph = whole.needed_for([name for name in recorded if name in whole])
    facts = {**request_facts(options, opened, folds, str(old["fold"]), {}), "reproduces": old["run"]}
    record = RunRecord.begin(store, facts)
    fresh = Store.open(store.root / FOLDER / record.run)
    asked = _request(settings, opened, whole, graph, fresh, record, options.quiet, started, str(old["fold"]), folds)
    now = {**facts, **plan_facts(plan(graph, fresh)), "versions": versions()}
    return Attempt(old, now, asked, tuple(name for name in recorded if name not in whole))


def run_and_compare(tried: Attempt) -> dict[str, Any]:
    """Run everything anew; return {"compared", "same", "differs"}: each task with other bytes and why, in the flow's order."""
    asked = tried.asked
    outcomes, _ = run_graph(asked, lambda outcomes: None)
    _keep_looks(asked)
    before = outputs_by_task(tried.old)
    differs = [{"task": name, "reasons": ["code changed: the flow has no such task now"]} for name in tried.gone]
    compared = [task for task in asked.graph.tasks if task.name in before]
    for task in compared:
        now = outcomes[task.name].output
        if now != before[task.name]:
            differs.append({"task": task.name, "recorded": before[task.name], "now": now, "reasons": reasons(tried, task)})
    return {"compared": len(before), "same": len(before) - len(differs), "differs": differs}


def reasons(tried: Attempt, task: Task) -> list[str]:
    """Why a task makes other bytes than recorded, while all that it reads from other tasks is the same."""
    old, now = tried.old, tried.now
    found = []
    if {task.name, task.node.name} & code_differences(old, now):
        found.append("code changed")
    before, here = (old.get("libraries") or {}).get(task.node.name, {}), task.parts["libraries"]
    moved = [f"{name} {before.get(name, 'none')} → {here[name]}" for name in here if before.get(name) != here[name]]
    if before and moved:
        found.append(f"versions changed: {', '.join(moved)}")
    files = [row["name"] for row in changed_files(old, now) if row["name"].partition("/")[0] in task.node.files.values()]
    if files:
        found.append(f"data changed: {', '.join(files)}")
    if found:
        return found
    others = [f"{row['name']} {row['first']} → {row['second']}" for row in environment_differences(old, now)]
    if others:
        return [f"nothing in its key changed, but its surroundings did: {', '.join(others)}"]
    return ["nothing recorded has changed: the node does not give the same result twice, or reads what it does not declare"]


def discard(tried: Attempt) -> None:
    """Delete the fresh store."""
    fresh = tried.asked.keeper.store.root
    shutil.rmtree(fresh, ignore_errors=True)
    if not any(fresh.parent.iterdir()):
        fresh.parent.rmdir()


def _settings(old: Mapping[str, Any], overrides: Sequence[str]) -> Settings:
    if not outputs_by_task(old) or "inputs" not in old or not old.get("configuration"):
        raise UsageError(
            f"run {old['run']} ({old['status']}) cannot be reproduced: its record holds no outputs of tasks to compare with"
        )
    return recorded_settings(copy.deepcopy(old["configuration"]), overrides, FREE)


def _require_files(old: Mapping[str, Any], missing: Sequence[Mapping[str, Any]]) -> None:
    if not missing:
        return
    first, here = missing[0], Path.cwd()
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    remedy = "put them back, or name the folder that holds them with data=DIR"
    if not Path(first["path"]).is_absolute() and old.get("folder") not in (None, str(here)):
        remedy += f"; the run was started in {old['folder']}, its paths are relative to that"
    name = f"{first['path']} (sha256 {first['sha256'][:12]})"
    raise UsageError(f"run {old['run']} cannot be reproduced: its inputs are gone: {name}{more}; {remedy}")


def _request(
    settings: Settings,
    opened: OpenFlow,
    whole: Graph,
    graph: Graph,
    fresh: Store,
    record: RunRecord,
    quiet: bool,
    started: float,
    text: str,
    folds: tuple[int, ...],
) -> Request:
    keeper = LookKeeper(whole, fresh, settings.instrument.root, record.run)
    return Request(opened.settings, folds, text, whole, graph, keeper, record, quiet, started)


def _keep_looks(asked: Request) -> None:
    """Looks count wherever they happened: where the results differ, the rows were looked at once more."""
    ledger = Ledger.of(asked.record.store, asked.keeper.root)
    for look in asked.keeper.ledger.looks().values():
        ledger.record(look, asked.keeper.opened)
