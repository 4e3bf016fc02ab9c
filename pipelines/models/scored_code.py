"""The code that a promoted model decides with: what its run was evaluated by, against what would score it now.

A model that was evaluated by other code than there is now is not scored: its positions would be those of a model that
nobody judged. The data is another matter: a refresh computes it anew with the code there is, and a score says so.
"""

from collections.abc import Mapping
from typing import Any

from pipelines.errors import UsageError
from pipelines.graphs.graph import Graph
from pipelines.graphs.planning import definitions
from pipelines.keying import keys
from pipelines.keying.code_closure import ANNOTATIONS, ORDER
from pipelines.storage.store import Store

SHORT = 16  # digits of a hash of code: enough to tell two apart, and no content key for the eviction
STRATEGY, POLICY, LINEAR = "strategy", "policy", "linear"
MOST_NAMED = 3


def code_now(kind: str, model: str) -> dict[str, str]:
    """Return the code that a model's positions are computed with: hashes by `module:name` of each definition it reaches."""
    from kernels.strategies import named_strategy
    from kernels.sweep import sweep
    from training.evaluation import policy_positions
    from training.linear import linear_positions
    from validation.normalise import normalise

    starts: Mapping[str, tuple[Any, ...]] = {
        STRATEGY: (named_strategy, sweep), POLICY: (policy_positions, normalise), LINEAR: (linear_positions, normalise),
    }  # fmt: skip
    modules = [model.partition(":")[0]] if ":" in model else []
    if modules:
        from pipelines.config.user_code import search_here

        search_here()
    found = keys.code_of(starts[kind], modules)
    return {name: code for name, code in found.items() if not name.partition(":")[2].startswith((ORDER, ANNOTATIONS))}


def code_of_tasks(store: Store, tasks: Mapping[str, str], fold: int, kind: str, model: str) -> dict[str, str]:
    """Return the tasks of a run (task → key) that compute a model's positions, and the hash of the code of each."""
    here = f"fold={fold}"
    chosen = {
        STRATEGY: (f"strategy_evaluation[{here},strategy={model}]", f"sweep[{here},strategy={model},chunk=0]"),
        POLICY: (f"policy_evaluation[{here},seed={model.rpartition(' ')[2]}]", f"normalised[{here}]"),
        LINEAR: (f"linear_evaluation[{here}]", f"normalised[{here}]"),
    }[kind]
    manifests = {task: store.manifest(tasks[task]) for task in chosen if task in tasks}
    return {task: str(manifest["parts"]["code"]) for task, manifest in manifests.items() if manifest}


def require_same(store: Store, run: str, kind: str, model: str, codes: Mapping[str, str]) -> None:
    """Raise UsageError, naming what has changed, where a model would be scored by other code than its run evaluated it by.

    `codes` are those of `code_of_tasks`; the store keeps the definitions behind each.
    """
    was: dict[str, str] = {}
    for code in codes.values():
        was |= definitions(store, code)
    if not was:
        raise UsageError(
            f"which code run {run} evaluated {model} by is no longer known: run the fold again and promote its model"
        )
    changed = sorted(name for name, code in code_now(kind, model).items() if was.get(name) != code)
    if not changed:
        return
    named = ", ".join(changed[:MOST_NAMED]) + (f" and {len(changed) - MOST_NAMED} more" if changed[MOST_NAMED:] else "")
    raise UsageError(
        f"the code of {model} is not that which run {run} evaluated: {named}; its positions would be those of another model. "
        "Run the fold again and promote the model of that run, or go back to the code of the run"
    )


def codes_of(graph: Graph) -> dict[str, str]:
    """Return the hash of each node's code in a graph."""
    return {task.node.name: task.code.digest[:SHORT] for task in graph.tasks}


def codes_of_run(store: Store, tasks: Mapping[str, str]) -> dict[str, str]:
    """Return the hash of the code of each node of a run (task → key), as far as the store still has what it made."""
    found: dict[str, str] = {}
    for task, key in tasks.items():
        node = task.partition("[")[0]
        if node not in found and (manifest := store.manifest(key)) is not None:
            found[node] = str(manifest.get("parts", {}).get("code", ""))[:SHORT]
    return found
