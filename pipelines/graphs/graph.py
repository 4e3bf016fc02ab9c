"""From the table of nodes to a graph of tasks with content keys; building it computes nothing."""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pipelines.config.configuration import nearest
from pipelines.errors import UsageError
from pipelines.graphs.input_files import InputFile, file_constant
from pipelines.graphs.node import Node
from pipelines.graphs.node_checks import GraphError, check_nodes, hints_of
from pipelines.keying import keys
from pipelines.keying.arithmetic import arithmetic
from pipelines.keying.code_closure import is_walkfolds
from pipelines.keying.code_reading import CodeReader
from pipelines.record.redaction import HIDDEN, Redactor

Coordinates = tuple[tuple[str, int | str], ...]


@dataclass(frozen=True)
class Source:
    """Where a parameter's value is read from: an artefact or one field of it, of every part where the node has parts."""

    task: str
    key: str
    kind: Any
    field: str | None
    gate: Callable[[Any, str], None] | None
    parts: bool = False


@dataclass(frozen=True)
class Task:
    """A node at one place of its axes, with the key of the artefact it makes.

    `parts` is what the key is made of; `code` what is behind its part `code`.
    """

    name: str
    node: Node
    coordinates: Coordinates
    inputs: Mapping[str, Source | tuple[Source, ...]]
    constants: Mapping[str, Any]
    key: str
    parts: Mapping[str, Any]
    code: keys.Code

    @property
    def upstream(self) -> tuple[str, ...]:
        """Names of the tasks this one reads from, without repetition."""
        names = [source.task for value in self.inputs.values() for source in _each(value)]
        return tuple(dict.fromkeys(names))

    @property
    def kind(self) -> Any:
        """The type of the artefact: the function's return annotation."""
        return hints_of(self.node.function)["return"]


@dataclass(frozen=True)
class Graph:
    """Tasks in an order in which each comes after what it reads."""

    tasks: tuple[Task, ...]

    def __getitem__(self, name: str) -> Task:
        return self._by_name[name]

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    @cached_property
    def _by_name(self) -> dict[str, Task]:
        return {task.name: task for task in self.tasks}

    def needed_for(self, names: Sequence[str]) -> "Graph":
        """Return the part of the graph that the named tasks need."""
        wanted = set(names)
        for task in reversed(self.tasks):
            if task.name in wanted:
                wanted.update(task.upstream)
        return Graph(tuple(task for task in self.tasks if task.name in wanted))


Axes = Mapping[str, Callable[[Mapping[str, int | str]], Sequence[int | str]]]
NOTHING = Graph(())
_PLAIN_VALUE = re.compile(r"[\w.:+-]+")  # of an axis: it becomes part of task names, and those of file names


def build_graph(
    nodes: Sequence[Node],
    settings: Any,
    files: Mapping[str, Sequence[InputFile]],
    axes: Axes,
    loaded: Sequence[str] = (),
) -> Graph:
    """Expand the table of nodes over its axes and name every artefact by its content key; computes nothing.

    `axes[name]` is called with the coordinates chosen so far and returns the values of that axis. `loaded` names modules of
    the user's, and `module:name` of functions, that were imported and called to make the table: what that does besides
    defining is in all keys. Raises GraphError naming both nodes when a type does not fit, and for axes, groups of files and
    configuration keys that do not exist.
    """
    made = _Made()
    reader = CodeReader()
    checked = check_nodes(nodes)
    loaded = [*loaded, *(node.function.__module__ for node in checked)]
    loaded = tuple(dict.fromkeys(name for name in loaded if not is_walkfolds(name)))
    for node in checked:
        _check_sources(node, settings, files, axes)
        code = _Code(node, settings, reader, loaded)
        versions = keys.installed_versions(("numpy", "pandas", "numba", "pyarrow", *node.libraries))
        if not node.exact:
            versions |= arithmetic(node.libraries)
        made.add(node, [_task(node, place, made, settings, files, code, versions) for place in _places(node, axes)])
    reader.save()
    return Graph(tuple(task for tasks in made.tasks.values() for task in tasks))


def task_name(node: str, coordinates: Coordinates) -> str:
    """Return e.g. `sweep[fold=0,strategy=ema_cross,chunk=1]`, or the node's name where it has no axes."""
    inside = ",".join(f"{axis}={value}" for axis, value in coordinates)
    return f"{node}[{inside}]" if inside else node


def setting_at(settings: Any, dotted: str) -> Any:
    """Return the configuration value at a dotted key."""
    value = settings
    for part in dotted.split("."):
        value = getattr(value, part)
    return value


class _Made:
    """The tasks made so far by node, found by their coordinates without looking at all of them."""

    def __init__(self) -> None:
        self.tasks: dict[str, list[Task]] = {}
        self._nodes: dict[str, Node] = {}
        self._found: dict[tuple[str, tuple[str, ...]], dict[Coordinates, list[Task]]] = {}

    def add(self, node: Node, tasks: list[Task]) -> None:
        self.tasks[node.name] = tasks
        self._nodes[node.name] = node

    def sources(self, source: str, place: Coordinates) -> Source | tuple[Source, ...]:
        """What an input of a task at a place reads: the matching task, or all that match where an axis is gathered."""
        name, _, part = source.partition(".")
        producer, here = self._nodes[name], dict(place)
        shared = tuple(axis for axis in producer.per if axis in here)
        if (name, shared) not in self._found:
            index = self._found[name, shared] = {}
            for task in self.tasks[name]:
                at = dict(task.coordinates)
                index.setdefault(tuple((axis, at[axis]) for axis in shared), []).append(task)
        matching = self._found[name, shared].get(tuple((axis, here[axis]) for axis in shared), [])
        found = tuple(
            Source(task.name, task.key, task.kind, part or None, producer.gate, producer.split is not None)
            for task in matching
        )
        if len(shared) < len(producer.per):
            return found
        if not found:
            raise GraphError(f"{name} has no place {task_name('', place)}, which {source} is read at; give both one axis")
        return found[0]


