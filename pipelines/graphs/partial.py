"""Part of a flow: only some tasks, from some on, or until some; what lies before must be in the store already."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.errors import UsageError
from pipelines.graphs.graph import Graph, Task
from pipelines.storage.store import Store

_BETWEEN = re.compile(r",(?![^\[]*\])")  # commas outside the brackets of a task's axes


@dataclass(frozen=True)
class Part:
    """Names of nodes or of single tasks, `sweep` or `sweep[fold=0,strategy=ema_cross,chunk=1]`; empty is no limit.

    only: these and nothing else. begin (`from=` on the command line): these and all that depends on them. until: these and
    all that they need. begin and until together: what lies between.
    """

    only: tuple[str, ...] = ()
    begin: tuple[str, ...] = ()
    until: tuple[str, ...] = ()

    @classmethod
    def of(cls, arguments: dict[str, str]) -> "Part":
        """Read the arguments `only`, `from` and `until` of a command."""
        texts = (arguments.get(name, "") for name in ("only", "from", "until"))
        part = cls(*(tuple(name.strip() for name in _BETWEEN.split(text) if name.strip()) for text in texts))
        if part.only and (part.begin or part.until):
            raise UsageError("only= names all that is to run: leave from= and until= out beside it")
        return part

    @property
    def whole(self) -> bool:
        """Whether nothing is left out."""
        return self == Part()


def cut(graph: Graph, part: Part) -> Graph:
    """Return the tasks of the part, in their order; raise UsageError for a name that the flow does not have."""
    chosen = {task.name for task in graph.tasks}
    if part.only:
        chosen = _named(graph, part.only, "only")
    if part.begin:
        after = _named(graph, part.begin, "from")
        for task in graph.tasks:
            if not after.isdisjoint(task.upstream):
                after.add(task.name)
        chosen &= after
    if part.until:
        ends = _named(graph, part.until, "until")
        chosen &= {task.name for task in graph.needed_for(sorted(ends)).tasks}
    if not chosen:
        raise UsageError(f"from={','.join(part.begin)} until={','.join(part.until)}: nothing lies between; swap them?")
    return Graph(tuple(task for task in graph.tasks if task.name in chosen))


def require_inputs(part: Graph, graph: Graph, store: Store) -> None:
    """Refuse a part one of whose tasks reads what neither the part makes nor the store has."""
    for task in part.tasks:
        if store.manifest(task.key) is not None:
            continue
        missing = [name for name in task.upstream if name not in part and store.manifest(graph[name].key) is None]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise UsageError(
                f"{task.name} reads {missing[0]}{more}, which the store does not have for this code, configuration and data: "
                f"run until={graph[missing[0]].node.name} first, or leave only= and from= out"
            )


def _named(graph: Graph, names: Sequence[str], argument: str) -> set[str]:
    found: set[str] = set()
    nodes: dict[str, list[Task]] = {}
    for task in graph.tasks:
        nodes.setdefault(task.node.name, []).append(task)
    for name in names:
        if name in graph:
            found.add(name)
        elif name in nodes:
            found.update(task.name for task in nodes[name])
        else:
            known = [task.name for task in graph.tasks] if "[" in name else list(nodes)
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
            hint = f"did you mean {close[0]!r}?" if close else f"the flow has {', '.join(nodes)}"
            raise UsageError(f"{argument}={name}: the flow has no such node; {hint}")
    return found
