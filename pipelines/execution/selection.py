"""Which tasks a command means: its folds and its part of the flow, known at once, or after a first stage that counts folds."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipelines.commands.options import parse_folds
from pipelines.errors import UsageError
from pipelines.flow import FOLD, FOLDS, OpenFlow, known_fold_count, require_folds
from pipelines.graphs.graph import NOTHING, Graph, Task
from pipelines.graphs.partial import Part, cut, require_inputs
from pipelines.storage.store import Store

_FOLD_OF_TASK = re.compile(rf"\b{FOLD}=(\d+)")


@dataclass(frozen=True)
class Selection:
    """The folds, the graph of the flow and the part of it that is to run.

    Where `fold=all` is asked for and how many folds there are is not known yet, `graph` is the first stage, up to the node
    that counts them, `rest(folds)` makes the whole selection afterwards, and `foreseen` is that of one fold: what can be
    checked before anything runs. Otherwise `rest` is None and `foreseen` empty.
    """

    folds: tuple[int, ...]
    whole: Graph
    graph: Graph
    rest: "Callable[[Sequence[int]], Selection] | None" = None
    foreseen: Graph = NOTHING

    @property
    def certain(self) -> Graph:
        """The tasks to run whose keys are known already."""
        if self.rest is None:
            return self.graph
        return Graph(tuple(task for task in self.foreseen.tasks if self._settled(task)))

    @property
    def of_a_fold(self) -> dict[str, int]:
        """Nodes whose tasks depend on the number of folds that is not known yet, and how many of them one fold has.

        0: none of a fold's own, for they are made once of all folds.
        """
        if self.rest is None:
            return {}
        of_one = [task for task in self.foreseen.tasks if dict(task.coordinates).get(FOLD, 0) == 0]
        found = Counter(task.node.name for task in of_one if not self._settled(task))
        once = {task.node.name for task in of_one if FOLD not in task.node.per}
        return {name: 0 if name in once else count for name, count in found.items()}

    def _settled(self, task: Task) -> bool:
        return task.name in self.whole and self.whole[task.name].key == task.key


def selected(opened: OpenFlow, choose: Callable[[Graph], Graph], part: Part, text: str, store: Store) -> Selection:
    """Return what `fold=text` and the part mean of what the command chooses; computes nothing.

    Raises UsageError for folds that do not exist, where that is known, and for a part that reads what neither it makes nor the
    store has.
    """
    folds = parse_folds(text) if text else ()
    if folds is not None:
        return _known(opened, choose, part, folds, store)
    count = known_fold_count(opened.graph(()), store)
    if count is not None:
        return _known(opened, choose, part, tuple(range(count)), store)
    return _unknown(opened, choose, part, store)


def _known(
    opened: OpenFlow, choose: Callable[[Graph], Graph], part: Part, folds: Sequence[int], store: Store
) -> Selection:
    whole = opened.graph(folds)
    graph = cut(choose(whole), part)
    require_folds(folds, known_fold_count(whole, store))
    if not part.whole:
        require_inputs(graph, whole, store)
    return Selection(tuple(folds), whole, graph)


def _unknown(opened: OpenFlow, choose: Callable[[Graph], Graph], part: Part, store: Store) -> Selection:
    """Plan two stages, unless nothing that is asked for depends on folds."""
    named = {int(fold) for name in (*part.only, *part.begin, *part.until) for fold in _FOLD_OF_TASK.findall(name)}
    foreseen = _known(opened, choose, part, sorted({0} | named), store)  # there is a fold 0, or none at all
    needed = foreseen.whole.needed_for([task.name for task in foreseen.graph.tasks])
    settled = opened.graph(())
    if not any(FOLD in task.node.per for task in needed.tasks):
        return Selection((), settled, foreseen.graph)
    if FOLDS not in settled:
        raise UsageError(
            f"fold=all: no node {FOLDS} of the flow {opened.settings.flow} says how many there are: name them"
        )
    counting = {task.name for task in settled.needed_for([FOLDS]).tasks}
    first = Graph(tuple(task for task in foreseen.graph.tasks if task.name in counting))
    if FOLDS not in first:
        raise UsageError(
            f"fold=all: how many folds there are is not known yet, and this part of the flow leaves the node {FOLDS} out: run "
            f"until={FOLDS} first, or name the folds"
        )

    def rest(folds: Sequence[int]) -> Selection:
        return _known(opened, choose, part, folds, store)

    return Selection((), settled, first, rest, foreseen.graph)