def _check_sources(node: Node, settings: Any, files: Mapping[str, Any], axes: Axes) -> None:
    """Refuse axes, groups of files and configuration keys that do not exist."""
    for kind, named, known in (("axis", node.per, axes), ("group of files", node.files.values(), files)):
        for name in named:
            if name not in known:
                raise GraphError(f"node {node.name}: there is no {kind} {name!r}; {nearest(name, known)}")
    for dotted in node.settings.values():
        value = settings
        for part in dotted.split("."):
            if not hasattr(value, part):
                names = [one.name for one in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
                hint = f"; {nearest(part, names)}" if names else ""
                raise GraphError(f"node {node.name}: there is no configuration key {dotted!r}{hint}")
            value = getattr(value, part)


def _places(node: Node, axes: Axes) -> list[Coordinates]:
    places: list[Coordinates] = [()]
    for axis in node.per:
        places = [(*place, (axis, _plain(value, axis))) for place in places for value in axes[axis](dict(place))]
    if len(set(places)) < len(places):
        twice = next(place for place in places if places.count(place) > 1)
        raise GraphError(f"{task_name(node.name, twice)}: an axis has this value twice; give each once")
    return places


def _plain(value: int | str, axis: str) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str) or not _PLAIN_VALUE.fullmatch(str(value)):
        raise GraphError(f"axis {axis}: {value!r} is no value; use whole numbers, or text of letters, digits and .:_+-")
    return value


def _task(
    node: Node,
    place: Coordinates,
    made: _Made,
    settings: Any,
    files: Mapping[str, Sequence[InputFile]],
    code: "_Code",
    versions: Mapping[str, str],
) -> Task:
    inputs = {parameter: made.sources(source, place) for parameter, source in node.inputs.items()}
    constants, hashed = _constants(node, dict(place), settings, files)
    reached = code.at(dict(place))
    versions = {**versions, **reached.libraries}
    input_keys = {
        parameter: [[source.key, source.field] for source in _each(value)] for parameter, value in inputs.items()
    }
    key = keys.content_key(reached.digest, hashed, input_keys, versions)
    shown = Redactor().tree(hashed)  # the parts are written beside the artefact: no secret of the options may stand there
    secret = {HIDDEN: keys.digest(hashed)} if shown != keys.plain(hashed) else {}
    configuration = {**shown, **secret}
    parts = {"code": reached.digest, "configuration": configuration, "inputs": input_keys, "libraries": dict(versions)}
    return Task(task_name(node.name, place), node, place, inputs, constants, key, parts, reached)


class _Code:
    """The code of a node: of its function, of the one that splits its work, of its settings' classes, and the user's.

    The user's modules are those of the configuration key `modules`, and `package.module:name` of an axis's value.
    """

    def __init__(self, node: Node, settings: Any, reader: CodeReader, loaded: tuple[str, ...]) -> None:
        values = [setting_at(settings, dotted) for dotted in node.settings.values()]
        functions: list[Any] = [node.function, *([node.split] if node.split else [])]
        functions += [node.pieces.cut, node.pieces.join] if node.pieces else []
        functions += [type(value) for value in values if dataclasses.is_dataclass(value)]
        self._node = node.name
        self._start = keys.Start(tuple(dict.fromkeys(functions)), (), loaded)
        self._modules = [str(name) for name in setting_at(settings, node.modules)] if node.modules else []
        self.reader = reader
        self._found: dict[tuple[str, ...], keys.Code] = {}

    def at(self, place: Mapping[str, int | str]) -> keys.Code:
        named = [*self._modules, *(str(value) for value in place.values() if ":" in str(value))]
        modules = tuple(dict.fromkeys(name.partition(":")[0] for name in named))
        if modules not in self._found:
            try:
                for function in self._start.functions:
                    keys.require_found(function)
                self._found[modules] = keys.code_reached(dataclasses.replace(self._start, modules=modules), self.reader)
            except UsageError as error:
                raise GraphError(f"node {self._node}: {error}") from None
        return self._found[modules]


def _constants(
    node: Node, place: Mapping[str, int | str], settings: Any, files: Mapping[str, Sequence[InputFile]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values themselves and the form of them that goes into the key."""
    values: dict[str, Any] = {}
    hashed: dict[str, Any] = {}
    for parameter, dotted in node.settings.items():
        value = setting_at(settings, dotted)
        values[parameter] = node.narrowed[parameter](value, place) if parameter in node.narrowed else value
        try:
            hashed[parameter] = keys.plain(values[parameter])
        except TypeError as error:
            raise GraphError(f"node {node.name}: setting {dotted}: {error}") from None
    for parameter, axis in node.axes.items():
        values[parameter] = hashed[parameter] = place[axis]
    for parameter, group in node.files.items():
        kind = hints_of(node.function)[parameter]
        values[parameter], hashed[parameter] = file_constant(kind, group, files[group], node.per, place)
    return values, hashed


def _each(value: Source | tuple[Source, ...]) -> tuple[Source, ...]:
    return value if isinstance(value, tuple) else (value,)
