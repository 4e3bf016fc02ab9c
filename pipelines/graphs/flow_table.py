"""What a flow is: a table of nodes, and where its files, axes and options come from; also how one is made of another."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.graphs.node import Node
from pipelines.graphs.node_checks import GraphError

UserFiles = Callable[[Any], Sequence[Path | str]]
UserAxis = Callable[[Any, Mapping[str, int | str]], Sequence[int | str]]


@dataclass(frozen=True)
class Flow:
    """A table of nodes and what it adds to walkfold's own groups of files, axes and configuration.

    nodes: in any order; each is computed after those it reads.
    files: a group of files by name: a function of the settings returns their paths. A node whose `per` has the name of
        a group is fanned out over its files.
    axes: an axis by name: a function of the settings and of the coordinates chosen so far returns its values.
    options: a frozen dataclass that `options:` of the configuration is checked against; nodes read it as `options.key`.

    walkfold's own groups and axes (docs/flows.md) are there as well, and are only read where a node asks for them.
    """

    nodes: tuple[Node, ...]
    files: Mapping[str, UserFiles] = field(default_factory=dict)
    axes: Mapping[str, UserAxis] = field(default_factory=dict)
    options: type | None = None

    def axis_names(self) -> set[str]:
        """The axes that a node is fanned out over."""
        return {axis for node in self.nodes for axis in node.per}

    def file_groups(self) -> set[str]:
        """The groups of files that a node reads."""
        return {group for node in self.nodes for group in node.files.values()}

    def names(self) -> set[str]:
        """The names of the nodes."""
        return {node.name for node in self.nodes}


def replaced(nodes: Sequence[Node], *others: Node) -> tuple[Node, ...]:
    """Return the table with each node of `others` in place of the one of its name, without nodes that nobody reads now.

    Raises GraphError for a name that the table does not have: append a new node instead.
    """
    new = {node.name: node for node in others}
    for name in new:
        if name not in {node.name for node in nodes}:
            raise GraphError(f"there is no node {name!r} to replace; append the node to the table instead")
    table = [new.get(node.name, node) for node in nodes]
    once_read = _read(nodes)
    while unread := [node for node in table if node.name in once_read - _read(table)]:
        table = [node for node in table if node not in unread]
    return tuple(table)


def _read(nodes: Sequence[Node]) -> set[str]:
    return {source.partition(".")[0] for node in nodes for source in node.inputs.values()}
