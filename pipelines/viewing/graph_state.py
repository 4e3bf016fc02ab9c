"""The nodes of a flow as they are drawn: what each reads, over what it fans out, and how much of it is cached."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from pipelines.graphs.node import Node
from pipelines.graphs.planning import PlannedTask


@dataclass(frozen=True)
class NodeState:
    """A node with its tasks collapsed: how many there are, how many are cached, and why the others will run, by number.

    `known` is False where nothing could be planned: without data there are no tasks to speak of. `later`: its tasks are known
    once the folds have been counted.
    """

    name: str
    function: str
    reads: tuple[str, ...]
    files: tuple[str, ...]
    per: tuple[str, ...]
    evaluates: str | None
    known: bool = False
    tasks: int = 0
    cached: int = 0
    reasons: tuple[tuple[str, int], ...] = field(default=())
    later: bool = False

    @property
    def state(self) -> str:
        """`cached`, `partly`, `will run`, `none` (no tasks for this data and these folds), `later` or `unknown`."""
        if not self.known:
            return "unknown"
        if self.later:
            return "later"
        if not self.tasks:
            return "none"
        return "cached" if self.cached == self.tasks else "partly" if self.cached else "will run"

    @property
    def words(self) -> str:
        """The state and its reason in a few words; empty where it is unknown."""
        if self.state in ("unknown", "cached"):
            return "" if self.state == "unknown" else "cached"
        if self.state == "none":
            return "not in this run"
        if self.state == "later":
            return "will run once the folds are counted"
        reason = self.reasons[0][0] + (f" and {len(self.reasons) - 1} other reasons" if len(self.reasons) > 1 else "")
        missing = self.tasks - self.cached
        return f"will run: {reason}" if not self.cached else f"{self.cached} cached, {missing} will run: {reason}"


def node_states(
    nodes: Sequence[Node], planned: Sequence[PlannedTask] | None, later: Collection[str] = ()
) -> tuple[NodeState, ...]:
    """Return the nodes in the order of the table; `planned` None draws them without their state.

    `later` names those whose tasks are not known yet.
    """
    tasks: dict[str, list[PlannedTask]] = {}
    for row in planned or ():
        tasks.setdefault(row.task.node.name, []).append(row)
    return tuple(
        _state(node, None if planned is None else tasks.get(node.name, []), node.name in later) for node in nodes
    )


def _state(node: Node, rows: Sequence[PlannedTask] | None, later: bool) -> NodeState:
    missing = Counter(row.reason for row in rows or () if not row.cached)
    return NodeState(
        name=node.name,
        function=f"{node.function.__module__}.{node.function.__qualname__}",
        reads=tuple(dict.fromkeys(source.partition(".")[0] for source in node.inputs.values())),
        files=tuple(dict.fromkeys(node.files.values())),
        per=node.per,
        evaluates=node.evaluates,
        known=rows is not None,
        tasks=len(rows or ()),
        cached=sum(row.cached for row in rows or ()),
        reasons=tuple(sorted(missing.items(), key=lambda item: (-item[1], item[0]))),
        later=later,
    )
