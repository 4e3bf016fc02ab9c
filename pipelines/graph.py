"""From the table of nodes to a graph of tasks with content keys; building it computes nothing."""

import dataclasses
import difflib
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pipelines import keys
from pipelines.configuration import as_tree
from pipelines.errors import WalkfoldError
from pipelines.input_files import InputFile, file_constant
from pipelines.parts import Part
from pipelines.settings import Settings

Coordinates = tuple[tuple[str, int | str], ...]


@dataclass(frozen=True)
class Node:
    """One row of the flow: a plain function and where each of its parameters comes from.

    `inputs` maps a parameter to `node` or `node.field` (one field of its artefact); `settings` to a dotted configuration key;
    `axes` to a fan-out axis whose value it gets; `files` to a group of input files, of which a Path gets the place's file and
    a Partition its piece. `per` lists the node's axes: an input with the same axes is matched, an axis that only the input
    has is gathered into a list. `gate` is called with the artefact before it is written to the store and after it is read
    from it. `evaluates` names the rows a node looks at and `trials` how many things it tried there: a number, or the field of
    its artefact that holds it. `modules` is the configuration key of the user's modules that it imports; their code is in its
    key. `narrowed` cuts a setting down to what the node reads of it at its place, so that a change of the rest does not reach
    its key. `split` cuts the work: called with the function's arguments it returns Parts, each computed by the function and
    stored under a key of its own content; what reads the node gets a list.
    """

    name: str
    function: Callable[..., Any]
    inputs: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    axes: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    per: tuple[str, ...] = ()
    gate: Callable[[Any, str], None] | None = None
    evaluates: Literal["validation", "test"] | None = None
    trials: int | str = 0
    libraries: tuple[str, ...] = ()
    modules: str = ""
    narrowed: Mapping[str, Callable[[Any, Mapping[str, int | str]], Any]] = field(default_factory=dict)
    split: Callable[..., Sequence[Part]] | None = None


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
    """A node at one place of its axes, with the key of the artefact it makes."""

    name: str
    node: Node
    coordinates: Coordinates
    inputs: Mapping[str, Source | tuple[Source, ...]]
    constants: Mapping[str, Any]
    key: str
    parts: Mapping[str, Any]

    @property
    def upstream(self) -> tuple[str, ...]:
        """Names of the tasks this one reads from, without repetition."""
        names = [source.task for value in self.inputs.values() for source in _each(value)]
        return tuple(dict.fromkeys(names))

    @property
    def kind(self) -> Any:
        """The type of the artefact: the function's return annotation."""
        return _hints(self.node.function)["return"]


@dataclass(frozen=True)
class Graph:
    """Tasks in an order in which each comes after what it reads."""

    tasks: tuple[Task, ...]

    def __getitem__(self, name: str) -> Task:
        for task in self.tasks:
            if task.name == name:
                return task
        raise KeyError(name)

    def needed_for(self, names: Sequence[str]) -> "Graph":
        """Return the part of the graph that the named tasks need."""
        wanted = set(names)
        for task in reversed(self.tasks):
            if task.name in wanted:
                wanted.update(task.upstream)
        return Graph(tuple(task for task in self.tasks if task.name in wanted))


class GraphError(WalkfoldError):
    """The table of nodes is inconsistent: an unknown input, a type that does not fit, a parameter without a source."""


Axes = Mapping[str, Callable[[Mapping[str, int | str]], Sequence[int | str]]]


def build_graph(
    nodes: Sequence[Node], settings: Settings, files: Mapping[str, Sequence[InputFile]], axes: Axes
) -> Graph:
    """Expand the table of nodes over its axes and name every artefact by its content key.

    `axes[name]` is called with the coordinates chosen so far and returns the values of that axis. Raises GraphError naming
    both nodes when a type does not fit.
    """
    check_nodes(nodes)
    tree = settings
    made: dict[str, list[Task]] = {}
    for node in nodes:
        code = keys.code_digest(typing.cast(types.FunctionType, node.function))
        versions = keys.installed_versions(("numpy", "pandas", "numba", "pyarrow", *node.libraries))
        if node.modules and (modules := setting_at(settings, node.modules)):
            code = keys.digest([code, keys.modules_digest(modules)])
            versions |= keys.imported_versions(modules)
        if node.split is not None:
            versions |= keys.arithmetic()
        made[node.name] = [_task(node, place, made, tree, files, code, versions) for place in _places(node.per, axes)]
    return Graph(tuple(task for tasks in made.values() for task in tasks))


def check_nodes(nodes: Sequence[Node]) -> None:
    """Check that every parameter has one source and that the types on both ends of every arrow agree."""
    known: dict[str, Node] = {}
    for node in nodes:
        if node.name in known:
            raise GraphError(f"two nodes are named {node.name}; give each its own name")
        hints = _hints(node.function)
        sources = [*node.inputs, *node.settings, *node.axes, *node.files]
        _check_parameters(node, sources)
        for parameter, source in node.inputs.items():
            producer, _, part = source.partition(".")
            if producer not in known:
                close = difflib.get_close_matches(producer, known, n=1)
                raise GraphError(
                    f"node {node.name}: input {parameter} reads {producer!r}, which no earlier node makes"
                    + (f"; did you mean {close[0]!r}?" if close else "")
                )
            _check_type(node, parameter, hints[parameter], known[producer], part)
        known[node.name] = node


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


