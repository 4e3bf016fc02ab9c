"""What a run would do: which tasks are cached, which will run, and why."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pipelines.graphs.graph import Graph, Task
from pipelines.keying.code_closure import ANNOTATIONS, ORDER
from pipelines.storage.json_values import json_value
from pipelines.storage.store import Store

REMEDY = "import modules by name, make files inputs of a node (docs/flows.md#content-keys)"
MOST_NAMED = 3  # changed definitions in the reason of a plan


@dataclass(frozen=True)
class PlannedTask:
    """A task, whether its artefact is in the store, and the reason when it is not."""

    task: Task
    cached: bool
    reason: str


def note_code(graph: Graph, store: Store) -> None:
    """Keep the definitions behind each code hash of the graph, so that a later plan can say which of them changed."""
    for digest, code in {task.code.digest: task.code.definitions for task in graph.tasks}.items():
        path = f"code/{digest}.json"
        if store.files.read(path) is None:
            store.files.write(path, json.dumps(code).encode())


def definitions(store: Store, digest: str) -> dict[str, str]:
    """Return the definitions behind a hash of code that `note_code` kept; nothing where they are not known."""
    try:
        found = json_value(store.files.read(f"code/{digest}.json"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def uncovered(tasks: Iterable[Task]) -> list[str]:
    """Say in words what the user's code may depend on that no key sees, each once with a node that it concerns."""
    said: dict[str, str] = {}
    for task in tasks:
        for text in task.code.uncovered:
            said.setdefault(text, f"node {task.node.name}: {text}; {REMEDY}")
    return list(said.values())


def plan(graph: Graph, store: Store) -> tuple[PlannedTask, ...]:
    """Look every key up in the store; reads manifests only."""
    return tuple(_planned(task, store) for task in graph.tasks)


def _planned(task: Task, store: Store) -> PlannedTask:
    if store.manifest(task.key) is not None:
        return PlannedTask(task, True, "cached")
    before = store.remembered(task.name)
    if any(one.get("key") == task.key for one in before):
        return PlannedTask(task, False, "its artefact is gone or damaged")
    # of the last times it ran, with whatever data and configuration, the one that differs least explains best
    reasons = min((_differences(one, task, store) for one in before), key=_size, default=["never computed"])
    return PlannedTask(task, False, "; ".join(reasons) or "the format of artefacts changed")


def _differences(before: Mapping[str, Any], task: Task, store: Store) -> list[str]:
    """Name what changed since the task ran so: code, configuration (which keys), input (which) or libraries."""
    old, new = before.get("parts", {}), task.parts
    reasons = []
    if old.get("code") != new["code"]:
        reasons.append("code changed" + _which(definitions(store, str(old.get("code"))), task.code.definitions))
    changed = _changed(old.get("configuration", {}), new["configuration"])
    files = [name for name in task.node.files if any(one == name or one.startswith(f"{name}.") for one in changed)]
    if settings := [name for name in changed if name.partition(".")[0] not in files]:
        reasons.append(f"configuration changed: {', '.join(settings)}")
    inputs = files + [name for name in new["inputs"] if _plain(old.get("inputs", {}).get(name)) != _plain(new["inputs"][name])]
    if inputs:
        reasons.append(f"input changed: {', '.join(inputs)}")
    if old.get("libraries") != new["libraries"]:
        reasons.append("library versions changed: " + ", ".join(_changed(old.get("libraries", {}), new["libraries"])))
    return reasons


def _which(old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """Return `: module:name, …` of the definitions that differ, nothing where the old ones are not known."""
    both = sorted({*old, *new}, key=lambda name: (name not in old or name not in new, name))  # what is edited comes first
    changed = [name for name in both if old.get(name) != new.get(name)]
    names = [name for name in changed if not name.partition(":")[2].startswith((ORDER, ANNOTATIONS))] or changed
    if not old or not names:
        return ""
    return f": {', '.join(names[:MOST_NAMED])}" + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def _size(reasons: list[str]) -> int:
    """Count the single differences a list of reasons names."""
    return sum(1 + (reason.count(",") if not reason.startswith("code") else 0) for reason in reasons)


def _changed(old: Any, new: Any, path: str = "") -> list[str]:
    """Return the dotted names of leaves that differ."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        names = sorted(set(old) | set(new))
        return [leaf for name in names for leaf in _changed(old.get(name), new.get(name), f"{path}.{name}".lstrip("."))]
    return [] if _plain(old) == _plain(new) else [path]


def _plain(value: Any) -> Any:
    """Compare tuples and lists alike: what was remembered went through JSON."""
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