def _check_parameters(node: Node, sources: Sequence[str]) -> None:
    parameters = inspect.signature(node.function).parameters
    for name in sources:
        if name not in parameters or sources.count(name) > 1:
            raise GraphError(f"node {node.name}: {node.function.__name__} has no single parameter {name!r} to fill")
    for name, parameter in parameters.items():
        if name not in sources and parameter.default is inspect.Parameter.empty:
            raise GraphError(f"node {node.name}: nothing fills the parameter {name!r} of {node.function.__name__}")
    if "return" not in _hints(node.function):
        raise GraphError(f"node {node.name}: {node.function.__name__} does not say what it returns")


def _check_type(node: Node, parameter: str, wanted: Any, producer: Node, part: str) -> None:
    offered = _hints(producer.function)["return"]
    if part:
        fields = _hints(offered) if dataclasses.is_dataclass(offered) else {}
        if part not in fields:
            raise GraphError(f"node {node.name}: {producer.name} makes {_text(offered)}, which has no field {part!r}")
        offered = fields[part]
    if producer.split is not None:
        offered = list[offered]  # type: ignore[valid-type]
    if set(producer.per) - set(node.per):
        offered = list[offered]  # type: ignore[valid-type]
    if wanted is not Any and _listed(wanted) != offered:
        raise GraphError(
            f"node {node.name} wants {parameter}: {_text(wanted)}, but node {producer.name} makes {_text(offered)}"
        )


def _listed(kind: Any) -> Any:
    """Return Sequence[X] as list[X]: a gathered input is a list, and a function that only reads may ask for less."""
    return list[typing.get_args(kind)[0]] if typing.get_origin(kind) is Sequence else kind  # type: ignore[misc]


def _places(per: tuple[str, ...], axes: Axes) -> list[Coordinates]:
    places: list[Coordinates] = [()]
    for axis in per:
        places = [(*place, (axis, value)) for place in places for value in axes[axis](dict(place))]
    return places


def _task(
    node: Node,
    place: Coordinates,
    made: Mapping[str, list[Task]],
    settings: Settings,
    files: Mapping[str, Sequence[InputFile]],
    code: str,
    versions: Mapping[str, str],
) -> Task:
    inputs = {parameter: _sources(source, place, made) for parameter, source in node.inputs.items()}
    constants, hashed = _constants(node, dict(place), settings, files)
    input_keys = {
        parameter: [[source.key, source.field] for source in _each(value)] for parameter, value in inputs.items()
    }
    key = keys.content_key(code, hashed, input_keys, versions)
    parts = {"code": code, "configuration": hashed, "inputs": input_keys, "libraries": dict(versions)}
    return Task(task_name(node.name, place), node, place, inputs, constants, key, parts)


def _sources(source: str, place: Coordinates, made: Mapping[str, list[Task]]) -> Source | tuple[Source, ...]:
    producer, _, part = source.partition(".")
    here = dict(place)
    matching = [
        task for task in made[producer] if all(here.get(axis, value) == value for axis, value in task.coordinates)
    ]
    found = tuple(
        Source(task.name, task.key, task.kind, part or None, task.node.gate, task.node.split is not None)
        for task in matching
    )
    gathered = any(axis not in here for axis in made[producer][0].node.per) if made[producer] else True
    return found if gathered else found[0]


def _constants(
    node: Node, place: Mapping[str, int | str], settings: Settings, files: Mapping[str, Sequence[InputFile]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values themselves and the form of them that goes into the key."""
    values: dict[str, Any] = {}
    hashed: dict[str, Any] = {}
    for parameter, dotted in node.settings.items():
        value = setting_at(settings, dotted)
        values[parameter] = node.narrowed[parameter](value, place) if parameter in node.narrowed else value
        hashed[parameter] = as_tree_value(values[parameter])
    for parameter, axis in node.axes.items():
        values[parameter] = hashed[parameter] = place[axis]
    for parameter, group in node.files.items():
        kind = _hints(node.function)[parameter]
        values[parameter], hashed[parameter] = file_constant(kind, files[group], node.per, place)
    return values, hashed


def as_tree_value(value: Any) -> Any:
    """Return a setting as JSON values for hashing."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return as_tree(value)
    if isinstance(value, Mapping):
        return {str(name): as_tree_value(item) for name, item in value.items()}
    return [as_tree_value(item) for item in value] if isinstance(value, list | tuple) else value


def _each(value: Source | tuple[Source, ...]) -> tuple[Source, ...]:
    return value if isinstance(value, tuple) else (value,)


def _hints(thing: Any) -> dict[str, Any]:
    return typing.get_type_hints(thing)


def _text(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind).replace("pandas.core.frame.", "")
